// The best real-valued score under the worst case, with its points in a box, and a bound that holds wherever the iteration stops.
#pragma once

#include "surefoot/box_fit.hpp"
#include "surefoot/robust_lattice.hpp"

namespace surefoot {

// Minimises the robust loss over points in the box and lambda with |points_j| <= price_j lambda for the columns that may move, by
// Newton's method along a path: maxima smoothed by mu, limits guarded by logarithms, mu falling to nothing. `most_lambda` is a value of
// lambda that no card of the box needs to exceed (see lambda_limit).
//
// Bound: with the shares of the smoothed maxima fixed the loss is convex, below the robust loss, and tangent to its plane with gradient
// (g, h) at (p, lambda), so for all points q in the box
//   robust loss(q) >= shared(p, lambda) - g . p - h lambda + min over mu of [h mu + sum_j min over q_j of g_j q_j],
// q_j within its limits and, where its column may move, within price_j mu. The inner sum is piecewise linear in mu and breaks only
// where price_j mu meets a limit, so it is minimised exactly by trying those values.
//
// Where all points are fixed only lambda is left, and loss and bound are those of RobustLattice::least_worst.
void fit_robust(RobustLattice& lattice, const PointBox& box, double most_lambda, double slack, double threshold,
                double tolerance, BoxFit& fit);

// The bound above at a point, from its sums.
double robust_bound(const RobustLattice& lattice, const RobustSums& sums, const double* point, const PointBox& box,
                    double most_lambda);

}  // namespace surefoot
