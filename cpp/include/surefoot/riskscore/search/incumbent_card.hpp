// The incumbent of all threads: the best score card so far.
#pragma once

#include <atomic>
#include <mutex>
#include <tuple>
#include <vector>

#include "surefoot/riskscore/problem/score_problem.hpp"
#include "surefoot/riskscore/table/row_partition.hpp"

namespace surefoot {

struct ScoreCard {
  double value;  // loss + penalty * number of columns
  int intercept;
  std::vector<int> points;  // by column of the table
  double multiplier = 1;    // the risk is that of score / multiplier
};

// By value, then by points and intercept: no two cards of a table are equal.
inline bool better_card(const ScoreCard& a, const ScoreCard& b) {
  return std::tie(a.value, a.points, a.intercept) < std::tie(b.value, b.points, b.intercept);
}

// The card with `points` in some of n_columns columns; points[0] is the intercept.
ScoreCard make_card(double value, int n_columns, const int* columns, int n, const int* points, double multiplier = 1);

// At a free scale a card and its multiples are the same, if the multiplier allows. The largest number by which a card's points
// and intercept can be divided, and its multiplier too, such that they are whole and within all limits and lists of points.
int common_divisor(const ScoreProblem& problem, const ScoreCard& card);

// Cards are compared by their value, summed over the merged rows in one fixed order whoever found them, then by their points
// and intercept. A card as good as the best is never pruned, so the winner does not depend on which thread was faster.
class IncumbentCard {
 public:
  IncumbentCard(const ScoreProblem& problem, const CodedTable& table);

  double value() const { return value_.load(std::memory_order_relaxed); }
  ScoreCard best() const;

  // `columns` and `points` of the card's support; points[0] is the intercept.
  void offer(const int* columns, int n, const int* points);
  // A card with points for every column of the table, or for none: then it is no card. Its value is computed anew.
  void offer(const ScoreCard& card);

 private:
  // At a free scale: takes the smallest points that say the same.
  void reduce(ScoreCard& card) const;

  const ScoreProblem& problem_;
  const CodedTable& table_;
  std::atomic<double> value_;
  mutable std::mutex mutex_;
  ScoreCard best_;
};

}  // namespace surefoot
