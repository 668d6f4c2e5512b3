// The whole search against trying every card.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "check.hpp"
#include "riskscore/drawn_cards.hpp"
#include "surefoot/core/softplus.hpp"
#include "surefoot/riskscore/search/support_search.hpp"

using namespace surefoot;

namespace {

constexpr int n_columns = 4;

bool admitted(const ScoreProblem& problem, const int* card) {
  int support[n_columns], size = 0;
  for (int j = 0; j < n_columns; ++j)
    if (card[j + 1] != 0) support[size++] = j;
  if (size > problem.max_size || !problem.rules.admits(support, size)) return false;
  for (const LinearRule& row : problem.rules.rows) {
    double sum = row.intercept_coefficient * card[0];
    for (std::size_t j = 0; j < n_columns; ++j) sum += row.coefficient[j] * card[j + 1];
    if (sum < row.lower || sum > row.upper) return false;
  }
  for (const SignRule& rule : problem.rules.signs) {
    bool positive = false, negative = false;
    for (std::size_t j = 0; j < n_columns; ++j) {
      positive = positive || (rule.member[j] && card[j + 1] > 0);
      negative = negative || (rule.member[j] && card[j + 1] < 0);
    }
    if (positive && negative) return false;
  }
  for (std::size_t j = 0; j < problem.rules.values.size(); ++j) {
    const auto& values = problem.rules.values[j];
    if (card[j + 1] != 0 && !values.empty() && std::find(values.begin(), values.end(), card[j + 1]) == values.end())
      return false;
  }
  for (const RateRule& rule : problem.rules.rates) {
    double flagged = 0;
    for (std::size_t i = 0; i < problem.table.n_rows; ++i) {
      double score = card[0];
      for (int j = 0; j < n_columns; ++j) score += card[j + 1] * problem.table.column(j)[i];
      if ((problem.table.labels[i] > 0) == rule.positive && score >= rule.threshold) flagged += problem.table.weights[i];
    }
    if (flagged < rule.least || flagged > rule.most) return false;
  }
  return true;
}

double value_of(const ScoreProblem& problem, const int* card) {
  double value = 0;
  for (int j = 1; j <= n_columns; ++j) value += card[j] != 0 ? problem.penalty : 0;
  for (std::size_t i = 0; i < problem.table.n_rows; ++i) {
    double score = card[0];
    for (int j = 0; j < n_columns; ++j) score += card[j + 1] * problem.table.column(j)[i];
    value += problem.table.weights[i] * softplus(-problem.table.labels[i] * score);
  }
  return value;
}

double best_of_all(const ScoreProblem& problem) {
  double best = std::numeric_limits<double>::infinity();
  int card[n_columns + 1];
  for (card[0] = -4; card[0] <= 4; ++card[0])
    for (int code = 0; code < 625; ++code) {
      for (int j = 0, rest = code; j < n_columns; ++j, rest /= 5) card[j + 1] = rest % 5 - 2;
      if (admitted(problem, card)) best = std::min(best, value_of(problem, card));
    }
  return best;
}

void check_search(const ScoreProblem& problem, const SearchOptions& options) {
  const double best = best_of_all(problem);
  const SearchResult result = search_supports(problem, options);
  CHECK(result.end == SearchEnd::complete);
  CHECK_NEAR(result.card.value, best, 1e-12);
  CHECK_EQUAL(result.lower_bound, result.card.value);
  if (result.card.points.empty()) return;
  int card[n_columns + 1] = {result.card.intercept};
  std::copy(result.card.points.begin(), result.card.points.end(), card + 1);
  CHECK(admitted(problem, card));
  CHECK_NEAR(value_of(problem, card), best, 1e-12);
}

}  // namespace

TEST(the_search_finds_the_best_of_all_cards) {
  for (unsigned seed = 0; seed < 24; ++seed) {
    const Drawn drawn = draw(seed, seed % 4 < 2, n_columns);
    SearchOptions options;
    options.n_threads = 1 + static_cast<int>(seed % 3);
    options.heuristic = seed % 5 != 0;
    check_search(drawn.problem(1 + static_cast<int>(seed % 4), seed % 3 ? 0.01 : 0), options);
  }
}

TEST(the_search_keeps_the_rules) {
  for (unsigned seed = 0; seed < 24; ++seed) {
    const Drawn drawn = draw(seed, seed % 4 < 2, n_columns);
    ScoreProblem problem = drawn.problem(3, 1e-8);
    if (seed % 2) problem.rules.groups.push_back({{1, 1, 0, 1}, 1, 1});
    if (seed % 3) problem.rules.implications.push_back({{1, 0, 0, 1}, {0, 0, 1, 0}});
    if (seed % 5) problem.rules.rows.push_back({-1, 0.5, 1, {1, 0, 1, 0}});
    check_search(problem, {});
  }
}

TEST(the_search_keeps_signs_point_sets_and_rates) {
  for (unsigned seed = 0; seed < 24; ++seed) {
    const Drawn drawn = draw(seed, seed % 4 < 2, n_columns);
    ScoreProblem problem = drawn.problem(4, 0);
    if (seed % 2) problem.rules.signs = {{{1, 1, 0, 0}}, {{0, 1, 1, 1}}};
    if (seed % 3) problem.rules.values = {{-2, 1}, {}, {2}, {-1, 1, 2}};
    if (seed % 5) problem.rules.rates = {{false, 0, 0.123, 0}, {true, 0.111, 1, seed % 7 ? 0 : 0.5}};
    check_search(problem, {});
  }
}

TEST(rules_that_contradict_each_other_leave_no_card) {
  const Drawn drawn = draw(1, true, n_columns);
  ScoreProblem problem = drawn.problem(3, 0);
  problem.rules.groups = {{{1, 1, 0, 0}, 2, 4}, {{1, 1, 0, 0}, 0, 1}};
  const SearchResult result = search_supports(problem, {});
  CHECK(std::isinf(result.card.value));
  CHECK(std::isinf(result.lower_bound));
}

TEST(a_search_told_to_stop_keeps_a_valid_bound) {
  const Drawn drawn = draw(3, true, n_columns);
  const ScoreProblem problem = drawn.problem(4, 0);
  SearchOptions options;
  options.time_limit = 0;
  const SearchResult result = search_supports(problem, options);
  CHECK(result.end == SearchEnd::time_limit);
  CHECK(result.lower_bound <= best_of_all(problem));
  CHECK(result.card.value >= best_of_all(problem));
}
