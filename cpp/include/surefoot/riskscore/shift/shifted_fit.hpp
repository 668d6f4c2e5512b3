// The relaxed score card under the worst shift: min of the robust loss over real coefficients in a region, with a lower bound
// that holds wherever the iteration stops.
//
// An interior-point method on a smoothed problem: maxima over shifts are smoothed by mu (shift_lattice.hpp), limits become
// logarithmic barriers of weight proportional to mu, and mu decreases by a constant factor from stage to stage. One iteration:
// the tangent bound at the iterate; Newton's direction for smoothed loss + barrier; the longest step that stays inside, then
// backtracking (Armijo). A stage ends when the bound loses no more than the barriers alone would take. It stops when the bound
// exceeds the threshold, when the gap between worst case and bound is within the tolerance, or at the smallest mu. See Nesterov
// and Nemirovskii, Interior-point polynomial algorithms in convex programming (SIAM, 1994).
#pragma once

#include "surefoot/riskscore/shift/fit_region.hpp"

namespace surefoot {

struct ShiftedFitParameters {
  // Loss: smoothing of the first and the last stage, and its factor from stage to stage. Not tuned.
  double first_smoothing = 0.01, last_smoothing = 1e-9, smoothing_factor = 0.1;
  // Weight of the barriers relative to the smoothing: they should distort the path less than the smoothed maxima do, but must
  // be felt before they are hit. Not tuned.
  double barrier_ratio = 0.1;
  // Newton steps in all and of one stage, and halvings of one step. Not tuned.
  int max_steps = 120, max_stage_steps = 14, max_halvings = 40;
  // A stage ends once the gap between loss and bound is this multiple of barrier weight * dimension. Curvatures of smoothed
  // maxima are large, so a small Newton decrement does not mean small slopes. Not tuned.
  double stage_gap = 4;
  // Fraction of the way to the nearest limit that a step may go. Not tuned.
  double max_step_fraction = 0.95;
  // Fraction of the Newton decrement that a step must decrease the merit function by (Armijo). Not tuned.
  double sufficient_decrease = 0.05;
  // Relative to 1 + |merit|: near the minimum rounding hides a decrease of this size.
  double merit_rounding = 1e-14;
  // The start is moved inside the region: by this fraction of an interval (of at most 1); lambda by a factor and a distance
  // from its lower end, at least to a fraction of its upper end, at most to another. Not tuned.
  double interior_fraction = 0.02, lambda_factor = 1.1, lambda_distance = 1e-3, min_lambda_fraction = 0.05,
         max_lambda_fraction = 0.999;
  // Relative regularisation of the Hessian's diagonal, and the relative pivot below which a direction is left out. Not tuned.
  double regularisation = 1e-12, pivot_tolerance = 1e-13;
};
inline constexpr ShiftedFitParameters shifted_fit_parameters{};

// Minimises the robust loss over coefficients and scale in the region and lambda with |coefficient_j| <= price_j lambda for the
// columns that may move. `most_lambda` is a value of lambda that no card of the region needs to exceed (see lambda_limit).
// fit.point are the coefficients.
//
// Bound: with the mixture of the smoothed maxima fixed the loss is convex, below the robust loss, and tangent to its plane with
// gradient (g, h) at (p, lambda), so for all coefficients q of the region
//   robust loss(q) >= mixture(p, lambda) - g . p - h lambda
//                     + min over mu of [h mu + min over t of t G + sum_j min over q_j of g_j q_j],
// where G is the sum of g_j times the numbers tied to the scale, q_j is within its limits and, where its column may move,
// within price_j mu, and likewise t times the numbers tied to it. The inner sum is piecewise linear and convex in mu and breaks
// only where such a price meets a limit, so it is minimised exactly by trying those values.
//
// Where nothing is left to choose but lambda, loss and bound are those of ShiftLattice::least_worst; where it is lambda and the
// scale, those of least_along_scale.
void fit_shifted(ShiftLattice& lattice, const FitRegion& region, double most_lambda, double slack, double threshold,
                 double tolerance, BoxFit& fit);

// The bound above at a point, from its sums.
double shifted_bound(const ShiftLattice& lattice, const ShiftedSums& sums, const double* point, const FitRegion& region,
                     double most_lambda);

}  // namespace surefoot
