// The relaxation against the best of all cards.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "check.hpp"
#include "surefoot/core/softplus.hpp"
#include "surefoot/riskscore/fit/box_fit.hpp"
#include "surefoot/riskscore/search/relaxed_bound.hpp"

using namespace surefoot;

namespace {

constexpr int n_columns = 4, points = 2, intercepts = 3;

struct Drawn {
  std::vector<double> values, labels, weights;
  ScoreProblem problem(int max_size, double penalty) const {
    return {{values.data(), labels.size(), n_columns, labels.data(), weights.data()},
            {-points, 0, -points, -1},
            {points, points, 0, points},
            -intercepts,
            intercepts,
            max_size,
            penalty,
            {}};
  }
};

Drawn draw(unsigned seed) {
  std::mt19937 random(seed);
  Drawn drawn;
  const std::size_t n = 30 + random() % 100;
  for (std::size_t k = 0; k < n * n_columns; ++k)
    drawn.values.push_back(seed % 2 ? random() % 2 : static_cast<double>(random() % 7) / 2 - 1);
  for (std::size_t i = 0; i < n; ++i) {
    drawn.labels.push_back(drawn.values[i] - drawn.values[i + n] + static_cast<double>(random() % 5) > 2 ? 1 : -1);
    drawn.weights.push_back(1.0 / static_cast<double>(n));
  }
  return drawn;
}

// The best objective of cards with points in columns from `first` on only.
double best_card(const ScoreProblem& problem, int first) {
  double best = std::numeric_limits<double>::infinity();
  int card[n_columns + 1];
  for (card[0] = -intercepts; card[0] <= intercepts; ++card[0])
    for (int code = 0; code < 625; ++code) {
      bool allowed = true;
      int size = 0;
      for (int j = 0, rest = code; j < n_columns; ++j, rest /= 5) {
        card[j + 1] = rest % 5 - 2;
        size += card[j + 1] != 0;
        allowed = allowed && card[j + 1] >= problem.lower[static_cast<std::size_t>(j)] &&
                  card[j + 1] <= problem.upper[static_cast<std::size_t>(j)] && (j >= first || card[j + 1] == 0);
      }
      if (!allowed || size > problem.max_size) continue;
      double value = problem.penalty * size;
      for (std::size_t i = 0; i < problem.table.n_rows; ++i) {
        double score = card[0];
        for (int j = 0; j < n_columns; ++j) score += card[j + 1] * problem.table.column(j)[i];
        value += problem.table.weights[i] * softplus(-problem.table.labels[i] * score);
      }
      best = std::min(best, value);
    }
  return best;
}

}  // namespace

TEST(no_card_beats_the_relaxation_and_it_is_close) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    const Drawn drawn = draw(seed);
    const ScoreProblem problem = drawn.problem(1 + static_cast<int>(seed % 4), seed % 3 ? 0 : 0.02);
    const CodedTable table = merge_rows(problem.table);
    const RoundingSlack rounding(problem, table);
    Relaxation relaxation(problem, table, rounding);
    double last = -1;
    for (int first = 0; first < n_columns; ++first) {
      std::vector<int> columns;
      for (int j = first; j < n_columns; ++j) columns.push_back(j);
      double heard = -1;
      const double bound =
          relaxation.bound(columns, [] { return false; }, [&](double better) { heard = std::max(heard, better); });
      CHECK_EQUAL(bound, heard);
      const double best = best_card(problem, first);
      CHECK(bound <= best);
      // Fewer columns, a better bound, up to the accuracy of the fit; and never a worthless one.
      CHECK(bound >= last - 3e-3);
      CHECK(bound >= best - 0.12);
      last = bound;
    }
  }
}

TEST(with_room_for_all_columns_the_relaxation_is_the_fit_in_the_box) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Drawn drawn = draw(seed);
    const ScoreProblem problem = drawn.problem(n_columns, 0);
    const CodedTable table = merge_rows(problem.table);
    const int columns[] = {0, 1, 2, 3};
    RowPartition rows(table.n_rows());
    std::vector<std::uint32_t> each(table.n_rows());
    std::iota(each.begin(), each.end(), 0u);
    rows.group = rows.first = each;
    ScoreCells cells;
    rows.write_cells(table, columns, n_columns, cells);
    PointBox box{{-intercepts, -2, 0, -2, -1}, {intercepts, 2, 2, 0, 2}};
    BoxFit fit{};
    fit_box(cells, box, 0, std::numeric_limits<double>::infinity(), 1e-9, fit);
    const RoundingSlack rounding(problem, table);
    const double bound = Relaxation(problem, table, rounding).bound({0, 1, 2, 3}, [] { return false; }, [](double) {});
    CHECK(bound <= fit.loss);
    CHECK(bound >= fit.loss - 2e-3 * fit.loss);
  }
}
