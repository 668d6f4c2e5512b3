#include "surefoot/riskscore/problem/score_problem.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>

namespace surefoot {

PointRange ScoreProblem::range(const int* columns, int n, int intercept_low, int intercept_high) const {
  PointRange result;
  result.lower[0] = intercept_low;
  result.upper[0] = intercept_high;
  for (int j = 0; j < n; ++j) {
    result.lower[j + 1] = lowest(columns[j]);
    result.upper[j + 1] = highest(columns[j]);
    if (!rules.values.empty() && !rules.values[static_cast<std::size_t>(columns[j])].empty())
      result.values[j + 1] = &rules.values[static_cast<std::size_t>(columns[j])];
  }
  for (const LinearRule& rule : rules.rows) {
    PointRow row{rule.lower, rule.upper, {rule.intercept_coefficient}};
    for (int j = 0; j < n; ++j) row.coefficient[j + 1] = rule.coefficient[static_cast<std::size_t>(columns[j])];
    result.rows.push_back(row);
  }
  for (const SignRule& rule : rules.signs) {
    std::vector<int> members;
    for (int j = 0; j < n; ++j)
      if (rule.member[static_cast<std::size_t>(columns[j])]) members.push_back(j + 1);
    if (members.size() > 1) result.one_sign.push_back(std::move(members));
  }
  result.rates = &rules.rates;
  if (!rules.fair.empty()) {
    std::vector<GroupRates> rates;
    for (const FairRule& rule : rules.fair) rates.emplace_back(rule, table, columns, n);
    result.group_rates = std::make_shared<const std::vector<GroupRates>>(std::move(rates));
  }
  return result;
}

ShiftPrices ScoreProblem::prices(const int* columns, int n) const {
  ShiftPrices result{shift.radius, shift.label_price, {}, {}};
  for (int j = 0; j < n; ++j) {
    result.price[j] = shift.price[static_cast<std::size_t>(columns[j])];
    result.flips[j] = shift.flips[static_cast<std::size_t>(columns[j])] != 0;
  }
  return result;
}

namespace {

// No score of a card is larger.
double largest_score(const ScoreProblem& problem) {
  std::vector<double> sizes;
  for (int j = 0; j < problem.table.n_columns; ++j) {
    // What can be flipped may be 1 in any row.
    double largest = problem.shift.flips[static_cast<std::size_t>(j)] != 0 ? 1 : 0;
    for (std::size_t i = 0; i < problem.table.n_rows; ++i) largest = std::max(largest, std::fabs(problem.table.column(j)[i]));
    sizes.push_back(largest * std::max(std::abs(problem.lowest(j)), std::abs(problem.highest(j))));
  }
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  double score = std::max(std::abs(problem.intercept_lower), std::abs(problem.intercept_upper));
  for (std::size_t k = 0; k < std::min(sizes.size(), static_cast<std::size_t>(problem.max_size)); ++k) score += sizes[k];
  return score;
}

}  // namespace

double lambda_limit(const ScoreProblem& problem) {
  double limit = 0;
  for (int j = 0; j < problem.table.n_columns; ++j)
    if (problem.usable(j))
      limit = std::max(limit, std::max(std::abs(problem.lowest(j)), std::abs(problem.highest(j))) /
                                  problem.shift.price[static_cast<std::size_t>(j)]);
  limit = std::max(limit, largest_score(problem) / problem.shift.label_price);
  // A little more, so that the best lambda lies inside: fits begin there.
  constexpr double factor = 1.5, distance = 1;
  return factor * problem.scale.high * limit + distance;
}

}  // namespace surefoot
