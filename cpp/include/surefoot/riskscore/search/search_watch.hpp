// A search at work in threads of its own, and the calling thread that looks on: time, interrupts, progress, cards to pass on.
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

class SnapshotKeeper {
 public:
  void begin(SearchSnapshot snapshot) {
    const std::lock_guard lock(mutex_);
    kept_ = std::move(snapshot);
  }
  // The card is no worse than all that has been finished.
  void finish(const std::array<int, 2>& pair, ScoreCard card) {
    const std::lock_guard lock(mutex_);
    kept_.finished.push_back(pair);
    kept_.card = std::move(card);
  }
  void improve(ScoreCard card) {
    const std::lock_guard lock(mutex_);
    kept_.card = std::move(card);
  }
  SearchSnapshot now() const {
    const std::lock_guard lock(mutex_);
    return kept_;
  }

 private:
  mutable std::mutex mutex_;
  SearchSnapshot kept_;
};

// What the two sides tell each other. Every part of a search looks at `stop` often enough to end within a few hundredths of a second.
struct SearchSignals {
  std::atomic<bool> stop{false};
  std::atomic<double> upper_bound{std::numeric_limits<double>::infinity()}, lower_bound{0};
  std::atomic<std::int64_t> n_fitted{0};
  std::atomic<NearCards*> near_cards{nullptr};
  SnapshotKeeper snapshot;
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

// Runs `work` on another thread until it is done; says why it was told to stop, if it was. What `work` throws reaches the caller.
SearchEnd watch(SearchSignals& signals, const SearchOptions& options, const SearchClock& clock,
                const std::function<void()>& work);

}  // namespace surefoot
