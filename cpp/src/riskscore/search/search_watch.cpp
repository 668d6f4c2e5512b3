#include "surefoot/riskscore/search/search_watch.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace surefoot {
namespace {

constexpr auto glance = std::chrono::milliseconds(10);
constexpr double report_interval = 0.1;  // seconds

class Watcher {
 public:
  Watcher(SearchSignals& signals, const SearchOptions& options, const SearchClock& clock)
      : signals_(signals), options_(options), clock_(clock) {}

  SearchEnd run(const std::function<void()>& work) {
    // No time at all still buys what costs next to nothing, but no search.
    look_at_clock();
    std::thread worker;
    try {
      worker = std::thread([&] { carry_out(work); });
    } catch (const std::system_error&) {
      // A machine that grants no thread is served unwatched, unless cards would wait for somebody to take them.
      if (options_.on_cards) throw;
      work();
      return end_;
    }
    try {
      look_on();
    } catch (...) {
      signals_.stop = true;
      worker.join();
      throw;
    }
    worker.join();
    if (failure_) std::rethrow_exception(failure_);
    pass_on_cards();
    return end_;
  }

 private:
  void carry_out(const std::function<void()>& work) {
    try {
      work();
    } catch (...) {
      failure_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    done_ = true;
    finished_.notify_all();
  }

  void look_on() {
    double reported = 0, kept = 0;
    std::unique_lock lock(mutex_);
    while (!finished_.wait_for(lock, glance, [&] { return done_; })) {
      if (signals_.stop) continue;
      lock.unlock();
      look_at_clock();
      pass_on_cards();
      if (options_.on_progress && !signals_.stop && clock_.seconds() - reported >= report_interval) {
        reported = clock_.seconds();
        if (!options_.on_progress({signals_.upper_bound, signals_.lower_bound, reported, signals_.n_fitted}))
          end_here(SearchEnd::interrupted);
      }
      if (options_.on_snapshot && !signals_.stop && clock_.seconds() - kept >= options_.snapshot_interval) {
        kept = clock_.seconds();
        if (!options_.on_snapshot(signals_.snapshot.now())) end_here(SearchEnd::interrupted);
      }
      lock.lock();
    }
  }

  void look_at_clock() {
    if (!signals_.stop && clock_.seconds() >= options_.time_limit) end_here(SearchEnd::time_limit);
  }

  void pass_on_cards() {
    NearCards* cards = signals_.near_cards;
    if (!cards || !options_.on_cards) return;
    const auto waiting = cards->take_waiting();
    if (!waiting.empty() && !options_.on_cards(waiting)) end_here(SearchEnd::interrupted);
  }

  void end_here(SearchEnd end) {
    end_ = end;
    signals_.stop = true;
  }

  SearchSignals& signals_;
  const SearchOptions& options_;
  const SearchClock& clock_;
  SearchEnd end_ = SearchEnd::complete;
  std::mutex mutex_;
  std::condition_variable finished_;
  bool done_ = false;
  std::exception_ptr failure_;
};

}  // namespace

SearchEnd watch(SearchSignals& signals, const SearchOptions& options, const SearchClock& clock,
                const std::function<void()>& work) {
  return Watcher(signals, options, clock).run(work);
}

}  // namespace surefoot
