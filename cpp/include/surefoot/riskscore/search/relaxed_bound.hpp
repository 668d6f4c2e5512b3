// The convex relaxation of the risk score problem, and the dual bound it gives long before a search is done.
//
// Problem. Points of column j lie between l_j and u_j or are 0, and at most k columns have any. The convex hull of those is
//   { p : l_j <= p_j <= u_j (0 included),   sum_j |p_j| / s_j <= k },    s_j = u_j where p_j > 0, -l_j where p_j < 0,
// and the relaxation minimises the loss L over it: a lasso with a budget for the scaled norm.
//
// Dual bound. L is convex, so at any point p with gradient g, for every card q,
//   L(q) + penalty * size(q) >= L(p) + g . (q - p) + penalty * size(q)
//                            >= L(p) - sum_j g_j p_j + min over the intercept of g_0 q_0 - (the k largest of benefit_j),
// benefit_j = max(gain_j - penalty, 0), gain_j = -min(g_j l_j, g_j u_j). It holds wherever p comes from, and is largest at the
// minimiser.
//
// Method. Lagrangian: minimise L(p) + price * sum_j |p_j| / s_j, and bisect the multiplier `price` until the sum is k. For one
// multiplier, proximal Newton: quadratic model of L in the active columns, the intercept eliminated; coordinate descent on it
// (penalised_quadratic.hpp); a backtracking line search. It stops when the bound is within a tolerance of the penalised value
// less price * k, which no bound of that multiplier exceeds. Of many rows a sample finds p first: all of them are needed for
// the tangent only.
//
// Columns are in the order of the search. A support whose first column is e has no earlier one: relaxing the columns from e on
// bounds all of them, and better than relaxing all columns.
//
// References: Tseng and Yun, A coordinate gradient descent method for nonsmooth separable minimization (Mathematical
// Programming, 2009); Friedman, Hastie and Tibshirani, Regularization paths for generalized linear models via coordinate
// descent (JSS, 2010).
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "surefoot/riskscore/fit/penalised_quadratic.hpp"
#include "surefoot/riskscore/problem/score_problem.hpp"
#include "surefoot/riskscore/search/rounding_slack.hpp"
#include "surefoot/riskscore/search/search_monitor.hpp"
#include "surefoot/riskscore/table/row_partition.hpp"

namespace surefoot {

struct RelaxationParameters {
  // Bisections of the multiplier, and its start, once the norm is above the budget. Not tuned.
  int max_bisections = 12;
  double first_price = 1e-3;
  // Multipliers below this are taken for 0. Not tuned.
  double min_price = 1e-6;
  // Factor by which the multiplier falls while nothing bounds it from below. Not tuned.
  double price_decrease = 0.25;
  // The multiplier is accepted where the norm is within this fraction of the budget. Not tuned.
  double budget_tolerance = 0.02;
  // Quadratic models for one multiplier, and halvings of a step. Not tuned.
  int max_models = 30, max_halvings = 10;
  // Relative gap between the bound and its limit at which a fit ends: bounds are reported to three digits, and a closer fit
  // would take time from the search.
  double gap = 1e-3;
  // Loss: a model that gains less ends the fit. Not tuned.
  double min_decrease = 1e-9;
  // Columns that move in one model, at most; the others come in the next. The model costs their square times the
  // rows. Introduced with bench_risk_rows, not tuned further.
  std::size_t max_active = 400;
  // Rows whose columns stay in the cache while all pairs of them are multiplied. Not tuned.
  std::size_t block_rows = 2048;
  // Where there are many rows the fit starts with a sample of so many, and then with so many times more. Introduced with
  // bench_risk_rows, not tuned further.
  std::size_t first_sample = 1 << 14, sample_growth = 16;
  // Milliseconds between looks at the clock while the thread waits for its time or for the order of the columns. Not tuned.
  int poll_milliseconds = 20;
};
inline constexpr RelaxationParameters relaxation_parameters{};

// The best bound found for supports within some columns, and the fit that gave it.
class Relaxation {
 public:
  Relaxation(const ScoreProblem& problem, const CodedTable& table, const RoundingSlack& rounding);

  // Improves the bound until the relaxation is solved, or `stopped`; `improved` is called with every better one. Columns that
  // are not listed get no points. Warm start: begins where the last call ended.
  double bound(const std::vector<int>& columns, const std::function<bool()>& stopped,
               const std::function<void(double)>& improved);
  // Warm start of the next call where the other's last one ended; that may have had other rows.
  void start_from(const Relaxation& other);
  // Where it stands: the intercept, then a point for every column. While `improved` is called, where that bound comes from.
  std::vector<double> point() const;

 private:
  double fit(const std::vector<int>& columns, const std::function<bool()>& stopped,
             const std::function<void(double)>& improved);
  void evaluate();
  void compute_gradient(const std::vector<int>& columns);
  std::vector<std::size_t> active_columns(const std::vector<int>& columns) const;
  void build_model(const std::vector<std::size_t>& active, const std::function<bool()>& stopped, double& intercept_curvature);
  double tangent_bound(const std::vector<int>& columns) const;
  double scaled_norm(const std::vector<int>& columns) const;
  double limit_towards(std::size_t column, double point) const;

  const ScoreProblem& problem_;
  const CodedTable& table_;
  const RoundingSlack& rounding_;
  std::vector<double> low_, high_;  // by column, 0 included
  double intercept_ = 0, price_ = 0;
  std::vector<double> point_, gradient_;              // by column
  std::vector<double> score_, residual_, curvature_;  // by row: score, first and second derivative of the loss
  double loss_ = 0, intercept_gradient_ = 0;
  PenalisedQuadratic model_;      // in the active columns
  std::vector<double> coupling_;  // by active column: mixed second derivative with the intercept
};

// Solves the relaxations on a thread of its own, beginning some time after the search.
class RelaxedBounds {
 public:
  RelaxedBounds(const ScoreProblem& problem, const CodedTable& table, const RoundingSlack& rounding,
                const std::vector<int>& columns, double delay, SearchSignals& signals);
  ~RelaxedBounds();
  RelaxedBounds(const RelaxedBounds&) = delete;
  RelaxedBounds& operator=(const RelaxedBounds&) = delete;

  // From now on also bounds supports by their first column in this order.
  void set_order(const std::vector<int>& order);
  // No card is better than this; 0 until known.
  double all() const { return all_; }
  // Where the tangent that proves it touches the loss: an intercept, then by column; empty until known.
  std::vector<double> point() const;
  // Nor is any card whose first column is at this position of the order, or later.
  double from(std::size_t position) const;
  // At how many positions there is a bound of their own.
  std::size_t n_known() const { return n_from_; }

 private:
  void work(const ScoreProblem& problem, const CodedTable& table, const RoundingSlack& rounding,
            const std::vector<int>& columns, double delay);
  bool ended() const { return signals_.stop || done_; }

  SearchSignals& signals_;
  std::atomic<bool> done_{false};
  mutable std::mutex mutex_;
  std::condition_variable woken_;
  std::vector<int> order_;
  bool ordered_ = false;
  std::atomic<double> all_{0};
  std::vector<double> point_;
  std::vector<std::atomic<double>> from_;
  std::atomic<std::size_t> n_from_{0};
  std::thread thread_;
};

}  // namespace surefoot
