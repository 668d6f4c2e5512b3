// Cards whose risk is sigmoid(score / multiplier): the best multiplier for given points, and bounds where some points are open.
//
// With scale t = 1 / multiplier in [low, high] the coefficients of the loss are q = t * points. Where some coordinates are
// fixed and the others are open, the score is t * (score of the fixed points) + sum of q_j x_j over the open ones: convex in t
// and q together. Open coefficients lie in the hull of t * points_j,
//   [min(l t), max(u t)] over t in [low, high],
// so the fit over t and q in that box bounds every card of the box of points from below. Where all are fixed only t is left and
// the fit is the card's own.
//
// The values v of an open coordinate c for which a fit with q_c = t v is within a threshold are an interval: such (t, q) form a
// convex set, and q_c / t takes an interval of values on it, as t > 0. So the search over points may stop in a direction as it
// does at unit scale.
#pragma once

#include "surefoot/riskscore/fit/box_fit.hpp"

namespace surefoot {

struct ScaleRange {
  double low = 1, high = 1;

  bool free() const { return low < high; }
  bool empty() const { return low > high; }
  // Hull of t v for whole v from `from` to `to`.
  double least(double from) const { return from < 0 ? from * high : from * low; }
  double most(double to) const { return to > 0 ? to * high : to * low; }
};

// Where no points are fixed any scale goes with given coefficients; the finest that keeps the points within their limits rounds
// best.
double finest_scale(const ScaleRange& range, const PointBox& box, int n_columns, const double* coefficients);

class ScaledFit {
 public:
  explicit ScaledFit(const ScaleRange& range) : range_(range) {}
  void set_range(const ScaleRange& range) { range_ = range; }

  // As fit_box, with points and box in points; fit.scale is the scale t, and fit.point[j] = q_j / t.
  void fit(const ScoreCells& cells, const PointBox& box, double slack, double threshold, double tolerance, BoxFit& fit);

 private:
  void fit_coefficients(const ScoreCells& cells, const PointBox& box, double slack, double threshold, double tolerance,
                        BoxFit& fit);
  void fit_scale(const ScoreCells& cells, const PointBox& box, double slack, double threshold, double tolerance, BoxFit& fit);

  ScaleRange range_;
  int open_[max_card_size], n_open_ = 0;  // coordinates of the open columns
  ScoreCells reduced_;                    // the score of the fixed points in the first column, then the open columns
};

}  // namespace surefoot
