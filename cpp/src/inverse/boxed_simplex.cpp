#include "surefoot/inverse/boxed_simplex.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace surefoot {

void BoxedSimplex::begin(const BoxedProgramme& programme, const double* lower, const double* upper) {
  p_ = programme, n_ = programme.n_unknowns, m_ = programme.n_rows;
  lower_.assign(lower, lower + n_);
  upper_.assign(upper, upper + n_);
}

void BoxedSimplex::price(const double* gain) {
  gain_.assign(gain, gain + n_);
  reduced_ = gain_;
  gain_scale_ = 1;
  for (const double entry : gain_) gain_scale_ = std::max(gain_scale_, 1 + std::abs(entry));
  table_.assign(p_.rows, p_.rows + static_cast<std::size_t>(m_) * n_);
  above_.assign(static_cast<std::size_t>(n_), 0);
  nonbasic_.resize(static_cast<std::size_t>(n_));
  std::iota(nonbasic_.begin(), nonbasic_.end(), 0);
  basic_.resize(static_cast<std::size_t>(m_));
  std::iota(basic_.begin(), basic_.end(), n_);
}

// The bound at which a nonbasic quantity rests: the better one, or where it is if both are as good, or the one there is.
double BoxedSimplex::resting(int column) {
  const double low = least(nonbasic_[column]), high = most(nonbasic_[column]);
  const double margin = parameters_.gain_tolerance * gain_scale_;
  if (std::abs(reduced_[column]) > margin) above_[column] = reduced_[column] > 0;
  if (!std::isfinite(above_[column] ? high : low)) above_[column] = !above_[column];
  return above_[column] ? high : low;
}

BoxedStatus BoxedSimplex::solve() {
  at_.resize(static_cast<std::size_t>(n_));
  value_.resize(static_cast<std::size_t>(m_));
  const int most_steps = parameters_.steps_per_quantity * (n_ + m_ + 1);
  for (int step = 0; step < most_steps; ++step) {
    for (int j = 0; j < n_; ++j) at_[j] = resting(j);
    // Bland's rule, the first quantities by number, ends what would go round in circles where many reduced gains are 0.
    const bool careful = step > parameters_.steps_before_care * (n_ + m_);
    int leaving = -1;
    double worst = parameters_.feasibility_tolerance;
    for (int i = 0; i < m_; ++i) {
      double sum = 0;
      for (int j = 0; j < n_; ++j) sum += entry(i, j) * at_[j];
      value_[i] = sum;
      const double low = least(basic_[i]), high = most(basic_[i]);
      const double under = (low - sum) / (1 + std::abs(low)), over = (sum - high) / (1 + std::abs(high));
      const double most_broken = std::max(std::isfinite(low) ? under : 0.0, std::isfinite(high) ? over : 0.0);
      if (careful ? most_broken > parameters_.feasibility_tolerance && (leaving < 0 || basic_[i] < basic_[leaving])
                  : most_broken > worst) {
        worst = most_broken, leaving = i;
        short_ = std::isfinite(low) && under == most_broken;
      }
    }
    if (leaving < 0) {
      read();
      return BoxedStatus::optimal;
    }
    int entering = -1;
    double ratio = std::numeric_limits<double>::infinity(), size = 0;
    for (int j = 0; j < n_; ++j) {
      const double slope = short_ ? entry(leaving, j) : -entry(leaving, j);
      const double low = least(nonbasic_[j]), high = most(nonbasic_[j]);
      if (std::abs(slope) <= parameters_.pivot_tolerance || low == high) continue;
      // It mends the violation by rising from its lower bound, or by falling from its upper one.
      if (slope > 0 ? at_[j] >= high : at_[j] <= low) continue;
      const double next = std::abs(reduced_[j]) / std::abs(slope);
      const double margin = parameters_.gain_tolerance * gain_scale_;
      const bool first = careful ? entering < 0 || nonbasic_[j] < nonbasic_[entering] : std::abs(slope) > size;
      if (next < ratio - margin || (next <= ratio + margin && first)) {
        ratio = std::min(ratio, next), size = std::abs(slope);
        entering = j;
      }
    }
    if (entering < 0) {
      broken_ = leaving;
      read();
      return BoxedStatus::infeasible;
    }
    exchange(leaving, entering);
    above_[entering] = !short_;
  }
  return BoxedStatus::failed;
}

// The basic quantity of a row becomes nonbasic, that of a column basic.
void BoxedSimplex::exchange(int row, int column) {
  const double pivot = entry(row, column);
  for (int j = 0; j < n_; ++j) entry(row, j) = j == column ? 1 / pivot : -entry(row, j) / pivot;
  for (int i = 0; i < m_; ++i) {
    const double factor = entry(i, column);
    if (i == row || factor == 0) continue;
    entry(i, column) = 0;
    for (int j = 0; j < n_; ++j) entry(i, j) += factor * entry(row, j);
  }
  const double factor = reduced_[column];
  reduced_[column] = 0;
  for (int j = 0; j < n_; ++j) reduced_[j] += factor * entry(row, j);
  std::swap(basic_[row], nonbasic_[column]);
}

void BoxedSimplex::read() {
  point_.resize(static_cast<std::size_t>(n_));
  multipliers_.assign(static_cast<std::size_t>(m_), 0.0);
  for (int j = 0; j < n_; ++j) {
    const int quantity = nonbasic_[j];
    if (quantity < n_)
      point_[quantity] = at_[j];
    else  // a side that a row does not have has no multiplier
      multipliers_[quantity - n_] =
          std::isfinite(reduced_[j] > 0 ? p_.high[quantity - n_] : p_.low[quantity - n_]) ? reduced_[j] : 0.0;
  }
  for (int i = 0; i < m_; ++i)
    if (basic_[i] < n_) point_[basic_[i]] = value_[i];
}

double BoxedSimplex::worth(const std::vector<double>& point) const {
  return std::inner_product(point.begin(), point.end(), gain_.begin(), 0.0);
}

double BoxedSimplex::bound(const std::vector<double>& multipliers) const {
  double total = 0, size = 0;
  for (int r = 0; r < m_; ++r) {
    const double y = multipliers[r];
    if (y == 0) continue;
    const double side = y > 0 ? p_.high[r] : p_.low[r];
    total += y * side;
    size += std::abs(y * side);
  }
  for (int j = 0; j < n_; ++j) {
    double slope = gain_[j], terms = std::abs(gain_[j]);
    for (int r = 0; r < m_; ++r) {
      if (multipliers[r] == 0) continue;
      const double part = multipliers[r] * p_.rows[static_cast<std::size_t>(r) * n_ + j];
      slope -= part;
      terms += std::abs(part);
    }
    total += std::max(slope * lower_[j], slope * upper_[j]);
    size += terms * std::max(std::abs(lower_[j]), std::abs(upper_[j]));
  }
  return total + (n_ + m_) * std::numeric_limits<double>::epsilon() * size;
}

bool BoxedSimplex::refute(double goal) {
  // The row of the dictionary says that 0 = combination - quantity, whatever x; over the box the right side has one sign.
  const double sign = short_ ? 1.0 : -1.0;
  ray_.assign(static_cast<std::size_t>(m_), 0.0);
  if (basic_[broken_] >= n_) ray_[basic_[broken_] - n_] = -sign;
  for (int j = 0; j < n_; ++j)
    if (nonbasic_[j] >= n_ && std::abs(entry(broken_, j)) > parameters_.pivot_tolerance)
      ray_[nonbasic_[j] - n_] += sign * entry(broken_, j);
  for (int r = 0; r < m_; ++r)
    if ((ray_[r] > 0 && !std::isfinite(p_.high[r])) || (ray_[r] < 0 && !std::isfinite(p_.low[r]))) ray_[r] = 0;
  const std::vector<double> start = multipliers_;
  const double first = bound(start);
  double length = 1;
  for (int attempt = 0; attempt < 60 && std::isfinite(length); ++attempt) {
    for (int r = 0; r < m_; ++r) multipliers_[r] = start[r] + length * ray_[r];
    const double there = bound(multipliers_);
    if (there <= goal) return true;
    if (!(there < first)) return false;
    length *= std::max(2.0, 1.01 * (first - goal) / (first - there));
  }
  return false;
}

}  // namespace surefoot
