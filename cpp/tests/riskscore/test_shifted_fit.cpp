// Worst cases by bits against all flips, and robust fits against their own bounds and random points.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "surefoot/core/softplus.hpp"
#include "surefoot/riskscore/shift/shifted_fit.hpp"

using namespace surefoot;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int n_columns = 4;

struct Drawn {
  std::vector<std::vector<double>> rows;  // columns, weight of label -1, weight of label +1
  ScoreCells cells;
  ShiftPrices prices;
};

// Columns that flip, and with odd seeds a first column that moves; every third seed lets labels change.
Drawn draw(unsigned seed) {
  std::mt19937 random(seed);
  const auto uniform = [&] { return std::uniform_real_distribution<double>(0, 1)(random); };
  Drawn drawn;
  const std::size_t n = 6 + random() % 20;
  double total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> row;
    for (int j = 0; j < n_columns; ++j) row.push_back(j == 0 && seed % 2 ? std::round(30 * uniform()) / 10 - 1 : random() % 2);
    row.push_back(uniform());
    row.push_back(uniform());
    total += row[n_columns] + row[n_columns + 1];
    drawn.rows.push_back(row);
  }
  drawn.cells.reset(n_columns, n);
  for (std::size_t i = 0; i < n; ++i) {
    auto& row = drawn.rows[i];
    for (int k = 0; k < 2; ++k) row[static_cast<std::size_t>(n_columns + k)] /= total;
    drawn.cells.set_weights(i, row[n_columns] + row[n_columns + 1], row[n_columns + 1]);
    for (int j = 0; j < n_columns; ++j) drawn.cells.set_value(i, j, row[static_cast<std::size_t>(j)]);
  }
  drawn.prices = {0.02 + 0.1 * uniform(), seed % 3 ? infinity : 0.5 + uniform(), {}, {}};
  for (int j = 0; j < n_columns; ++j) {
    drawn.prices.price[j] = seed % 5 == 4 && j == 2 ? infinity : 0.5 + uniform();
    drawn.prices.flips[j] = !(j == 0 && seed % 2);
  }
  return drawn;
}

// lambda * radius + worst case, by all sets of flips.
double worst_of_all(const Drawn& drawn, const double* point) {
  const double lambda = point[n_columns + 1];
  double sum = lambda * drawn.prices.radius;
  for (const auto& row : drawn.rows)
    for (const int label : {-1, 1}) {
      double worst = -infinity;
      for (int flips = 0; flips < 1 << n_columns; ++flips)
        for (const int target : {-1, 1}) {
          double score = point[0], cost = target == label ? 0 : drawn.prices.label_price;
          for (int j = 0; j < n_columns; ++j) {
            const bool flipped = flips >> j & 1;
            score += point[j + 1] * (flipped ? 1 - row[static_cast<std::size_t>(j)] : row[static_cast<std::size_t>(j)]);
            if (flipped) cost += drawn.prices.flips[j] ? drawn.prices.price[j] : infinity;
          }
          if (std::isfinite(cost)) worst = std::max(worst, softplus(-target * score) - lambda * cost);
        }
      sum += row[static_cast<std::size_t>(label < 0 ? n_columns : n_columns + 1)] * worst;
    }
  return sum;
}

PointBox box_of(double reach) {
  PointBox box;
  for (int j = 0; j <= n_columns; ++j) {
    box.lower[j] = -reach;
    box.upper[j] = reach;
  }
  return box;
}

}  // namespace

TEST(the_worst_case_by_bits_is_that_of_all_flips) {
  std::mt19937 random(7);
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Drawn drawn = draw(seed);
    ShiftLattice lattice;
    lattice.build(drawn.cells, drawn.prices);
    double point[n_columns + 2], slope;
    for (double& p : point) p = std::uniform_real_distribution<double>(-3, 3)(random);
    point[n_columns + 1] = std::fabs(point[n_columns + 1]) / 3;
    const double expected = worst_of_all(drawn, point);
    CHECK(std::fabs(lattice.worst(point, slope) - expected) <= 1e-13 * (1 + expected));
    ShiftedSums sums;
    lattice.sum(point, 1e-7, sums);
    CHECK(sums.mixture <= expected + 1e-13 && expected <= sums.smooth + 1e-13);
    CHECK(sums.smooth <= expected + 1e-6);
  }
}

TEST(derivatives_of_the_smoothed_worst_case_match_differences) {
  std::mt19937 random(8);
  for (unsigned seed = 0; seed < 30; ++seed) {
    const Drawn drawn = draw(seed);
    ShiftLattice lattice;
    lattice.build(drawn.cells, drawn.prices);
    double point[n_columns + 2];
    for (double& p : point) p = std::uniform_real_distribution<double>(-2, 2)(random);
    point[n_columns + 1] = std::fabs(point[n_columns + 1]);
    ShiftedSums here, above, below;
    lattice.sum(point, 0.1, here);
    for (int a = 0; a < n_columns + 2; ++a) {
      const double at = point[a], h = 1e-5;
      point[a] = at + h;
      lattice.sum(point, 0.1, above);
      point[a] = at - h;
      lattice.sum(point, 0.1, below);
      point[a] = at;
      CHECK(std::fabs((above.smooth - below.smooth) / (2 * h) - here.gradient[a]) <= 1e-7);
      for (int b = 0; b < n_columns + 2; ++b) {
        const double entry = here.curvature[std::max(a, b) * max_shifted_coordinates + std::min(a, b)];
        CHECK(std::fabs((above.gradient[b] - below.gradient[b]) / (2 * h) - entry) <= 1e-5 * (1 + std::fabs(entry)));
      }
    }
  }
}

TEST(the_best_lambda_is_no_worse_than_any_other) {
  std::mt19937 random(9);
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Drawn drawn = draw(seed);
    ShiftLattice lattice;
    lattice.build(drawn.cells, drawn.prices);
    double point[n_columns + 2], bound, slope;
    for (double& p : point) p = std::uniform_real_distribution<double>(-3, 3)(random);
    const double best = lattice.least_worst(point, 0.1, 20, bound);
    CHECK(bound <= best && best - bound <= 1e-12);
    CHECK(std::fabs(lattice.worst(point, slope) - best) <= 1e-13);
    for (int k = 0; k <= 400; ++k) {
      point[n_columns + 1] = 0.1 + 19.9 * k / 400;
      CHECK(lattice.worst(point, slope) >= bound - 1e-13);
    }
  }
}

TEST(shifted_fits_close_the_gap_and_their_bounds_hold) {
  std::mt19937 random(10);
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Drawn drawn = draw(seed);
    ShiftLattice lattice;
    lattice.build(drawn.cells, drawn.prices);
    const PointBox box = box_of(seed % 4 ? 4 : 0.5);
    BoxFit fit{};
    fit_shifted(lattice, box, 20, 0, infinity, 1e-6, fit);
    CHECK(fit.loss - fit.bound <= 1e-6);
    for (int j = 0; j <= n_columns; ++j) CHECK(fit.point[j] >= box.lower[j] && fit.point[j] <= box.upper[j]);
    for (int k = 0; k < 200; ++k) {
      double point[n_columns + 2], slope, low = 0;
      const double near = k % 2 ? 1 : 0.05;
      for (int j = 0; j <= n_columns; ++j)
        point[j] = std::clamp(fit.point[j] + near * std::normal_distribution<double>()(random), box.lower[j], box.upper[j]);
      for (int j = 0; j < n_columns; ++j)
        if (!drawn.prices.flips[j]) low = std::max(low, std::fabs(point[j + 1]) / drawn.prices.price[j]);
      point[n_columns + 1] = low + near * std::uniform_real_distribution<double>(0, 1)(random);
      CHECK(lattice.worst(point, slope) >= fit.bound);
      ShiftedSums sums;
      lattice.sum(point, 0.01, sums);
      CHECK(shifted_bound(lattice, sums, point, box, 20) <= fit.loss + 1e-13);
    }
  }
}

TEST(a_fit_that_need_not_be_good_stops_early) {
  const Drawn drawn = draw(2);
  ShiftLattice lattice;
  lattice.build(drawn.cells, drawn.prices);
  BoxFit whole{}, early{};
  fit_shifted(lattice, box_of(4), 20, 0, infinity, 1e-6, whole);
  fit_shifted(lattice, box_of(4), 20, 0, whole.loss - 0.05, 1e-6, early);
  CHECK(early.bound > whole.loss - 0.05);
  CHECK(early.bound <= whole.loss);
}

namespace {

// Numbers that some coefficients are tied to, the others in a box; the first column is always tied.
FitRegion region_of(std::mt19937& random, bool all) {
  FitRegion region(box_of(2));
  region.scale = {0.2, 3};
  for (int j = 0; j <= n_columns; ++j) {
    region.tied[j] = all || j == 1 || random() % 2;
    region.point[j] = region.tied[j] ? static_cast<double>(random() % 7) - 3 : 0;
  }
  return region;
}

// A point of the region, with a lambda that it allows.
void draw_point(const Drawn& drawn, const FitRegion& region, std::mt19937& random, double* point) {
  const auto uniform = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  const double scale = uniform(region.scale.low, region.scale.high);
  double low = 0;
  for (int j = 0; j <= n_columns; ++j)
    point[j] = region.tied[j] ? scale * region.point[j] : uniform(region.box.lower[j], region.box.upper[j]);
  for (int j = 0; j < n_columns; ++j)
    if (drawn.prices.moves(j)) low = std::max(low, std::fabs(point[j + 1]) / drawn.prices.price[j]);
  point[n_columns + 1] = low + uniform(0, 2);
}

}  // namespace

TEST(fits_tied_to_a_scale_close_the_gap_and_their_bounds_hold) {
  std::mt19937 random(11);
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Drawn drawn = draw(seed);
    ShiftLattice lattice;
    lattice.build(drawn.cells, drawn.prices);
    const FitRegion region = region_of(random, false);
    BoxFit fit{};
    fit_shifted(lattice, region, 60, 0, infinity, 1e-6, fit);
    CHECK(fit.loss - fit.bound <= 1e-6);
    CHECK(fit.scale >= region.scale.low && fit.scale <= region.scale.high);
    for (int j = 0; j <= n_columns; ++j)
      if (region.tied[j]) CHECK(std::fabs(fit.point[j] - fit.scale * region.point[j]) <= 1e-14);
    for (int k = 0; k < 200; ++k) {
      double point[n_columns + 2], slope;
      draw_point(drawn, region, random, point);
      CHECK(lattice.worst(point, slope) >= fit.bound);
      ShiftedSums sums;
      lattice.sum(point, 0.01, sums);
      CHECK(shifted_bound(lattice, sums, point, region, 60) <= fit.loss + 1e-13);
    }
  }
}

TEST(the_best_scale_of_a_card_is_no_worse_than_any_other) {
  std::mt19937 random(12);
  int inner = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Drawn drawn = draw(seed);
    ShiftLattice lattice;
    lattice.build(drawn.cells, drawn.prices);
    FitRegion region = region_of(random, true);
    if (seed % 4 != 0) {
      // A good card, whose best scale is inside.
      BoxFit whole{};
      fit_shifted(lattice, box_of(4), 60, 0, infinity, 1e-6, whole);
      for (int j = 0; j <= n_columns; ++j) region.point[j] = std::round(2.5 * whole.point[j]);
    }
    BoxFit fit{};
    fit_shifted(lattice, region, 60, 0, infinity, 0, fit);
    CHECK(fit.bound <= fit.loss && fit.loss - fit.bound <= 1e-11);
    inner += fit.scale > region.scale.low && fit.scale < region.scale.high;
    const double reach = region.lambda_per_scale(lattice);
    for (int k = 0; k <= 300; ++k) {
      double point[n_columns + 2], bound, stretch;
      const double scale = region.scale.low + (region.scale.high - region.scale.low) * k / 300;
      for (int j = 0; j <= n_columns; ++j) point[j] = scale * region.point[j];
      CHECK(lattice.least_worst(point, reach * scale, 60, bound, stretch) >= fit.bound);
      // The line along the scale stays below the loss at the best one.
      CHECK(bound + stretch * (fit.scale / scale - 1) <= fit.loss + 1e-12);
    }
    BoxFit early{};
    fit_shifted(lattice, region, 60, 0, fit.loss - 0.05, 0, early);
    CHECK(early.bound > fit.loss - 0.05 && early.bound <= fit.loss);
  }
  CHECK(inner > 10);
}
