// Where the coefficients of a robust fit may be, and the best of them where only their scale is left to choose.
#pragma once

#include "surefoot/riskscore/fit/box_fit.hpp"
#include "surefoot/riskscore/fit/scaled_fit.hpp"
#include "surefoot/riskscore/shift/shift_lattice.hpp"

namespace surefoot {

// Each coefficient lies in its interval or, at a free scale, is tied to the scale t: t times a given number.
struct RobustRegion {
  RobustRegion() = default;
  RobustRegion(const PointBox& limits) : box(limits) {}

  PointBox box;  // of coefficients that are not tied
  bool tied[max_coordinates] = {};
  double point[max_coordinates] = {};  // of coefficients that are tied
  ScaleRange scale;                    // of no account where nothing is tied

  // Columns that are tied and may move need lambda >= t * reach.
  double reach(const RobustLattice& lattice) const;
  // The smallest lambda that any coefficients of the region allow.
  double least_lambda(const RobustLattice& lattice) const;
};

// What depends on the slope along lambda is rounded off as far out as lambda can be: see rounding_slack.hpp. `slopes` bounds the radius
// plus the mean price paid.
double lambda_rounding(const RobustLattice& lattice, double most_lambda, double slopes);

// The least robust loss of t * points over the scales t of a range, lambda at its best for each, and where it is: fit.scale, fit.lambda.
// It is convex in t, and least_worst gives a tangent from below at every t: two of them with slopes of opposite signs meet at or below
// the minimum. Ends when loss and bound are within the tolerance, or when the bound less slack exceeds the threshold.
void least_along_scale(RobustLattice& lattice, const RobustRegion& region, double most_lambda, double slack, double threshold,
                       double tolerance, BoxFit& fit);

}  // namespace surefoot
