// The relaxed score card in a box of points: min of the logistic loss over real points p, lower <= p <= upper, with a lower
// bound that holds wherever the iteration stops.
//
// One iteration of projected Newton (Bertsekas, Projected Newton methods for optimization problems with simple constraints,
// SIAM Journal on Control and Optimization, 1982): hold the coordinates at an end of the box that the gradient pushes against,
// solve the Newton system of the others, backtrack until the loss falls, and take the best tangent bound so far. It stops when
// the bound exceeds a threshold, when loss - bound is within a tolerance, or when no step decreases the loss.
#pragma once

#include "surefoot/riskscore/table/score_cells.hpp"

namespace surefoot {

struct BoxFitParameters {
  // Newton steps, and halvings of one. Not tuned.
  int max_steps = 60, max_halvings = 30;
  // Regularisation of the Hessian, absolute and relative to its diagonal: where the classes are separated the curvature
  // vanishes, and steps must stay finite. Not tuned.
  double regularisation = 1e-12, relative_regularisation = 1e-10;
  // Pivots below this fraction of their diagonal entry are taken for 0. Not tuned.
  double pivot_tolerance = 1e-11;
  // Relative to 1 + loss: a predicted decrease below this is rounding, and the step is tried once, for the bound's sake.
  double min_decrease = 1e-13;
  // Relative to 1 + loss: near the minimum rounding hides a decrease; a rise of this size is accepted if the bound rises too.
  double loss_rounding = 1e-14;
};
inline constexpr BoxFitParameters box_fit_parameters{};

struct PointBox {
  double lower[max_coordinates], upper[max_coordinates];
};

// The loss is convex: at any point p with gradient g, inside the box or not,
//   loss(q) >= loss(p) + g . (q - p) >= loss(p) - sum_j (g_j p_j - min(g_j lower_j, g_j upper_j))   for every q in the box,
// and the gradient vanishes quadratically under Newton's method. `bound` is the largest such value seen, less `slack`, which
// bounds the rounding of the sums.
struct BoxFit {
  double point[max_coordinates];
  double loss;
  double bound;
  // Of free scales only: 1 / multiplier; `point` times it are the coefficients of the loss.
  double scale = 1;
  // Under shift only: price of a unit of shift, and the smoothing at which the fit ended.
  double lambda = 1, smoothing = 0;
  // Under shift, of single cards only: scales and lambdas of the tangent planes that give the bound once they are mixed to be
  // level, first two and two along lambda, then both pairs along the scale.
  struct {
    double scale, lambda;
  } sides[4] = {};
  // Newton steps; a heuristic that only compares fits allows fewer.
  int max_steps = box_fit_parameters.max_steps;
};

// From fit.point. Stops when bound > threshold, when loss - bound <= tolerance + slack, or when no step decreases the loss.
void fit_box(const ScoreCells& cells, const PointBox& box, double slack, double threshold, double tolerance, BoxFit& fit);

}  // namespace surefoot
