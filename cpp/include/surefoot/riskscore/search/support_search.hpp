// Exact search for the best score card: every support is visited or proven worse than a card at hand.
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
};

// As much of a search as is worth keeping: enough to go on from there. Supports of three and more columns whose first two, in the
// order of the search, are among `finished` are no better than the card.
struct SearchSnapshot {
  std::vector<int> order;                    // columns of the table
  std::vector<std::array<int, 2>> finished;  // pairs of columns
  ScoreCard card{std::numeric_limits<double>::infinity(), 0, {}};
};

struct SearchOptions {
  int n_threads = 1;
  double time_limit = std::numeric_limits<double>::infinity();  // seconds
  double gap = 0;         // relative: supports within it of the best card need not be searched
  bool heuristic = true;  // look for a good card first
  bool search = true;     // otherwise look for a good card thoroughly, and leave it at that
  // At or above 0: once the best card is known, collect every card with a value up to (1 + near_optimal) times that of the best, and up
  // to rounding. The search for the best then closes its gap entirely.
  double near_optimal = -1;
  std::size_t near_limit = 10000;  // so many of them are kept, the best ones; all are counted
  // Above 0: write down a proof that no card is better, of up to so many numbers.
  std::size_t proof_limit = 0;
  // Go on from here. What is finished counts only if the order of the columns is the same.
  SearchSnapshot resume;
  // Called by the calling thread every so many seconds while the search for the best card is under way; false ends it.
  std::function<bool(const SearchSnapshot&)> on_snapshot;
  double snapshot_interval = std::numeric_limits<double>::infinity();
  // Both are called by the calling thread, a few times per second; false ends the search. Near-optimal cards come in no fixed order, and
  // each comes once.
  std::function<bool(const SearchProgress&)> on_progress;
  std::function<bool(const std::vector<ScoreCard>&)> on_cards;
};

enum class SearchEnd { complete, time_limit, interrupted };

struct SearchResult {
  SearchEnd end;
  ScoreCard card;                              // value is infinite if there is none
  double lower_bound;                          // no admissible card is better; infinite if a complete search found none
  std::int64_t n_fitted, n_searched, n_boxes;  // supports fitted; supports whose points were searched; boxes fitted in doing so
  double merging_seconds, heuristic_seconds, heuristic_value;
  std::vector<ScoreCard> near_cards;  // sorted by value, then points
  std::int64_t n_near;
  double near_ceiling;  // the value up to which they reach
  bool near_complete;
  ScoreProof proof;
  SearchSnapshot snapshot;  // what the search for the best card came to
};

SearchResult search_supports(const ScoreProblem& problem, const SearchOptions& options);

}  // namespace surefoot
