// Branch and bound over supports for the risk score problem (score_problem.hpp).
//
// 1. Presolve: merge equal rows, drop columns that cannot have points, tighten the limits of the intercept (column_order.hpp).
// 2. Incumbent: a beam search with exchanges of columns finds a good card (card_heuristic.hpp).
// 3. Root: order the columns by the loss of a single one, best first; process the nodes of up to one column.
// 4. Nodes: threads take open nodes by best bound and process their subtrees depth first (search_worker.hpp). A bound is a
//    tangent plane of the convex loss minimised over a box, less what rounding can add (rounding_slack.hpp).
// 5. Dual bound: the smallest bound of an unfinished subtree, or of the convex relaxation of small supports, which is solved on
//    a thread of its own (relaxed_bound.hpp).
// Terminates when no open node has a bound below (1 - gap) times the incumbent, at the time limit, or when a callback says so.
//
// Branching on one column at a time in a fixed order: Narendra and Fukunaga, A branch and bound algorithm for feature subset
// selection (IEEE Transactions on Computers, 1977). Bounds from convex relaxations: Land and Doig (Econometrica, 1960).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "surefoot/riskscore/problem/score_problem.hpp"
#include "surefoot/riskscore/problem/score_proof.hpp"
#include "surefoot/riskscore/search/incumbent_card.hpp"

namespace surefoot {

struct SearchProgress {
  double upper_bound, lower_bound, seconds;
  std::int64_t n_fitted;  // supports fitted so far
  // Of the supports in subtrees that are finished, or still open with a bound below the threshold, the fraction that is finished.
  // NaN before there are subtrees.
  double fraction_done;
};

// The state of a search from which another one can resume. Supports of three and more columns whose first two, in the order of
// the search, are among `finished` are no better than the card.
struct SearchSnapshot {
  std::vector<int> order;                    // columns of the table
  std::vector<std::array<int, 2>> finished;  // pairs of columns
  ScoreCard card{std::numeric_limits<double>::infinity(), 0, {}};
};

struct SearchParameters {
  // Seconds before the relaxation is fitted: most searches are over by then, and have no use for a bound on the way. It takes a
  // thread from the search. Not tuned.
  double relaxation_delay = 1;
  // The same as a fraction of the time limit, so that a stopped search has a bound. Not tuned.
  double relaxation_time_fraction = 0.25;
  // Seconds between looks at the clock and at cards to pass on: how late a time limit can be. Not tuned.
  double poll_interval = 0.01;
  // Seconds between calls of `on_progress`. Not tuned.
  double report_interval = 0.1;
};

struct SearchOptions {
  int n_threads = 1;
  double time_limit = std::numeric_limits<double>::infinity();  // seconds
  double gap = 0;         // relative: supports within it of the best card need not be searched
  bool heuristic = true;  // look for an incumbent first
  bool search = true;     // otherwise look for an incumbent thoroughly, and end there
  // At or above 0: once the best card is known, collect every card with a value up to (1 + near_optimal) times that of the
  // best, and up to rounding. The search for the best then closes its gap entirely.
  double near_optimal = -1;
  std::size_t near_limit = 10000;  // size of the pool of the best of them; all are counted
  // Above 0: log a proof that no card is better, of up to so many numbers.
  std::size_t proof_limit = 0;
  // Resume from here. What is finished counts only if the order of the columns is the same.
  SearchSnapshot resume;
  // Called by the calling thread every so many seconds while the search for the best card is under way; false ends it.
  std::function<bool(const SearchSnapshot&)> on_snapshot;
  double snapshot_interval = std::numeric_limits<double>::infinity();
  // Both are called by the calling thread, a few times per second; false ends the search. Near-optimal cards come in no fixed
  // order, and each comes once.
  std::function<bool(const SearchProgress&)> on_progress;
  std::function<bool(const std::vector<ScoreCard>&)> on_cards;
  SearchParameters parameters;
};

// Why a search ended; exported to Python under the same names.
enum class SearchEnd { complete, time_limit, interrupted };

struct SearchResult {
  SearchEnd end;
  ScoreCard card;                              // value is infinite if there is none
  double lower_bound;                          // no admissible card is better; infinite if a complete search found none
  std::int64_t n_fitted, n_searched, n_boxes;  // supports fitted; supports whose points were searched; boxes fitted in doing so
  double merging_seconds, heuristic_seconds, heuristic_value;
  std::vector<ScoreCard> near_cards;  // sorted by value, then points
  std::int64_t n_near;
  double near_ceiling;  // their largest admissible value
  bool near_complete;
  ScoreProof proof;
  // Where the tangent of the loss proves a bound of all cards by itself: an intercept, then by column; empty if there was no time.
  std::vector<double> relaxed_point;
  SearchSnapshot snapshot;  // where the search for the best card ended
};

SearchResult search_supports(const ScoreProblem& problem, const SearchOptions& options);

}  // namespace surefoot
