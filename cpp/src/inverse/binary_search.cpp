#include "surefoot/inverse/binary_search.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace surefoot {

const BinarySearchResult& BinarySearch::search(const BinaryProgram& program, const BinarySearchOptions& options,
                                               double* multipliers) {
  p_ = program, parameters_ = options.parameters;
  n_ = program.n_unknowns, m_ = program.n_rows;
  incumbent_ = options.cutoff, max_nodes_ = options.max_nodes, n_nodes_ = 0, found_ = false;
  start_ = options.start;
  result_.log.clear();
  right_.resize(static_cast<std::size_t>(m_));
  for (int r = 0; r < m_; ++r) right_[r] = p_.right[r] + p_.row_tolerance[r];
  mu_.assign(static_cast<std::size_t>(m_), 0.0);
  bool warm = false;
  for (int r = 0; multipliers && r < m_; ++r) {
    mu_[r] = std::max(0.0, multipliers[r]);
    warm = warm || mu_[r] > 0;
  }
  minimise_dual(warm ? parameters_.warm_subgradient_steps : parameters_.subgradient_steps);
  if (multipliers) std::copy(mu_.begin(), mu_.end(), multipliers);
  order_unknowns();
  tabulate(reduced_, completion_);
  tabulate(plain_, plain_completion_);
  least_rest_.assign(static_cast<std::size_t>(n_ + 1) * m_, 0.0);
  for (int j = n_ - 1; j >= 0; --j)
    for (int r = 0; r < m_; ++r) least_rest_[at(j, r)] = least_rest_[at(j + 1, r)] + std::min(0.0, column_[at(j, r)]);
  activity_.assign(static_cast<std::size_t>(n_ + 1) * m_, 0.0);
  flip_.assign(static_cast<std::size_t>(n_), 0);
  best_.assign(static_cast<std::size_t>(n_), 0);
  branch(0, 0, 0.0, constant_);
  result_.found = found_, result_.complete = n_nodes_ <= max_nodes_;
  result_.value = incumbent_, result_.n_nodes = n_nodes_;
  result_.flips.assign(static_cast<std::size_t>(n_), 0);
  for (int j = 0; j < n_; ++j) result_.flips[order_[j]] = best_[j];
  if (start_) result_.order = order_, result_.multipliers = mu_;
  return result_;
}

// The Lagrangian relaxation at the root: how many of the largest gains are best, and their value; sorts the order by gain.
double BinarySearch::lagrangian_maximum(int& count) {
  std::sort(order_.begin(), order_.end(), [&](int a, int b) { return gain_[a] > gain_[b]; });
  double sum = 0, best = p_.table[0];
  count = 0;
  for (int k = 0; k < n_; ++k) {
    sum += gain_[order_[k]];
    if (sum + p_.table[k + 1] > best) best = sum + p_.table[k + 1], count = k + 1;
  }
  return best;
}

// Subgradient steps on the Lagrangian dual of the rows; the multipliers of the lowest dual bound are retained.
void BinarySearch::minimise_dual(int steps) {
  trial_ = mu_;
  gain_.resize(static_cast<std::size_t>(n_));
  subgradient_.resize(static_cast<std::size_t>(m_));
  order_.resize(static_cast<std::size_t>(n_));
  std::iota(order_.begin(), order_.end(), 0);
  double lowest = std::numeric_limits<double>::infinity(), step = 1.0;
  for (int t = 0; t < steps; ++t) {
    double bound = 0;
    for (int j = 0; j < n_; ++j) gain_[j] = p_.gain[j];
    for (int r = 0; r < m_; ++r) {
      if (trial_[r] == 0) continue;
      bound += trial_[r] * right_[r];
      for (int j = 0; j < n_; ++j) gain_[j] -= trial_[r] * p_.rows[static_cast<std::size_t>(r) * n_ + j];
    }
    int count = 0;
    bound += lagrangian_maximum(count);
    if (bound < lowest)
      lowest = bound, mu_ = trial_;
    else
      step *= parameters_.step_decay;
    if (bound <= incumbent_) break;
    double norm = 0;
    for (int r = 0; r < m_; ++r) {
      double activity = 0;
      for (int k = 0; k < count; ++k) activity += p_.rows[static_cast<std::size_t>(r) * n_ + order_[k]];
      subgradient_[r] = activity - right_[r];
      if (trial_[r] > 0 || subgradient_[r] > 0) norm += subgradient_[r] * subgradient_[r];
    }
    if (norm == 0) break;
    const double target =
        std::max(incumbent_, lowest - parameters_.target_fraction * (std::abs(lowest) + parameters_.least_target));
    const double length = step * std::max(bound - target, parameters_.least_decrease) / norm;
    for (int r = 0; r < m_; ++r) trial_[r] = std::max(0.0, trial_[r] + length * subgradient_[r]);
  }
}

// Unknowns with a large reduced gain are branched on first: the wrong value costs most there.
void BinarySearch::order_unknowns() {
  constant_ = 0;
  for (int j = 0; j < n_; ++j) gain_[j] = p_.gain[j];
  for (int r = 0; r < m_; ++r) {
    constant_ += mu_[r] * right_[r];
    for (int j = 0; j < n_; ++j) gain_[j] -= mu_[r] * p_.rows[static_cast<std::size_t>(r) * n_ + j];
  }
  std::iota(order_.begin(), order_.end(), 0);
  std::sort(order_.begin(), order_.end(), [&](int a, int b) { return std::abs(gain_[a]) > std::abs(gain_[b]); });
  reduced_.resize(static_cast<std::size_t>(n_));
  plain_.resize(static_cast<std::size_t>(n_));
  column_.resize(static_cast<std::size_t>(n_) * m_);
  for (int j = 0; j < n_; ++j) {
    reduced_[j] = gain_[order_[j]];
    plain_[j] = p_.gain[order_[j]];
    for (int r = 0; r < m_; ++r) column_[at(j, r)] = p_.rows[static_cast<std::size_t>(r) * n_ + order_[j]];
  }
}

// completion[j][h]: the most that coordinates j, j + 1, ... and the table can add after h flips, without the rows.
void BinarySearch::tabulate(const std::vector<double>& gain, std::vector<double>& completion) {
  completion.assign(static_cast<std::size_t>(n_ + 1) * (n_ + 1), p_.table[0]);
  if (std::all_of(p_.table, p_.table + n_ + 1, [&](double entry) { return entry == p_.table[0]; })) {
    for (int j = n_ - 1; j >= 0; --j) {
      const double most = completion[static_cast<std::size_t>(j + 1) * (n_ + 1)] + std::max(0.0, gain[j]);
      std::fill_n(completion.begin() + static_cast<std::ptrdiff_t>(j) * (n_ + 1), j + 1, most);
    }
    return;
  }
  sorted_.clear();
  for (int j = n_; j >= 0; --j) {
    if (j < n_) sorted_.insert(std::lower_bound(sorted_.begin(), sorted_.end(), gain[j], std::greater<>()), gain[j]);
    for (int h = 0; h <= j; ++h) {
      double sum = 0, best = p_.table[h];
      for (int k = 0; k < n_ - j; ++k) {
        sum += sorted_[k];
        best = std::max(best, sum + p_.table[h + k + 1]);
      }
      completion[static_cast<std::size_t>(j) * (n_ + 1) + h] = best;
    }
  }
}

void BinarySearch::branch(int j, int h, double plain, double reduced) {
  if (++n_nodes_ > max_nodes_) return;
  const std::size_t cell = static_cast<std::size_t>(j) * (n_ + 1) + h;
  const double least = incumbent_ - parameters_.bound_tolerance;
  if (reduced + completion_[cell] <= least) return note(kLagrangianBound);
  if (plain + plain_completion_[cell] <= least) return note(kPlainBound);
  for (int r = 0; r < m_; ++r)
    if (activity_[at(j, r)] + least_rest_[at(j, r)] > right_[r]) return note(r);
  note(j == n_ ? kVector : kBranched);
  if (j == n_) {
    const double value = plain + p_.table[h];
    if (value > incumbent_) incumbent_ = value, best_ = flip_, found_ = true;
    return;
  }
  const int first = start_ ? (start_[order_[j]] > 0.5 ? 1 : 0) : (reduced_[j] > 0 ? 1 : 0);
  for (int turn = 0; turn < 2; ++turn) {
    const int f = turn == 0 ? first : 1 - first;
    flip_[j] = static_cast<char>(f);
    for (int r = 0; r < m_; ++r) activity_[at(j + 1, r)] = activity_[at(j, r)] + (f ? column_[at(j, r)] : 0.0);
    branch(j + 1, h + f, plain + (f ? plain_[j] : 0.0), reduced + (f ? reduced_[j] : 0.0));
    if (n_nodes_ > max_nodes_) return;
  }
}

}  // namespace surefoot
