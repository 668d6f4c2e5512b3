// The scales at which a card obeys its rules about risks.
//
// A rule about the risk of a person is one about log odds, t * (the person's score), with t = 1 / multiplier. For given points
// each end of it, t * score >= lower or t * score <= upper, leaves an interval of scales. So does a limit on the rate of
// flagged rows: with rows in falling order of their scores, the row at which the rate attains its least must be flagged and
// the row that would exceed the most must not be, which says the same of their scores. All together leave an interval, or
// nothing.
#pragma once

#include <utility>
#include <vector>

#include "surefoot/riskscore/fit/point_search.hpp"
#include "surefoot/riskscore/fit/scaled_fit.hpp"

namespace surefoot {

class CardScales {
 public:
  // The part of `scales` at which the card obeys the rows and rates of `range`; empty (low > high) if there is none.
  // `points[0]` is the intercept, and the card has the columns of `cells`.
  ScaleRange admitted(const PointRange& range, const ScoreCells& cells, const double* points, ScaleRange scales);

 private:
  void order_rows(const RateRule& rule, const ScoreCells& cells, const double* points);

  std::vector<std::pair<double, double>> rows_;  // scores of the cells, falling, and their weights
};

}  // namespace surefoot
