#include "surefoot/riskscore/fit/priced_quadratic.hpp"

#include <algorithm>
#include <cmath>

#include "surefoot/core/dense_vector.hpp"

namespace surefoot {
namespace {

constexpr int max_sweeps = 1000;
// The model is exact in its own terms only; its minimum is wanted to a few digits more than the loss is compared by.
constexpr double accuracy = 1e-14;

}  // namespace

void PricedQuadratic::resize(std::size_t n) {
  for (auto* values : {&low, &high, &slope, &point}) values->assign(n, 0);
  curvature.assign(n * n, 0);
}

void PricedQuadratic::minimise() {
  const std::size_t n = point.size();
  for (int sweep = 0; sweep < max_sweeps; ++sweep) {
    double gained = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const double g = slope[j], h = curvature[j * n + j] + 1e-12;
      // Each side has its own price; at most one of them wants a step away from 0.
      double next = 0;
      if (high[j] > 0) next = std::max(next, point[j] - (g + price / high[j]) / h);
      if (low[j] < 0 && next == 0) next = std::min(0.0, point[j] - (g - price / -low[j]) / h);
      next = std::clamp(next, low[j], high[j]);
      const double by = next - point[j];
      if (by == 0) continue;
      point[j] = next;
      gained += h * by * by;
      add_scaled(slope.data(), curvature.data() + j * n, by, static_cast<int>(n));
    }
    if (gained < accuracy) return;
  }
}

}  // namespace surefoot
