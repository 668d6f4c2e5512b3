// The scales that rules about risks leave a card, against trying many scales one by one.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "surefoot/riskscore/problem/card_scales.hpp"

using namespace surefoot;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int n_columns = 2;
constexpr std::size_t n_rows = 9;

struct Drawn {
  double value[n_rows][n_columns], positive[n_rows], negative[n_rows];
  ScoreCells cells;
};

Drawn draw(std::mt19937& random) {
  Drawn drawn;
  drawn.cells.reset(n_columns, n_rows);
  for (std::size_t i = 0; i < n_rows; ++i) {
    drawn.positive[i] = static_cast<double>(random() % 4) / 30;
    drawn.negative[i] = static_cast<double>(random() % 4) / 30;
    drawn.cells.set_weights(i, drawn.positive[i] + drawn.negative[i], drawn.positive[i]);
    for (int j = 0; j < n_columns; ++j) {
      drawn.value[i][j] = static_cast<double>(random() % 7) / 2 - 1;
      drawn.cells.set_value(i, j, drawn.value[i][j]);
    }
  }
  return drawn;
}

double flagged(const Drawn& drawn, const RateRule& rule, const double* points, double scale, double threshold) {
  double weight = 0;
  for (std::size_t i = 0; i < n_rows; ++i) {
    const double score = points[0] + points[1] * drawn.value[i][0] + points[2] * drawn.value[i][1];
    if (scale * score >= threshold) weight += rule.positive ? drawn.positive[i] : drawn.negative[i];
  }
  return weight;
}

}  // namespace

TEST(a_scale_is_admitted_if_and_only_if_all_rules_hold_there) {
  std::mt19937 random(1);
  const ScaleRange whole{0.05, 5};
  CardScales scales;
  int n_partial = 0, n_empty = 0;
  for (int round = 0; round < 400; ++round) {
    const Drawn drawn = draw(random);
    double points[n_columns + 1];
    for (double& value : points) value = static_cast<double>(random() % 7) - 3;
    PointRange range;
    const double odds[] = {-1.3, -0.4, 0, 0.7, 1.9};
    if (round % 3 != 0) {
      const double lower = odds[random() % 5];
      range.rows.push_back({round % 2 ? lower : -infinity, round % 2 ? infinity : lower, {1, 0.5, 1}});
    }
    std::vector<RateRule> rates;
    if (round % 3 != 1) {
      const double threshold = odds[random() % 5];
      const bool least = random() % 2;
      // Between the weights that sums of rows can have, so that rounding decides nothing.
      rates.push_back({random() % 2 == 0, least ? 0.155 : 0, least ? 9.0 : 0.255, threshold + 1e-9, threshold - 1e-9});
    }
    range.rates = &rates;
    const ScaleRange admitted = scales.admitted(range, drawn.cells, points, whole);
    n_empty += admitted.empty();
    n_partial += !admitted.empty() && (admitted.low > whole.low || admitted.high < whole.high);
    for (int k = 0; k <= 200; ++k) {
      const double t = whole.low + (whole.high - whole.low) * k / 200;
      bool holds = true;
      for (const PointRow& row : range.rows) {
        const double score = t * (points[0] + 0.5 * points[1] + points[2]);
        holds = holds && score >= row.lower - 1e-12 && score <= row.upper + 1e-12;
      }
      for (const RateRule& rule : rates) {
        // Rates at even odds are looked at by the search itself.
        if (rule.at_even_odds()) continue;
        const double weight = flagged(drawn, rule, points, t, rule.threshold);
        holds = holds && weight >= rule.least && weight <= rule.most;
      }
      const bool inside = admitted.low <= t && t <= admitted.high;
      const bool at_edge = std::fabs(t - admitted.low) < 1e-6 || std::fabs(t - admitted.high) < 1e-6;
      CHECK(inside == holds || at_edge);
    }
  }
  CHECK(n_partial > 60 && n_empty > 20);
}

TEST(ends_that_rounding_put_into_the_wrong_order_are_one) {
  Drawn drawn;
  drawn.cells.reset(0, 1);
  drawn.cells.set_weights(0, 1, 0.5);
  PointRange range;
  range.rows.push_back({0.3, 0.3 * (1 - 1e-15), {1}});
  const double points[] = {3};
  const ScaleRange admitted = CardScales().admitted(range, drawn.cells, points, {0.05, 5});
  CHECK(!admitted.empty() && std::fabs(admitted.low - 0.1) < 1e-12);
}
