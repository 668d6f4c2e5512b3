// A search runs in threads of its own; the calling thread monitors it: time limit, interrupts, progress, checkpoints, cards to
// pass on.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <utility>

#include "surefoot/riskscore/search/near_cards.hpp"
#include "surefoot/riskscore/search/support_search.hpp"

namespace surefoot {

// The state to resume from, as of the last finished subtree.
class SnapshotStore {
 public:
  void begin(SearchSnapshot snapshot) {
    const std::lock_guard lock(mutex_);
    latest_ = std::move(snapshot);
  }
  // The card is no worse than all that has been finished.
  void finish(const std::array<int, 2>& pair, ScoreCard card) {
    const std::lock_guard lock(mutex_);
    latest_.finished.push_back(pair);
    latest_.card = std::move(card);
  }
  void improve(ScoreCard card) {
    const std::lock_guard lock(mutex_);
    latest_.card = std::move(card);
  }
  SearchSnapshot now() const {
    const std::lock_guard lock(mutex_);
    return latest_;
  }

 private:
  mutable std::mutex mutex_;
  SearchSnapshot latest_;
};

// What both sides communicate by. Every part of a search polls `stop` often enough to end within a few hundredths of a second.
struct SearchSignals {
  std::atomic<bool> stop{false};
  std::atomic<double> upper_bound{std::numeric_limits<double>::infinity()}, lower_bound{0};
  std::atomic<std::int64_t> n_fitted{0};
  std::atomic<double> fraction_done{std::numeric_limits<double>::quiet_NaN()};  // see SearchProgress
  std::atomic<NearCards*> near_cards{nullptr};
  SnapshotStore snapshot;
};

// Sets a bound to at least `value`.
inline void raise(std::atomic<double>& bound, double value) {
  double known = bound;
  while (known < value && !bound.compare_exchange_weak(known, value)) {
  }
}

class SearchClock {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Runs `work` on another thread and monitors it; returns why it ended. What `work` throws is thrown here.
SearchEnd run_monitored(SearchSignals& signals, const SearchOptions& options, const SearchClock& clock,
                        const std::function<void()>& work);

}  // namespace surefoot
