#include "surefoot/riskscore/search/incumbent_card.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "surefoot/riskscore/problem/card_loss.hpp"

namespace surefoot {

ScoreCard make_card(double value, int n_columns, const int* columns, int n, const int* points, double multiplier) {
  ScoreCard card{value, points[0], std::vector<int>(static_cast<std::size_t>(n_columns), 0), multiplier};
  for (int j = 0; j < n; ++j) card.points[static_cast<std::size_t>(columns[j])] = points[j + 1];
  return card;
}

namespace {

int greatest_divisor(const ScoreCard& card) {
  int divisor = std::abs(card.intercept);
  for (const int points : card.points) divisor = std::gcd(divisor, points);
  return divisor;
}

}  // namespace

int common_divisor(const ScoreProblem& problem, const ScoreCard& card) {
  const auto& lists = problem.rules.values;
  int divisor = greatest_divisor(card);
  const auto divides = [&](int by) {
    if (card.intercept % by != 0 || card.multiplier * problem.scale.high < by) return false;
    if (card.intercept / by < problem.intercept_lower || card.intercept / by > problem.intercept_upper) return false;
    for (std::size_t j = 0; j < card.points.size(); ++j) {
      if (card.points[j] % by != 0) return false;
      if (card.points[j] != 0 && !lists.empty() && !lists[j].empty() &&
          !std::binary_search(lists[j].begin(), lists[j].end(), card.points[j] / by))
        return false;
    }
    return true;
  };
  while (divisor > 1 && !divides(divisor)) --divisor;
  return std::max(divisor, 1);
}

IncumbentCard::IncumbentCard(const ScoreProblem& problem, const CodedTable& table)
    : problem_(problem), table_(table), value_(std::numeric_limits<double>::infinity()) {
  best_ = {std::numeric_limits<double>::infinity(), 0, {}};
}

ScoreCard IncumbentCard::best() const {
  const std::lock_guard lock(mutex_);
  return best_;
}

void IncumbentCard::reduce(ScoreCard& card) const {
  if (!problem_.scale.free() || greatest_divisor(card) < 2) return;
  card.multiplier = card_loss(problem_, table_, card.intercept, card.points).multiplier;
  const int divisor = common_divisor(problem_, card);
  card.intercept /= divisor;
  for (int& points : card.points) points /= divisor;
}

void IncumbentCard::offer(const ScoreCard& card) {
  if (card.points.empty()) return;
  std::vector<int> columns, points{card.intercept};
  for (std::size_t j = 0; j < card.points.size(); ++j)
    if (card.points[j] != 0) {
      columns.push_back(static_cast<int>(j));
      points.push_back(card.points[j]);
    }
  offer(columns.data(), static_cast<int>(columns.size()), points.data());
}

void IncumbentCard::offer(const int* columns, int n, const int* points) {
  ScoreCard card = make_card(0, table_.n_columns(), columns, n, points);
  const auto unused = std::count(card.points.begin(), card.points.end(), 0);
  const double size = static_cast<double>(card.points.size()) - static_cast<double>(unused);
  reduce(card);
  const CardLoss loss = card_loss(problem_, table_, card.intercept, card.points);
  card.value = loss.loss + problem_.penalty * size;
  card.multiplier = loss.multiplier;
  const std::lock_guard lock(mutex_);
  if (better_card(card, best_)) {
    best_ = std::move(card);
    value_ = best_.value;
  }
}

}  // namespace surefoot
