// The loss of one card, summed in one fixed order, so that values of cards compare alike wherever they were found.
#pragma once

#include <vector>

#include "surefoot/riskscore/problem/score_problem.hpp"
#include "surefoot/riskscore/table/row_partition.hpp"

namespace surefoot {

struct CardLoss {
  double loss;
  double multiplier;  // 1 at unit scale
};

// Over the merged rows of the problem's table; `points` by column of the table.
CardLoss card_loss(const ScoreProblem& problem, const CodedTable& table, int intercept, const std::vector<int>& points);

}  // namespace surefoot
