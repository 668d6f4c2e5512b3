#include <algorithm>
#include <limits>

#include "surefoot/core/dense_vector.hpp"
#include "surefoot/core/softplus.hpp"
#include "surefoot/riskscore/search/support_tree.hpp"

namespace surefoot {
namespace {

// Of the certificate (subset_counts.py): cells are tabled for supports up to this size, counts are exact below this number.
constexpr int most_even_columns = 7;
constexpr double most_even_rows = 1 << 24;

int table_depth(int n_columns, int max_size) {
  int depth = std::min(max_size, tree_parameters.max_counted_columns);
  while (depth > 2 && SubsetCounts::size(n_columns, depth) > tree_parameters.max_counts) --depth;
  return std::max(depth, 1);
}

}  // namespace

BinaryTree::BinaryTree(const RawTable& table, const std::vector<int>& order, const ColumnLimits& limits, int max_size,
                       int n_threads, const std::atomic<bool>& stop)
    : bits_(table, order), counts_(bits_, table_depth(bits_.n_columns(), max_size), n_threads, stop), limits_(limits) {
  const double n = bits_.n_columns();
  n_largest_ = n * (n - 1) * (n - 2) * (n - 3) / 24;
  even_ = max_size <= most_even_columns && static_cast<double>(table.n_rows) < most_even_rows && bits_.one_weight_each();
}

const double* BinaryTree::pair_weights(const Node& node, int subset, int e) const {
  int set[max_card_size], size = 0;
  for (int j = 0; j < node.depth; ++j)
    if (subset >> j & 1) set[size++] = node.columns[j];
  set[size++] = e;
  return counts_.row(set, size).total;
}

void BinaryTree::open_root(const double* point, Node& root) const {
  root.depth = 0;
  root.rows = {counts_.row(nullptr, 0)};
  root.point[0] = point[0];
  root.cell_total.resize(1);
  root.cell_positive.resize(1);
  bits_.all_weight(root.cell_total[0], root.cell_positive[0]);
  finish(root);
}

// Cells of the prefix extended by e: numbers with the new bit first come from the counts by inclusion and exclusion, the others
// are what remains of the prefix's cells.
void BinaryTree::expand(const Node& node, int e, double* total, double* positive) const {
  const int n = 1 << node.depth;
  for (int m = 0; m < n; ++m) {
    total[n + m] = node.rows[static_cast<std::size_t>(m)].total[e];
    positive[n + m] = node.rows[static_cast<std::size_t>(m)].positive[e];
  }
  for (int bit = 1; bit < n; bit <<= 1)
    for (int m = n; m < 2 * n; ++m)
      if (!(m & bit)) {
        total[m] -= total[m + bit];
        positive[m] -= positive[m + bit];
      }
  for (int m = 0; m < n; ++m) {
    // Weights that are not whole leave rounding behind where a cell is empty: a trace of negative weight would not be convex.
    total[n + m] = std::clamp(total[n + m], 0.0, node.cell_total[static_cast<std::size_t>(m)]);
    positive[n + m] = std::clamp(positive[n + m], 0.0, std::min(total[n + m], node.cell_positive[static_cast<std::size_t>(m)]));
    total[m] = node.cell_total[static_cast<std::size_t>(m)] - total[n + m];
    positive[m] = node.cell_positive[static_cast<std::size_t>(m)] - positive[n + m];
  }
}

void BinaryTree::open(const Node& parent, int e, const double* point, const std::vector<int>& candidates, Node& child) const {
  const int n = 1 << parent.depth;
  child.depth = parent.depth + 1;
  std::copy_n(parent.columns, parent.depth, child.columns);
  child.columns[parent.depth] = e;
  std::copy_n(point, child.depth + 1, child.point);
  child.cell_total.resize(static_cast<std::size_t>(2 * n));
  child.cell_positive.resize(static_cast<std::size_t>(2 * n));
  expand(parent, e, child.cell_total.data(), child.cell_positive.data());
  child.rows.resize(static_cast<std::size_t>(2 * n));
  std::copy_n(parent.rows.begin(), n, child.rows.begin());
  const std::size_t width = static_cast<std::size_t>(bits_.n_columns());
  child.own.resize(2 * width * static_cast<std::size_t>(n));
  child.bits.resize(bits_.n_words());
  for (int m = 0; m < n; ++m) {
    int prefix[max_card_size], size = 0;
    for (int j = 0; j < parent.depth; ++j)
      if (m >> j & 1) prefix[size++] = parent.columns[j];
    prefix[size++] = e;
    CountRow& row = child.rows[static_cast<std::size_t>(n + m)];
    if (size <= counts_.max_prefix()) {
      row = counts_.row(prefix, size);
      continue;
    }
    double* total = child.own.data() + 2 * width * static_cast<std::size_t>(m);
    double* positive = total + width;
    std::copy_n(bits_.column(e), bits_.n_words(), child.bits.begin());
    for (int k = 0; k + 1 < size; ++k)
      for (std::size_t w = 0; w < bits_.n_words(); ++w) child.bits[w] &= bits_.column(prefix[k])[w];
    for (const int f : candidates) bits_.shared_weight(child.bits.data(), bits_.column(f), total[f], positive[f]);
    row = {total, positive};
  }
  finish(child);
}

void BinaryTree::finish(Node& node) const {
  const int n = 1 << node.depth;
  node.live.clear();
  node.subset_slope.assign(static_cast<std::size_t>(n), 0);
  double loss = 0, gradient[max_binary_columns + 1] = {};
  for (int m = 0; m < n; ++m) {
    const double total = node.cell_total[static_cast<std::size_t>(m)],
                 positive = node.cell_positive[static_cast<std::size_t>(m)];
    double score = node.point[0];
    for (int j = 0; j < node.depth; ++j)
      if (m >> j & 1) score += node.point[j + 1];
    const double slope = sigmoid(score);
    node.subset_slope[static_cast<std::size_t>(m)] = slope;
    if (!(total > 0)) continue;
    node.live.push_back(m);
    loss += total * softplus(score) - positive * score;
    const double residual = total * slope - positive;
    gradient[0] += residual;
    for (int j = 0; j < node.depth; ++j)
      if (m >> j & 1) gradient[j + 1] += residual;
  }
  node.base = loss - limits_.slack;
  for (int j = 0; j <= node.depth; ++j) {
    const double low = j ? limits_.lower[static_cast<std::size_t>(node.columns[j - 1])] : limits_.intercept_lower;
    const double high = j ? limits_.upper[static_cast<std::size_t>(node.columns[j - 1])] : limits_.intercept_upper;
    node.base -= gradient[j] * node.point[j] - std::min(gradient[j] * low, gradient[j] * high);
  }
  // sum over cells of slope * (rows of the cell with f) as a sum over subsets: differences of the slopes instead of the counts.
  for (int bit = 1; bit < n; bit <<= 1)
    for (int m = 0; m < n; ++m)
      if (m & bit) node.subset_slope[static_cast<std::size_t>(m)] -= node.subset_slope[static_cast<std::size_t>(m ^ bit)];
}

void BinaryTree::set_slopes(Node& node, const double* if_positive, const double* if_negative) const {
  const std::size_t n = node.cell_total.size();
  node.subset_slope.assign(if_negative, if_negative + n);
  node.positive_slope.resize(n);
  for (std::size_t m = 0; m < n; ++m) node.positive_slope[m] = if_positive[m] - if_negative[m];
  for (auto* slope : {&node.subset_slope, &node.positive_slope})
    for (std::size_t bit = 1; bit < n; bit <<= 1)
      for (std::size_t m = 0; m < n; ++m)
        if (m & bit) (*slope)[m] -= (*slope)[m ^ bit];
}

void BinaryTree::gradients(const Node& node, const std::vector<int>& candidates, double* gradient) const {
  if (candidates.empty()) return;
  const int begin = candidates.front(), end = candidates.back() + 1;
  if (node.positive_slope.empty())
    for (int f = begin; f < end; ++f) gradient[f] = -node.rows[0].positive[f];
  else
    std::fill(gradient + begin, gradient + end, 0.0);
  for (std::size_t m = 0; m < node.rows.size(); ++m)
    if (node.subset_slope[m] != 0) add_scaled(gradient + begin, node.rows[m].total + begin, node.subset_slope[m], end - begin);
  for (std::size_t m = 0; m < node.positive_slope.size(); ++m)
    if (node.positive_slope[m] != 0)
      add_scaled(gradient + begin, node.rows[m].positive + begin, node.positive_slope[m], end - begin);
}

void BinaryTree::fit_children_of(const Node& node, const std::vector<int>& columns, double threshold, bool converge,
                                 std::vector<ChildFit>& fits) const {
  fits.resize(columns.size());
  const int depth = node.depth, n = 1 << depth;
  ChildBatch batch;
  batch.n_columns = depth + 1;
  for (int j = 0; j <= depth; ++j) {
    fill(batch.lower[j], j ? limits_.lower[static_cast<std::size_t>(node.columns[j - 1])] : limits_.intercept_lower);
    fill(batch.upper[j], j ? limits_.upper[static_cast<std::size_t>(node.columns[j - 1])] : limits_.intercept_upper);
  }
  for (std::size_t begin = 0; begin < columns.size(); begin += lanes) {
    for (int lane = 0; lane < lanes; ++lane) {
      // Lanes without a column repeat the last one.
      const std::size_t at = std::min(begin + static_cast<std::size_t>(lane), columns.size() - 1);
      const int e = columns[at];
      for (int m = 0; m < n; ++m) {
        batch.total[n + m][lane] = node.rows[static_cast<std::size_t>(m)].total[e];
        batch.positive[n + m][lane] = node.rows[static_cast<std::size_t>(m)].positive[e];
      }
      const double low = limits_.lower[static_cast<std::size_t>(e)], high = limits_.upper[static_cast<std::size_t>(e)];
      for (int j = 0; j <= depth; ++j) batch.point[j][lane] = node.point[j];
      batch.lower[depth + 1][lane] = low;
      batch.upper[depth + 1][lane] = high;
      batch.point[depth + 1][lane] = std::clamp(0.0, low, high);
    }
    expand_children(batch, node.cell_total.data(), node.cell_positive.data());
    fit_children(batch, node.live.data(), static_cast<int>(node.live.size()),
                 converge ? std::numeric_limits<double>::infinity() : threshold + limits_.slack,
                 tree_parameters.batch_tolerance, converge ? tree_parameters.prefix_steps : tree_parameters.leaf_steps);
    for (std::size_t k = begin; k < std::min(begin + lanes, columns.size()); ++k) {
      const int lane = static_cast<int>(k - begin);
      for (int j = 0; j <= depth + 1; ++j) {
        fits[k].point[j] = batch.point[j][lane];
        fits[k].bound_point[j] = batch.bound_point[j][lane];
      }
      fits[k].loss = batch.loss[lane];
      fits[k].bound = batch.bound[lane] - limits_.slack;
    }
  }
}

void BinaryTree::write_prefix(const Node& node, ScoreCells& cells) const {
  const std::size_t n = node.cell_total.size();
  cells.reset(node.depth, n);
  for (std::size_t m = 0; m < n; ++m) {
    cells.set_weights(m, node.cell_total[m], node.cell_positive[m]);
    for (int j = 0; j < node.depth; ++j) cells.set_value(m, j, static_cast<double>(m >> j & 1));
  }
}

void BinaryTree::write_cells(const Node& node, int e, ScoreCells& cells) const {
  double total[max_binary_cells], positive[max_binary_cells];
  expand(node, e, total, positive);
  const int n_cells = 2 << node.depth, n_columns = node.depth + 1;
  int live[max_binary_cells], n_live = 0;
  for (int m = 0; m < n_cells; ++m)
    if (total[m] > 0) live[n_live++] = m;
  cells.reset(n_columns, static_cast<std::size_t>(n_live));
  for (int k = 0; k < n_live; ++k) {
    cells.set_weights(static_cast<std::size_t>(k), total[live[k]], positive[live[k]]);
    for (int j = 0; j < n_columns; ++j) cells.set_value(static_cast<std::size_t>(k), j, live[k] >> j & 1);
  }
}

}  // namespace surefoot
