// Roundings along a ray against every card with a multiplier.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "surefoot/riskscore/fit/ray_rounding.hpp"

using namespace surefoot;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int n_columns = 2, reach = 3, intercept_reach = 12;

struct Drawn {
  std::vector<double> values, labels, weights;

  explicit Drawn(unsigned seed) {
    std::mt19937 random(seed);
    const std::size_t n_rows = 60;
    values.resize(n_columns * n_rows);
    weights.assign(n_rows, 1.0 / static_cast<double>(n_rows));
    for (std::size_t i = 0; i < n_rows; ++i) {
      double score = -0.5;
      for (int j = 0; j < n_columns; ++j) {
        values[static_cast<std::size_t>(j) * n_rows + i] = random() % 3;
        score += (j == 0 ? 1.1 : -0.4) * values[static_cast<std::size_t>(j) * n_rows + i];
      }
      labels.push_back(static_cast<double>(random() % 1000) / 1000 < 1 / (1 + std::exp(-score)) ? 1 : -1);
    }
  }
  ScoreProblem problem() const {
    return {{values.data(), labels.size(), n_columns, labels.data(), weights.data()},
            std::vector<int>(n_columns, -reach),
            std::vector<int>(n_columns, reach),
            -intercept_reach,
            intercept_reach,
            n_columns,
            0,
            {},
            {},
            {0.05, 2}};
  }
};

double card_value(const ScoreProblem& problem, const ScoreCells& cells, const int* points) {
  PointBox box;
  BoxFit fit{};
  for (int j = 0; j <= n_columns; ++j) fit.point[j] = box.lower[j] = box.upper[j] = points[j];
  ScaledFit(problem.scale).fit(cells, box, 0, infinity, 1e-12, fit);
  return fit.loss;
}

}  // namespace

TEST(cards_offered_along_a_ray_are_worth_it_and_close_to_the_best_of_all) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    const Drawn drawn(seed);
    const ScoreProblem problem = drawn.problem();
    const CodedTable table = merge_rows(problem.table);
    const std::vector<int> columns{0, 1};
    RowPartition rows(table.n_rows()), finer;
    for (const int j : columns) {
      finer.split(table.code[static_cast<std::size_t>(j)], rows);
      std::swap(rows, finer);
    }
    ScoreCells cells;
    rows.write_cells(table, columns.data(), n_columns, cells);
    double best = infinity;
    for (int b = -intercept_reach; b <= intercept_reach; ++b)
      for (int p = -reach; p <= reach; ++p)
        for (int q = -reach; q <= reach; ++q) {
          const int points[] = {b, p, q};
          best = std::min(best, card_value(problem, cells, points));
        }
    PointBox box{{-intercept_reach, -reach, -reach}, {intercept_reach, reach, reach}};
    BoxFit real{};
    ScaledFit(problem.scale).fit(cells, box, 0, infinity, 1e-9, real);
    CHECK(real.bound <= best + 1e-9);
    double found = infinity;
    int offered = 0;
    RayRounding rounding(problem, 0);
    rounding.round(cells, columns, real, infinity, [&](const int* points) {
      for (int j = 0; j < n_columns; ++j) CHECK(std::abs(points[j + 1]) <= reach);
      CHECK(std::abs(points[0]) <= intercept_reach);
      found = std::min(found, card_value(problem, cells, points));
      ++offered;
    });
    CHECK(offered > 0);
    CHECK(found <= best * 1.002);
    // Nothing is offered that is not worth what is asked for.
    rounding.round(cells, columns, real, real.bound * 0.9, [&](const int*) { CHECK(false); });
    // Who stops after the first card is not offered another.
    int until_stopped = 0;
    RayRounding(problem, 0, [&] { return until_stopped > 0; }).round(cells, columns, real, infinity, [&](const int*) {
      ++until_stopped;
    });
    CHECK(until_stopped == 1);
  }
}
