#include "surefoot/riskscore/search/search_monitor.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace surefoot {
namespace {

class SearchMonitor {
 public:
  SearchMonitor(SearchSignals& signals, const SearchOptions& options, const SearchClock& clock)
      : signals_(signals), options_(options), clock_(clock) {}

  SearchEnd run(const std::function<void()>& work) {
    // Without any time there is still the card without columns, but no search.
    check_time();
    std::thread worker;
    try {
      worker = std::thread([&] { run_work(work); });
    } catch (const std::system_error&) {
      // A machine that grants no thread runs the search unmonitored, unless cards would wait for somebody to take them.
      if (options_.on_cards) throw;
      work();
      return end_;
    }
    try {
      poll();
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
  void run_work(const std::function<void()>& work) {
    try {
      work();
    } catch (...) {
      failure_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    done_ = true;
    finished_.notify_all();
  }

  void poll() {
    const std::chrono::duration<double> poll_interval(options_.parameters.poll_interval);
    double reported = 0, saved = 0;
    std::unique_lock lock(mutex_);
    while (!finished_.wait_for(lock, poll_interval, [&] { return done_; })) {
      if (signals_.stop) continue;
      lock.unlock();
      check_time();
      pass_on_cards();
      if (options_.on_progress && !signals_.stop && clock_.seconds() - reported >= options_.parameters.report_interval) {
        reported = clock_.seconds();
        if (!options_.on_progress(
                {signals_.upper_bound, signals_.lower_bound, reported, signals_.n_fitted, signals_.fraction_done}))
          end_here(SearchEnd::interrupted);
      }
      if (options_.on_snapshot && !signals_.stop && clock_.seconds() - saved >= options_.snapshot_interval) {
        saved = clock_.seconds();
        if (!options_.on_snapshot(signals_.snapshot.now())) end_here(SearchEnd::interrupted);
      }
      lock.lock();
    }
  }

  void check_time() {
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

SearchEnd run_monitored(SearchSignals& signals, const SearchOptions& options, const SearchClock& clock,
                        const std::function<void()>& work) {
  return SearchMonitor(signals, options, clock).run(work);
}

}  // namespace surefoot
