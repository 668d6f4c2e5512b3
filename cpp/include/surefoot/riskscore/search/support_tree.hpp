// Supports one column at a time: what a search needs to know about a prefix and its extensions by one column.
//
// Two trees with the same doors: BinaryTree counts bits (0/1 columns, few distinct weights), RowTree cuts rows into groups (any
// columns). Columns are named by their position in the order of the search.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "surefoot/riskscore/fit/box_fit.hpp"
#include "surefoot/riskscore/fit/child_fit.hpp"
#include "surefoot/riskscore/search/proof_levels.hpp"
#include "surefoot/riskscore/table/row_partition.hpp"
#include "surefoot/riskscore/table/subset_counts.hpp"

namespace surefoot {

// The hull of the points a column may take once it is in the support, and of the intercept.
struct ColumnLimits {
  std::vector<double> lower, upper;  // by position
  double intercept_lower, intercept_upper;
  double slack;  // pays for rounding in every bound

  // Of the intercept and the columns at n positions.
  PointBox box(const int* positions, int n) const;
};

// A real-valued fit of a prefix plus one column.
struct ChildFit {
  double point[max_coordinates];
  double loss, bound;
  double best[max_coordinates];  // where the bound was found; only from trees that keep it
};

// The fit of a prefix: loss, and its tangent plane minimised over the box of the prefix. Gradients of other columns add to `base`.
struct PrefixFit {
  int depth = 0;
  int columns[max_card_size];
  double point[max_coordinates];
  double base = 0;

  // Rows as they are have none.
  ProofShares shares() const { return {0, 0}; }
};

class BinaryTree {
 public:
  static constexpr bool keeps_best = true;
  struct Node : PrefixFit {
    std::vector<CountRow> rows;  // by subset of the prefix, as bits
    std::vector<double> own;     // counts that no table holds
    std::vector<double> cell_total, cell_positive;
    std::vector<double> share;           // weights of `rows` in the expected number of positives
    std::vector<double> positive_share;  // likewise, of rows with label +1 on top of that; empty: each counts once against it
    std::vector<int> live;               // cells with rows
    std::vector<std::uint64_t> bits;
  };

  // Once `stop` is set the counts stay unfinished: the tree must not be asked then.
  BinaryTree(const RawTable& table, const std::vector<int>& order, const ColumnLimits& limits, int max_size, int n_threads,
             const std::atomic<bool>& stop);

  void open_root(const double* point, Node& root) const;
  // The child of `parent` by column e, to be extended by `candidates`; `point` is its fit.
  void open(const Node& parent, int e, const double* point, const std::vector<int>& candidates, Node& child) const;
  // As much of it as its own children are opened from.
  void pass(const Node& parent, int e, const double* point, const std::vector<int>& candidates, Node& child) const {
    open(parent, e, point, candidates, child);
  }
  // Slope of the loss at the node's fit along each candidate.
  void gradients(const Node& node, const std::vector<int>& candidates, double* gradient) const;
  // Fits of the node extended by each of `columns`; with `settle` to convergence, otherwise until the bound exceeds the threshold.
  void fit_children_of(const Node& node, const std::vector<int>& columns, double threshold, bool settle,
                       std::vector<ChildFit>& fits) const;
  void write_cells(const Node& node, int e, ScoreCells& cells) const;
  // Cells of the prefix itself.
  void write_prefix(const Node& node, ScoreCells& cells) const;
  // From here on a row counts in `gradients` with the slope given for its cell and label.
  void tilt(Node& node, const double* if_positive, const double* if_negative) const;

 private:
  void expand(const Node& node, int e, double* total, double* positive) const;
  void finish(Node& node) const;

  BitColumns bits_;
  SubsetCounts counts_;
  const ColumnLimits& limits_;
};

class RowTree {
 public:
  static constexpr bool keeps_best = false;
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
  void pass(const Node& parent, int e, const double* point, const std::vector<int>& candidates, Node& child) const;
  void gradients(const Node& node, const std::vector<int>& candidates, double* gradient) const;
  void fit_children_of(const Node& node, const std::vector<int>& columns, double threshold, bool settle,
                       std::vector<ChildFit>& fits) const;
  void write_cells(const Node& node, int e, ScoreCells& cells) const;
  void write_prefix(const Node& node, ScoreCells& cells) const { cells = node.cells; }
  void tilt(Node& node, const double* if_positive, const double* if_negative) const;

 private:
  void finish(Node& node) const;

  const CodedTable& table_;
  const std::vector<int>& order_;
  const ColumnLimits& limits_;
};

}  // namespace surefoot
