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

namespace surefoot {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

class Clock {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// A subtree for a thread: all supports that begin with a prefix.
struct Task {
  std::vector<int> prefix;
  std::vector<std::vector<double>> points;  // fit of every node from the first column to the prefix
  std::vector<int> candidates;
  double bound;  // of every support in it
};

// What all threads share.
struct Shared {
  const ScoreProblem& problem;
  const SearchOptions& options;
  const ColumnOrder& order;
  const ColumnLimits& limits;
  int intercept_low, intercept_high;
  IncumbentCard& incumbent;
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> n_fitted{0}, n_searched{0}, n_boxes{0};

  // Supports of n columns with a larger loss cannot beat the best card by more than the gap.
  double threshold(int n) const {
    const double value = incumbent.value();
    if (!std::isfinite(value)) return infinity;
    return value - options.gap * std::fabs(value) - problem.penalty * n;
  }
};

// Sum of the largest few numbers seen so far.
class Largest {
 public:
  explicit Largest(int count) : count_(count) {}
  void add(double value) {
    if (n_ < count_)
      kept_[n_++] = value;
    else if (count_ > 0 && value > kept_[count_ - 1])
      kept_[count_ - 1] = value;
    else
      return;
    for (int k = n_ - 1; k > 0 && kept_[k] > kept_[k - 1]; --k) std::swap(kept_[k], kept_[k - 1]);
  }
  double sum(int n) const {
    double total = 0;
    for (int k = 0; k < std::min(n, n_); ++k) total += kept_[k];
    return total;
  }
  // Sum of the n largest without one number that was added.
  double sum_without(double value, int n) const {
    double total = 0;
    bool found = false;
    for (int k = 0; k < n_ && n > 0; ++k) {
      if (!found && kept_[k] == value) {
        found = true;
        continue;
      }
      total += kept_[k];
      --n;
    }
    return total;
  }

 private:
  int count_, n_ = 0;
  double kept_[max_coordinates + 1] = {};
};

template <class Tree>
class Walker final : public CardListener {
 public:
  Walker(const Tree& tree, Shared& shared) : tree_(tree), shared_(shared), n_(static_cast<int>(shared.order.columns.size())) {
    levels_.resize(static_cast<std::size_t>(shared.problem.max_size) + 1);
    for (auto& level : levels_) level.gradient.resize(static_cast<std::size_t>(n_));
  }

  // Supports of one and two columns; what follows them is left as tasks.
  std::vector<Task> begin(const double* root_point) {
    tree_.open_root(root_point, levels_[0].node);
    levels_[0].candidates.resize(static_cast<std::size_t>(n_));
    for (int e = 0; e < n_; ++e) levels_[0].candidates[static_cast<std::size_t>(e)] = e;
    visit(0, 2);
    return std::move(tasks_);
  }

  void run(const Task& task, const double* root_point) {
    tree_.open_root(root_point, levels_[0].node);
    for (std::size_t d = 0; d < task.prefix.size(); ++d)
      tree_.open(levels_[d].node, task.prefix[d], task.points[d].data(), task.candidates, levels_[d + 1].node);
    levels_[task.prefix.size()].candidates = task.candidates;
    visit(static_cast<int>(task.prefix.size()), max_coordinates);
  }

  double threshold() const override { return shared_.threshold(searched_size_); }
  bool stopped() const override { return shared_.stop.load(std::memory_order_relaxed); }
  void offer(const int* points, double) override { shared_.incumbent.offer(searched_, searched_size_, points); }

 private:
  struct Level {
    typename Tree::Node node;
    std::vector<int> candidates, children;
    std::vector<double> gradient, gain, child_bound;
    std::vector<ChildFit> fits;
  };

  // Bounds what adding a column can gain. At the node's fit the loss has slope g_j along column j, so by convexity points p_j change
  // it by at least g_j p_j: a support that adds the columns A to the prefix has a loss of at least
  //   base - sum over j in A of gain_j,   gain_j = -min over the points of j of g_j p_j,
  // and A has at most `room` columns.
  void visit(int depth, int task_depth) {
    if (stopped()) return;
    Level& level = levels_[static_cast<std::size_t>(depth)];
    const ScoreProblem& problem = shared_.problem;
    const int room = problem.max_size - depth;
    if (room == 0 || level.candidates.empty()) return;
    screen(level, room);
    if (level.children.empty()) return;
    const bool leaves = room == 1;
    tree_.fit_children_of(level.node, level.children, shared_.threshold(depth + 1), !leaves, level.fits);
    shared_.n_fitted.fetch_add(static_cast<std::int64_t>(level.children.size()), std::memory_order_relaxed);
    for (std::size_t k = 0; k < level.children.size(); ++k)
      if (level.fits[k].bound <= shared_.threshold(depth + 1)) search_support(level, level.children[k], level.fits[k]);
    if (leaves) return;
    for (std::size_t k = 0; k < level.children.size() && !stopped(); ++k) {
      const int e = level.children[k];
      Level& next = levels_[static_cast<std::size_t>(depth) + 1];
      const auto after = std::upper_bound(level.candidates.begin(), level.candidates.end(), e);
      next.candidates.assign(after, level.candidates.end());
      if (next.candidates.empty() || excluded(level, e, next.candidates, room - 1)) continue;
      if (depth + 1 == task_depth)
        leave_task(depth, e, level.fits[k], next.candidates, level.child_bound[k]);
      else {
        tree_.open(level.node, e, level.fits[k].point, next.candidates, next.node);
        visit(depth + 1, task_depth);
      }
    }
  }

  // Leaves in `candidates` the columns that any good support beyond the prefix can hold, in `children` those that can come next.
  void screen(Level& level, int room) {
    const double threshold = shared_.threshold(level.node.depth + 1);
    const auto& limits = shared_.limits;
    tree_.gradients(level.node, level.candidates, level.gradient.data());
    Largest all(room), later(room - 1);
    const std::size_t n = level.candidates.size();
    level.gain.resize(n);
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t e = static_cast<std::size_t>(level.candidates[k]);
      const double g = level.gradient[e];
      level.gain[k] = -std::min(g * limits.lower[e], g * limits.upper[e]);
      all.add(std::max(level.gain[k], 0.0));
    }
    level.children.clear();
    level.child_bound.clear();
    std::size_t kept = n;
    // From the last to the first, so that `later` holds what can still be added after a child.
    for (std::size_t k = n; k-- > 0;) {
      const int e = level.candidates[k];
      const double gain = level.gain[k], optional = std::max(gain, 0.0);
      if (level.node.base - gain - all.sum_without(optional, room - 1) > threshold) continue;
      const double bound = level.node.base - gain - later.sum(room - 1);
      if (bound <= threshold && twin_present(level.node, e)) {
        level.children.push_back(e);
        level.child_bound.push_back(bound);
      }
      later.add(optional);
      level.candidates[--kept] = e;
    }
    level.candidates.erase(level.candidates.begin(), level.candidates.begin() + static_cast<std::ptrdiff_t>(kept));
    std::reverse(level.children.begin(), level.children.end());
    std::reverse(level.child_bound.begin(), level.child_bound.end());
  }

  bool twin_present(const PrefixFit& node, int e) const {
    const int twin = shared_.order.twin[static_cast<std::size_t>(e)];
    return twin < 0 || std::find(node.columns, node.columns + node.depth, twin) != node.columns + node.depth;
  }

  // Names of the columns of the prefix and e in the table.
  int name_columns(const PrefixFit& node, int e, int* columns) const {
    for (int j = 0; j < node.depth; ++j) columns[j] = shared_.order.columns[static_cast<std::size_t>(node.columns[j])];
    columns[node.depth] = shared_.order.columns[static_cast<std::size_t>(e)];
    return node.depth + 1;
  }

  bool excluded(const Level& level, int e, const std::vector<int>& candidates, int room) const {
    if (shared_.problem.rules.empty()) return false;
    int columns[max_card_size];
    const int n = name_columns(level.node, e, columns);
    std::vector<int> later;
    for (const int f : candidates) later.push_back(shared_.order.columns[static_cast<std::size_t>(f)]);
    return shared_.problem.rules.excludes(columns, n, later.data(), static_cast<int>(later.size()), room);
  }

  void search_support(const Level& level, int e, const ChildFit& fit) {
    searched_size_ = name_columns(level.node, e, searched_);
    if (!shared_.problem.rules.admits(searched_, searched_size_)) return;
    tree_.write_cells(level.node, e, cells_);
    shared_.n_searched.fetch_add(1, std::memory_order_relaxed);
    const PointRange range = shared_.problem.range(searched_, searched_size_, shared_.intercept_low, shared_.intercept_high);
    shared_.n_boxes.fetch_add(search_points(cells_, range, shared_.limits.slack, fit.point, *this), std::memory_order_relaxed);
  }

  void leave_task(int depth, int e, const ChildFit& fit, const std::vector<int>& candidates, double bound) {
    Task task{{}, {}, candidates, bound + shared_.problem.penalty * (depth + 1)};
    for (int d = 1; d <= depth; ++d) {
      const auto& node = levels_[static_cast<std::size_t>(d)].node;
      task.prefix.push_back(node.columns[d - 1]);
      task.points.emplace_back(node.point, node.point + d + 1);
    }
    task.prefix.push_back(e);
    task.points.emplace_back(fit.point, fit.point + depth + 2);
    tasks_.push_back(std::move(task));
  }

  const Tree& tree_;
  Shared& shared_;
  int n_;
  std::vector<Level> levels_;
  std::vector<Task> tasks_;
  ScoreCells cells_;
  int searched_[max_card_size], searched_size_ = 0;
};

// Workers take tasks in the order of their bounds, so the smallest bound of an unfinished task rises as they go; the calling thread
// watches the time and reports.
class Crew {
 public:
  Crew(Shared& shared, std::vector<Task>& tasks, const Clock& clock)
      : shared_(shared), tasks_(tasks), clock_(clock), finished_(tasks.size()) {
    for (auto& flag : finished_) flag = false;
  }

  template <class Tree>
  SearchEnd run(const Tree& tree, const double* root_point) {
    const int n_workers = static_cast<int>(std::clamp<std::size_t>(
        static_cast<std::size_t>(std::max(shared_.options.n_threads, 1)), 1, std::max<std::size_t>(tasks_.size(), 1)));
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
    double bound = std::isfinite(value) ? value - shared_.options.gap * std::fabs(value) : infinity;
    for (std::size_t k = 0; k < tasks_.size(); ++k)
      if (!finished_[k]) bound = std::min(bound, tasks_[k].bound);
    return std::max(bound, 0.0);
  }

 private:
  template <class Tree>
  void work(const Tree& tree, const double* root_point) {
    try {
      auto walker = std::make_unique<Walker<Tree>>(tree, shared_);
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
      if (now >= shared_.options.time_limit) {
        end = SearchEnd::time_limit;
        shared_.stop = true;
      } else if (shared_.options.on_progress && now - reported >= 0.1) {
        reported = now;
        lock.unlock();
        const SearchProgress progress{shared_.incumbent.value(), lower_bound(), now, shared_.n_fitted};
        if (!shared_.options.on_progress(progress)) {
          end = SearchEnd::interrupted;
          shared_.stop = true;
        }
        lock.lock();
      }
    }
    return end;
  }

  Shared& shared_;
  std::vector<Task>& tasks_;
  const Clock& clock_;
  std::vector<std::atomic<bool>> finished_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::condition_variable idle_;
  int running_ = 0;
  std::exception_ptr failure_;
};

template <class Tree>
SearchEnd walk(const Tree& tree, Shared& shared, const Clock& clock, double& lower_bound) {
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
  std::vector<Task> tasks = std::make_unique<Walker<Tree>>(tree, shared)->begin(&root_point);
  std::stable_sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) { return a.bound < b.bound; });
  Crew crew(shared, tasks, clock);
  const SearchEnd end = crew.run(tree, &root_point);
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
  Shared shared{problem, options, order, limits, low, high, incumbent};
  const bool binary =
      problem.max_size <= max_binary_columns && !order.columns.empty() && BitColumns::fits(problem.table, order.columns);
  if (binary)
    result.end = walk(BinaryTree(problem.table, order.columns, limits, problem.max_size, options.n_threads), shared, clock,
                      result.lower_bound);
  else
    result.end = walk(RowTree(table, order.columns, limits), shared, clock, result.lower_bound);
  result.card = incumbent.best();
  result.n_fitted = shared.n_fitted;
  result.n_searched = shared.n_searched;
  result.n_boxes = shared.n_boxes;
  return result;
}

}  // namespace surefoot
