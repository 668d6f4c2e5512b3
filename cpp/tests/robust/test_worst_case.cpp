// The exact worst case of a row against enumeration of every category vector and both labels.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "surefoot/core/softplus.hpp"
#include "surefoot/robust/worst_case.hpp"

using namespace surefoot;

namespace {

// A random table that owns its arrays, and a point with tight envelopes.
struct Case {
  std::vector<double> numeric, labels, weights;
  std::vector<std::int32_t> codes;
  MixedTable table;

  Case(std::mt19937& draw, std::int64_t rows, int n_numeric, const std::vector<int>& levels, double flip_price) {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(0.3, 1.7);
    table.n_rows = rows;
    table.n_numeric = n_numeric;
    table.n_categorical = static_cast<int>(levels.size());
    table.flip_price = flip_price;
    table.level_offset.push_back(0);
    for (const int count : levels) {
      table.level_offset.push_back(table.level_offset.back() + count);
      table.move_price.push_back(draw() % 8 == 0 ? std::numeric_limits<double>::infinity() : uniform(draw));
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      for (int j = 0; j < n_numeric; ++j) numeric.push_back(normal(draw));
      for (const int count : levels) codes.push_back(static_cast<std::int32_t>(draw() % static_cast<unsigned>(count)));
      labels.push_back(draw() % 2 ? 1.0 : -1.0);
      weights.push_back(uniform(draw) / static_cast<double>(rows));
    }
    table.numeric = numeric.data();
    table.codes = codes.data();
    table.labels = labels.data();
    table.weights = weights.data();
  }
  Case(const Case&) = delete;
};

std::vector<double> random_point(const MixedTable& table, const LiftedLayout& layout, double size, double price,
                                 std::mt19937& draw) {
  std::normal_distribution<double> normal;
  std::vector<double> x(static_cast<std::size_t>(layout.size) + 1);
  const bool ties = draw() % 3 == 0;
  for (int a = 0; a < layout.size; ++a) x[a] = size * (ties ? std::round(normal(draw)) : normal(draw));
  x[layout.price] = price;
  x[layout.size] = 0.0;
  for (int l = 0; l < table.n_categorical; ++l) {
    double low = 0, high = 0;
    for (int c = table.level_offset[l]; c < table.level_offset[l + 1]; ++c) {
      low = std::min(low, x[layout.level[c]]);
      high = std::max(high, x[layout.level[c]]);
    }
    if (layout.low[l] == layout.size) continue;
    x[layout.low[l]] = low;
    x[layout.high[l]] = high;
  }
  return x;
}

// Largest loss minus price over all category vectors, and places of numbers with a range, from move l on.
double brute_force(const MixedTable& table, const LiftedLayout& layout, const std::vector<double>& x, std::int64_t row, int l,
                   double label, double score, double cost) {
  if (l == table.n_moves()) return softplus(-label * score) - x[layout.price] * cost;
  if (l >= table.n_categorical) {
    // A number stays, stops on its way, or goes to an end of its range.
    const NumericRange& range = table.range_of(l);
    double best = brute_force(table, layout, x, row, l + 2, label, score, cost);
    for (const int end : {l, l + 1})
      for (const double part : {0.3, 1.0}) {
        const double way = part * table.way(end, row);
        best = std::max(best,
                        brute_force(table, layout, x, row, l + 2, label, score + way * x[layout.first_numeric + range.column],
                                    cost + range.price * std::fabs(way)));
      }
    return best;
  }
  double best = -std::numeric_limits<double>::infinity();
  const int own = table.level_offset[l] + table.codes[row * table.n_categorical + l];
  for (int c = table.level_offset[l]; c < table.level_offset[l + 1]; ++c) {
    if (c != own && !std::isfinite(table.move_price[l])) continue;
    best = std::max(best, brute_force(table, layout, x, row, l + 1, label, score + x[layout.level[c]],
                                      cost + (c == own ? 0.0 : table.move_price[l])));
  }
  return best;
}

double brute_force(const MixedTable& table, const LiftedLayout& layout, const std::vector<double>& x, std::int64_t row) {
  double score = x[layout.intercept];
  for (int j = 0; j < table.n_numeric; ++j) score += table.numeric[row * table.n_numeric + j] * x[layout.first_numeric + j];
  const double own = brute_force(table, layout, x, row, 0, table.labels[row], score, 0.0);
  if (!std::isfinite(table.flip_price)) return own;
  return std::max(own, brute_force(table, layout, x, row, 0, -table.labels[row], score, table.flip_price));
}

struct WorstRows {
  std::vector<double> value, cost;
  std::vector<std::uint8_t> moved, flipped;

  WorstRows(const MixedTable& table, const LiftedLayout& layout, const std::vector<double>& x, int n_threads)
      : value(static_cast<std::size_t>(table.n_rows)),
        cost(value.size()),
        moved(value.size() * static_cast<std::size_t>(table.n_moves())),
        flipped(value.size()) {
    worst_case_rows(table, layout, x.data(), n_threads, value.data(), moved.data(), flipped.data(), cost.data());
  }
};

}  // namespace

TEST(best_prefix_equals_enumeration_of_all_category_vectors_and_labels) {
  std::mt19937 draw(1);
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<int> levels(draw() % 5);
    for (int& count : levels) count = 1 + static_cast<int>(draw() % 4);
    const double flip_price = draw() % 2 ? 0.7 : std::numeric_limits<double>::infinity();
    const Case random(draw, 4, static_cast<int>(draw() % 3), levels, flip_price);
    const LiftedLayout layout(random.table, draw() % 2 == 0);
    const double price = draw() % 4 == 0 ? 0.0 : 0.1 * static_cast<double>(draw() % 30);
    const auto x = random_point(random.table, layout, draw() % 2 ? 1.0 : 5.0, price, draw);
    const PointTables point(random.table, layout, x.data());
    RowScratch scratch(random.table);
    for (std::int64_t row = 0; row < 4; ++row) {
      const double expected = brute_force(random.table, layout, x, row);
      // Slack only adds candidates; it must not change the best.
      for (const double slack : {0.0, 0.5, 1e9}) {
        enumerate_prefixes(random.table, point, row, row_score(random.table, layout, point, row), slack, scratch);
        CHECK_NEAR(scratch.pieces[scratch.best].value, expected, 1e-11);
        for (const Piece& piece : scratch.pieces) {
          CHECK(piece.value <= expected + 1e-11);
          CHECK_NEAR(piece.value, softplus(piece.argument) - point.price * piece.cost, 1e-12);
        }
      }
    }
  }
}

TEST(numbers_with_a_range_stay_or_go_all_the_way_to_an_end) {
  std::mt19937 draw(7);
  std::uniform_real_distribution<double> uniform(0.0, 1.5);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<int> levels(draw() % 3);
    for (int& count : levels) count = 1 + static_cast<int>(draw() % 3);
    const int n_numeric = 1 + static_cast<int>(draw() % 3);
    Case random(draw, 4, n_numeric, levels, draw() % 2 ? 0.7 : std::numeric_limits<double>::infinity());
    for (int j = 0; j < n_numeric; j += 1 + static_cast<int>(draw() % 2)) {
      double low = random.numeric[static_cast<std::size_t>(j)], high = low;
      for (int row = 1; row < 4; ++row) {
        low = std::min(low, random.numeric[static_cast<std::size_t>(row * n_numeric + j)]);
        high = std::max(high, random.numeric[static_cast<std::size_t>(row * n_numeric + j)]);
      }
      random.table.ranges.push_back({j, low - uniform(draw) * (draw() % 2), high + uniform(draw), 0.3 + uniform(draw)});
    }
    const LiftedLayout layout(random.table, true);
    const auto x = random_point(random.table, layout, draw() % 2 ? 1.0 : 5.0, 0.1 * static_cast<double>(draw() % 30), draw);
    const WorstRows worst(random.table, layout, x, 1);
    const auto moves = static_cast<std::size_t>(random.table.n_moves());
    for (std::size_t row = 0; row < 4; ++row) {
      CHECK_NEAR(worst.value[row], brute_force(random.table, layout, x, static_cast<std::int64_t>(row)), 1e-11);
      for (auto l = static_cast<std::size_t>(random.table.n_categorical); l < moves; l += 2)
        CHECK(!(worst.moved[row * moves + l] && worst.moved[row * moves + l + 1]));
    }
  }
}

TEST(the_reported_shift_attains_the_reported_loss) {
  std::mt19937 draw(2);
  const Case random(draw, 300, 2, {3, 4, 2, 5}, 0.9);
  const MixedTable& table = random.table;
  const LiftedLayout layout(table, true);
  const auto x = random_point(table, layout, 1.5, 0.4, draw);
  const WorstRows worst(table, layout, x, 1);
  bool any_flip = false, any_move = false;
  for (std::int64_t row = 0; row < table.n_rows; ++row) {
    const double label = worst.flipped[row] ? -table.labels[row] : table.labels[row];
    double score = x[layout.intercept], cost = worst.flipped[row] ? table.flip_price : 0.0;
    for (int j = 0; j < table.n_numeric; ++j) score += table.numeric[row * table.n_numeric + j] * x[layout.first_numeric + j];
    for (int l = 0; l < table.n_categorical; ++l) {
      const bool moved = worst.moved[row * table.n_categorical + l];
      if (moved) {
        score += label > 0 ? x[layout.low[l]] : x[layout.high[l]];
        cost += table.move_price[l];
      } else {
        score += x[layout.level[table.level_offset[l] + table.codes[row * table.n_categorical + l]]];
      }
      any_move = any_move || moved;
    }
    any_flip = any_flip || worst.flipped[row];
    CHECK_NEAR(worst.cost[row], cost, 1e-13);
    CHECK_NEAR(worst.value[row], softplus(-label * score) - x[layout.price] * cost, 1e-12);
  }
  CHECK(any_flip);
  CHECK(any_move);
}

TEST(the_sum_is_the_weighted_sum_of_the_rows) {
  std::mt19937 draw(3);
  const Case random(draw, 500, 1, {3, 3}, 1.1);
  const LiftedLayout layout(random.table, true);
  const auto x = random_point(random.table, layout, 1.0, 0.3, draw);
  const WorstRows worst(random.table, layout, x, 1);
  double value = 0, cost = 0, cost_sum = 0;
  for (std::size_t row = 0; row < worst.value.size(); ++row) {
    value += random.weights[row] * worst.value[row];
    cost += random.weights[row] * worst.cost[row];
  }
  CHECK_NEAR(worst_case_sum(random.table, layout, x.data(), 1, &cost_sum), value, 1e-12);
  CHECK_NEAR(cost_sum, cost, 1e-12);
  CHECK_EQUAL(worst_case_sum(random.table, layout, x.data(), 1, nullptr),
              worst_case_sum(random.table, layout, x.data(), 1, &cost_sum));
}

TEST(threads_do_not_change_a_bit) {
  std::mt19937 draw(4);
  const Case random(draw, 9001, 2, {3, 2, 4}, 0.8);
  const LiftedLayout layout(random.table, true);
  const auto x = random_point(random.table, layout, 1.0, 0.5, draw);
  const WorstRows alone(random.table, layout, x, 1), together(random.table, layout, x, 3);
  CHECK(alone.value == together.value);
  CHECK(alone.cost == together.cost);
  CHECK(alone.moved == together.moved);
  CHECK(alone.flipped == together.flipped);
  double first = 0, second = 0;
  CHECK_EQUAL(worst_case_sum(random.table, layout, x.data(), 1, &first),
              worst_case_sum(random.table, layout, x.data(), 3, &second));
  CHECK_EQUAL(first, second);
}

TEST(outputs_that_are_not_wanted_may_be_null) {
  std::mt19937 draw(5);
  const Case random(draw, 10, 1, {3, 2}, 0.8);
  const LiftedLayout layout(random.table, true);
  const auto x = random_point(random.table, layout, 1.0, 0.5, draw);
  const WorstRows worst(random.table, layout, x, 1);
  std::vector<double> value(10);
  worst_case_rows(random.table, layout, x.data(), 1, value.data(), nullptr, nullptr, nullptr);
  CHECK(value == worst.value);
}

TEST(huge_scores_and_prices_stay_finite) {
  std::mt19937 draw(6);
  const Case random(draw, 50, 1, {3, 2}, 0.8);
  const LiftedLayout layout(random.table, true);
  auto x = random_point(random.table, layout, 1e5, 1e150, draw);
  const WorstRows worst(random.table, layout, x, 1);
  for (std::size_t row = 0; row < 50; ++row) {
    CHECK(std::isfinite(worst.value[row]));
    CHECK_EQUAL(worst.cost[row], 0.0);
  }
}
