// Supports one column at a time under the worst case: a tree of rows or bits, with the adversary's shares in place of the rows as they are.
//
// At the robust fit of a prefix every row is shared among its shifts. With those shares fixed the loss is convex, never above the robust
// loss, and the columns outside the prefix are not shifted; so its slope along a further column is a sum over the rows as they are, each
// with the mean slope of its shifts, and the bounds on what a column can gain carry over from the plain loss.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "surefoot/riskscore/problem/score_problem.hpp"
#include "surefoot/riskscore/search/support_tree.hpp"
#include "surefoot/riskscore/shift/shifted_fit.hpp"

namespace surefoot {

template <class Base>
class RobustTree {
 public:
  static constexpr bool keeps_best = false;
  struct Node : Base::Node {
    ScoreCells prefix_cells;
    RobustLattice lattice;
    std::vector<double> if_positive, if_negative;
    double lambda = 1, smoothing = 0;
    mutable ScoreCells child_cells;
    mutable RobustLattice child_lattice;

    ProofShares shares() const { return {lambda, smoothing}; }
  };

  // `base` has the same columns and limits.
  RobustTree(const Base& base, const ScoreProblem& problem, const std::vector<int>& order, const ColumnLimits& limits)
      : base_(base), problem_(problem), order_(order), limits_(limits), most_lambda_(lambda_limit(problem)) {}

  void open_root(const double* point, Node& root) const {
    base_.open_root(point, root);
    finish(root);
  }
  void open(const Node& parent, int e, const double* point, const std::vector<int>& candidates, Node& child) const {
    base_.open(parent, e, point, candidates, child);
    finish(child);
  }
  void pass(const Node& parent, int e, const double* point, const std::vector<int>& candidates, Node& child) const {
    base_.pass(parent, e, point, candidates, child);
  }
  void gradients(const Node& node, const std::vector<int>& candidates, double* gradient) const {
    base_.gradients(node, candidates, gradient);
  }
  void fit_children_of(const Node& node, const std::vector<int>& columns, double threshold, bool settle,
                       std::vector<ChildFit>& fits) const {
    fits.resize(columns.size());
    for (std::size_t k = 0; k < columns.size(); ++k) {
      int positions[max_card_size];
      std::copy_n(node.columns, node.depth, positions);
      positions[node.depth] = columns[k];
      base_.write_cells(node, columns[k], node.child_cells);
      open_lattice(positions, node.child_cells, node.child_lattice);
      BoxFit fit{};
      std::copy_n(node.point, node.depth + 1, fit.point);
      fit.point[node.depth + 1] = 0;
      fit.lambda = node.lambda;
      // A settled fit only starts the child's own; whether the support itself can win is all the bound must tell.
      fit_robust(node.child_lattice, limits_.box(positions, node.depth + 1), most_lambda_, limits_.slack, threshold,
                 settle ? child_tolerance : leaf_tolerance, fit);
      std::copy_n(fit.point, node.depth + 2, fits[k].point);
      fits[k].loss = fit.loss;
      fits[k].bound = fit.bound;
    }
  }
  void write_cells(const Node& node, int e, ScoreCells& cells) const { base_.write_cells(node, e, cells); }

 private:
  // Closer fits than these decide few more supports than the search of their points does.
  static constexpr double leaf_tolerance = 1e-5, child_tolerance = 1e-4, prefix_tolerance = 1e-4;

  void open_lattice(const int* positions, const ScoreCells& cells, RobustLattice& lattice) const {
    int columns[max_card_size];
    for (int j = 0; j < cells.n_columns; ++j) columns[j] = order_[static_cast<std::size_t>(positions[j])];
    lattice.build(cells, problem_.prices(columns, cells.n_columns));
  }

  void finish(Node& node) const {
    base_.write_prefix(node, node.prefix_cells);
    open_lattice(node.columns, node.prefix_cells, node.lattice);
    const PointBox box = limits_.box(node.columns, node.depth);
    BoxFit fit{};
    std::copy_n(node.point, node.depth + 1, fit.point);
    fit_robust(node.lattice, box, most_lambda_, limits_.slack, std::numeric_limits<double>::infinity(), prefix_tolerance, fit);
    double point[max_robust_coordinates];
    std::copy_n(fit.point, node.depth + 1, point);
    std::copy_n(fit.point, node.depth + 1, node.point);
    point[node.depth + 1] = node.lambda = fit.lambda;
    RobustSums sums;
    // Where nothing is left to fit but lambda, any smoothing will do: the bound holds for all.
    node.smoothing = std::max(fit.smoothing, 1e-6);
    node.lattice.sum(point, node.smoothing, sums);
    node.base = robust_bound(node.lattice, sums, point, box, most_lambda_) - limits_.slack;
    node.if_positive.resize(node.prefix_cells.n_cells);
    node.if_negative.resize(node.prefix_cells.n_cells);
    node.lattice.slopes(node.if_positive.data(), node.if_negative.data());
    base_.tilt(node, node.if_positive.data(), node.if_negative.data());
  }

  const Base& base_;
  const ScoreProblem& problem_;
  const std::vector<int>& order_;
  const ColumnLimits& limits_;
  double most_lambda_;
};

}  // namespace surefoot
