#include <algorithm>
#include <limits>

#include "surefoot/core/dense_vector.hpp"
#include "surefoot/core/softplus.hpp"
#include "surefoot/riskscore/fit/box_fit.hpp"
#include "surefoot/riskscore/search/support_tree.hpp"

namespace surefoot {

PointBox ColumnLimits::box(const int* positions, int n) const {
  PointBox result;
  result.lower[0] = intercept_lower;
  result.upper[0] = intercept_upper;
  for (int j = 0; j < n; ++j) {
    result.lower[j + 1] = lower[static_cast<std::size_t>(positions[j])];
    result.upper[j + 1] = upper[static_cast<std::size_t>(positions[j])];
  }
  return result;
}

void RowTree::open_root(const double* point, Node& root) const {
  root.depth = 0;
  root.rows = RowPartition(table_.n_rows());
  root.point[0] = point[0];
  root.rows.write_cells(table_, nullptr, 0, root.cells);
  finish(root);
}

void RowTree::open_ancestor(const Node& parent, int e, const double* point, const std::vector<int>&, Node& child) const {
  child.depth = parent.depth + 1;
  std::copy_n(parent.columns, parent.depth, child.columns);
  child.columns[parent.depth] = e;
  std::copy_n(point, child.depth + 1, child.point);
  const std::size_t column = static_cast<std::size_t>(order_[static_cast<std::size_t>(e)]);
  child.rows.split(table_.code[column], parent.rows);
}

void RowTree::open(const Node& parent, int e, const double* point, const std::vector<int>& candidates, Node& child) const {
  open_ancestor(parent, e, point, candidates, child);
  int columns[max_card_size];
  for (int j = 0; j < child.depth; ++j) columns[j] = order_[static_cast<std::size_t>(child.columns[j])];
  child.rows.write_cells(table_, columns, child.depth, child.cells);
  finish(child);
}

void RowTree::finish(Node& node) const {
  CellSums sums;
  sum_cells(node.cells, node.point, sums);
  node.base = sums.loss - limits_.slack;
  const PointBox box = limits_.box(node.columns, node.depth);
  for (int j = 0; j <= node.depth; ++j) {
    const double g = sums.gradient[j];
    node.base -= g * node.point[j] - std::min(g * box.lower[j], g * box.upper[j]);
  }
  std::vector<double> slope(node.rows.first.size());
  for (std::size_t cell = 0; cell < slope.size(); ++cell) {
    double score = node.point[0];
    for (int j = 0; j < node.depth; ++j) {
      const std::size_t column = static_cast<std::size_t>(order_[static_cast<std::size_t>(node.columns[j])]);
      score += node.point[j + 1] * table_.value[column][node.rows.first[cell]];
    }
    slope[cell] = sigmoid(score);
  }
  node.residual.resize(table_.n_rows());
  for (std::size_t i = 0; i < node.residual.size(); ++i)
    node.residual[i] = table_.total[i] * slope[node.rows.group[i]] - table_.positive[i];
}

void RowTree::set_slopes(Node& node, const double* if_positive, const double* if_negative) const {
  for (std::size_t i = 0; i < node.residual.size(); ++i) {
    const std::size_t cell = node.rows.group[i];
    node.residual[i] = table_.positive[i] * if_positive[cell] + (table_.total[i] - table_.positive[i]) * if_negative[cell];
  }
}

void RowTree::gradients(const Node& node, const std::vector<int>& candidates, double* gradient) const {
  for (const int f : candidates)
    gradient[f] = dot(node.residual.data(), table_.value[static_cast<std::size_t>(order_[static_cast<std::size_t>(f)])].data(),
                      static_cast<int>(table_.n_rows()));
}

void RowTree::fit_children_of(const Node& node, const std::vector<int>& columns, double threshold, bool converge,
                              std::vector<ChildFit>& fits) const {
  fits.resize(columns.size());
  for (std::size_t k = 0; k < columns.size(); ++k) {
    write_cells(node, columns[k], node.scratch_cells);
    int support[max_card_size];
    std::copy_n(node.columns, node.depth, support);
    support[node.depth] = columns[k];
    BoxFit fit;
    std::copy_n(node.point, node.depth + 1, fit.point);
    fit.point[node.depth + 1] = 0;
    fit_box(node.scratch_cells, limits_.box(support, node.depth + 1), limits_.slack,
            converge ? std::numeric_limits<double>::infinity() : threshold, tree_parameters.row_tolerance, fit);
    std::copy_n(fit.point, node.depth + 2, fits[k].point);
    fits[k].loss = fit.loss;
    fits[k].bound = fit.bound;
  }
}

void RowTree::write_cells(const Node& node, int e, ScoreCells& cells) const {
  const std::size_t column = static_cast<std::size_t>(order_[static_cast<std::size_t>(e)]);
  int columns[max_card_size];
  for (int j = 0; j < node.depth; ++j) columns[j] = order_[static_cast<std::size_t>(node.columns[j])];
  columns[node.depth] = static_cast<int>(column);
  node.rows.write_finer_cells(table_, columns, node.depth + 1, node.scratch, cells);
}

}  // namespace surefoot
