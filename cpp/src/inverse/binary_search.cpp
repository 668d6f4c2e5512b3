#include "surefoot/inverse/binary_search.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace surefoot {
namespace {

constexpr int subgradient_steps = 40;
// From multipliers that served the same rows before, for a cost that is often much the same.
constexpr int warm_steps = 6;
// Values are sums of up to n rounded numbers; a bound must not prune what it only seems to reach.
constexpr double bound_slack = 1e-10;

}  // namespace

const FlipAnswer& FlipSearch::search(const FlipProgram& program, const double* slack, double floor, std::int64_t max_nodes,
                                     double* prices) {
  p_ = program;
  n_ = program.n_unknowns, m_ = program.n_rows;
  floor_ = floor, max_nodes_ = max_nodes, n_nodes_ = 0, found_ = false;
  limit_.resize(static_cast<std::size_t>(m_));
  for (int r = 0; r < m_; ++r) limit_[r] = p_.room[r] + slack[r];
  mu_.assign(static_cast<std::size_t>(m_), 0.0);
  bool warm = false;
  for (int r = 0; prices && r < m_; ++r) {
    mu_[r] = std::max(0.0, prices[r]);
    warm = warm || mu_[r] > 0;
  }
  price_rows(warm ? warm_steps : subgradient_steps);
  if (prices) std::copy(mu_.begin(), mu_.end(), prices);
  order_unknowns();
  tabulate(priced_, completion_);
  tabulate(plain_, plain_completion_);
  rest_.assign(static_cast<std::size_t>(n_ + 1) * m_, 0.0);
  for (int j = n_ - 1; j >= 0; --j)
    for (int r = 0; r < m_; ++r) rest_[at(j, r)] = rest_[at(j + 1, r)] + std::min(0.0, column_[at(j, r)]);
  side_.assign(static_cast<std::size_t>(n_ + 1) * m_, 0.0);
  flip_.assign(static_cast<std::size_t>(n_), 0);
  best_.assign(static_cast<std::size_t>(n_), 0);
  descend(0, 0, 0.0, constant_);
  answer_.found = found_, answer_.complete = n_nodes_ <= max_nodes_, answer_.value = floor_, answer_.n_nodes = n_nodes_;
  answer_.flips.assign(static_cast<std::size_t>(n_), 0);
  for (int j = 0; j < n_; ++j) answer_.flips[order_[j]] = best_[j];
  return answer_;
}

// The best number of the largest gains, and its value; the order comes back sorted by gain.
double FlipSearch::best_prefix(int& count) {
  std::sort(order_.begin(), order_.end(), [&](int a, int b) { return gain_[a] > gain_[b]; });
  double sum = 0, best = p_.table[0];
  count = 0;
  for (int k = 0; k < n_; ++k) {
    sum += gain_[order_[k]];
    if (sum + p_.table[k + 1] > best) best = sum + p_.table[k + 1], count = k + 1;
  }
  return best;
}

// Multipliers of the rows that make the bound at the root small.
void FlipSearch::price_rows(int steps) {
  trial_ = mu_;
  gain_.resize(static_cast<std::size_t>(n_));
  excess_.resize(static_cast<std::size_t>(m_));
  order_.resize(static_cast<std::size_t>(n_));
  std::iota(order_.begin(), order_.end(), 0);
  double lowest = std::numeric_limits<double>::infinity(), step = 1.0;
  for (int t = 0; t < steps; ++t) {
    double bound = 0;
    for (int j = 0; j < n_; ++j) gain_[j] = p_.gain[j];
    for (int r = 0; r < m_; ++r) {
      if (trial_[r] == 0) continue;
      bound += trial_[r] * limit_[r];
      for (int j = 0; j < n_; ++j) gain_[j] -= trial_[r] * p_.rows[static_cast<std::size_t>(r) * n_ + j];
    }
    int count = 0;
    bound += best_prefix(count);
    if (bound < lowest)
      lowest = bound, mu_ = trial_;
    else
      step *= 0.7;
    if (bound <= floor_) break;
    double norm = 0;
    for (int r = 0; r < m_; ++r) {
      double side = 0;
      for (int k = 0; k < count; ++k) side += p_.rows[static_cast<std::size_t>(r) * n_ + order_[k]];
      excess_[r] = side - limit_[r];
      if (trial_[r] > 0 || excess_[r] > 0) norm += excess_[r] * excess_[r];
    }
    if (norm == 0) break;
    // Polyak's step towards a tenth below the bound, or towards the floor if that is nearer.
    const double aim = std::max(floor_, lowest - 0.1 * (std::abs(lowest) + 1e-3));
    const double length = step * std::max(bound - aim, 1e-9) / norm;
    for (int r = 0; r < m_; ++r) trial_[r] = std::max(0.0, trial_[r] + length * excess_[r]);
  }
}

// Unknowns whose priced gain is far from 0 are settled first: the wrong choice costs most there.
void FlipSearch::order_unknowns() {
  constant_ = 0;
  for (int j = 0; j < n_; ++j) gain_[j] = p_.gain[j];
  for (int r = 0; r < m_; ++r) {
    constant_ += mu_[r] * limit_[r];
    for (int j = 0; j < n_; ++j) gain_[j] -= mu_[r] * p_.rows[static_cast<std::size_t>(r) * n_ + j];
  }
  std::iota(order_.begin(), order_.end(), 0);
  std::sort(order_.begin(), order_.end(), [&](int a, int b) { return std::abs(gain_[a]) > std::abs(gain_[b]); });
  priced_.resize(static_cast<std::size_t>(n_));
  plain_.resize(static_cast<std::size_t>(n_));
  column_.resize(static_cast<std::size_t>(n_) * m_);
  for (int j = 0; j < n_; ++j) {
    priced_[j] = gain_[order_[j]];
    plain_[j] = p_.gain[order_[j]];
    for (int r = 0; r < m_; ++r) column_[at(j, r)] = p_.rows[static_cast<std::size_t>(r) * n_ + order_[j]];
  }
}

// completion[j][h]: the most that coordinates j, j + 1, ... and the table can add after h flips, rows left aside.
void FlipSearch::tabulate(const std::vector<double>& gain, std::vector<double>& completion) {
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

void FlipSearch::descend(int j, int h, double plain, double priced) {
  if (++n_nodes_ > max_nodes_) return;
  const std::size_t cell = static_cast<std::size_t>(j) * (n_ + 1) + h;
  if (priced + completion_[cell] <= floor_ - bound_slack || plain + plain_completion_[cell] <= floor_ - bound_slack) return;
  for (int r = 0; r < m_; ++r)
    if (side_[at(j, r)] + rest_[at(j, r)] > limit_[r]) return;
  if (j == n_) {
    const double value = plain + p_.table[h];
    if (value > floor_) floor_ = value, best_ = flip_, found_ = true;
    return;
  }
  const int first = priced_[j] > 0 ? 1 : 0;
  for (int turn = 0; turn < 2; ++turn) {
    const int f = turn == 0 ? first : 1 - first;
    flip_[j] = static_cast<char>(f);
    for (int r = 0; r < m_; ++r) side_[at(j + 1, r)] = side_[at(j, r)] + (f ? column_[at(j, r)] : 0.0);
    descend(j + 1, h + f, plain + (f ? plain_[j] : 0.0), priced + (f ? priced_[j] : 0.0));
    if (n_nodes_ > max_nodes_) return;
  }
}

FlipAnswer search_flips(const FlipProgram& program, const double* slack, double floor, std::int64_t max_nodes) {
  return FlipSearch().search(program, slack, floor, max_nodes);
}

}  // namespace surefoot
