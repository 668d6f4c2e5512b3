// Four supports at a time that share all columns but one, all columns 0/1: real-valued fits with rigorous bounds.
#pragma once

#include "surefoot/core/pack_vector.hpp"
#include "surefoot/riskscore/table/score_cells.hpp"

namespace surefoot {

// Supports of up to this many 0/1 columns are fitted on their full table of 2^n cells.
constexpr int max_binary_columns = 8;
constexpr int max_binary_cells = 1 << max_binary_columns;

// Iterates may leave the box by this much. The bound holds all the same, and costs little where the loss is flat, as it is that far out;
// clamping at the box itself would spoil Newton's direction.
constexpr double iterate_margin = 6;

// Bit j of a cell's number says whether column j is 1; the column that differs from lane to lane is the last.
struct alignas(pack_alignment) ChildBatch {
  int n_columns;
  Pack total[max_binary_cells], positive[max_binary_cells];
  Pack lower[max_binary_columns + 1], upper[max_binary_columns + 1];
  Pack point[max_binary_columns + 1];  // start, then the last iterate
  Pack loss;                           // at that iterate
  Pack bound;                          // largest tangent bound seen, as in box_fit.hpp, before any slack
  Pack best[max_binary_columns + 1];   // where it was
};

// Turns counts into cells. Before: entry 2^(n_columns - 1) + m of `total` and `positive` counts the rows with the last column and at least
// the columns of m at 1, in every lane; cell_total and cell_positive are the cells of the shared columns.
void expand_children(ChildBatch& batch, const double* cell_total, const double* cell_positive);

// Newton's method on the cells listed in `live` (numbers below 2^(n_columns - 1); each stands for itself and its twin with the last
// column 1; no other cell may hold rows). Ends when every lane's bound exceeds `threshold`, when every lane has loss - bound below
// `tolerance`, or after `max_steps`.
void fit_children(ChildBatch& batch, const int* live, int n_live, double threshold, double tolerance, int max_steps);

}  // namespace surefoot
