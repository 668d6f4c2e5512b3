// Depth-first branch and bound over supports, as one thread does it.
//
// One node, a prefix P of columns with its relaxed fit:
// 1. Prune candidates by their gains at the fit (node_pruning.hpp); what is left are children P + e.
// 2. Bound: fit the relaxation of every child; its tangent bound covers all cards on the support P + e itself.
// 3. Search the whole points of the supports whose bound is not above the threshold (point_search.hpp) for new incumbents.
// 4. Branch: open the node of every child that rules do not exclude, with the candidates that come after it.
// Every support belongs to exactly one node, that of its columns in order, so all of them are searched or pruned.
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
#include "surefoot/riskscore/search/curvature_pruning.hpp"
#include "surefoot/riskscore/search/incumbent_card.hpp"
#include "surefoot/riskscore/search/node_pruning.hpp"
#include "surefoot/riskscore/search/search_monitor.hpp"
#include "surefoot/riskscore/search/support_tree.hpp"

namespace surefoot {

// A node that is yet to be processed, with all that another thread needs to open it.
struct OpenNode {
  std::vector<int> prefix;
  std::vector<std::vector<double>> points;  // fit of every node from the first column to the prefix
  std::vector<int> candidates;
  double bound;  // of the objective on every support in its subtree
};

// What all threads know.
struct SearchState {
  const ScoreProblem& problem;
  double gap;  // relative
  const ColumnOrder& order;
  const ColumnLimits& limits;
  int intercept_low, intercept_high;
  IncumbentCard& incumbent;
  SearchSignals& signals;
  NearCards* near_cards = nullptr;  // where all good cards go, once the best one is known
  std::atomic<std::int64_t> n_searched{0}, n_boxes{0};

  // Supports of n columns with a larger loss cannot beat the incumbent by more than the gap, or belong to the cards near it.
  double threshold(int n) const {
    if (near_cards) return near_cards->ceiling() - problem.penalty * n;
    const double value = incumbent.value();
    if (!std::isfinite(value)) return std::numeric_limits<double>::infinity();
    return value - gap * std::fabs(value) - problem.penalty * n;
  }
};

template <class Tree>
class SearchWorker final : public CardListener {
 public:
  SearchWorker(const Tree& tree, SearchState& state)
      : tree_(tree),
        state_(state),
        n_(static_cast<int>(state.order.columns.size())),
        loss_(make_loss(state.problem)),
        curvature_(n_) {
    frames_.resize(static_cast<std::size_t>(state.problem.max_size) + 1);
    for (auto& frame : frames_) frame.list.gradient.resize(static_cast<std::size_t>(n_));
  }

  // Processes the root and its children; the nodes of two columns are left open.
  std::vector<OpenNode> process_root(const double* root_point) {
    tree_.open_root(root_point, frames_[0].node);
    frames_[0].list.columns.resize(static_cast<std::size_t>(n_));
    for (int e = 0; e < n_; ++e) frames_[0].list.columns[static_cast<std::size_t>(e)] = e;
    process_node(0, 2);
    return std::move(open_nodes_);
  }

  // Processes the whole subtree of a node.
  void process_subtree(const OpenNode& node, const double* root_point) {
    if (!rooted_) tree_.open_root(root_point, frames_[0].node);
    rooted_ = true;
    const std::size_t last = node.prefix.size() - 1;
    for (std::size_t d = 0; d < last; ++d)
      tree_.open_ancestor(frames_[d].node, node.prefix[d], node.points[d].data(), node.candidates, frames_[d + 1].node);
    tree_.open(frames_[last].node, node.prefix[last], node.points[last].data(), node.candidates, frames_[last + 1].node);
    frames_[last + 1].list.columns = node.candidates;
    process_node(static_cast<int>(last + 1), max_coordinates);
  }

  double threshold() const override { return state_.threshold(searched_size_); }
  bool stopped() const override { return state_.signals.stop.load(std::memory_order_relaxed); }
  void offer(const int* points, double loss, double multiplier) override {
    if (!state_.near_cards) {
      state_.incumbent.offer(searched_, searched_size_, points);
      state_.signals.upper_bound = state_.incumbent.value();
      return;
    }
    const double value = loss + state_.problem.penalty * searched_size_;
    const ScoreProblem& problem = state_.problem;
    state_.near_cards->offer(problem, make_card(value, problem.table.n_columns, searched_, searched_size_, points, multiplier),
                             state_.signals.stop);
  }

 private:
  // The node of one depth on the path from the root.
  struct Frame {
    typename Tree::Node node;
    CandidateList list;
    std::vector<ChildFit> fits;
  };

  // Children at `open_depth` are left open instead of processed.
  void process_node(int depth, int open_depth) {
    if (stopped()) return;
    Frame& frame = frames_[static_cast<std::size_t>(depth)];
    CandidateList& list = frame.list;
    const int budget = state_.problem.max_size - depth;
    if (budget == 0 || list.columns.empty()) return;
    tree_.gradients(frame.node, list.columns, list.gradient.data());
    prune_node(tree_, frame.node, state_.limits, state_.order, state_.threshold(depth + 1), budget, curvature_, list);
    if (list.children.empty()) return;
    const bool leaves = budget == 1;
    tree_.fit_children_of(frame.node, list.children, state_.threshold(depth + 1), !leaves, frame.fits);
    state_.signals.n_fitted.fetch_add(static_cast<std::int64_t>(list.children.size()), std::memory_order_relaxed);
    for (std::size_t k = 0; k < list.children.size(); ++k)
      if (frame.fits[k].bound <= state_.threshold(depth + 1)) search_support(frame.node, list.children[k], frame.fits[k]);
    if (leaves) return;
    for (std::size_t k = 0; k < list.children.size() && !stopped(); ++k) {
      const int e = list.children[k];
      Frame& next = frames_[static_cast<std::size_t>(depth) + 1];
      const auto after = std::upper_bound(list.columns.begin(), list.columns.end(), e);
      next.list.columns.assign(after, list.columns.end());
      if (next.list.columns.empty() || excluded(frame.node, e, next.list.columns, budget - 1)) continue;
      if (depth + 1 == open_depth)
        leave_open(depth, e, frame.fits[k], next.list.columns, list.child_bound[k]);
      else {
        tree_.open(frame.node, e, frame.fits[k].point, next.list.columns, next.node);
        process_node(depth + 1, open_depth);
      }
    }
  }

  // Names of the columns of the prefix and e in the table.
  int name_columns(const PrefixFit& node, int e, int* columns) const {
    for (int j = 0; j < node.depth; ++j) columns[j] = state_.order.columns[static_cast<std::size_t>(node.columns[j])];
    columns[node.depth] = state_.order.columns[static_cast<std::size_t>(e)];
    return node.depth + 1;
  }

  // Whether rules leave no support with the prefix, e and up to `budget` of the candidates.
  bool excluded(const PrefixFit& node, int e, const std::vector<int>& candidates, int budget) const {
    if (state_.problem.rules.empty()) return false;
    int columns[max_card_size];
    const int n = name_columns(node, e, columns);
    std::vector<int> later;
    for (const int f : candidates) later.push_back(state_.order.columns[static_cast<std::size_t>(f)]);
    return state_.problem.rules.excludes(columns, n, later.data(), static_cast<int>(later.size()), budget);
  }

  void search_support(const typename Tree::Node& node, int e, const ChildFit& fit) {
    searched_size_ = name_columns(node, e, searched_);
    if (!state_.problem.rules.admits(searched_, searched_size_)) return;
    tree_.write_cells(node, e, cells_);
    state_.n_searched.fetch_add(1, std::memory_order_relaxed);
    const PointRange range = state_.problem.range(searched_, searched_size_, state_.intercept_low, state_.intercept_high);
    loss_->open(searched_, cells_);
    state_.n_boxes.fetch_add(search_points(*loss_, cells_, range, state_.limits.slack, fit.point, *this),
                             std::memory_order_relaxed);
  }

  void leave_open(int depth, int e, const ChildFit& fit, const std::vector<int>& candidates, double bound) {
    OpenNode open{{}, {}, candidates, bound + state_.problem.penalty * (depth + 1)};
    for (int d = 1; d <= depth; ++d) {
      const auto& node = frames_[static_cast<std::size_t>(d)].node;
      open.prefix.push_back(node.columns[d - 1]);
      open.points.emplace_back(node.point, node.point + d + 1);
    }
    open.prefix.push_back(e);
    open.points.emplace_back(fit.point, fit.point + depth + 2);
    open_nodes_.push_back(std::move(open));
  }

  const Tree& tree_;
  SearchState& state_;
  int n_;
  bool rooted_ = false;  // the root stays as it is from subtree to subtree
  std::vector<Frame> frames_;
  std::vector<OpenNode> open_nodes_;
  std::unique_ptr<SupportLoss> loss_;
  ScoreCells cells_;
  CurvaturePruning curvature_;
  int searched_[max_card_size], searched_size_ = 0;
};

}  // namespace surefoot
