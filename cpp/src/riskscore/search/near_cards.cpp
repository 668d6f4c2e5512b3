#include "surefoot/riskscore/search/near_cards.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace surefoot {
namespace {

// Cards that are equal but for rounding get equal values, and are ordered by their points.
double rounded(double value) { return std::round(value * 1e13) / 1e13; }

}  // namespace

NearCards::NearCards(double ceiling, std::size_t limit, bool passed_on, const NearCardParameters& parameters)
    : ceiling_(ceiling), limit_(limit), passed_on_(passed_on), parameters_(parameters) {}

void NearCards::offer(const ScoreProblem& problem, ScoreCard card, const std::atomic<bool>& stop) {
  if (!(card.value <= ceiling_)) return;
  if (problem.scale.free() && common_divisor(problem, card) > 1) return;
  card.value = rounded(card.value);
  std::unique_lock lock(mutex_);
  if (passed_on_) {
    while (waiting_.size() >= parameters_.max_waiting && !stop)
      emptied_.wait_for(lock, std::chrono::milliseconds(parameters_.poll_milliseconds));
    if (stop) return;
    waiting_.push_back(card);
  }
  ++count_;
  if (limit_ == 0) return;
  if (pool_.size() == limit_) {
    if (!better_card(card, pool_.front())) return;
    std::pop_heap(pool_.begin(), pool_.end(), better_card);
    pool_.pop_back();
  }
  pool_.push_back(std::move(card));
  std::push_heap(pool_.begin(), pool_.end(), better_card);
}

std::vector<ScoreCard> NearCards::take_waiting() {
  std::vector<ScoreCard> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(waiting_);
  }
  emptied_.notify_all();
  return taken;
}

std::int64_t NearCards::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

std::vector<ScoreCard> NearCards::sorted() const {
  const std::lock_guard lock(mutex_);
  std::vector<ScoreCard> cards = pool_;
  std::sort(cards.begin(), cards.end(), better_card);
  return cards;
}

}  // namespace surefoot
