// Every card within a tolerance of the best: the best few kept, all of them counted and passed on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "surefoot/riskscore/search/incumbent_card.hpp"

namespace surefoot {

// Cards arrive from any thread, each once. Which of them are kept depends on their values and points alone, not on who came first; the
// order in which they are passed on does depend on it. Values come from the cells of a support, which saves a pass over the rows for
// every card, and are rounded to 13 decimals.
//
// At a free scale a card has multiples that predict the same; only the one with the smallest points is taken.
class NearCards {
 public:
  // Takes cards with a value up to `ceiling`. With `passed_on` every card also waits for `take_waiting`.
  NearCards(double ceiling, std::size_t limit, bool passed_on);

  double ceiling() const { return ceiling_; }
  // May wait until somebody takes the cards that are waiting, or until `stop`.
  void offer(const ScoreProblem& problem, ScoreCard card, const std::atomic<bool>& stop);
  std::vector<ScoreCard> take_waiting();
  // Wakes those who wait in `offer`, so that they look at `stop` again.
  void wake() { room_.notify_all(); }

  std::int64_t count() const;
  // The kept cards, best first.
  std::vector<ScoreCard> sorted() const;

 private:
  const double ceiling_;
  const std::size_t limit_;
  const bool passed_on_;
  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::int64_t count_ = 0;
  std::vector<ScoreCard> kept_;  // a heap with the worst card on top
  std::vector<ScoreCard> waiting_;
};

}  // namespace surefoot
