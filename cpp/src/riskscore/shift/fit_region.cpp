#include "surefoot/riskscore/shift/fit_region.hpp"

#include <algorithm>
#include <cmath>

namespace surefoot {

double FitRegion::lambda_per_scale(const ShiftLattice& lattice) const {
  double most = 0;
  for (int j = 0; j < lattice.n_columns(); ++j)
    if (lattice.prices().moves(j) && tied[j + 1]) most = std::max(most, std::fabs(point[j + 1]) / lattice.prices().price[j]);
  return most;
}

double FitRegion::least_lambda(const ShiftLattice& lattice) const {
  double least = lambda_per_scale(lattice) * scale.low;
  for (int j = 0; j < lattice.n_columns(); ++j)
    if (lattice.prices().moves(j) && !tied[j + 1])
      least = std::max(least, std::max({0.0, box.lower[j + 1], -box.upper[j + 1]}) / lattice.prices().price[j]);
  return least;
}

double lambda_rounding(const ShiftLattice& lattice, double most_lambda, double slopes) {
  return 0x1p-52 * (lattice.n_terms() + 8 * (lattice.n_columns() + 2) + 32) * most_lambda * slopes;
}

void least_along_scale(ShiftLattice& lattice, const FitRegion& region, double most_lambda, double slack, double threshold,
                       double tolerance, BoxFit& fit) {
  constexpr double meeting_gap = lattice_parameters.meeting_gap;
  struct Tangent {
    double scale, value, lambda, bound, slope, low_side, high_side;
  };
  const int n = lattice.n_columns() + 2;
  const double per_scale = region.lambda_per_scale(lattice), slopes = 2 * lattice.prices().radius;
  // Slopes along lambda are level, or those of shifts that cost the radius at most.
  const double allowance = slack + lambda_rounding(lattice, std::max(most_lambda, per_scale * region.scale.high), slopes);
  double point[max_shifted_coordinates];
  const auto at = [&](double scale) {
    Tangent tangent{scale, 0, 0, 0, 0, 0, 0};
    for (int j = 0; j < n - 1; ++j) point[j] = scale * region.point[j];
    const double low = per_scale * scale;
    tangent.value = lattice.least_worst(point, low, std::max(most_lambda, low), tangent.bound, tangent.slope);
    tangent.slope /= scale;
    tangent.lambda = point[n - 1];
    tangent.low_side = lattice.low_side();
    tangent.high_side = lattice.high_side();
    return tangent;
  };
  Tangent low = at(region.scale.low), high = low;
  double bound = low.bound;
  if (low.slope < 0 && region.scale.free()) {
    high = at(region.scale.high);
    bound = high.bound;
    if (high.slope <= 0) low = high;
  }
  if (low.slope >= 0) high = low;
  Tangent best = low.value <= high.value ? low : high;
  if (low.slope < 0 && high.slope > 0) {
    // The start is where the scale was with less fixed.
    double next = fit.scale;
    for (int k = 0; k < lattice_parameters.max_tangents; ++k) {
      const double steep = low.slope - high.slope;
      double meeting = (high.bound - low.bound + low.slope * low.scale - high.slope * high.scale) / steep;
      meeting = std::clamp(meeting, low.scale, high.scale);
      bound = std::min({low.bound + low.slope * (meeting - low.scale), high.bound, best.value});
      const bool closed = best.value - bound <= std::max(tolerance, meeting_gap * (1 + best.value));
      if (closed || bound - allowance > threshold || high.scale - low.scale <= meeting_gap * high.scale) break;
      // At a corner tangents meet at the minimum; where the loss is smooth it is where their slopes, as a line, are 0.
      if (k % 3 == 1) next = meeting;
      if (k % 3 == 2) next = low.scale + low.slope / steep * (high.scale - low.scale);
      if ((k > 0 && k % 3 == 0) || !(next > low.scale && next < high.scale)) next = 0.5 * (low.scale + high.scale);
      if (!(next > low.scale && next < high.scale)) break;
      const Tangent middle = at(next);
      if (middle.value < best.value) best = middle;
      if (middle.slope == 0) {
        bound = std::min(middle.bound, best.value);
        low = high = middle;
        break;
      }
      (middle.slope < 0 ? low : high) = middle;
    }
  }
  fit.loss = best.value;
  fit.bound = std::min(bound, best.value) - allowance;
  fit.scale = best.scale;
  fit.lambda = best.lambda;
  fit.sides[0] = {low.scale, low.low_side};
  fit.sides[1] = {low.scale, low.high_side};
  fit.sides[2] = {high.scale, high.low_side};
  fit.sides[3] = {high.scale, high.high_side};
  for (int j = 0; j < n - 1; ++j) fit.point[j] = best.scale * region.point[j];
}

}  // namespace surefoot
