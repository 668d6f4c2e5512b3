// The primal heuristic: a good score card, the first incumbent, before branch and bound begins.
//
// 1. Beam search over supports: every support of the beam is extended by every column; a few Newton steps of each relaxed fit,
//    on cells that are counted over the rarer rows (cell_counts.hpp), rank the extensions, and the best of them are fitted to
//    convergence.
// 2. Rounding: the best whole points of the last beam by branch and bound (point_search.hpp); at a free scale good ones along
//    the ray of the fit (ray_rounding.hpp).
// 3. Local search: columns of the incumbent are exchanged one at a time while that improves it; if `thorough`, two as well.
// 4. At a free scale, where one column all but separates the classes, 1 to 3 once more within narrower limits of the scale.
// Ends when no exchange improves the incumbent, or when stopped.
#pragma once

#include <functional>
#include <vector>

#include "surefoot/riskscore/problem/score_problem.hpp"
#include "surefoot/riskscore/search/incumbent_card.hpp"

namespace surefoot {

// Chosen on the mushroom table of bench_risk_scores at a free scale, where they find a card as good as the best known in a
// tenth of a second of CPU time, unless a line says otherwise.
struct BeamParameters {
  // Supports in the beam. Relaxed fits say less about whole points where those have a scale to choose.
  std::size_t width = 4, free_width = 10;
  // Supports in the beam after the first of two columns has come back, while pairs are exchanged.
  std::size_t pair_width = 6;
  // Rounds of exchanges of one column. Not tuned.
  int max_rounds = 20;
  // Newton steps that rank a support; the best of them, so many for each place in the beam, are fitted to convergence.
  int ranking_steps = 2;
  std::size_t fits_per_place = 3;
  // Columns tried in the place of one that was given up, unless all are.
  std::size_t max_exchanges = 8;
  // Log odds: where a single column changes them by more the classes are all but separated, and fits within wide limits hardly
  // differ between supports. Narrower limits, each by this factor, up to so many times, lead to other cards.
  double separating_column = 5, narrowing_factor = 4;
  int max_narrowings = 3;
  // At a free scale points are rounded along a ray, and searched only on up to so many cells and intercepts, where that takes
  // moments.
  std::size_t max_searched_cells = 64;
  int max_searched_intercepts = 1000;
};

// `columns` are those that may have points. `stopped` is polled.
void run_beam_heuristic(const ScoreProblem& problem, const CodedTable& table, const std::vector<int>& columns, double slack,
                        IncumbentCard& incumbent, const std::function<bool()>& stopped, bool thorough,
                        const BeamParameters& parameters = {});

}  // namespace surefoot
