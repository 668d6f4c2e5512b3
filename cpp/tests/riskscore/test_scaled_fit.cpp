// Fits at a free scale against cards with every scale.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "surefoot/core/softplus.hpp"
#include "surefoot/riskscore/fit/scaled_fit.hpp"

using namespace surefoot;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int n_columns = 3;

struct Drawn {
  std::vector<std::vector<double>> rows;  // columns, weight, weight of label +1
  ScoreCells cells;
};

Drawn draw(unsigned seed) {
  std::mt19937 random(seed);
  Drawn drawn;
  const std::size_t n = 5 + random() % 20;
  drawn.cells.reset(n_columns, n);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> row;
    for (int j = 0; j < n_columns; ++j) row.push_back(seed % 2 ? random() % 2 : static_cast<double>(random() % 5) - 1);
    const double weight = 1.0 / static_cast<double>(n);
    row.push_back(weight);
    row.push_back(weight * static_cast<double>(random() % 100) / 100);
    drawn.cells.set_weights(i, row[n_columns], row[n_columns + 1]);
    for (int j = 0; j < n_columns; ++j) drawn.cells.set_value(i, j, row[static_cast<std::size_t>(j)]);
    drawn.rows.push_back(row);
  }
  return drawn;
}

double loss_at(const Drawn& drawn, const double* points, double scale) {
  double loss = 0;
  for (const auto& row : drawn.rows) {
    double score = points[0];
    for (int j = 0; j < n_columns; ++j) score += points[j + 1] * row[static_cast<std::size_t>(j)];
    loss += row[n_columns] * softplus(scale * score) - row[n_columns + 1] * scale * score;
  }
  return loss;
}

}  // namespace

TEST(the_hull_of_scaled_points_is_tight) {
  const ScaleRange range{0.25, 2};
  CHECK_EQUAL(range.least(-3), -6.0);
  CHECK_EQUAL(range.least(1), 0.25);
  CHECK_EQUAL(range.most(5), 10.0);
  CHECK_EQUAL(range.most(-1), -0.25);
  CHECK(range.free() && !ScaleRange{}.free());
}

TEST(fits_at_a_free_scale_bound_all_cards_of_their_box) {
  std::mt19937 random(3);
  const ScaleRange range{0.1, 3};
  ScaledFit scaled(range);
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Drawn drawn = draw(seed);
    // Some coordinates fixed, in all combinations.
    PointBox box;
    for (int j = 0; j <= n_columns; ++j) {
      const double value = static_cast<double>(random() % 7) - 3;
      box.lower[j] = seed >> j & 1 ? value : -3;
      box.upper[j] = seed >> j & 1 ? value : 3;
    }
    BoxFit fit{};
    scaled.fit(drawn.cells, box, 0, infinity, 1e-9, fit);
    CHECK(fit.loss - fit.bound <= 1e-8);
    CHECK(fit.scale >= range.low && fit.scale <= range.high);
    CHECK(std::fabs(loss_at(drawn, fit.point, fit.scale) - fit.loss) <= 1e-12 * (1 + fit.loss));
    for (int k = 0; k < 300; ++k) {
      double points[n_columns + 1];
      for (int j = 0; j <= n_columns; ++j)
        points[j] = box.lower[j] < box.upper[j] ? static_cast<double>(random() % 7) - 3 : box.lower[j];
      const double scale = std::uniform_real_distribution<double>(range.low, range.high)(random);
      CHECK(loss_at(drawn, points, scale) >= fit.bound - 1e-14);
    }
  }
}

TEST(a_single_card_gets_its_best_scale) {
  std::mt19937 random(4);
  const ScaleRange range{0.1, 3};
  ScaledFit scaled(range);
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Drawn drawn = draw(seed);
    PointBox box;
    BoxFit fit{};
    for (int j = 0; j <= n_columns; ++j) fit.point[j] = box.lower[j] = box.upper[j] = static_cast<double>(random() % 7) - 3;
    scaled.fit(drawn.cells, box, 0, infinity, 0, fit);
    double best = infinity;
    for (int k = 0; k <= 1000; ++k)
      best = std::min(best, loss_at(drawn, box.lower, range.low + (range.high - range.low) * k / 1000));
    CHECK(fit.loss <= best + 1e-14);
    CHECK(fit.loss >= best - 1e-4);
  }
}

TEST(a_single_card_gets_its_best_scale_from_where_the_loss_has_no_curvature) {
  // A rare class and a low intercept: at the largest scale all risks are next to nothing, and Newton's step is far too long.
  const ScaleRange range{0.05, 5};
  ScaledFit scaled(range);
  ScoreCells cells;
  cells.reset(1, 2);
  cells.set_weights(0, 1, 0);
  cells.set_weights(1, 1e-3, 1e-3);
  cells.set_value(0, 0, 1);
  cells.set_value(1, 0, 2);
  for (int intercept = -100; intercept < -2; ++intercept) {
    PointBox box;
    BoxFit fit{};
    fit.point[0] = box.lower[0] = box.upper[0] = intercept;
    fit.point[1] = box.lower[1] = box.upper[1] = 1;
    fit.scale = range.high;
    scaled.fit(cells, box, 0, infinity, 0, fit);
    CHECK(fit.loss - fit.bound <= 1e-14);
    double best = infinity;
    for (int k = 0; k <= 1000; ++k) {
      const double scale = range.low + (range.high - range.low) * k / 1000;
      best = std::min(best, softplus(scale * (intercept + 1)) + 1e-3 * softplus(-scale * (intercept + 2)));
    }
    CHECK(fit.loss <= best + 1e-14);
  }
}
