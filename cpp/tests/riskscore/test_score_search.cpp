// The pieces of the search for score cards: sums against plain arithmetic, bounds against minima, counts against loops.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "check.hpp"
#include "surefoot/core/bit_counts.hpp"
#include "surefoot/core/lane_math.hpp"
#include "surefoot/core/softplus.hpp"
#include "surefoot/riskscore/fit/box_fit.hpp"
#include "surefoot/riskscore/fit/child_fit.hpp"
#include "surefoot/riskscore/table/subset_counts.hpp"

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
  const std::atomic<bool> stop{false};
  const SubsetCounts counts(bits, 4, 2, stop);
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

namespace {

// Columns 0 and 1, and one of 2 to 5 in each lane.
ChildBatch batch_of(const RawTable& table, double lower, double upper) {
  ChildBatch batch{};
  batch.n_columns = 3;
  for (int j = 0; j <= 3; ++j) {
    fill(batch.lower[j], lower);
    fill(batch.upper[j], upper);
    fill(batch.point[j], 0);
  }
  for (std::size_t i = 0; i < table.n_rows; ++i)
    for (int lane = 0; lane < lanes; ++lane) {
      const int cell = static_cast<int>(table.column(0)[i] + 2 * table.column(1)[i] + 4 * table.column(2 + lane)[i]);
      batch.total[cell][lane] += table.weights[i];
      if (table.labels[i] > 0) batch.positive[cell][lane] += table.weights[i];
    }
  return batch;
}

BoxFit fit_of_lane(const ChildBatch& batch, int lane) {
  ScoreCells cells;
  cells.reset(3, 8);
  PointBox box;
  for (std::size_t m = 0; m < 8; ++m) {
    cells.set_weights(m, batch.total[m][lane], batch.positive[m][lane]);
    for (int j = 0; j < 3; ++j) cells.set_value(m, j, static_cast<double>(m >> j & 1));
  }
  for (int j = 0; j <= 3; ++j) {
    box.lower[j] = batch.lower[j][lane];
    box.upper[j] = batch.upper[j][lane];
  }
  BoxFit fit{};
  fit_box(cells, box, 0, 1e300, 1e-12, fit);
  return fit;
}

}  // namespace

TEST(four_children_at_a_time_are_fitted_like_one_alone) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Drawn drawn = draw(seed, 500, 6);
    ChildBatch batch = batch_of(drawn.table(), -9, 9);
    const int live[] = {0, 1, 2, 3};
    fit_children(batch, live, 4, 1e300, 1e-12, 30);
    for (int lane = 0; lane < lanes; ++lane) {
      const BoxFit fit = fit_of_lane(batch, lane);
      CHECK_NEAR(batch.loss[lane], fit.loss, 1e-9);
      CHECK_NEAR(batch.bound[lane], fit.bound, 1e-9);
    }
  }
}

TEST(the_bound_of_four_children_holds_in_a_box_that_binds_after_every_number_of_steps) {
  for (unsigned seed = 0; seed < 20; ++seed)
    for (int steps = 0; steps < 10; ++steps) {
      const Drawn drawn = draw(seed, 30, 6);
      ChildBatch batch = batch_of(drawn.table(), -0.4, 0.3);
      const int live[] = {0, 1, 2, 3};
      fit_children(batch, live, 4, 1e300, 0, steps);
      for (int lane = 0; lane < lanes; ++lane) CHECK(batch.bound[lane] <= fit_of_lane(batch, lane).loss + 1e-13);
    }
}

TEST(cells_of_four_children_come_from_counts_of_sets) {
  const Drawn drawn = draw(7, 200, 6);
  const ChildBatch cells = batch_of(drawn.table(), -1, 1);
  ChildBatch batch = cells;
  double shared_total[4], shared_positive[4];
  for (int m = 0; m < 4; ++m) {
    shared_total[m] = cells.total[m][0] + cells.total[m + 4][0];
    shared_positive[m] = cells.positive[m][0] + cells.positive[m + 4][0];
    batch.total[m + 4] = batch.positive[m + 4] = batch.total[m] = batch.positive[m] = Pack{};
    for (int k = 0; k < 4; ++k)
      if ((k & m) == m) {
        batch.total[m + 4] += cells.total[k + 4];
        batch.positive[m + 4] += cells.positive[k + 4];
      }
  }
  expand_children(batch, shared_total, shared_positive);
  for (int m = 0; m < 8; ++m)
    for (int lane = 0; lane < lanes; ++lane) {
      CHECK_NEAR(batch.total[m][lane], cells.total[m][lane], 1e-15);
      CHECK_NEAR(batch.positive[m][lane], cells.positive[m][lane], 1e-15);
    }
}
