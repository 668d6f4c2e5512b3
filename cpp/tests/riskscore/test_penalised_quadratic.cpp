// Minima of priced quadratic models against their conditions of optimality.
#include <cmath>
#include <random>
#include <vector>

#include "check.hpp"
#include "surefoot/riskscore/fit/penalised_quadratic.hpp"

using namespace surefoot;

TEST(no_coordinate_of_the_minimum_wants_to_move) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&] { return static_cast<double>(random() % 2001) / 1000 - 1; };
    const std::size_t n = 1 + seed % 7;
    PenalisedQuadratic model;
    model.resize(n);
    std::vector<double> root(n * n), start(n), slope(n);
    for (double& entry : root) entry = draw();
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n; ++b) {
        model.curvature[a * n + b] = a == b ? 0.1 : 0;
        for (std::size_t k = 0; k < n; ++k) model.curvature[a * n + b] += root[a * n + k] * root[b * n + k];
      }
    model.price = seed % 3 * 0.2;
    for (std::size_t j = 0; j < n; ++j) {
      model.low[j] = random() % 4 ? -0.5 - std::fabs(draw()) : 0;
      model.high[j] = random() % 4 ? 0.5 + std::fabs(draw()) : 0;
      start[j] = model.point[j] = model.high[j] / 2;
      slope[j] = model.slope[j] = 3 * draw();
    }
    model.minimise();
    for (std::size_t j = 0; j < n; ++j) {
      double g = slope[j];
      for (std::size_t k = 0; k < n; ++k) g += model.curvature[j * n + k] * (model.point[k] - start[k]);
      const double p = model.point[j];
      CHECK(model.low[j] <= p && p <= model.high[j]);
      // Slopes towards larger and smaller points, the price included: neither way is down.
      if (p < model.high[j]) CHECK(g + (p >= 0 ? model.price / model.high[j] : -model.price / -model.low[j]) >= -1e-6);
      if (p > model.low[j]) CHECK(-g + (p <= 0 ? model.price / -model.low[j] : -model.price / model.high[j]) >= -1e-6);
    }
  }
}
