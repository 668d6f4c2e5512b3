#include "surefoot/relaxed_bound.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <system_error>

#include "surefoot/dense_vector.hpp"
#include "surefoot/dispatch.hpp"
#include "surefoot/softplus.hpp"

namespace surefoot {
namespace {

constexpr int max_bisections = 12, max_models = 12, max_sweeps = 20;
// Bounds are reported to three digits; a closer fit would take time from the search.
constexpr double good_enough = 1e-3;

SUREFOOT_DISPATCH double weighted_square(const double* x, const double* weight, int n) {
  double s[8] = {};
  int k = 0;
  for (; k + 8 <= n; k += 8)
    for (int r = 0; r < 8; ++r) s[r] += weight[k + r] * x[k + r] * x[k + r];
  double sum = ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
  for (; k < n; ++k) sum += weight[k] * x[k] * x[k];
  return sum;
}

// Rows' model slopes and steps after a coordinate moved.
SUREFOOT_DISPATCH void move_rows(const double* x, const double* bend, double by, double* slope, double* step, int n) {
  for (int i = 0; i < n; ++i) {
    const double change = by * x[i];
    slope[i] += bend[i] * change;
    step[i] += change;
  }
}

}  // namespace

Relaxation::Relaxation(const ScoreProblem& problem, const CodedTable& table, const RoundingSlack& rounding)
    : problem_(problem), table_(table), rounding_(rounding), point_(table.value.size(), 0) {
  for (int j = 0; j < table.n_columns(); ++j) {
    low_.push_back(std::min(problem.least_coefficient(j), 0.0));
    high_.push_back(std::max(problem.most_coefficient(j), 0.0));
  }
  for (auto* rows : {&score_, &residual_, &bend_, &step_}) rows->assign(table.n_rows(), 0);
  intercept_ = std::clamp(0.0, problem.scale.least(problem.intercept_lower), problem.scale.most(problem.intercept_upper));
}

double Relaxation::reach(std::size_t column, double point) const { return point > 0 ? high_[column] : -low_[column]; }

double Relaxation::spread(const std::vector<int>& columns) const {
  double sum = 0;
  for (const int c : columns) {
    const std::size_t j = static_cast<std::size_t>(c);
    if (point_[j] != 0) sum += std::fabs(point_[j]) / reach(j, point_[j]);
  }
  return sum;
}

void Relaxation::refresh() {
  std::fill(score_.begin(), score_.end(), intercept_);
  const int n = static_cast<int>(table_.n_rows());
  for (std::size_t j = 0; j < point_.size(); ++j)
    if (point_[j] != 0) add_scaled(score_.data(), table_.value[j].data(), point_[j], n);
  loss_ = 0;
  for (std::size_t i = 0; i < score_.size(); ++i) {
    const double slope = sigmoid(score_[i]);
    loss_ += table_.total[i] * softplus(score_[i]) - table_.positive[i] * score_[i];
    residual_[i] = table_.total[i] * slope - table_.positive[i];
    bend_[i] = table_.total[i] * slope * (1 - slope);
  }
}

double Relaxation::tangent_bound(const std::vector<int>& columns) const {
  const int n = static_cast<int>(table_.n_rows());
  double slope = 0;
  for (const double r : residual_) slope += r;
  double bound =
      loss_ - slope * intercept_ +
      std::min(slope * problem_.scale.least(problem_.intercept_lower), slope * problem_.scale.most(problem_.intercept_upper));
  std::vector<double> gains;
  for (const int c : columns) {
    const std::size_t j = static_cast<std::size_t>(c);
    const double g = dot(residual_.data(), table_.value[j].data(), n);
    bound -= g * point_[j];
    gains.push_back(std::max(-std::min(g * low_[j], g * high_[j]) - problem_.penalty, 0.0));
  }
  const std::size_t most = std::min(gains.size(), static_cast<std::size_t>(problem_.max_size));
  std::partial_sort(gains.begin(), gains.begin() + static_cast<std::ptrdiff_t>(most), gains.end(), std::greater<>());
  for (std::size_t k = 0; k < most; ++k) bound -= gains[k];
  return bound - rounding_.of_point(intercept_, point_);
}

// Minimises loss + price * spread; returns the best bound met on the way.
double Relaxation::fit(const std::vector<int>& columns, const std::function<bool()>& stopped,
                       const std::function<void(double)>& improved) {
  const double price = price_;
  const int n = static_cast<int>(table_.n_rows());
  double best = -std::numeric_limits<double>::infinity();
  double value = std::numeric_limits<double>::infinity();
  std::vector<double> square(columns.size()), before(columns.size());
  for (int model = 0; model < max_models && !stopped(); ++model) {
    refresh();
    const double reached = loss_ + price * spread(columns);
    if (const double bound = tangent_bound(columns); bound > best) {
      best = bound;
      improved(best);
    }
    // The bound cannot rise above the penalised value less price * k.
    const double limit = reached - price * problem_.max_size;
    if (limit - best <= good_enough * std::fabs(limit) || reached > value - 1e-6) return best;
    value = reached;
    double square_0 = 0;
    for (const double b : bend_) square_0 += b;
    for (std::size_t k = 0; k < columns.size() && !stopped(); ++k) {
      square[k] = weighted_square(table_.value[static_cast<std::size_t>(columns[k])].data(), bend_.data(), n);
      before[k] = point_[static_cast<std::size_t>(columns[k])];
    }
    const double intercept_before = intercept_;
    std::fill(step_.begin(), step_.end(), 0);
    for (int sweep = 0; sweep < max_sweeps && !stopped(); ++sweep) {
      double moved = 0;
      for (std::size_t k = 0; k < columns.size() && !stopped(); ++k) {
        const std::size_t j = static_cast<std::size_t>(columns[k]);
        const double g = dot(residual_.data(), table_.value[j].data(), n), h = square[k] + 1e-9;
        // Each side has its own price; at most one of them wants a step away from 0.
        double next = 0;
        if (high_[j] > 0) next = std::max(next, point_[j] - (g + price / high_[j]) / h);
        if (low_[j] < 0 && next == 0) next = std::min(0.0, point_[j] - (g - price / -low_[j]) / h);
        next = std::clamp(next, low_[j], high_[j]);
        const double by = next - point_[j];
        if (by == 0) continue;
        point_[j] = next;
        moved = std::max(moved, h * by * by);
        move_rows(table_.value[j].data(), bend_.data(), by, residual_.data(), step_.data(), n);
      }
      double g = 0;
      for (const double r : residual_) g += r;
      const double next = std::clamp(intercept_ - g / (square_0 + 1e-9), problem_.scale.least(problem_.intercept_lower),
                                     problem_.scale.most(problem_.intercept_upper));
      for (std::size_t i = 0; i < residual_.size(); ++i) residual_[i] += bend_[i] * (next - intercept_);
      moved = std::max(moved, square_0 * (next - intercept_) * (next - intercept_));
      intercept_ = next;
      if (moved < 1e-7) break;
    }
    // A full step of a quadratic model may overshoot; half of it costs little where it does not.
    const auto shorten = [&] {
      intercept_ = (intercept_ + intercept_before) / 2;
      for (std::size_t k = 0; k < columns.size(); ++k) {
        double& p = point_[static_cast<std::size_t>(columns[k])];
        p = (p + before[k]) / 2;
      }
    };
    for (int halving = 0; halving < 6 && !stopped(); ++halving) {
      refresh();
      if (loss_ + price * spread(columns) <= value) break;
      shorten();
    }
  }
  return best;
}

double Relaxation::bound(const std::vector<int>& columns, const std::function<bool()>& stopped,
                         const std::function<void(double)>& improved) {
  // Columns that have left take their points with them.
  std::vector<bool> listed(point_.size(), false);
  for (const int c : columns) listed[static_cast<std::size_t>(c)] = true;
  for (std::size_t j = 0; j < point_.size(); ++j)
    if (!listed[j]) point_[j] = 0;
  const double infinity = std::numeric_limits<double>::infinity();
  double best = fit(columns, stopped, improved), low = 0, high = infinity;
  for (int round = 0; round < max_bisections && !stopped(); ++round) {
    const double size = spread(columns), wanted = problem_.max_size;
    // The price is right where all k columns are paid for, or at 0 where there is room.
    if (std::fabs(size - wanted) < 0.02 * wanted + 1e-9 || (size <= wanted && price_ == 0)) break;
    (size > wanted ? low : high) = price_;
    if (std::isfinite(high)) {
      price_ = low > 0 ? (low + high) / 2 : high / 4;
      if (high < 1e-6) price_ = 0;
    } else {
      price_ = price_ > 0 ? 2 * price_ : 1e-3;
    }
    best = std::max(best, fit(columns, stopped, improved));
  }
  return best;
}

RelaxedBounds::RelaxedBounds(const ScoreProblem& problem, const CodedTable& table, const RoundingSlack& rounding,
                             const std::vector<int>& columns, double delay, SearchSignals& signals)
    : signals_(signals), from_(columns.size()) {
  for (auto& bound : from_) bound = 0;
  if (columns.empty() || signals.stop) return;
  try {
    thread_ =
        std::thread([this, &problem, &table, &rounding, columns, delay] { work(problem, table, rounding, columns, delay); });
  } catch (const std::system_error&) {
    // A machine that grants no further thread goes without these bounds.
  }
}

RelaxedBounds::~RelaxedBounds() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  woken_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void RelaxedBounds::set_order(const std::vector<int>& order) {
  const std::lock_guard lock(mutex_);
  order_ = order;
  ordered_ = true;
  woken_.notify_all();
}

double RelaxedBounds::from(std::size_t position) const {
  const std::size_t n = n_from_;
  if (n == 0) return all_;
  return from_[std::min(position, n - 1)];
}

void RelaxedBounds::work(const ScoreProblem& problem, const CodedTable& table, const RoundingSlack& rounding,
                         const std::vector<int>& columns, double delay) {
  const auto wait_until = [this](double seconds, auto&& condition) {
    std::unique_lock lock(mutex_);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!ended() && !condition() && std::chrono::steady_clock::now() < end)
      woken_.wait_for(lock, std::chrono::milliseconds(20));
  };
  wait_until(delay, [] { return false; });
  const auto stopped = [this] { return ended(); };
  if (stopped()) return;
  Relaxation relaxation(problem, table, rounding);
  relaxation.bound(columns, stopped, [this](double bound) {
    if (bound <= all_) return;
    all_ = bound;
    raise(signals_.lower_bound, bound);
  });
  wait_until(1e9, [this] { return ordered_; });
  std::vector<int> left(order_.rbegin(), order_.rend());
  double best = all_;
  for (std::size_t e = 0; e < order_.size() && !ended(); ++e) {
    // Supports from here on are a part of those from the column before.
    if (e > 0) best = std::max(best, relaxation.bound(left, stopped, [](double) {}));
    from_[e] = best;
    n_from_ = e + 1;
    left.pop_back();
  }
}

}  // namespace surefoot
