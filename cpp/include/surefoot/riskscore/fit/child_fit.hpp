// Batched Newton with rigorous bounds: relaxed fits of four supports of 0/1 columns that differ in one column, one per lane.
//
// The loss of a support is a sum over the 2^n cells of its contingency table. One iteration, for all lanes at once: scores and
// derivatives of the cells; gradient and Hessian as sums over supersets (all columns are 0/1, so an entry of the Hessian is the
// weight of the cells that contain two columns); the tangent bound of box_fit.hpp; a Newton step, capped in every coordinate
// and clamped to the box widened by `iterate_margin`. There is no line search: the bound holds at every iterate, and the best
// one counts. It ends when every lane is decided.
#pragma once

#include "surefoot/core/pack_vector.hpp"
#include "surefoot/riskscore/table/score_cells.hpp"

namespace surefoot {

// Supports of up to this many 0/1 columns are fitted on their full table of 2^n cells.
constexpr int max_binary_columns = 8;
constexpr int max_binary_cells = 1 << max_binary_columns;

// Points: iterates may leave the box by this much. The bound holds all the same, and is close where the loss is flat, as it is
// out there; clamping at the box itself would spoil Newton's direction. Part of the proof: rounding_slack.hpp bounds the scores
// of all iterates by it.
constexpr double iterate_margin = 6;

struct ChildFitParameters {
  // Points: cap on a coordinate's step, for the steps at nearly flat losses. Not tuned.
  double max_step = 4;
  // Regularisation of the Hessian, absolute and relative to its diagonal. Not tuned.
  double regularisation = 1e-12, relative_regularisation = 1e-10;
  // Pivots below this, absolute or as a fraction of their diagonal entry, are taken for 0: the coordinate stays. Not tuned.
  double pivot_tolerance = 1e-14, relative_pivot_tolerance = 1e-11;
};
inline constexpr ChildFitParameters child_fit_parameters{};

// Bit j of a cell's number says whether column j is 1; the column that differs from lane to lane is the last.
struct alignas(pack_alignment) ChildBatch {
  int n_columns;
  Pack total[max_binary_cells], positive[max_binary_cells];
  Pack lower[max_binary_columns + 1], upper[max_binary_columns + 1];
  Pack point[max_binary_columns + 1];        // start, then the last iterate
  Pack loss;                                 // at that iterate
  Pack bound;                                // largest tangent bound seen, as in box_fit.hpp, before any slack
  Pack bound_point[max_binary_columns + 1];  // where it was
};

// Turns counts into cells. Before: entry 2^(n_columns - 1) + m of `total` and `positive` counts the rows with the last column
// and at least the columns of m at 1, in every lane; cell_total and cell_positive are the cells of the shared columns.
void expand_children(ChildBatch& batch, const double* cell_total, const double* cell_positive);

// Newton's method on the cells listed in `live` (numbers below 2^(n_columns - 1); each stands for itself and its twin with the
// last column 1; no other cell may hold rows). Ends when every lane's bound exceeds `threshold`, when every lane has loss -
// bound below `tolerance`, or after `max_steps`.
void fit_children(ChildBatch& batch, const int* live, int n_live, double threshold, double tolerance, int max_steps);

}  // namespace surefoot
