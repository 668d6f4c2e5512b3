// Linear programmes over 0/1 vectors by depth-first branch and bound, in terms of what differs from a given vector.
//
//   max over flips f in {0, 1}^n of   gain . f + table[sum_j f_j]   subject to   rows f <= right.
//
// x is `start` with the coordinates of f flipped; the table prices the number of flips.
//
// Root: subgradient steps with Polyak's step length on the Lagrangian dual of the rows find multipliers mu >= 0. The Lagrangian
// relaxation takes the k largest reduced gains for the best k; it is tabulated for every suffix of the unknowns and every
// number of flips before it. Unknowns are branched on by falling absolute reduced gain, the better value first.
// Node: pruned if a row cannot be satisfied any more, or if the relaxation, with mu or with 0, does not exceed the incumbent.
// Termination: no node is left, and the incumbent is optimal; or the limit of nodes is exceeded.
#pragma once

#include <cstdint>
#include <vector>

namespace surefoot {

struct BinaryProgram {
  int n_unknowns;
  int n_rows;
  const double* rows;           // n_rows x n_unknowns, in terms of flips
  const double* right;          // n_rows
  const double* row_tolerance;  // n_rows: by how much a row may be violated
  const double* gain;           // n_unknowns
  const double* table;          // n_unknowns + 1
};

struct BinarySearchParameters {
  // Subgradient steps at the root from mu = 0: fewer nodes against time per search. Not tuned.
  int subgradient_steps = 40;
  // The same from multipliers of an earlier search with the same rows, for a cost that is often much the same. Not tuned.
  int warm_subgradient_steps = 6;
  // The target of Polyak's step length is the best dual bound minus this fraction of it, or the incumbent if that is nearer.
  // Not tuned.
  double target_fraction = 0.1;
  // What the fraction is taken of at least, in units of the objective.
  double least_target = 1e-3;
  // Factor on the step length after a step that did not lower the dual bound. Not tuned.
  double step_decay = 0.7;
  // Distance from the target that a step length is computed from at least, in units of the objective.
  double least_decrease = 1e-9;
  // Bounds the rounding of sums of up to n numbers, in units of the objective: a node is pruned only if its bound is lower than
  // the incumbent by this.
  double bound_tolerance = 1e-10;
};

struct BinarySearchOptions {
  double cutoff;  // vectors whose objective does not exceed it are of no interest
  std::int64_t max_nodes;
  // The vector that flips change: if given, the search is logged, the part with x_j = 0 of every node before that with x_j = 1.
  const double* start = nullptr;
  BinarySearchParameters parameters = {};
};

// An entry of the log, one per node in the order of the search: a row that cannot be satisfied any more (0, 1, ...), or this.
enum LoggedNode : std::int32_t { kBranched = -1, kLagrangianBound = -2, kPlainBound = -3, kVector = -4 };

struct BinarySearchResult {
  bool found;     // whether a vector better than the cutoff was found
  bool complete;  // whether the search ended before the limit of nodes
  double value;   // objective of the incumbent, or the cutoff
  std::vector<char> flips;
  std::int64_t n_nodes;
  // What was logged, the unknowns in the order of branching, and the multipliers of the rows.
  std::vector<std::int32_t> log;
  std::vector<int> order;
  std::vector<double> multipliers;
};

// A search that keeps its memory for the next one.
class BinarySearch {
 public:
  // `multipliers`, if given, are those of an earlier search with the same rows: a warm start, overwritten with those of this
  // search. The result is valid until the next search.
  const BinarySearchResult& search(const BinaryProgram& program, const BinarySearchOptions& options,
                                   double* multipliers = nullptr);

 private:
  std::size_t at(int j, int r) const { return static_cast<std::size_t>(j) * m_ + r; }
  double lagrangian_maximum(int& count);
  void minimise_dual(int steps);
  void order_unknowns();
  void tabulate(const std::vector<double>& gain, std::vector<double>& completion);
  void branch(int j, int h, double plain, double reduced);
  void note(std::int32_t entry) {
    if (start_) result_.log.push_back(entry);
  }

  BinaryProgram p_{};
  BinarySearchParameters parameters_{};
  int n_ = 0, m_ = 0;
  double incumbent_ = 0, constant_ = 0;
  std::int64_t max_nodes_ = 0, n_nodes_ = 0;
  bool found_ = false;
  const double* start_ = nullptr;
  std::vector<double> right_, mu_, trial_, gain_, subgradient_, sorted_, reduced_, plain_, column_, completion_,
      plain_completion_, least_rest_, activity_;
  std::vector<int> order_;
  std::vector<char> flip_, best_;
  BinarySearchResult result_{};
};

}  // namespace surefoot
