// A good score card before the search begins.
#pragma once

#include <functional>
#include <vector>

#include "surefoot/incumbent_card.hpp"
#include "surefoot/score_problem.hpp"

namespace surefoot {

// Grows supports column by column, keeping the few with the best real-valued fit; finds the best whole points of the largest ones, or, at
// a free scale, good ones along the ray of the fit (ray_rounding.hpp); then exchanges columns one at a time while that helps; if
// `thorough`, two at a time as well. `columns` are those worth using. `stopped` is asked now and then.
void seek_card(const ScoreProblem& problem, const CodedTable& table, const std::vector<int>& columns, double slack,
               IncumbentCard& incumbent, const std::function<bool()>& stopped, bool thorough);

}  // namespace surefoot
