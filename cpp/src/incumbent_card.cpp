#include "surefoot/incumbent_card.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "surefoot/card_loss.hpp"

namespace surefoot {

ScoreCard make_card(double value, int n_columns, const int* columns, int n, const int* points) {
  ScoreCard card{value, points[0], std::vector<int>(static_cast<std::size_t>(n_columns), 0)};
  for (int j = 0; j < n; ++j) card.points[static_cast<std::size_t>(columns[j])] = points[j + 1];
  return card;
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
  if (!problem_.scale.free() || !problem_.rules.empty()) return;
  int divisor = std::abs(card.intercept);
  for (const int points : card.points) divisor = std::gcd(divisor, points);
  if (divisor < 2) return;
  const double multiplier = card_loss(problem_, table_, card.intercept, card.points).multiplier;
  for (; divisor > 1; --divisor) {
    const auto divides = [&](int points) { return points % divisor == 0; };
    if (!divides(card.intercept) || !std::all_of(card.points.begin(), card.points.end(), divides)) continue;
    const int intercept = card.intercept / divisor;
    if (multiplier * problem_.scale.high < divisor || intercept < problem_.intercept_lower ||
        intercept > problem_.intercept_upper)
      continue;
    card.intercept = intercept;
    for (int& points : card.points) points /= divisor;
    return;
  }
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
