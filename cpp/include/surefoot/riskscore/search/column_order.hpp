// Presolve of the search over supports: the branching order of the columns, symmetric columns, and the limits of the intercept.
#pragma once

#include <functional>
#include <vector>

#include "surefoot/riskscore/problem/score_problem.hpp"
#include "surefoot/riskscore/table/row_partition.hpp"

namespace surefoot {

struct ColumnOrder {
  std::vector<int> columns;  // of the table, best single fit first: supports without good columns are proven bad early
  // Symmetry: position of an earlier column that says the same, or -1. A support with this column but without that one has a
  // twin of equal value, so it is pruned. Both together are not the same as one: their points add up beyond one column's
  // limits.
  std::vector<int> twin;
};

// Improving cards have intercepts between intercept_low and intercept_high. Rules can treat twins differently, so with rules
// there are none; nor are there without `skip_twins`, when cards of equal value are wanted, too.
ColumnOrder order_columns(const ScoreProblem& problem, const CodedTable& table, const std::vector<int>& usable, double slack,
                          int intercept_low, int intercept_high, bool skip_twins, const std::function<bool()>& stopped);

// Columns that may have points; with `skip_empty` only those that are not 0 in every row.
std::vector<int> usable_columns(const ScoreProblem& problem, const CodedTable& table, bool skip_empty);

// Intercepts beyond this range belong to cards worse than `value`. By convexity the mean loss of a class is at least the loss
// at its mean score, so with w the weight of the negatives and m_j their mean in column j
//   w log(1 + exp(intercept + sum_j points_j m_j)) <= value,   and likewise for the positives.
void tighten_intercept(const ScoreProblem& problem, const CodedTable& table, const std::vector<int>& usable, double value,
                       int& low, int& high);

}  // namespace surefoot
