#include "surefoot/riskscore/fit/penalised_quadratic.hpp"

#include <algorithm>
#include <cmath>

#include "surefoot/core/dense_vector.hpp"

namespace surefoot {

void PenalisedQuadratic::resize(std::size_t n) {
  for (auto* values : {&low, &high, &slope, &point}) values->assign(n, 0);
  curvature.assign(n * n, 0);
}

void PenalisedQuadratic::minimise(const QuadraticParameters& parameters) {
  const std::size_t n = point.size();
  for (int sweep = 0; sweep < parameters.max_sweeps; ++sweep) {
    double decrease = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const double g = slope[j], h = curvature[j * n + j] + parameters.regularisation;
      // Soft-thresholding; each side of 0 has its own penalty, and at most one of them a minimiser away from 0.
      double next = 0;
      if (high[j] > 0) next = std::max(next, point[j] - (g + price / high[j]) / h);
      if (low[j] < 0 && next == 0) next = std::min(0.0, point[j] - (g - price / -low[j]) / h);
      next = std::clamp(next, low[j], high[j]);
      const double by = next - point[j];
      if (by == 0) continue;
      point[j] = next;
      decrease += h * by * by;
      add_scaled(slope.data(), curvature.data() + j * n, by, static_cast<int>(n));
    }
    if (decrease < parameters.tolerance) return;
  }
}

}  // namespace surefoot
