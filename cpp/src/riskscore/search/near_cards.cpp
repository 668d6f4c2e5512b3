#include "surefoot/riskscore/search/near_cards.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace surefoot {
namespace {

// Enough to make a call for them worth while, few enough to be small beside the cards that are kept.
constexpr std::size_t most_waiting = 4096;

// Cards that are equal but for rounding get equal values, and are told apart by their points.
double rounded(double value) { return std::round(value * 1e13) / 1e13; }

}  // namespace

NearCards::NearCards(double ceiling, std::size_t limit, bool passed_on)
    : ceiling_(ceiling), limit_(limit), passed_on_(passed_on) {}

void NearCards::offer(const ScoreProblem& problem, ScoreCard card, const std::atomic<bool>& stop) {
  if (!(card.value <= ceiling_)) return;
  if (problem.scale.free() && common_divisor(problem, card) > 1) return;
  card.value = rounded(card.value);
  std::unique_lock lock(mutex_);
  if (passed_on_) {
    // Looks at `stop` by itself now and then: whoever sets it need not know who waits.
    while (waiting_.size() >= most_waiting && !stop) room_.wait_for(lock, std::chrono::milliseconds(50));
    if (stop) return;
    waiting_.push_back(card);
  }
  ++count_;
  if (limit_ == 0) return;
  if (kept_.size() == limit_) {
    if (!better_card(card, kept_.front())) return;
    std::pop_heap(kept_.begin(), kept_.end(), better_card);
    kept_.pop_back();
  }
  kept_.push_back(std::move(card));
  std::push_heap(kept_.begin(), kept_.end(), better_card);
}

std::vector<ScoreCard> NearCards::take_waiting() {
  std::vector<ScoreCard> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(waiting_);
  }
  room_.notify_all();
  return taken;
}

std::int64_t NearCards::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

std::vector<ScoreCard> NearCards::sorted() const {
  const std::lock_guard lock(mutex_);
  std::vector<ScoreCard> cards = kept_;
  std::sort(cards.begin(), cards.end(), better_card);
  return cards;
}

}  // namespace surefoot
