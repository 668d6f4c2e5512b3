// The best whole points for given columns: branch and bound over the lattice inside a box.
#pragma once

#include <vector>

#include "surefoot/riskscore/fit/support_loss.hpp"
#include "surefoot/riskscore/problem/card_rules.hpp"

namespace surefoot {

// lower <= (intercept * coefficient[0] + sum_j points_j * coefficient[j + 1]) / multiplier <= upper.
struct PointRow {
  double lower, upper;
  double coefficient[max_coordinates];
};

// Whole numbers from lower to upper for every coordinate; 0 is left out for columns, which would otherwise not be in the support.
struct PointRange {
  int lower[max_coordinates], upper[max_coordinates];
  std::vector<PointRow> rows;
  const std::vector<int>* values[max_coordinates] =
      {};                                        // the only points a coordinate may have, ascending; null: all of its range
  std::vector<std::vector<int>> one_sign;        // coordinates whose points are all positive or all negative
  const std::vector<RateRule>* rates = nullptr;  // null: none
};

class CardListener {
 public:
  virtual ~CardListener() = default;
  // Cards with a larger loss are of no interest. May fall while a search is under way.
  virtual double threshold() const = 0;
  // A card within the range, with a loss no larger than the threshold up to rounding.
  virtual void offer(const int* points, double loss, double multiplier) = 0;
  // Asked now and then; true ends the search.
  virtual bool stopped() const = 0;
};

// Offers every card of the range whose loss may be at or below the threshold. Coordinates are fixed one after another, the intercept
// first; at each value the others are relaxed to real numbers. The relaxed minimum is a convex function of the fixed coordinate, so once
// a value is proven too bad, all values beyond it are, provided some point on the near side is known to be good enough.
//
// Rules do not weaken that proof, because they never enter the relaxation: a box is left either since its relaxed minimum is above the
// threshold, which holds for all of its cards, or since none of its cards keeps a linear rule or a rate, which is told by the smallest and
// largest log odds over the box. Only the former ends a direction. Values outside a coordinate's list are passed over and end nothing. Signs
// would enter the relaxation, where the good point may have the wrong ones, so each choice of signs is a search of its own.
//
// `loss` has `cells` open. Returns the number of boxes fitted.
long search_points(SupportLoss& loss, const ScoreCells& cells, const PointRange& range, double slack, const double* start,
                   CardListener& listener);

}  // namespace surefoot
