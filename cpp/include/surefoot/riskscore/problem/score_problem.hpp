// The risk score problem (Ustun and Rudin, Learning optimized risk scores, JMLR 2019, with weights):
//   min over whole points and a whole intercept of   sum_i w_i log(1 + exp(-y_i s_i)) + penalty * #{j : points_j != 0},
//   s_i = intercept + sum_j points_j x_ij,   #{j : points_j != 0} <= max_size,   points within their limits, rules obeyed.
#pragma once

#include <vector>

#include "surefoot/riskscore/fit/point_search.hpp"
#include "surefoot/riskscore/fit/scaled_fit.hpp"
#include "surefoot/riskscore/problem/card_rules.hpp"
#include "surefoot/riskscore/shift/shift_lattice.hpp"
#include "surefoot/riskscore/shift/shift_term.hpp"
#include "surefoot/riskscore/table/row_partition.hpp"

namespace surefoot {

struct ScoreProblem {
  RawTable table;
  std::vector<int> lower, upper;  // points by column
  int intercept_lower, intercept_upper;
  int max_size;
  double penalty;
  CardRules rules;
  ShiftTerm shift = {};
  ScaleRange scale = {};  // of 1 / multiplier, where the risk is that of score / multiplier

  // The smallest and largest points a column may take once it is in the support (0 is left out).
  int lowest(int column) const {
    const int low = lower[static_cast<std::size_t>(column)];
    return low != 0 ? low : 1;
  }
  int highest(int column) const {
    const int high = upper[static_cast<std::size_t>(column)];
    return high != 0 ? high : -1;
  }
  // Hull of the coefficients a column may have in the loss once it is in the support, and of the intercept's.
  double least_coefficient(int column) const { return scale.least(lowest(column)); }
  double most_coefficient(int column) const { return scale.most(highest(column)); }

  bool usable(int column) const { return lowest(column) <= highest(column); }

  // Prices of shifts of the columns of a support.
  ShiftPrices prices(const int* columns, int n) const;

  // Range of the points of a support.
  PointRange range(const int* columns, int n, int intercept_low, int intercept_high) const;
};

// A value of lambda that no card needs to exceed: beyond it no shift gains its price. Softplus has slopes below 1, so flipping
// column j gains at most |points_j|, which lambda price_j exceeds, and flipping the label gains at most |score|. Columns that
// may move need |points_j| / price_j. At a free scale all this grows with 1 / multiplier.
double lambda_limit(const ScoreProblem& problem);

}  // namespace surefoot
