#include "surefoot/binary_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace surefoot {
namespace {

constexpr int subgradient_steps = 40;
// Values are sums of up to n rounded numbers; a bound must not prune what it only seems to reach.
constexpr double bound_slack = 1e-10;

class FlipSearch {
 public:
  FlipSearch(const FlipProgram& program, const double* slack, double floor, std::int64_t max_nodes)
      : p_(program), n_(program.n_unknowns), m_(program.n_rows), floor_(floor), max_nodes_(max_nodes) {
    limit_.resize(static_cast<std::size_t>(m_));
    for (int r = 0; r < m_; ++r) limit_[r] = p_.room[r] + slack[r];
    price_rows();
    order_unknowns();
    tabulate(priced_, completion_);
    tabulate(plain_, plain_completion_);
    rest_.assign(static_cast<std::size_t>(n_ + 1) * m_, 0.0);
    for (int j = n_ - 1; j >= 0; --j)
      for (int r = 0; r < m_; ++r) rest_[at(j, r)] = rest_[at(j + 1, r)] + std::min(0.0, column_[at(j, r)]);
    side_.assign(static_cast<std::size_t>(n_ + 1) * m_, 0.0);
    flip_.assign(static_cast<std::size_t>(n_), 0);
    best_.assign(static_cast<std::size_t>(n_), 0);
  }

  FlipAnswer run() {
    descend(0, 0, 0.0, constant_);
    std::vector<char> flips(static_cast<std::size_t>(n_), 0);
    for (int j = 0; j < n_; ++j) flips[order_[j]] = best_[j];
    return {found_, n_nodes_ <= max_nodes_, floor_, std::move(flips), n_nodes_};
  }

 private:
  std::size_t at(int j, int r) const { return static_cast<std::size_t>(j) * m_ + r; }

  // The best number of the largest gains, and its value; `order` comes back sorted by gain.
  double best_prefix(const std::vector<double>& gain, std::vector<int>& order, int& count) const {
    std::sort(order.begin(), order.end(), [&](int a, int b) { return gain[a] > gain[b]; });
    double sum = 0, best = p_.table[0];
    count = 0;
    for (int k = 0; k < n_; ++k) {
      sum += gain[order[k]];
      if (sum + p_.table[k + 1] > best) best = sum + p_.table[k + 1], count = k + 1;
    }
    return best;
  }

  // Multipliers of the rows that make the bound at the root small.
  void price_rows() {
    mu_.assign(static_cast<std::size_t>(m_), 0.0);
    std::vector<double> mu(mu_), gain(static_cast<std::size_t>(n_)), excess(static_cast<std::size_t>(m_));
    std::vector<int> order(static_cast<std::size_t>(n_));
    std::iota(order.begin(), order.end(), 0);
    double lowest = std::numeric_limits<double>::infinity(), step = 1.0;
    for (int t = 0; t < subgradient_steps; ++t) {
      double bound = 0;
      for (int j = 0; j < n_; ++j) gain[j] = p_.gain[j];
      for (int r = 0; r < m_; ++r) {
        if (mu[r] == 0) continue;
        bound += mu[r] * limit_[r];
        for (int j = 0; j < n_; ++j) gain[j] -= mu[r] * p_.rows[static_cast<std::size_t>(r) * n_ + j];
      }
      int count = 0;
      bound += best_prefix(gain, order, count);
      if (bound < lowest)
        lowest = bound, mu_ = mu;
      else
        step *= 0.7;
      if (bound <= floor_) break;
      double norm = 0;
      for (int r = 0; r < m_; ++r) {
        double side = 0;
        for (int k = 0; k < count; ++k) side += p_.rows[static_cast<std::size_t>(r) * n_ + order[k]];
        excess[r] = side - limit_[r];
        if (mu[r] > 0 || excess[r] > 0) norm += excess[r] * excess[r];
      }
      if (norm == 0) break;
      // Polyak's step towards a tenth below the bound, or towards the floor if that is nearer.
      const double aim = std::max(floor_, lowest - 0.1 * (std::abs(lowest) + 1e-3));
      const double length = step * std::max(bound - aim, 1e-9) / norm;
      for (int r = 0; r < m_; ++r) mu[r] = std::max(0.0, mu[r] + length * excess[r]);
    }
  }

  // Unknowns whose priced gain is far from 0 are settled first: the wrong choice costs most there.
  void order_unknowns() {
    std::vector<double> priced(static_cast<std::size_t>(n_));
    constant_ = 0;
    for (int j = 0; j < n_; ++j) priced[j] = p_.gain[j];
    for (int r = 0; r < m_; ++r) {
      constant_ += mu_[r] * limit_[r];
      for (int j = 0; j < n_; ++j) priced[j] -= mu_[r] * p_.rows[static_cast<std::size_t>(r) * n_ + j];
    }
    order_.resize(static_cast<std::size_t>(n_));
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(), [&](int a, int b) { return std::abs(priced[a]) > std::abs(priced[b]); });
    priced_.resize(static_cast<std::size_t>(n_));
    plain_.resize(static_cast<std::size_t>(n_));
    column_.resize(static_cast<std::size_t>(n_) * m_);
    for (int j = 0; j < n_; ++j) {
      priced_[j] = priced[order_[j]];
      plain_[j] = p_.gain[order_[j]];
      for (int r = 0; r < m_; ++r) column_[at(j, r)] = p_.rows[static_cast<std::size_t>(r) * n_ + order_[j]];
    }
  }

  // completion[j][h]: the most that coordinates j, j + 1, ... and the table can add after h flips, rows left aside.
  void tabulate(const std::vector<double>& gain, std::vector<double>& completion) const {
    completion.assign(static_cast<std::size_t>(n_ + 1) * (n_ + 1), 0.0);
    std::vector<double> sorted;
    for (int j = n_; j >= 0; --j) {
      if (j < n_) sorted.insert(std::lower_bound(sorted.begin(), sorted.end(), gain[j], std::greater<>()), gain[j]);
      for (int h = 0; h <= j; ++h) {
        double sum = 0, best = p_.table[h];
        for (int k = 0; k < n_ - j; ++k) {
          sum += sorted[k];
          best = std::max(best, sum + p_.table[h + k + 1]);
        }
        completion[static_cast<std::size_t>(j) * (n_ + 1) + h] = best;
      }
    }
  }

  void descend(int j, int h, double plain, double priced) {
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

  const FlipProgram& p_;
  int n_, m_;
  double floor_, constant_ = 0;
  std::int64_t max_nodes_, n_nodes_ = 0;
  bool found_ = false;
  std::vector<double> limit_, mu_, priced_, plain_, column_, completion_, plain_completion_, rest_, side_;
  std::vector<int> order_;
  std::vector<char> flip_, best_;
};

}  // namespace

FlipAnswer search_flips(const FlipProgram& program, const double* slack, double floor, std::int64_t max_nodes) {
  return FlipSearch(program, slack, floor, max_nodes).run();
}

}  // namespace surefoot
