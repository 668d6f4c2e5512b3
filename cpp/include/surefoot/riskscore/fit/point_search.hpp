// Branch and bound over the whole points of one support: min of the loss over the integer points of a box, rules obeyed.
#pragma once

#include <memory>
#include <vector>

#include "surefoot/riskscore/fit/support_loss.hpp"
#include "surefoot/riskscore/problem/card_rules.hpp"
#include "surefoot/riskscore/problem/group_rates.hpp"

namespace surefoot {

// lower <= (intercept * coefficient[0] + sum_j points_j * coefficient[j + 1]) / multiplier <= upper.
struct PointRow {
  double lower, upper;
  double coefficient[max_coordinates];
};

// Whole numbers from lower to upper for every coordinate; 0 is left out for columns, which would otherwise not be in the
// support.
struct PointRange {
  int lower[max_coordinates], upper[max_coordinates];
  std::vector<PointRow> rows;
  const std::vector<int>* values[max_coordinates] =
      {};                                        // the only points a coordinate may have, ascending; null: all of its range
  std::vector<std::vector<int>> one_sign;        // coordinates whose points are all positive or all negative
  const std::vector<RateRule>* rates = nullptr;  // null: none
  std::shared_ptr<const std::vector<GroupRates>> group_rates;  // null: none
};

class CardListener {
 public:
  virtual ~CardListener() = default;
  // Cards with a larger loss are of no interest. May fall while a search is under way.
  virtual double threshold() const = 0;
  // A card within the range, with a loss no larger than the threshold up to rounding.
  virtual void offer(const int* points, double loss, double multiplier) = 0;
  // Polled; true ends the search.
  virtual bool stopped() const = 0;
};

// Offers every card of the range whose loss may be at or below the threshold. One node: a box with some coordinates fixed, the
// others relaxed to real numbers. It is pruned if the bound of its relaxation is above the threshold, or if no card in it can
// obey a rule. Otherwise it branches on the next coordinate, one child for each whole value, from the relaxed one outwards: the
// relaxed minimum is a convex function of the coordinate, so once a value is pruned by its bound all values beyond it are,
// provided some point on the near side is known to be within the threshold. A node without open coordinates is a card.
//
// Rules never enter the relaxation, so bounds hold with and without them. A box is infeasible if the smallest and largest log
// odds over it break a linear rule or a rate; that prunes the box, but not the values beyond it. Values outside a coordinate's
// list are passed over and prune nothing else. Signs would enter the relaxation, whose minimiser may have the wrong ones, so
// each choice of signs is a search of its own.
//
// `loss` has `cells` open. Returns the number of boxes fitted.
long search_points(SupportLoss& loss, const ScoreCells& cells, const PointRange& range, double slack, const double* start,
                   CardListener& listener);

}  // namespace surefoot
