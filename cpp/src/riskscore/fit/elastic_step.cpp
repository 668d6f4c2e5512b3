#include "surefoot/riskscore/fit/elastic_step.hpp"

#include <algorithm>
#include <cmath>

#include "surefoot/core/dense_vector.hpp"

namespace surefoot {
namespace {

// The minimiser of  c (t - x)^2 / 2 + g (t - x) + l1 |t| + l2 t^2 / 2  over lower <= t <= upper.
double best_along(double x, double g, double c, double l1, double l2, double lower, double upper) {
  const double curvature = c + l2;
  const double target = c * x - g;
  if (curvature <= 0) return g > l1 ? lower : g < -l1 ? upper : x;
  const double t = target > l1 ? (target - l1) / curvature : target < -l1 ? (target + l1) / curvature : 0.0;
  return std::clamp(t, lower, upper);
}

}  // namespace

void elastic_step(const ElasticStep& step, double tolerance, int max_sweeps, double* x, double* slope) {
  const int n = step.n;
  for (int j = 0; j < n; ++j) slope[j] = step.gradient[j];
  for (int j = 0; j < n; ++j)
    if (x[j] != step.start[j]) add_scaled(slope, step.curvature + static_cast<long>(j) * n, x[j] - step.start[j], n);
  bool full = true;
  for (int sweep = 0; sweep < max_sweeps; ++sweep) {
    double moved = 0;
    for (int j = 0; j < n; ++j) {
      if (!full && x[j] == 0) continue;
      const double curvature = step.curvature[static_cast<long>(j) * n + j];
      const double next = best_along(x[j], slope[j], curvature, step.l1[j], step.l2[j], step.lower[j], step.upper[j]);
      const double change = next - x[j];
      if (change == 0) continue;
      add_scaled(slope, step.curvature + static_cast<long>(j) * n, change, n);
      x[j] = next;
      moved = std::max(moved, (curvature + step.l2[j]) * change * change);
    }
    if (moved <= tolerance) {
      if (full) return;
      full = true;
    } else
      full = false;
  }
}

}  // namespace surefoot
