// The feasible region of a fit under shift, and the fit itself where only the scale is left to choose.
#pragma once

#include "surefoot/riskscore/fit/box_fit.hpp"
#include "surefoot/riskscore/fit/scaled_fit.hpp"
#include "surefoot/riskscore/shift/shift_lattice.hpp"

namespace surefoot {

// Each coefficient lies in its interval or, at a free scale, is tied to the scale t: t times a given number.
struct FitRegion {
  FitRegion() = default;
  FitRegion(const PointBox& limits) : box(limits) {}

  PointBox box;  // of coefficients that are not tied
  bool tied[max_coordinates] = {};
  double point[max_coordinates] = {};  // of coefficients that are tied
  ScaleRange scale;                    // of no account where nothing is tied

  // Columns that are tied and may move need lambda >= t * lambda_per_scale.
  double lambda_per_scale(const ShiftLattice& lattice) const;
  // The smallest lambda that any coefficients of the region allow.
  double least_lambda(const ShiftLattice& lattice) const;
};

// Bounds the rounding of what depends on the slope along lambda, at the largest lambda: see rounding_slack.hpp. `slopes` bounds
// the radius plus the mean price.
double lambda_rounding(const ShiftLattice& lattice, double most_lambda, double slopes);

// The least robust loss of t * points over the scales t of a range, lambda at its best for each, and where it is: fit.scale,
// fit.lambda. It is convex in t, and least_worst gives a tangent from below at every t: two of them with slopes of opposite
// signs meet at or below the minimum. Ends when loss and bound are within the tolerance, or when the bound less slack exceeds
// the threshold. fit.sides are the planes that gave the bound.
void least_along_scale(ShiftLattice& lattice, const FitRegion& region, double most_lambda, double slack, double threshold,
                       double tolerance, BoxFit& fit);

}  // namespace surefoot
