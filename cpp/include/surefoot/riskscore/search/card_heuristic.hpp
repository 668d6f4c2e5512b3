// A good score card before the search begins.
#pragma once

#include <functional>
#include <vector>

#include "surefoot/riskscore/problem/score_problem.hpp"
#include "surefoot/riskscore/search/incumbent_card.hpp"

namespace surefoot {

// Grows supports column by column, keeping the few with the best real-valued fit: a few steps of each fit, on cells that are counted over
// the rarer rows (cell_counts.hpp), tell which are worth the rest. Finds the best whole points of the largest ones, or, at a free scale,
// good ones along the ray of the fit (ray_rounding.hpp); then exchanges columns one at a time while that helps; if `thorough`, two at a
// time as well. At a free scale, where a card tells the classes all but apart, it starts again within narrower limits of the scale.
// `columns` are those worth using. `stopped` is asked now and then.
void seek_card(const ScoreProblem& problem, const CodedTable& table, const std::vector<int>& columns, double slack,
               IncumbentCard& incumbent, const std::function<bool()>& stopped, bool thorough);

}  // namespace surefoot
