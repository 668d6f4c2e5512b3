// The exact worst case of one row, for any real prices, without dynamic programming.
//
// For a target label s the loss argument is t = -s * score, and moving feature l raises it by gain_l >= 0 at the price
// lambda * delta_l. Because softplus(v) = max over tau in [0, 1] of tau v - h(tau),
//   max_S softplus(t + sum_S gain) - lambda sum_S delta = max_tau [tau t - h(tau) + sum_l max(0, tau gain_l - lambda delta_l)],
// so an optimal set is {l : gain_l / delta_l > lambda / tau}: a prefix of the features sorted by gain_l / delta_l. The gains depend
// on (feature, level, label) only, so the sorting keys are computed once per point, not once per row.
//
// A numeric column with a range gains |beta_j| and costs gamma_j per unit of distance, to the end that hurts. Pairs (gain, price)
// of all mixtures of moves fill a sum of segments (numeric columns, which may stop on the way) and pairs of points (features), and
// softplus(t + gain) - lambda price is convex in both, so its maximum is at an extreme point of their hull, which is a prefix
// again, with whole moves: the ratio |beta_j| / gamma_j is the same for all rows, only the distance differs.
#pragma once

#include <cmath>
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
  // Behind the levels, gain and rank hold the moves of ranged columns: gains per unit of distance. Those above 0, best first:
  std::vector<std::int32_t> ranged[2];

  PointTables(const MixedTable& table, const LiftedLayout& layout, const double* x);

  // Where gain and rank of a row's move stand.
  static int place(const MixedTable& table, std::int64_t row, int l) {
    return l < table.n_categorical ? table.level_offset[l] + table.codes[row * table.n_categorical + l]
                                   : table.n_levels() + l - table.n_categorical;
  }
  double gain_of(const MixedTable& table, std::int64_t row, int side, int l) const {
    const double gained = gain[side][static_cast<std::size_t>(place(table, row, l))];
    return l < table.n_categorical ? gained : gained * std::fabs(table.way(l, row));
  }
};

// One way to shift one row: which moves it makes (a bit each, in the caller's words) and whether the label flips.
struct Piece {
  double argument;  // loss argument after the shift
  double cost;      // ground cost of the shift, per unit of price
  double value;     // softplus(argument) - price * cost
  bool flipped;
  int n_moved;  // the first n_moved entries of the scratch order of its label
};

// Scratch of one thread; sized once, reused for every row.
struct RowScratch {
  std::vector<std::int32_t> order[2];  // candidate moves of each target label, best first
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
