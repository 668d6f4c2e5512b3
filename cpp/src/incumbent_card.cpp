#include "surefoot/incumbent_card.hpp"

#include <limits>
#include <utility>

#include "surefoot/softplus.hpp"

namespace surefoot {

ScoreCard make_card(double value, int n_columns, const int* columns, int n, const int* points) {
  ScoreCard card{value, points[0], std::vector<int>(static_cast<std::size_t>(n_columns), 0)};
  for (int j = 0; j < n; ++j) card.points[static_cast<std::size_t>(columns[j])] = points[j + 1];
  return card;
}

IncumbentCard::IncumbentCard(const CodedTable& table, double penalty)
    : table_(table), penalty_(penalty), value_(std::numeric_limits<double>::infinity()) {
  best_ = {std::numeric_limits<double>::infinity(), 0, {}};
}

ScoreCard IncumbentCard::best() const {
  const std::lock_guard lock(mutex_);
  return best_;
}

void IncumbentCard::offer(const int* columns, int n, const int* points) {
  ScoreCard card = make_card(0, table_.n_columns(), columns, n, points);
  std::vector<std::size_t> support;
  for (std::size_t j = 0; j < card.points.size(); ++j)
    if (card.points[j] != 0) support.push_back(j);
  double loss = 0;
  for (std::size_t i = 0; i < table_.n_rows(); ++i) {
    double score = card.intercept;
    for (const std::size_t j : support) score += card.points[j] * table_.value[j][i];
    loss += table_.total[i] * softplus(score) - table_.positive[i] * score;
  }
  card.value = loss + penalty_ * static_cast<double>(support.size());
  const std::lock_guard lock(mutex_);
  if (better_card(card, best_)) {
    best_ = std::move(card);
    value_ = best_.value;
  }
}

}  // namespace surefoot
