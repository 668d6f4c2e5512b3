#include "surefoot/incumbent_card.hpp"

#include <algorithm>
#include <limits>
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

void IncumbentCard::offer(const int* columns, int n, const int* points) {
  ScoreCard card = make_card(0, table_.n_columns(), columns, n, points);
  const auto unused = std::count(card.points.begin(), card.points.end(), 0);
  const double size = static_cast<double>(card.points.size()) - static_cast<double>(unused);
  card.value = card_loss(problem_, table_, card.intercept, card.points) + problem_.penalty * size;
  const std::lock_guard lock(mutex_);
  if (better_card(card, best_)) {
    best_ = std::move(card);
    value_ = best_.value;
  }
}

}  // namespace surefoot
