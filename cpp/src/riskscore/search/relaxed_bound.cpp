#include "surefoot/riskscore/search/relaxed_bound.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <system_error>

#include "surefoot/core/dense_vector.hpp"
#include "surefoot/core/dispatch.hpp"
#include "surefoot/core/softplus.hpp"

namespace surefoot {
namespace {

constexpr const RelaxationParameters& parameters = relaxation_parameters;
// Added to curvatures that are divided by: a row far out has none.
constexpr double min_curvature = 1e-12;

SUREFOOT_DISPATCH void multiply(const double* a, const double* b, double* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = a[i] * b[i];
}

// About so many of the rows, weighing as much as all.
CodedTable sample(const CodedTable& table, std::size_t size) {
  const double fraction = static_cast<double>(size) / static_cast<double>(table.n_rows());
  std::mt19937 random(0);
  std::vector<std::size_t> drawn;
  double weight = 0, of_all = 0;
  for (std::size_t i = 0; i < table.n_rows(); ++i) {
    of_all += table.total[i];
    if (static_cast<double>(random()) >= fraction * 0x1p32) continue;
    drawn.push_back(i);
    weight += table.total[i];
  }
  CodedTable part;
  part.value.resize(table.value.size());
  for (const std::size_t i : drawn) {
    part.total.push_back(table.total[i] * (of_all / weight));
    part.positive.push_back(table.positive[i] * (of_all / weight));
    for (std::size_t j = 0; j < part.value.size(); ++j) part.value[j].push_back(table.value[j][i]);
  }
  return part;
}

}  // namespace

Relaxation::Relaxation(const ScoreProblem& problem, const CodedTable& table, const RoundingSlack& rounding)
    : problem_(problem), table_(table), rounding_(rounding), point_(table.value.size(), 0) {
  for (int j = 0; j < table.n_columns(); ++j) {
    low_.push_back(std::min(problem.least_coefficient(j), 0.0));
    high_.push_back(std::max(problem.most_coefficient(j), 0.0));
  }
  for (auto* rows : {&score_, &residual_, &curvature_}) rows->assign(table.n_rows(), 0);
  gradient_.assign(table.value.size(), 0);
  intercept_ = std::clamp(0.0, problem.scale.least(problem.intercept_lower), problem.scale.most(problem.intercept_upper));
}

double Relaxation::limit_towards(std::size_t column, double point) const { return point > 0 ? high_[column] : -low_[column]; }

double Relaxation::scaled_norm(const std::vector<int>& columns) const {
  double sum = 0;
  for (const int c : columns) {
    const std::size_t j = static_cast<std::size_t>(c);
    if (point_[j] != 0) sum += std::fabs(point_[j]) / limit_towards(j, point_[j]);
  }
  return sum;
}

void Relaxation::evaluate() {
  std::fill(score_.begin(), score_.end(), intercept_);
  const int n = static_cast<int>(table_.n_rows());
  for (std::size_t j = 0; j < point_.size(); ++j)
    if (point_[j] != 0) add_scaled(score_.data(), table_.value[j].data(), point_[j], n);
  loss_ = 0;
  for (std::size_t i = 0; i < score_.size(); ++i) {
    const double slope = sigmoid(score_[i]);
    loss_ += table_.total[i] * softplus(score_[i]) - table_.positive[i] * score_[i];
    residual_[i] = table_.total[i] * slope - table_.positive[i];
    curvature_[i] = table_.total[i] * slope * (1 - slope);
  }
}

void Relaxation::compute_gradient(const std::vector<int>& columns) {
  intercept_gradient_ = 0;
  for (const double r : residual_) intercept_gradient_ += r;
  for (const int c : columns) {
    const std::size_t j = static_cast<std::size_t>(c);
    gradient_[j] = dot(residual_.data(), table_.value[j].data(), static_cast<int>(table_.n_rows()));
  }
}

double Relaxation::tangent_bound(const std::vector<int>& columns) const {
  const double slope = intercept_gradient_;
  double bound =
      loss_ - slope * intercept_ +
      std::min(slope * problem_.scale.least(problem_.intercept_lower), slope * problem_.scale.most(problem_.intercept_upper));
  std::vector<double> gains;
  for (const int c : columns) {
    const std::size_t j = static_cast<std::size_t>(c);
    const double g = gradient_[j];
    bound -= g * point_[j];
    gains.push_back(std::max(-std::min(g * low_[j], g * high_[j]) - problem_.penalty, 0.0));
  }
  const std::size_t most = std::min(gains.size(), static_cast<std::size_t>(problem_.max_size));
  std::partial_sort(gains.begin(), gains.begin() + static_cast<std::ptrdiff_t>(most), gains.end(), std::greater<>());
  for (std::size_t k = 0; k < most; ++k) bound -= gains[k];
  return bound - rounding_.of_point(intercept_, point_);
}

// The active set: columns with points, and those that would get some at this price, the largest decrease first.
std::vector<std::size_t> Relaxation::active_columns(const std::vector<int>& columns) const {
  std::vector<std::pair<double, std::size_t>> ranked;
  for (const int c : columns) {
    const std::size_t j = static_cast<std::size_t>(c);
    const double gain = std::max(-gradient_[j] * high_[j], -gradient_[j] * low_[j]) - price_;
    if (point_[j] != 0)
      ranked.push_back({-std::numeric_limits<double>::infinity(), j});
    else if (gain > 0)
      ranked.push_back({-gain, j});
  }
  std::sort(ranked.begin(), ranked.end());
  if (ranked.size() > parameters.max_active) ranked.resize(parameters.max_active);
  std::vector<std::size_t> active;
  for (const auto& [rank, j] : ranked) active.push_back(j);
  return active;
}

// The quadratic model of the loss around the point, in the active columns; the intercept is eliminated (a Schur complement).
void Relaxation::build_model(const std::vector<std::size_t>& active, const std::function<bool()>& stopped,
                             double& intercept_curvature) {
  const std::size_t n = active.size(), n_rows = table_.n_rows();
  model_.resize(n);
  coupling_.assign(n, 0);
  const std::size_t block_rows = parameters.block_rows;
  std::vector<double> weighted(block_rows);
  intercept_curvature = min_curvature;
  for (std::size_t begin = 0; begin < n_rows && !stopped(); begin += block_rows) {
    const int count = static_cast<int>(std::min(block_rows, n_rows - begin));
    for (int i = 0; i < count; ++i) intercept_curvature += curvature_[begin + static_cast<std::size_t>(i)];
    for (std::size_t a = 0; a < n; ++a) {
      multiply(curvature_.data() + begin, table_.value[active[a]].data() + begin, weighted.data(), count);
      for (int i = 0; i < count; ++i) coupling_[a] += weighted[static_cast<std::size_t>(i)];
      for (std::size_t b = 0; b <= a; ++b)
        model_.curvature[a * n + b] += dot(weighted.data(), table_.value[active[b]].data() + begin, count);
    }
  }
  for (std::size_t a = 0; a < n; ++a) {
    const std::size_t j = active[a];
    model_.low[a] = low_[j];
    model_.high[a] = high_[j];
    model_.point[a] = point_[j];
    model_.slope[a] = gradient_[j] - coupling_[a] * intercept_gradient_ / intercept_curvature;
    for (std::size_t b = 0; b <= a; ++b)
      model_.curvature[b * n + a] = model_.curvature[a * n + b] -= coupling_[a] * coupling_[b] / intercept_curvature;
  }
  model_.price = price_;
}

// Minimises loss + price * norm; returns the best bound of its iterates.
double Relaxation::fit(const std::vector<int>& columns, const std::function<bool()>& stopped,
                       const std::function<void(double)>& improved) {
  double best = -std::numeric_limits<double>::infinity();
  evaluate();
  for (int round = 0; round < parameters.max_models && !stopped(); ++round) {
    compute_gradient(columns);
    const double penalised = loss_ + price_ * scaled_norm(columns);
    if (const double bound = tangent_bound(columns); bound > best) {
      best = bound;
      improved(best);
    }
    // The bound cannot rise above the penalised value less price * k.
    const double limit = penalised - price_ * problem_.max_size;
    if (limit - best <= parameters.gap * std::fabs(limit)) break;
    const std::vector<std::size_t> active = active_columns(columns);
    double intercept_curvature;
    build_model(active, stopped, intercept_curvature);
    if (stopped()) break;
    const double intercept_before = intercept_;
    std::vector<double> before(active.size());
    for (std::size_t a = 0; a < active.size(); ++a) before[a] = point_[active[a]];
    model_.minimise();
    double step = -intercept_gradient_ / intercept_curvature;
    for (std::size_t a = 0; a < active.size(); ++a) step -= coupling_[a] * (model_.point[a] - before[a]) / intercept_curvature;
    step = std::clamp(intercept_before + step, problem_.scale.least(problem_.intercept_lower),
                      problem_.scale.most(problem_.intercept_upper)) -
           intercept_before;
    // Backtracking: a full step of a quadratic model may overshoot.
    double length = 1;
    for (int halving = 0; halving < parameters.max_halvings && !stopped(); ++halving, length /= 2) {
      intercept_ = intercept_before + length * step;
      for (std::size_t a = 0; a < active.size(); ++a) point_[active[a]] = before[a] + length * (model_.point[a] - before[a]);
      evaluate();
      if (loss_ + price_ * scaled_norm(columns) <= penalised) break;
    }
    if (loss_ + price_ * scaled_norm(columns) > penalised - parameters.min_decrease) break;
  }
  return best;
}

void Relaxation::start_from(const Relaxation& other) {
  intercept_ = other.intercept_;
  price_ = other.price_;
  point_ = other.point_;
}

std::vector<double> Relaxation::point() const {
  std::vector<double> all{intercept_};
  all.insert(all.end(), point_.begin(), point_.end());
  return all;
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
  for (int round = 0; round < parameters.max_bisections && !stopped(); ++round) {
    const double size = scaled_norm(columns), wanted = problem_.max_size;
    // Complementarity: the budget is used up, or the multiplier is 0.
    if (std::fabs(size - wanted) < parameters.budget_tolerance * wanted + 1e-9 || (size <= wanted && price_ == 0)) break;
    (size > wanted ? low : high) = price_;
    if (std::isfinite(high)) {
      price_ = low > 0 ? (low + high) / 2 : high * parameters.price_decrease;
      if (high < parameters.min_price) price_ = 0;
    } else {
      price_ = price_ > 0 ? 2 * price_ : parameters.first_price;
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

std::vector<double> RelaxedBounds::point() const {
  const std::lock_guard lock(mutex_);
  return point_;
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
      woken_.wait_for(lock, std::chrono::milliseconds(parameters.poll_milliseconds));
  };
  wait_until(delay, [] { return false; });
  const auto stopped = [this] { return ended(); };
  if (stopped()) return;
  Relaxation relaxation(problem, table, rounding);
  // Warm start from samples of the rows: wherever a point comes from, the tangent there bounds all of them.
  for (std::size_t size = parameters.first_sample; size < table.n_rows() / 2 && !stopped(); size *= parameters.sample_growth) {
    const CodedTable part = sample(table, size);
    Relaxation coarse(problem, part, rounding);
    coarse.start_from(relaxation);
    coarse.bound(columns, stopped, [](double) {});
    relaxation.start_from(coarse);
  }
  relaxation.bound(columns, stopped, [this, &relaxation](double bound) {
    if (bound <= all_) return;
    all_ = bound;
    {
      const std::lock_guard lock(mutex_);
      point_ = relaxation.point();
    }
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
