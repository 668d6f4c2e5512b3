// Pruning at a node of the support tree: which columns can still enter an improving support, and which of them to branch on.
//
// A node is a prefix P of columns; it stands for the supports P + A, A a set of 1 to `budget` candidates. At the relaxed fit of
// P the loss has slope g_j along column j, so by convexity points p_j change it by at least g_j p_j:
//   loss on P + A >= base - sum over j in A of gain_j,   gain_j = -min over the points of j of g_j p_j.
// With the threshold of the incumbent this prunes in two ways:
// - Candidate e is excluded from the subtree if base - gain_e - (the budget - 1 largest gains of other candidates) is above it:
//   no improving support holds e.
// - It is no child if base - gain_e - (the budget - 1 largest gains of candidates after e) is: none has e as its first added
//   column.
// Symmetry breaking: a column whose twin (column_order.hpp) is not in P is no child either.
//
// The search and the writer of its proof prune by the same functions, so a proof repeats what the search did.
#pragma once

#include <cstdint>
#include <vector>

#include "surefoot/riskscore/problem/score_proof.hpp"
#include "surefoot/riskscore/search/column_order.hpp"
#include "surefoot/riskscore/search/support_tree.hpp"

namespace surefoot {

// The candidates of a node, by position in the order of the search.
struct CandidateList {
  std::vector<int> columns;         // ascending; pruning leaves those that are not excluded
  std::vector<double> gradient;     // by position: slope of the loss at the node's fit
  std::vector<int> children;        // columns to branch on, ascending
  std::vector<double> child_bound;  // of the loss on all supports in the subtree of each child
  std::vector<double> gain;         // scratch
};

// `gradient` has been computed. `marks` gets a CandidateMark for every candidate; null: none are wanted.
void prune_candidates(const PrefixFit& node, const ColumnLimits& limits, const ColumnOrder& order, double threshold, int budget,
                      CandidateList& list, std::int32_t* marks = nullptr);

// Whether a support of the prefix and e may be the only one of its twins that is looked at.
bool twin_in_prefix(const PrefixFit& node, const ColumnOrder& order, int e);

}  // namespace surefoot
