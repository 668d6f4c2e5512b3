#include "surefoot/riskscore/problem/card_scales.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace surefoot {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// Bounds on rounding: of a score on the wrong side of 0, relative to the size of its terms, and of an interval whose ends it
// has put into the wrong order.
constexpr double score_margin = 1e-9, edge = 1e-12;

// Cuts the scales down to those with t * score >= lower.
void require_least(double score, double margin, double lower, ScaleRange& scales) {
  if (lower == -infinity) return;
  if (lower == 0) {
    if (score < -margin) scales.high = -infinity;
  } else if (lower > 0) {
    scales.low = score > 0 ? std::max(scales.low, lower / score) : infinity;
  } else if (score < 0) {
    scales.high = std::min(scales.high, lower / score);
  }
}

void require_between(double score, double margin, double lower, double upper, ScaleRange& scales) {
  require_least(score, margin, lower, scales);
  require_least(-score, margin, -upper, scales);
}

double score_of(const ScoreCells& cells, std::size_t cell, const double* points) {
  const auto* values = reinterpret_cast<const double*>(cells.values.data());
  double score = points[0];
  for (int j = 0; j < cells.n_columns; ++j)
    score += points[j + 1] * values[static_cast<std::size_t>(j) * static_cast<std::size_t>(cells.n_packs) * lanes + cell];
  return score;
}

}  // namespace

ScaleRange CardScales::admitted(const PointRange& range, const ScoreCells& cells, const double* points, ScaleRange scales) {
  for (const PointRow& row : range.rows) {
    double score = 0, size = 0;
    for (int j = 0; j <= cells.n_columns; ++j) {
      score += row.coefficient[j] * points[j];
      size += std::fabs(row.coefficient[j] * points[j]);
    }
    require_between(score, score_margin * (1 + size), row.lower, row.upper, scales);
  }
  if (range.rates != nullptr)
    for (const RateRule& rule : *range.rates) {
      if (rule.at_even_odds()) continue;  // scores say it all: the search has looked at them
      order_rows(rule, cells, points);
      double weight = 0, must = infinity, must_not = -infinity;
      for (const auto& [score, mass] : rows_) {
        if (weight < rule.least) must = score;
        weight += mass;
        if (weight > rule.most && must_not == -infinity) must_not = score;
      }
      if (weight < rule.least) return {infinity, -infinity};
      if (must < infinity) require_least(must, 0, rule.threshold, scales);
      if (must_not > -infinity) require_least(-must_not, 0, -rule.unflagged, scales);
    }
  if (scales.low > scales.high && scales.low <= scales.high * (1 + edge)) scales.high = scales.low;
  return scales;
}

void CardScales::order_rows(const RateRule& rule, const ScoreCells& cells, const double* points) {
  const auto* total = reinterpret_cast<const double*>(cells.total.data());
  const auto* positive = reinterpret_cast<const double*>(cells.positive.data());
  rows_.clear();
  for (std::size_t cell = 0; cell < cells.n_cells; ++cell) {
    const double weight = rule.positive ? positive[cell] : total[cell] - positive[cell];
    if (weight > 0) rows_.emplace_back(score_of(cells, cell, points), weight);
  }
  std::sort(rows_.begin(), rows_.end(), std::greater<>());
}

}  // namespace surefoot
