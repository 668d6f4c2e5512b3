// Depth first over the supports: one walker per thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "surefoot/riskscore/problem/score_problem.hpp"
#include "surefoot/riskscore/search/column_order.hpp"
#include "surefoot/riskscore/search/incumbent_card.hpp"
#include "surefoot/riskscore/search/search_watch.hpp"
#include "surefoot/riskscore/search/support_tree.hpp"

namespace surefoot {

// A subtree for a thread: all supports that begin with a prefix.
struct SearchTask {
  std::vector<int> prefix;
  std::vector<std::vector<double>> points;  // fit of every node from the first column to the prefix
  std::vector<int> candidates;
  double bound;  // of every support in it
};

// What all threads share.
struct SharedSearch {
  const ScoreProblem& problem;
  double gap;  // relative
  const ColumnOrder& order;
  const ColumnLimits& limits;
  int intercept_low, intercept_high;
  IncumbentCard& incumbent;
  SearchSignals& signals;
  NearCards* near_cards = nullptr;  // where all good cards go, once the best one is known
  std::atomic<std::int64_t> n_searched{0}, n_boxes{0};

  // Supports of n columns with a larger loss cannot beat the best card by more than the gap, or belong to the cards near it.
  double threshold(int n) const {
    if (near_cards) return near_cards->ceiling() - problem.penalty * n;
    const double value = incumbent.value();
    if (!std::isfinite(value)) return std::numeric_limits<double>::infinity();
    return value - gap * std::fabs(value) - problem.penalty * n;
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
class SupportWalker final : public CardListener {
 public:
  SupportWalker(const Tree& tree, SharedSearch& shared)
      : tree_(tree), shared_(shared), n_(static_cast<int>(shared.order.columns.size())), loss_(make_loss(shared.problem)) {
    levels_.resize(static_cast<std::size_t>(shared.problem.max_size) + 1);
    for (auto& level : levels_) level.gradient.resize(static_cast<std::size_t>(n_));
  }

  // Supports of one and two columns; what follows them is left as tasks.
  std::vector<SearchTask> begin(const double* root_point) {
    tree_.open_root(root_point, levels_[0].node);
    levels_[0].candidates.resize(static_cast<std::size_t>(n_));
    for (int e = 0; e < n_; ++e) levels_[0].candidates[static_cast<std::size_t>(e)] = e;
    visit(0, 2);
    return std::move(tasks_);
  }

  void run(const SearchTask& task, const double* root_point) {
    if (!rooted_) tree_.open_root(root_point, levels_[0].node);
    rooted_ = true;
    const std::size_t last = task.prefix.size() - 1;
    for (std::size_t d = 0; d < last; ++d)
      tree_.pass(levels_[d].node, task.prefix[d], task.points[d].data(), task.candidates, levels_[d + 1].node);
    tree_.open(levels_[last].node, task.prefix[last], task.points[last].data(), task.candidates, levels_[last + 1].node);
    levels_[last + 1].candidates = task.candidates;
    visit(static_cast<int>(last + 1), max_coordinates);
  }

  double threshold() const override { return shared_.threshold(searched_size_); }
  bool stopped() const override { return shared_.signals.stop.load(std::memory_order_relaxed); }
  void offer(const int* points, double loss, double multiplier) override {
    if (!shared_.near_cards) {
      shared_.incumbent.offer(searched_, searched_size_, points);
      shared_.signals.upper_bound = shared_.incumbent.value();
      return;
    }
    const double value = loss + shared_.problem.penalty * searched_size_;
    const ScoreProblem& problem = shared_.problem;
    shared_.near_cards->offer(problem, make_card(value, problem.table.n_columns, searched_, searched_size_, points, multiplier),
                              shared_.signals.stop);
  }

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
    shared_.signals.n_fitted.fetch_add(static_cast<std::int64_t>(level.children.size()), std::memory_order_relaxed);
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
    loss_->open(searched_, cells_);
    shared_.n_boxes.fetch_add(search_points(*loss_, cells_, range, shared_.limits.slack, fit.point, *this),
                              std::memory_order_relaxed);
  }

  void leave_task(int depth, int e, const ChildFit& fit, const std::vector<int>& candidates, double bound) {
    SearchTask task{{}, {}, candidates, bound + shared_.problem.penalty * (depth + 1)};
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
  SharedSearch& shared_;
  int n_;
  bool rooted_ = false;  // the root stays as it is from task to task
  std::vector<Level> levels_;
  std::vector<SearchTask> tasks_;
  std::unique_ptr<SupportLoss> loss_;
  ScoreCells cells_;
  int searched_[max_card_size], searched_size_ = 0;
};

}  // namespace surefoot
