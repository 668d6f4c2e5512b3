#include "surefoot/riskscore/problem/card_loss.hpp"

#include <cmath>
#include <limits>

#include "surefoot/core/compensated_sum.hpp"
#include "surefoot/riskscore/problem/card_scales.hpp"

namespace surefoot {
namespace {

std::vector<int> support_of(const std::vector<int>& points) {
  std::vector<int> support;
  for (std::size_t j = 0; j < points.size(); ++j)
    if (points[j] != 0) support.push_back(static_cast<int>(j));
  return support;
}

// At a scale, with terms that are all at or above 0: nothing cancels, however small the loss is.
double plain_loss(const CodedTable& table, int intercept, const std::vector<int>& points, const std::vector<int>& support,
                  double scale) {
  CompensatedSum loss;
  for (std::size_t i = 0; i < table.n_rows(); ++i) {
    double score = intercept;
    for (const int j : support) score += points[static_cast<std::size_t>(j)] * table.value[static_cast<std::size_t>(j)][i];
    score *= scale;
    loss.add(table.total[i] * std::log1p(std::exp(-std::fabs(score))));
    loss.add(score > 0 ? (table.total[i] - table.positive[i]) * score : -table.positive[i] * score);
  }
  return loss.value();
}

ScoreCells cells_of(const CodedTable& table, const std::vector<int>& support) {
  RowPartition rows(table.n_rows()), finer;
  for (const int j : support) {
    finer.split(table.code[static_cast<std::size_t>(j)], rows);
    std::swap(rows, finer);
  }
  ScoreCells cells;
  rows.write_cells(table, support.data(), static_cast<int>(support.size()), cells);
  return cells;
}

// Of the problem's own form of loss, which has something to minimise for every card.
CardLoss formed_loss(const ScoreProblem& problem, const CodedTable& table, int intercept, const std::vector<int>& points,
                     const std::vector<int>& support) {
  const std::unique_ptr<SupportLoss> loss = make_loss(problem);
  const ScoreCells cells = cells_of(table, support);
  loss->open(support.data(), cells);
  PointBox box;
  BoxFit fit{};
  fit.point[0] = box.lower[0] = box.upper[0] = intercept;
  for (std::size_t k = 0; k < support.size(); ++k)
    fit.point[k + 1] = box.lower[k + 1] = box.upper[k + 1] = points[static_cast<std::size_t>(support[k])];
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (problem.scale.free() && !problem.rules.empty()) {
    const int n = static_cast<int>(support.size());
    const PointRange range = problem.range(support.data(), n, problem.intercept_lower, problem.intercept_upper);
    const ScaleRange admitted = CardScales().admitted(range, cells, box.lower, problem.scale);
    if (admitted.empty()) return {infinity, 1};
    loss->narrow(admitted);
  }
  loss->fit(box, 0, infinity, 0, fit);
  if (!problem.shift.active()) fit.loss = plain_loss(table, intercept, points, support, fit.scale);
  return {fit.loss, 1 / fit.scale};
}

}  // namespace

CardLoss card_loss(const ScoreProblem& problem, const CodedTable& table, int intercept, const std::vector<int>& points) {
  const std::vector<int> support = support_of(points);
  if (problem.shift.active() || problem.scale.free()) return formed_loss(problem, table, intercept, points, support);
  return {plain_loss(table, intercept, points, support, 1), 1};
}

}  // namespace surefoot
