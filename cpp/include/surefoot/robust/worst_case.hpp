// The exact worst case of one row, for any real prices, without dynamic programming.
//
// For a target label s the loss argument is t = -s * score, and moving feature l raises it by gain_l >= 0 at the price
// lambda * delta_l. Because softplus(v) = max over tau in [0, 1] of tau v - h(tau),
//   max_S softplus(t + sum_S gain) - lambda sum_S delta = max_tau [tau t - h(tau) + sum_l max(0, tau gain_l - lambda delta_l)],
// so an optimal set is {l : gain_l / delta_l > lambda / tau}: a prefix of the features sorted by gain_l / delta_l. The gains depend
// on (feature, level, label) only, so the sorting keys are computed once per point, not once per row.
#pragma once

#include <cstdint>
#include <vector>

#include "surefoot/robust/mixed_table.hpp"

namespace surefoot {

// A point in lifted coordinates, with the tables that make a row cheap.
struct PointTables {
  const double* x = nullptr;
  double price = 0;
  std::vector<double> level;          // coefficient of each level
  std::vector<double> gain[2];        // rise of the loss argument when moving away from a level; [0]: label +1, [1]: label -1
  std::vector<std::int32_t> rank[2];  // position in the order of decreasing gain / delta

  PointTables(const MixedTable& table, const LiftedLayout& layout, const double* x);
};

// One way to shift one row: which features move (a bit each, in the caller's words) and whether the label flips.
struct Piece {
  double argument;  // loss argument after the shift
  double cost;      // ground cost of the shift, per unit of price
  double value;     // softplus(argument) - price * cost
  bool flipped;
  int n_moved;  // the first n_moved entries of the scratch order of its label
};

// Scratch of one thread; sized once, reused for every row.
struct RowScratch {
  std::vector<std::int32_t> order[2];  // candidate features of each target label, best first
  std::vector<Piece> pieces;
  int best = 0;

  explicit RowScratch(const MixedTable& table);
};

double row_score(const MixedTable& table, const LiftedLayout& layout, const PointTables& point, std::int64_t row);

// Fills scratch.pieces with every candidate prefix of the row, and marks the best. Features whose move loses more than
// `slack` at any slope are left out: with slack = 0 they cannot be part of a maximum.
void enumerate_prefixes(const MixedTable& table, const PointTables& point, std::int64_t row, double score, double slack,
                        RowScratch& scratch);

// Worst-case loss of every row (the adversary's price subtracted) and the shift that attains it; any output may be null.
void worst_case_rows(const MixedTable& table, const LiftedLayout& layout, const double* x, int n_threads, double* value,
                     std::uint8_t* moved, std::uint8_t* flipped, double* cost);

// Weighted sum of the worst-case losses, and (if requested) the weighted sum of the shifts' costs.
double worst_case_sum(const MixedTable& table, const LiftedLayout& layout, const double* x, int n_threads, double* cost_sum);

}  // namespace surefoot
