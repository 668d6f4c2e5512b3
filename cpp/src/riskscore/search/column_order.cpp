#include "surefoot/riskscore/search/column_order.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "surefoot/riskscore/fit/box_fit.hpp"

namespace surefoot {
namespace {

// Loss: accuracy of the fit of a single column, which only orders the columns. Not tuned.
constexpr double order_tolerance = 1e-6;
// Losses are compared in 1 / this: twins have equal losses up to rounding, and rounding must not order them.
constexpr double order_units = 1e9;
// Beyond this log(exp(x) - 1) is x to 1e-13.
constexpr double linear_from = 30;
// Bounds, relative to the size of the terms, the rounding of a logarithm and of a division by the scale; with the number of
// rows, that of class means, which are running sums.
constexpr double log_rounding = 1e-9, mean_rounding = 0x1p-50;

double single_loss(const ScoreProblem& problem, const CodedTable& table, int column, double slack) {
  RowPartition rows;
  rows.split(table.code[static_cast<std::size_t>(column)], RowPartition(table.n_rows()));
  ScoreCells cells;
  rows.write_cells(table, &column, 1, cells);
  const PointBox box{{problem.scale.least(problem.intercept_lower), problem.least_coefficient(column)},
                     {problem.scale.most(problem.intercept_upper), problem.most_coefficient(column)}};
  BoxFit fit{};
  fit_box(cells, box, slack, std::numeric_limits<double>::infinity(), order_tolerance, fit);
  return fit.loss;
}

// Whether b = a in every row (sum = 0 on return), or a + b = sum, a whole number, in every row.
bool says_the_same(const std::vector<double>& a, const std::vector<double>& b, double& sum) {
  sum = 0;
  if (a == b) return true;
  sum = a[0] + b[0];
  if (sum != std::round(sum)) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    // The sum must be exact, not only its rounding: a proof is checked to the last bit.
    const double whole = a[i] + b[i], second = whole - a[i];
    if (whole != sum || (a[i] - (whole - second)) + (b[i] - second) != 0) return false;
  }
  return true;
}

// Whether an adversary treats the columns alike.
bool same_prices(const ScoreProblem& problem, int first, int second) {
  const ShiftTerm& shift = problem.shift;
  const auto a = static_cast<std::size_t>(first), b = static_cast<std::size_t>(second);
  return !shift.active() || (shift.flips[a] == shift.flips[b] && shift.price[a] == shift.price[b]);
}

}  // namespace

std::vector<int> usable_columns(const ScoreProblem& problem, const CodedTable& table, bool skip_empty) {
  std::vector<int> columns;
  for (int j = 0; j < table.n_columns(); ++j) {
    const auto& value = table.value[static_cast<std::size_t>(j)];
    const bool empty = skip_empty && std::all_of(value.begin(), value.end(), [](double x) { return x == 0; });
    // Rules may ask for a column that says nothing.
    if (problem.usable(j) && (!empty || !problem.rules.empty())) columns.push_back(j);
  }
  return columns;
}

ColumnOrder order_columns(const ScoreProblem& problem, const CodedTable& table, const std::vector<int>& usable, double slack,
                          int intercept_low, int intercept_high, bool skip_twins, const std::function<bool()>& stopped) {
  std::vector<double> loss(static_cast<std::size_t>(table.n_columns()));
  for (const int j : usable)
    if (!stopped()) loss[static_cast<std::size_t>(j)] = single_loss(problem, table, j, slack);
  ColumnOrder order{usable, std::vector<int>(usable.size(), -1)};
  const auto rank = [&](int column) { return std::round(loss[static_cast<std::size_t>(column)] * order_units); };
  std::stable_sort(order.columns.begin(), order.columns.end(), [&](int a, int b) { return rank(a) < rank(b); });
  if (!skip_twins || !problem.rules.empty()) return order;
  for (std::size_t b = 1; b < order.columns.size(); ++b) {
    const int second = order.columns[b];
    for (std::size_t a = b; a-- > 0 && order.twin[b] < 0;) {
      const int first = order.columns[a];
      double sum;
      if (!says_the_same(table.value[static_cast<std::size_t>(first)], table.value[static_cast<std::size_t>(second)], sum))
        continue;
      const int low = problem.lowest(second), high = problem.highest(second);
      const bool mirrored =
          sum != 0 || table.value[static_cast<std::size_t>(first)] != table.value[static_cast<std::size_t>(second)];
      const bool same_limits = mirrored ? problem.lowest(first) == -high && problem.highest(first) == -low
                                        : problem.lowest(first) == low && problem.highest(first) == high;
      // Mirroring a column moves its points into the intercept, which must stay within its limits.
      const double moved = std::fabs(sum) * std::max(std::abs(low), std::abs(high));
      const bool stays = intercept_low - moved >= problem.intercept_lower && intercept_high + moved <= problem.intercept_upper;
      if (same_limits && stays && same_prices(problem, first, second)) order.twin[b] = static_cast<int>(a);
    }
  }
  return order;
}

void tighten_intercept(const ScoreProblem& problem, const CodedTable& table, const std::vector<int>& usable, double value,
                       int& low, int& high) {
  low = problem.intercept_lower;
  high = problem.intercept_upper;
  if (!std::isfinite(value)) return;
  for (const bool positive : {false, true}) {
    double weight = 0;
    for (std::size_t i = 0; i < table.n_rows(); ++i)
      weight += positive ? table.positive[i] : table.total[i] - table.positive[i];
    if (!(weight > 0)) continue;
    // The most that the points of max_size columns can move the class's mean score towards its label.
    std::vector<double> moves;
    for (const int j : usable) {
      double mean = 0;
      for (std::size_t i = 0; i < table.n_rows(); ++i)
        mean +=
            (positive ? table.positive[i] : table.total[i] - table.positive[i]) * table.value[static_cast<std::size_t>(j)][i];
      mean /= positive ? weight : -weight;
      moves.push_back(std::max({0.0, mean * problem.least_coefficient(j), mean * problem.most_coefficient(j)}));
    }
    std::sort(moves.begin(), moves.end(), std::greater<>());
    double moved = 0;
    for (std::size_t k = 0; k < std::min(moves.size(), static_cast<std::size_t>(problem.max_size)); ++k) moved += moves[k];
    const double class_loss = value / weight;
    const double furthest = (class_loss > linear_from ? class_loss : std::log(std::expm1(class_loss))) + moved;
    const double margin =
        (log_rounding + mean_rounding * static_cast<double>(table.n_rows())) * (1 + std::fabs(furthest) + moved);
    // From the coefficient to the intercept itself, which is largest where the scale is smallest.
    const double coefficient = furthest + margin;
    const double rounded = std::ceil(coefficient / (coefficient > 0 ? problem.scale.low : problem.scale.high) + log_rounding);
    if (positive)
      low = static_cast<int>(std::max<double>(low, -rounded));
    else
      high = static_cast<int>(std::min<double>(high, rounded));
  }
  high = std::max(high, low);
}

}  // namespace surefoot
