// The pieces of the search for score cards: sums against plain arithmetic, bounds against minima, counts against loops.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "check.hpp"
#include "surefoot/bit_counts.hpp"
#include "surefoot/box_fit.hpp"
#include "surefoot/child_fit.hpp"
#include "surefoot/lane_math.hpp"
#include "surefoot/softplus.hpp"
#include "surefoot/subset_counts.hpp"

using namespace surefoot;

TEST(packed_loss_and_slope_agree_with_the_plain_ones) {
  for (double t = -760; t <= 760; t += 0.37) {
    const Pack given = {t, t / 10, t / 100, t / 1000};
    Pack value, slope;
    softplus_pack(given, value, slope);
    for (int k = 0; k < lanes; ++k) {
      CHECK_NEAR(value[k], softplus(given[k]), 4e-16 * std::max(1.0, std::fabs(given[k])));
      CHECK_NEAR(slope[k], sigmoid(given[k]), 4e-16);
    }
  }
}

TEST(shared_bits_are_counted_for_every_length) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> a(600), b(600);
  for (auto& word : a) word = random();
  for (auto& word : b) word = random();
  std::int64_t expected = 0;
  for (std::int64_t n = 0; n <= 600; ++n) {
    CHECK_EQUAL(shared_bits(a.data(), b.data(), n), expected);
    if (n < 600)
      for (int bit = 0; bit < 64; ++bit)
        expected += (a[static_cast<std::size_t>(n)] & b[static_cast<std::size_t>(n)]) >> bit & 1;
  }
  std::fill(a.begin(), a.end(), ~std::uint64_t{0});
  CHECK_EQUAL(shared_bits(a.data(), a.data(), 600), 600 * 64);
}

namespace {

struct Drawn {
  std::vector<double> values, labels, weights;
  RawTable table() const {
    const std::size_t n = labels.size();
    return {values.data(), n, static_cast<int>(values.size() / n), labels.data(), weights.data()};
  }
};

Drawn draw(unsigned seed, std::size_t n, std::size_t d) {
  std::mt19937 random(seed);
  Drawn drawn;
  for (std::size_t k = 0; k < n * d; ++k) drawn.values.push_back(random() % 3 == 0);
  for (std::size_t i = 0; i < n; ++i) {
    drawn.labels.push_back(random() % 2 ? 1 : -1);
    drawn.weights.push_back((1 + random() % 2) / (1.5 * static_cast<double>(n)));
  }
  return drawn;
}

ScoreCells cells_of(const Drawn& drawn) {
  const RawTable table = drawn.table();
  ScoreCells cells;
  cells.reset(table.n_columns, table.n_rows);
  for (std::size_t i = 0; i < table.n_rows; ++i) {
    cells.set_weights(i, table.weights[i], table.labels[i] > 0 ? table.weights[i] : 0);
    for (int j = 0; j < table.n_columns; ++j) cells.set_value(i, j, table.column(j)[i]);
  }
  return cells;
}

}  // namespace

TEST(subset_counts_equal_a_loop_over_rows) {
  const Drawn drawn = draw(2, 333, 7);
  const RawTable table = drawn.table();
  const std::vector<int> order = {6, 0, 3, 1, 5, 2, 4};
  CHECK(BitColumns::fits(table, order));
  const BitColumns bits(table, order);
  const SubsetCounts counts(bits, 4, 2);
  for (int a = 0; a < 7; ++a)
    for (int b = a + 1; b < 7; ++b)
      for (int c = b + 1; c < 7; ++c)
        for (int f = c + 1; f < 7; ++f) {
          double total = 0, positive = 0;
          for (std::size_t i = 0; i < table.n_rows; ++i) {
            bool all = true;
            for (const int k : {a, b, c, f}) all = all && table.column(order[static_cast<std::size_t>(k)])[i] == 1;
            if (all) total += table.weights[i];
            if (all && table.labels[i] > 0) positive += table.weights[i];
          }
          const int prefix[] = {a, b, c};
          CHECK_NEAR(counts.row(prefix, 3).total[f], total, 1e-14);
          CHECK_NEAR(counts.row(prefix, 3).positive[f], positive, 1e-14);
        }
}

TEST(box_fit_bounds_every_point_of_the_box_and_meets_its_minimum) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    const ScoreCells cells = cells_of(draw(seed, 40, 3));
    const PointBox box{{-2, -1, -0.5, -3}, {2, 1, 0.5, 3}};
    BoxFit fit{};
    fit_box(cells, box, 1e-13, 1e300, 1e-10, fit);
    CHECK(fit.loss - fit.bound <= 1e-9);
    std::mt19937 random(seed);
    for (int trial = 0; trial < 200; ++trial) {
      double point[max_coordinates];
      for (int j = 0; j < 4; ++j)
        point[j] = box.lower[j] + (box.upper[j] - box.lower[j]) * static_cast<double>(random() % 1001) / 1000;
      CellSums sums;
      sum_cells(cells, point, sums);
      CHECK(sums.loss >= fit.bound);
    }
  }
}

TEST(four_children_at_a_time_are_fitted_like_one_alone) {
  const Drawn drawn = draw(5, 500, 6);
  const RawTable table = drawn.table();
  ChildBatch batch{};
  batch.n_columns = 3;  // columns 0 and 1, and one of 2 to 5 in each lane
  for (int j = 0; j <= 3; ++j) {
    fill(batch.lower[j], -0.4);
    fill(batch.upper[j], 0.6);
    fill(batch.point[j], 0);
  }
  for (std::size_t i = 0; i < table.n_rows; ++i)
    for (int lane = 0; lane < lanes; ++lane) {
      const int cell = static_cast<int>(table.column(0)[i] + 2 * table.column(1)[i] + 4 * table.column(2 + lane)[i]);
      batch.total[cell][lane] += table.weights[i];
      if (table.labels[i] > 0) batch.positive[cell][lane] += table.weights[i];
    }
  const int live[] = {0, 1, 2, 3};
  fit_children(batch, live, 4, 1e300, 1e-12, 30);
  for (int lane = 0; lane < lanes; ++lane) {
    ScoreCells cells;
    cells.reset(3, 8);
    for (std::size_t m = 0; m < 8; ++m) {
      cells.set_weights(m, batch.total[m][lane], batch.positive[m][lane]);
      for (int j = 0; j < 3; ++j) cells.set_value(m, j, static_cast<double>(m >> j & 1));
    }
    const PointBox box{{-0.4, -0.4, -0.4, -0.4}, {0.6, 0.6, 0.6, 0.6}};
    BoxFit fit{};
    fit_box(cells, box, 0, 1e300, 1e-12, fit);
    CHECK_NEAR(batch.loss[lane], fit.loss, 1e-9);
    CHECK_NEAR(batch.bound[lane], fit.bound, 1e-9);
  }
}
