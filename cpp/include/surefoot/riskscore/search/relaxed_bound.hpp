// What no score card can beat, long before a search is done: the convex relaxation of small supports.
//
// Points of a column reach from l_j to u_j, or are 0, and at most k columns have any. The convex hull of such points is
//   { p : l_j <= p_j <= u_j (0 included),   sum_j |p_j| / reach_j <= k },    reach_j = u_j where p_j > 0, -l_j where p_j < 0,
// and the loss L is convex, so at any point p with slopes g, for every card q,
//   L(q) + penalty * size(q) >= L(p) + g . (q - p) + penalty * size(q)
//                            >= L(p) - sum_j g_j p_j + min over the intercept of g_0 q_0 - (the k largest of max(gain_j - penalty, 0)),
// gain_j = -min(g_j l_j, g_j u_j). It is largest where p minimises the loss over the hull. Lagrange: quadratic models of
// L(p) + price * sum_j |p_j| / reach_j (priced_quadratic.hpp), bisecting the price until the sum is k. The bound holds wherever that
// stops, and wherever p comes from: of many rows, a sample finds p first, and all of them are needed for the tangent only.
//
// Columns are in the order of the search. A support whose first column is e has no earlier one: relaxing the columns from e on bounds
// all of them, and better than relaxing all columns.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "surefoot/riskscore/fit/priced_quadratic.hpp"
#include "surefoot/riskscore/problem/score_problem.hpp"
#include "surefoot/riskscore/search/rounding_slack.hpp"
#include "surefoot/riskscore/search/search_watch.hpp"
#include "surefoot/riskscore/table/row_partition.hpp"

namespace surefoot {

// The best bound found for supports within some columns, and the fit that gave it.
class Relaxation {
 public:
  Relaxation(const ScoreProblem& problem, const CodedTable& table, const RoundingSlack& rounding);

  // Improves the bound until it is within a thousandth of its limit, or `stopped`; `improved` hears of every better one. Columns that are
  // not listed get no points. Starts where the last call ended.
  double bound(const std::vector<int>& columns, const std::function<bool()>& stopped,
               const std::function<void(double)>& improved);
  // The next call starts where the other's last one ended; that may have seen other rows.
  void start_from(const Relaxation& other);

 private:
  double fit(const std::vector<int>& columns, const std::function<bool()>& stopped,
             const std::function<void(double)>& improved);
  void refresh();
  void find_slopes(const std::vector<int>& columns);
  std::vector<std::size_t> active_columns(const std::vector<int>& columns) const;
  void model(const std::vector<std::size_t>& active, const std::function<bool()>& stopped, double& square);
  double tangent_bound(const std::vector<int>& columns) const;
  double spread(const std::vector<int>& columns) const;
  double reach(std::size_t column, double point) const;

  const ScoreProblem& problem_;
  const CodedTable& table_;
  const RoundingSlack& rounding_;
  std::vector<double> low_, high_;  // by column, 0 included
  double intercept_ = 0, price_ = 0;
  std::vector<double> point_, slope_;            // by column
  std::vector<double> score_, residual_, bend_;  // by row
  double loss_ = 0, intercept_slope_ = 0;
  PricedQuadratic model_;     // in the active columns
  std::vector<double> lean_;  // by active column: mixed second derivative with the intercept
};

// Works out these bounds on a thread of its own, beginning some time after the search.
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
  // Nor is any card whose first column is at this position of the order, or later.
  double from(std::size_t position) const;
  // At how many positions that is more than what is known of all cards.
  std::size_t n_known() const { return n_from_; }

 private:
  void work(const ScoreProblem& problem, const CodedTable& table, const RoundingSlack& rounding,
            const std::vector<int>& columns, double delay);
  bool ended() const { return signals_.stop || done_; }

  SearchSignals& signals_;
  std::atomic<bool> done_{false};
  std::mutex mutex_;
  std::condition_variable woken_;
  std::vector<int> order_;
  bool ordered_ = false;
  std::atomic<double> all_{0};
  std::vector<std::atomic<double>> from_;
  std::atomic<std::size_t> n_from_{0};
  std::thread thread_;
};

}  // namespace surefoot
