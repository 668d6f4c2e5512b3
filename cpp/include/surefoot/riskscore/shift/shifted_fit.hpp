// The best real-valued score under the worst case, with its points in a box, and a bound that holds wherever the iteration stops.
#pragma once

#include "surefoot/riskscore/shift/fit_region.hpp"

namespace surefoot {

// Minimises the robust loss over coefficients and scale in the region and lambda with |coefficient_j| <= price_j lambda for the columns
// that may move, by Newton's method along a path: maxima smoothed by mu, limits guarded by logarithms, mu falling to nothing.
// `most_lambda` is a value of lambda that no card of the region needs to exceed (see lambda_limit). fit.point are the coefficients.
//
// Bound: with the shares of the smoothed maxima fixed the loss is convex, below the robust loss, and tangent to its plane with gradient
// (g, h) at (p, lambda), so for all coefficients q of the region
//   robust loss(q) >= shared(p, lambda) - g . p - h lambda + min over mu of [h mu + min over t of t G + sum_j min over q_j of g_j q_j],
// where G is the sum of g_j times the numbers tied to the scale, q_j is within its limits and, where its column may move, within
// price_j mu, and likewise t times the numbers tied to it. The inner sum is piecewise linear and convex in mu and breaks only where such a
// price meets a limit, so it is minimised exactly by trying those values.
//
// Where nothing is left to choose but lambda, loss and bound are those of RobustLattice::least_worst; where it is lambda and the scale,
// those of least_along_scale.
void fit_robust(RobustLattice& lattice, const RobustRegion& region, double most_lambda, double slack, double threshold,
                double tolerance, BoxFit& fit);

// The bound above at a point, from its sums.
double robust_bound(const RobustLattice& lattice, const RobustSums& sums, const double* point, const RobustRegion& region,
                    double most_lambda);

}  // namespace surefoot
