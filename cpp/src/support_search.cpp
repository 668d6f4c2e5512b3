#include "surefoot/support_search.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>

#include "surefoot/card_heuristic.hpp"
#include "surefoot/column_order.hpp"
#include "surefoot/support_tree.hpp"
#include "surefoot/support_walker.hpp"

namespace surefoot {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

class Clock {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Workers take tasks in the order of their bounds, so the smallest bound of an unfinished task rises as they go; the calling thread
// watches the time and reports.
class Crew {
 public:
  Crew(SharedSearch& shared, const SearchOptions& options, std::vector<SearchTask>& tasks, const Clock& clock)
      : shared_(shared), options_(options), tasks_(tasks), clock_(clock), finished_(tasks.size()) {
    for (auto& flag : finished_) flag = false;
  }

  template <class Tree>
  SearchEnd run(const Tree& tree, const double* root_point) {
    const int n_workers = static_cast<int>(std::clamp<std::size_t>(static_cast<std::size_t>(std::max(options_.n_threads, 1)), 1,
                                                                   std::max<std::size_t>(tasks_.size(), 1)));
    std::vector<std::thread> workers;
    running_ = n_workers;
    for (int k = 0; k < n_workers; ++k) workers.emplace_back([&] { work(tree, root_point); });
    const SearchEnd end = watch();
    for (auto& worker : workers) worker.join();
    if (failure_) std::rethrow_exception(failure_);
    return end;
  }

  double lower_bound() const {
    const double value = shared_.incumbent.value();
    double bound = std::isfinite(value) ? value - shared_.gap * std::fabs(value) : infinity;
    for (std::size_t k = 0; k < tasks_.size(); ++k)
      if (!finished_[k]) bound = std::min(bound, tasks_[k].bound);
    return std::max(bound, 0.0);
  }

 private:
  template <class Tree>
  void work(const Tree& tree, const double* root_point) {
    try {
      auto walker = std::make_unique<SupportWalker<Tree>>(tree, shared_);
      for (std::size_t k = next_++; k < tasks_.size() && !shared_.stop; k = next_++) {
        if (tasks_[k].bound <= shared_.threshold(0)) walker->run(tasks_[k], root_point);
        if (!shared_.stop) finished_[k] = true;
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      shared_.stop = true;
    }
    const std::lock_guard lock(mutex_);
    --running_;
    idle_.notify_all();
  }

  SearchEnd watch() {
    SearchEnd end = SearchEnd::complete;
    double reported = 0;
    std::unique_lock lock(mutex_);
    while (running_ > 0) {
      idle_.wait_for(lock, std::chrono::milliseconds(20));
      if (running_ == 0 || shared_.stop) continue;
      const double now = clock_.seconds();
      if (now >= options_.time_limit) {
        end = SearchEnd::time_limit;
        shared_.stop = true;
      } else if (options_.on_progress && now - reported >= 0.1) {
        reported = now;
        lock.unlock();
        const SearchProgress progress{shared_.incumbent.value(), lower_bound(), now, shared_.n_fitted};
        if (!options_.on_progress(progress)) {
          end = SearchEnd::interrupted;
          shared_.stop = true;
        }
        lock.lock();
      }
    }
    return end;
  }

  SharedSearch& shared_;
  const SearchOptions& options_;
  std::vector<SearchTask>& tasks_;
  const Clock& clock_;
  std::vector<std::atomic<bool>> finished_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::condition_variable idle_;
  int running_ = 0;
  std::exception_ptr failure_;
};

template <class Tree>
SearchEnd walk(const Tree& tree, SharedSearch& shared, const SearchOptions& options, const Clock& clock, double& lower_bound) {
  // The best intercept of a card without columns, within its limits.
  const ScoreProblem& problem = shared.problem;
  double positive = 0, total = 0;
  for (std::size_t i = 0; i < problem.table.n_rows; ++i) {
    total += problem.table.weights[i];
    if (problem.table.labels[i] > 0) positive += problem.table.weights[i];
  }
  const double log_odds = positive <= 0 ? -infinity : positive >= total ? infinity : std::log(positive / (total - positive));
  const double root_point =
      std::clamp(log_odds, static_cast<double>(shared.intercept_low), static_cast<double>(shared.intercept_high));
  std::vector<SearchTask> tasks = std::make_unique<SupportWalker<Tree>>(tree, shared)->begin(&root_point);
  std::stable_sort(tasks.begin(), tasks.end(), [](const SearchTask& a, const SearchTask& b) { return a.bound < b.bound; });
  Crew crew(shared, options, tasks, clock);
  const SearchEnd end = clock.seconds() < options.time_limit ? crew.run(tree, &root_point) : SearchEnd::time_limit;
  lower_bound = crew.lower_bound();
  return end;
}

// The card without columns, which no tree visits.
class EmptyCard final : public CardListener {
 public:
  explicit EmptyCard(IncumbentCard& incumbent) : incumbent_(incumbent) {}
  double threshold() const override { return incumbent_.value(); }
  void offer(const int* points, double) override { incumbent_.offer(nullptr, 0, points); }
  bool stopped() const override { return false; }

 private:
  IncumbentCard& incumbent_;
};

void offer_empty_card(const ScoreProblem& problem, const CodedTable& table, double slack, IncumbentCard& incumbent) {
  if (!problem.rules.admits(nullptr, 0)) return;
  ScoreCells cells;
  RowPartition(table.n_rows()).write_cells(table, nullptr, 0, cells);
  EmptyCard listener(incumbent);
  const double start = 0;
  search_points(cells, problem.range(nullptr, 0, problem.intercept_lower, problem.intercept_upper), slack, &start, listener);
}

}  // namespace

SearchResult search_supports(const ScoreProblem& problem, const SearchOptions& options) {
  const Clock clock;
  const CodedTable table = merge_rows(problem.table);
  const double slack = rounding_slack(problem);
  const std::vector<int> usable = usable_columns(problem, table);
  IncumbentCard incumbent(table, problem.penalty);
  offer_empty_card(problem, table, slack, incumbent);
  if (options.heuristic)
    seek_card(problem, table, usable, slack, incumbent, [&] { return clock.seconds() >= options.time_limit; });
  SearchResult result{};
  result.heuristic_seconds = clock.seconds();
  result.heuristic_value = incumbent.value();
  int low, high;
  tighten_intercept(problem, table, usable, incumbent.value(), low, high);
  const ColumnOrder order = order_columns(problem, table, usable, slack, low, high);
  ColumnLimits limits{{}, {}, static_cast<double>(low), static_cast<double>(high), slack};
  for (const int column : order.columns) {
    limits.lower.push_back(problem.lowest(column));
    limits.upper.push_back(problem.highest(column));
  }
  SharedSearch shared{problem, options.gap, order, limits, low, high, incumbent};
  const bool binary =
      problem.max_size <= max_binary_columns && !order.columns.empty() && BitColumns::fits(problem.table, order.columns);
  if (binary)
    result.end = walk(BinaryTree(problem.table, order.columns, limits, problem.max_size, options.n_threads), shared, options,
                      clock, result.lower_bound);
  else
    result.end = walk(RowTree(table, order.columns, limits), shared, options, clock, result.lower_bound);
  result.card = incumbent.best();
  result.n_fitted = shared.n_fitted;
  result.n_searched = shared.n_searched;
  result.n_boxes = shared.n_boxes;
  return result;
}

}  // namespace surefoot
