// The slack against sums in extended precision.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "check.hpp"
#include "surefoot/core/compensated_sum.hpp"
#include "surefoot/riskscore/fit/box_fit.hpp"
#include "surefoot/riskscore/search/rounding_slack.hpp"
#include "surefoot/riskscore/search/support_tree.hpp"
#include "surefoot/riskscore/table/subset_counts.hpp"

using namespace surefoot;

namespace {

constexpr int n_columns = 3;

struct Drawn {
  std::vector<double> values, labels, weights;
  ScoreProblem problem(int points, int intercept) const {
    return {{values.data(), labels.size(), n_columns, labels.data(), weights.data()},
            std::vector<int>(n_columns, -points),
            std::vector<int>(n_columns, points),
            -intercept,
            intercept,
            n_columns,
            0,
            {}};
  }
};

Drawn draw(unsigned seed, std::size_t n, double scale, bool binary) {
  std::mt19937 random(seed);
  std::exponential_distribution<double> tail(1);
  Drawn drawn;
  for (std::size_t k = 0; k < n * n_columns; ++k) drawn.values.push_back(binary ? random() % 2 : scale * tail(random));
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    drawn.labels.push_back(random() % 3 ? 1 : -1);
    drawn.weights.push_back(binary ? 1.0 + random() % 5 / 3.0 : tail(random));
    sum += drawn.weights.back();
  }
  for (double& weight : drawn.weights) weight /= sum;
  return drawn;
}

long double exact_loss(const RawTable& table, const double* point) {
  long double loss = 0;
  for (std::size_t i = 0; i < table.n_rows; ++i) {
    long double score = point[0];
    for (int j = 0; j < table.n_columns; ++j) score += static_cast<long double>(point[j + 1]) * table.column(j)[i];
    const long double t = -table.labels[i] * score;
    loss += table.weights[i] * ((t > 0 ? t : 0) + std::log1p(std::exp(-std::fabs(t))));
  }
  return loss;
}

// The tangent bound at a point, minimised over a box and paid for by the slack, is at most the loss at corners of the box.
void check_bounds(const RawTable& table, const ScoreCells& cells, double slack, int points, int intercept, unsigned seed) {
  std::mt19937 random(seed);
  CellSums sums;
  for (int round = 0; round < 10; ++round) {
    double at[n_columns + 1], corner[n_columns + 1];
    at[0] = static_cast<double>(random() % 1000) / 999 * 2 * intercept - intercept;
    for (int j = 1; j <= n_columns; ++j) at[j] = static_cast<double>(random() % 1000) / 999 * 2 * points - points;
    sum_cells(cells, at, sums);
    double bound = sums.loss;
    for (int j = 0; j <= n_columns; ++j) {
      const double end = j ? points : intercept, g = sums.gradient[j];
      corner[j] = g > 0 ? -end : end;
      bound -= g * at[j] - std::min(g * -end, g * end);
    }
    // Where the box is the point itself nothing but rounding stands between bound and loss.
    const long double loss = exact_loss(table, at);
    CHECK(static_cast<long double>(sums.loss) - slack <= loss);
    CHECK(static_cast<long double>(sums.loss) + slack >= loss);
    CHECK(static_cast<long double>(bound) - slack <= exact_loss(table, corner));
  }
}

}  // namespace

TEST(bounds_less_the_slack_hold_on_row_groups) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    const std::size_t n = seed % 3 == 0 ? 40 : seed % 3 == 1 ? 3000 : 20000;
    const Drawn drawn = draw(seed, n, std::pow(10.0, seed % 4), false);
    const ScoreProblem problem = drawn.problem(5, 50);
    const CodedTable table = merge_rows(problem.table);
    ScoreCells cells;
    RowPartition rows(table.n_rows()), finer;
    const int columns[] = {0, 1, 2};
    for (const std::size_t j : {0u, 1u, 2u}) {
      finer.split(table.code[j], rows);
      std::swap(rows, finer);
    }
    rows.write_cells(table, columns, n_columns, cells);
    check_bounds(problem.table, cells, RoundingSlack(problem, table).of_rows(-50, 50), 5, 50, seed);
  }
}

TEST(bounds_less_the_slack_hold_on_bit_counts) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const Drawn drawn = draw(seed, seed % 2 ? 200 : 30000, 1, true);
    const ScoreProblem problem = drawn.problem(5, 20);
    const CodedTable table = merge_rows(problem.table);
    const std::vector<int> order = {0, 1, 2};
    const ColumnLimits limits{std::vector<double>(3, -5), std::vector<double>(3, 5), -20, 20, 0};
    const std::atomic<bool> stop{false};
    const BinaryTree tree(problem.table, order, limits, n_columns, 1, stop);
    BinaryTree::Node root, first, second;
    const double start[3] = {};
    tree.open_root(start, root);
    tree.open(root, 0, start, {1, 2}, first);
    tree.open(first, 1, start, {2}, second);
    ScoreCells cells;
    tree.write_cells(second, 2, cells);
    const std::size_t n_segments = BitColumns::count_segments(problem.table);
    CHECK_EQUAL(n_segments, std::size_t{10});
    check_bounds(problem.table, cells, RoundingSlack(problem, table).of_bits(-20, 20, n_segments), 5, 20, seed);
  }
}

TEST(the_slack_grows_with_rows_values_points_and_intercepts) {
  const auto slack = [](std::size_t n, double scale, int points, int intercept) {
    const Drawn drawn = draw(1, n, scale, false);
    const ScoreProblem problem = drawn.problem(points, intercept);
    return RoundingSlack(problem, merge_rows(problem.table)).of_rows(-intercept, intercept);
  };
  const double base = slack(1000, 1, 5, 20);
  CHECK(slack(100000, 1, 5, 20) > 50 * base);
  CHECK(slack(1000, 100, 5, 20) > 10 * base);
  CHECK(slack(1000, 1, 50, 20) > 2 * base);
  CHECK(slack(1000, 1, 5, 200) > 2 * base);
  // Bounds of ordinary tables keep nine digits.
  CHECK(base < 1e-9);
}

TEST(compensated_sums_do_not_lose_small_terms) {
  CompensatedSum sum;
  sum.add(1);
  for (int k = 0; k < 1000000; ++k) sum.add(1e-17);
  CHECK_NEAR(sum.value(), 1 + 1e-11, 3e-16);
  sum.add(-1);
  CHECK_NEAR(sum.value(), 1e-11, 3e-16);
}
