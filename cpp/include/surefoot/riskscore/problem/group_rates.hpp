// Shares of flagged rows by group, over boxes of cards on one support.
//
// A row is flagged by some cards of a box if its largest score over the box is at or above the threshold, and by all if its
// smallest is. So the share of a group lies between two sums, and cards of the box can keep the rule only if no group's least
// share is above another's largest by more than the rule allows. Mean risks are enclosed likewise, as risks grow with scores. A box
// of one card is decided. Rows that are equal in the columns
// of the support and of one group are added up first.
#pragma once

#include <vector>

#include "surefoot/riskscore/problem/card_rules.hpp"
#include "surefoot/riskscore/table/coded_table.hpp"

namespace surefoot {

class GroupRates {
 public:
  // Of the columns of a support.
  GroupRates(const FairRule& rule, const RawTable& table, const int* columns, int n);

  // Whether some card with coordinates between these, the intercept first, may keep the rule.
  bool feasible(const double* lower, const double* upper) const;

 private:
  int n_, n_groups_;
  double most_, threshold_;
  std::vector<double> observed_;  // by group, of rules about mean risks
  std::vector<double> values_;    // n for every kind of rows
  std::vector<int> group_;
  std::vector<double> share_;
};

}  // namespace surefoot
