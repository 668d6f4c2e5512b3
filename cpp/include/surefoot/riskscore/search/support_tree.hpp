// The tree of supports: a node is a prefix of columns with its relaxed fit, a child has one column more.
//
// Two trees with the same interface: BinaryTree counts bits (0/1 columns, few distinct weights), RowTree splits rows into
// groups (any columns). Columns are named by their position in the order of the search.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "surefoot/riskscore/fit/box_fit.hpp"
#include "surefoot/riskscore/fit/child_fit.hpp"
#include "surefoot/riskscore/shift/shift_term.hpp"
#include "surefoot/riskscore/table/row_partition.hpp"
#include "surefoot/riskscore/table/subset_counts.hpp"

namespace surefoot {

struct TreeParameters {
  // Numbers in the table of all small subsets: larger ones save most of the counting, but take 8 bytes for each number. Not
  // tuned.
  double max_counts = 64e6;
  // Columns of the largest subsets in that table. Not tuned.
  int max_counted_columns = 4;
  // Newton steps of a batch of children: of leaves, which are only bounded, and of prefixes, which are fitted to convergence.
  // Lanes that are not decided after that many steps are looked at one by one. Not tuned.
  int leaf_steps = 7, prefix_steps = 12;
  // Loss: gap between loss and bound at which the fit of a prefix has converged. It only starts the children and bounds gains,
  // which are much larger. Not tuned.
  double batch_tolerance = 1e-7, row_tolerance = 1e-9;
};
inline constexpr TreeParameters tree_parameters{};

// The hull of the points a column may take once it is in the support, and of the intercept.
struct ColumnLimits {
  std::vector<double> lower, upper;  // by position
  double intercept_lower, intercept_upper;
  double slack;  // bounds the rounding of every bound: rounding_slack.hpp

  // Of the intercept and the columns at n positions.
  PointBox box(const int* positions, int n) const;
};

// The relaxed fit of a prefix plus one column.
struct ChildFit {
  double point[max_coordinates];
  double loss, bound;
  double bound_point[max_coordinates];  // whose tangent plane gives the bound; only of trees that have it
};

// The relaxed fit of a prefix; `base` is its tangent plane minimised over the box of the prefix, to which slopes of other
// columns add.
struct PrefixFit {
  int depth = 0;
  int columns[max_card_size];
  double point[max_coordinates];
  double base = 0;

  // Of no shift: rows stay as they are.
  ShiftMixture mixture() const { return {0, 0}; }
};

class BinaryTree {
 public:
  static constexpr bool has_bound_point = true, has_curvature = true;
  struct Node : PrefixFit {
    std::vector<CountRow> rows;  // by subset of the prefix, as bits
    std::vector<double> own;     // counts that no table holds
    std::vector<double> cell_total, cell_positive;
    // Slopes of the loss along the score, as coefficients of `rows`: of all rows, and what rows with label +1 add (empty: -1
    // for each).
    std::vector<double> subset_slope, positive_slope;
    std::vector<int> live;  // cells with rows
    std::vector<std::uint64_t> bits;
  };

  // Once `stop` is set the counts stay unfinished: the tree must not be used then.
  BinaryTree(const RawTable& table, const std::vector<int>& order, const ColumnLimits& limits, int max_size, int n_threads,
             const std::atomic<bool>& stop);

  void open_root(const double* point, Node& root) const;
  // The child of `parent` by column e, to be extended by `candidates`; `point` is its fit.
  void open(const Node& parent, int e, const double* point, const std::vector<int>& candidates, Node& child) const;
  // As much of it as its own children are opened from.
  void open_ancestor(const Node& parent, int e, const double* point, const std::vector<int>& candidates, Node& child) const {
    open(parent, e, point, candidates, child);
  }
  // Slope of the loss at the node's fit along each candidate.
  void gradients(const Node& node, const std::vector<int>& candidates, double* gradient) const;
  // Fits of the node extended by each of `columns`; to convergence, or only until the bound exceeds the threshold.
  void fit_children_of(const Node& node, const std::vector<int>& columns, double threshold, bool converge,
                       std::vector<ChildFit>& fits) const;
  void write_cells(const Node& node, int e, ScoreCells& cells) const;
  // Cells of the prefix itself.
  void write_prefix(const Node& node, ScoreCells& cells) const;
  // From here on a row counts in `gradients` with the slope given for its cell and label.
  void set_slopes(Node& node, const double* if_positive, const double* if_negative) const;
  // Whether all rows of a label weigh the same, and are few enough for a certificate to count.
  bool even() const { return even_; }
  // Columns of the sets whose weights are tabled, where no table of more than so many of one size counts.
  int counted(double most) const { return counts_.max_prefix() == 3 && n_largest_ > most ? 3 : counts_.max_prefix() + 1; }
  // Weight of the rows with a 1 in e, in a subset of the prefix, and in f, by f after e; of up to `counted` columns together.
  const double* pair_weights(const Node& node, int subset, int e) const;

 private:
  void expand(const Node& node, int e, double* total, double* positive) const;
  void finish(Node& node) const;

  BitColumns bits_;
  SubsetCounts counts_;
  const ColumnLimits& limits_;
  double n_largest_;  // sets of four columns
  bool even_;
};

class RowTree {
 public:
  static constexpr bool has_bound_point = false, has_curvature = false;
  struct Node : PrefixFit {
    RowPartition rows;
    std::vector<double> residual;  // by row
    ScoreCells cells;
    mutable CutScratch scratch;
    mutable ScoreCells scratch_cells;
  };

  RowTree(const CodedTable& table, const std::vector<int>& order, const ColumnLimits& limits)
      : table_(table), order_(order), limits_(limits) {}

  void open_root(const double* point, Node& root) const;
  void open(const Node& parent, int e, const double* point, const std::vector<int>& candidates, Node& child) const;
  void open_ancestor(const Node& parent, int e, const double* point, const std::vector<int>& candidates, Node& child) const;
  void gradients(const Node& node, const std::vector<int>& candidates, double* gradient) const;
  void fit_children_of(const Node& node, const std::vector<int>& columns, double threshold, bool converge,
                       std::vector<ChildFit>& fits) const;
  void write_cells(const Node& node, int e, ScoreCells& cells) const;
  void write_prefix(const Node& node, ScoreCells& cells) const { cells = node.cells; }
  void set_slopes(Node& node, const double* if_positive, const double* if_negative) const;

 private:
  void finish(Node& node) const;

  const CodedTable& table_;
  const std::vector<int>& order_;
  const ColumnLimits& limits_;
};

}  // namespace surefoot
