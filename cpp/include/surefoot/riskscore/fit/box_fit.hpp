// The best real-valued score with its points in a box, and a bound that holds wherever the iteration stops.
#pragma once

#include "surefoot/riskscore/table/score_cells.hpp"

namespace surefoot {

struct PointBox {
  double lower[max_coordinates], upper[max_coordinates];
};

// The loss is convex: at any point p with gradient g, inside the box or not,
//   loss(q) >= loss(p) + g . (q - p) >= loss(p) - sum_j (g_j p_j - min(g_j lower_j, g_j upper_j))   for every q in the box,
// and the gradient vanishes quadratically under Newton's method. `bound` is the largest such value seen, less `slack`, which pays for
// the rounding of the sums.
struct BoxFit {
  double point[max_coordinates];
  double loss;
  double bound;
  // Of free scales only: 1 / multiplier; `point` times it are the coefficients of the loss.
  double scale = 1;
  // Of robust losses only: price of a unit of shift, and the smoothing at which the fit ended.
  double lambda = 1, smoothing = 0;
  // Newton's steps allowed: a few of them tell which fits are worth the others.
  int max_steps = 60;
};

// Projected Newton steps from fit.point. Stops when bound > threshold, when loss - bound <= tolerance + slack, or when steps no longer help.
void fit_box(const ScoreCells& cells, const PointBox& box, double slack, double threshold, double tolerance, BoxFit& fit);

}  // namespace surefoot
