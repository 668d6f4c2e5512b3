// The tree of supports under the worst shift: a tree of rows or bits, whose rows are replaced by mixtures of their shifts.
//
// At the robust fit of a prefix every row is a softmax mixture of its shifts. With the mixture fixed the loss is convex, never
// above the robust loss, and the columns outside the prefix are not shifted; so its slope along a further column is a sum over
// the rows as they are, each with the mean slope of its shifts, and the bounds on what a column can gain carry over from the
// plain loss.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "surefoot/riskscore/problem/score_problem.hpp"
#include "surefoot/riskscore/search/support_tree.hpp"
#include "surefoot/riskscore/shift/shifted_fit.hpp"

namespace surefoot {

// Loss: gaps between loss and bound at which robust fits in the tree stop. Closer fits decide few more supports than the search
// of their points does. Not tuned further.
struct ShiftTreeParameters {
  double leaf_tolerance = 1e-5;    // a support of the largest size
  double child_tolerance = 1e-4;   // a child, whose fit starts that of its node
  double prefix_tolerance = 1e-4;  // the fit of a node, at which its candidates are pruned
  // Smallest smoothing of a node's mixture. Where only lambda is left to fit any will do: the bound holds for all.
  double min_smoothing = 1e-6;
};
inline constexpr ShiftTreeParameters shift_tree_parameters{};

template <class Base>
class ShiftTree {
 public:
  static constexpr bool has_bound_point = false, has_curvature = false;
  struct Node : Base::Node {
    ScoreCells prefix_cells;
    ShiftLattice lattice;
    std::vector<double> if_positive, if_negative;
    double lambda = 1, smoothing = 0;
    mutable ScoreCells child_cells;
    mutable ShiftLattice child_lattice;

    ShiftMixture mixture() const { return {lambda, smoothing}; }
  };

  // `base` has the same columns and limits.
  ShiftTree(const Base& base, const ScoreProblem& problem, const std::vector<int>& order, const ColumnLimits& limits)
      : base_(base), problem_(problem), order_(order), limits_(limits), most_lambda_(lambda_limit(problem)) {}

  void open_root(const double* point, Node& root) const {
    base_.open_root(point, root);
    finish(root);
  }
  void open(const Node& parent, int e, const double* point, const std::vector<int>& candidates, Node& child) const {
    base_.open(parent, e, point, candidates, child);
    finish(child);
  }
  void open_ancestor(const Node& parent, int e, const double* point, const std::vector<int>& candidates, Node& child) const {
    base_.open_ancestor(parent, e, point, candidates, child);
  }
  void gradients(const Node& node, const std::vector<int>& candidates, double* gradient) const {
    base_.gradients(node, candidates, gradient);
  }
  void fit_children_of(const Node& node, const std::vector<int>& columns, double threshold, bool converge,
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
      // A converged fit only starts the child's own; whether the support itself can win is all the bound must tell.
      fit_shifted(node.child_lattice, limits_.box(positions, node.depth + 1), most_lambda_, limits_.slack, threshold,
                  converge ? shift_tree_parameters.child_tolerance : shift_tree_parameters.leaf_tolerance, fit);
      std::copy_n(fit.point, node.depth + 2, fits[k].point);
      fits[k].loss = fit.loss;
      fits[k].bound = fit.bound;
    }
  }
  void write_cells(const Node& node, int e, ScoreCells& cells) const { base_.write_cells(node, e, cells); }

 private:
  void open_lattice(const int* positions, const ScoreCells& cells, ShiftLattice& lattice) const {
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
    fit_shifted(node.lattice, box, most_lambda_, limits_.slack, std::numeric_limits<double>::infinity(),
                shift_tree_parameters.prefix_tolerance, fit);
    double point[max_shifted_coordinates];
    std::copy_n(fit.point, node.depth + 1, point);
    std::copy_n(fit.point, node.depth + 1, node.point);
    point[node.depth + 1] = node.lambda = fit.lambda;
    ShiftedSums sums;
    node.smoothing = std::max(fit.smoothing, shift_tree_parameters.min_smoothing);
    node.lattice.sum(point, node.smoothing, sums);
    node.base = shifted_bound(node.lattice, sums, point, box, most_lambda_) - limits_.slack;
    node.if_positive.resize(node.prefix_cells.n_cells);
    node.if_negative.resize(node.prefix_cells.n_cells);
    node.lattice.slopes(node.if_positive.data(), node.if_negative.data());
    base_.set_slopes(node, node.if_positive.data(), node.if_negative.data());
  }

  const Base& base_;
  const ScoreProblem& problem_;
  const std::vector<int>& order_;
  const ColumnLimits& limits_;
  double most_lambda_;
};

}  // namespace surefoot
