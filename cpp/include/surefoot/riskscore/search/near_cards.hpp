// The solution pool: every card within a tolerance of the best, all counted and passed on, the best of them stored.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "surefoot/riskscore/search/incumbent_card.hpp"

namespace surefoot {

// Cards arrive from any thread, each once. Which of them are stored depends on their values and points alone, not on who came
// first; the order in which they are passed on does depend on it. Values come from the cells of a support, which saves a pass
// over the rows for every card, and are rounded to 13 decimals.
//
// At a free scale a card has multiples that predict the same; only the one with the smallest points is taken.
struct NearCardParameters {
  // Cards that wait to be passed on: enough to make a call for them worthwhile, few enough to be small beside the pool. Not
  // tuned.
  std::size_t max_waiting = 4096;
  // Milliseconds after which a thread that waits for the queue to be emptied polls `stop`: whoever sets it need not know who
  // waits. Not tuned.
  int poll_milliseconds = 50;
};

class NearCards {
 public:
  // Takes cards with a value up to `ceiling`. With `passed_on` every card also waits for `take_waiting`.
  NearCards(double ceiling, std::size_t limit, bool passed_on, const NearCardParameters& parameters = {});

  double ceiling() const { return ceiling_; }
  // May wait until somebody takes the cards that are waiting, or until `stop`.
  void offer(const ScoreProblem& problem, ScoreCard card, const std::atomic<bool>& stop);
  std::vector<ScoreCard> take_waiting();
  // Wakes those who wait in `offer`, so that they look at `stop` again.
  void wake() { emptied_.notify_all(); }

  std::int64_t count() const;
  // The pool, best first.
  std::vector<ScoreCard> sorted() const;

 private:
  const double ceiling_;
  const std::size_t limit_;
  const bool passed_on_;
  const NearCardParameters parameters_;
  mutable std::mutex mutex_;
  std::condition_variable emptied_;
  std::int64_t count_ = 0;
  std::vector<ScoreCard> pool_;  // a heap whose first card is the worst
  std::vector<ScoreCard> waiting_;
};

}  // namespace surefoot
