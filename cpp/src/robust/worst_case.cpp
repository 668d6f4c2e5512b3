#include "surefoot/robust/worst_case.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "surefoot/core/parallel.hpp"
#include "surefoot/core/softplus.hpp"
#include "surefoot/robust/row_part.hpp"

namespace surefoot {

PointTables::PointTables(const MixedTable& table, const LiftedLayout& layout, const double* lifted)
    : x(lifted), price(lifted[layout.price]) {
  const int n_levels = table.n_levels(), n_ranged = table.n_moves() - table.n_categorical;
  const auto n_places = static_cast<std::size_t>(n_levels + n_ranged);
  level.resize(static_cast<std::size_t>(n_levels));
  std::vector<double> ratio(n_places);
  std::vector<std::int32_t> sorted(n_places);
  for (int c = 0; c < n_levels; ++c) level[c] = x[layout.level[c]];
  for (int side = 0; side < 2; ++side) {
    gain[side].resize(n_places);
    rank[side].resize(n_places);
    for (int l = 0; l < table.n_categorical; ++l) {
      const bool movable = layout.low[l] != layout.size;
      for (int c = table.level_offset[l]; c < table.level_offset[l + 1]; ++c) {
        const double rise = side == 0 ? level[c] - x[layout.low[l]] : x[layout.high[l]] - level[c];
        gain[side][c] = movable ? rise : 0.0;
        ratio[c] = gain[side][c] / table.move_price[l];
      }
    }
    for (int k = 0; k < n_ranged; ++k) {
      const int l = table.n_categorical + k;
      const NumericRange& range = table.range_of(l);
      const double beta = x[layout.first_numeric + range.column];
      gain[side][n_levels + k] = (side == 0) == table.to_high(l) ? -beta : beta;
      ratio[n_levels + k] = gain[side][n_levels + k] / range.price;
    }
    std::iota(sorted.begin(), sorted.end(), 0);
    std::stable_sort(sorted.begin(), sorted.end(), [&](int a, int b) { return ratio[a] > ratio[b]; });
    for (std::size_t k = 0; k < n_places; ++k) {
      rank[side][sorted[k]] = static_cast<std::int32_t>(k);
      if (sorted[k] >= n_levels && gain[side][sorted[k]] > 0)
        ranged[side].push_back(table.n_categorical + sorted[k] - n_levels);
    }
  }
}

RowScratch::RowScratch(const MixedTable& table) {
  const auto m = static_cast<std::size_t>(table.n_moves());
  order[0].reserve(m);
  order[1].reserve(m);
  pieces.reserve(2 * (m + 1));
}

double row_score(const MixedTable& table, const LiftedLayout& layout, const PointTables& point, std::int64_t row) {
  double score = point.x[layout.intercept];
  const double* beta = point.x + layout.first_numeric;
  if (table.entry_at) {
    const auto first = table.entry_at[row];
    score += sparse_dot(table.numeric + first, table.column + first, beta, table.entry_at[row + 1] - first);
  } else {
    score += dot(table.numeric + row * table.n_numeric, beta, table.n_numeric);
  }
  const std::int32_t* codes = table.codes + row * table.n_categorical;
  for (int l = 0; l < table.n_categorical; ++l) score += point.level[table.level_offset[l] + codes[l]];
  return score;
}

void enumerate_prefixes(const MixedTable& table, const PointTables& point, std::int64_t row, double score, double slack,
                        RowScratch& scratch) {
  scratch.pieces.clear();
  scratch.best = 0;
  const int n_sides = std::isfinite(table.flip_price) ? 2 : 1;
  for (int flip = 0; flip < n_sides; ++flip) {
    const double label = flip ? -table.labels[row] : table.labels[row];
    const int side = label > 0 ? 0 : 1;
    auto& order = scratch.order[flip];
    order.clear();
    const auto& rank = point.rank[side];
    const auto rank_of = [&](int l) { return rank[static_cast<std::size_t>(PointTables::place(table, row, l))]; };
    const auto consider = [&](int l) {
      const double gain = point.gain_of(table, row, side, l);
      // Softplus has slopes below 1, so a move can bring in at most its gain.
      if (!(gain > 0 && gain > point.price * table.price_of(l, row) - slack * table.reach(l, row))) return;
      order.push_back(l);
      std::size_t at = order.size() - 1;
      for (; at > 0 && rank_of(order[at - 1]) > rank_of(l); --at) order[at] = order[at - 1];
      order[at] = l;
    };
    for (const int l : point.ranged[side]) {
      // Per unit of the way what counts is the same for all rows, and most columns gain too little everywhere.
      const double gain = point.gain[side][static_cast<std::size_t>(PointTables::place(table, row, l))];
      if (gain > point.price * table.range_of(l).price - slack) consider(l);
    }
    for (int l = 0; l < table.n_categorical; ++l) consider(l);
    double argument = -label * score;
    double cost = flip ? table.flip_price : 0.0;
    for (std::size_t k = 0;; ++k) {
      const double value = softplus(argument) - point.price * cost;
      scratch.pieces.push_back({argument, cost, value, flip == 1, static_cast<int>(k)});
      if (value > scratch.pieces[scratch.best].value) scratch.best = static_cast<int>(scratch.pieces.size()) - 1;
      if (k == order.size()) break;
      argument += point.gain_of(table, row, side, order[k]);
      cost += table.price_of(order[k], row);
    }
  }
}

void worst_case_rows(const MixedTable& table, const LiftedLayout& layout, const double* x, int n_threads, double* value,
                     std::uint8_t* moved, std::uint8_t* flipped, double* cost) {
  const PointTables point(table, layout, x);
  const RowBlocks blocks(table.n_rows);
  for_each_block(blocks, n_threads, [&](std::int64_t block) {
    RowScratch scratch(table);
    for (std::int64_t row = blocks.begin(block); row < blocks.end(block); ++row) {
      enumerate_prefixes(table, point, row, row_score(table, layout, point, row), 0.0, scratch);
      const Piece& worst = scratch.pieces[scratch.best];
      if (value) value[row] = worst.value;
      if (flipped) flipped[row] = worst.flipped;
      if (cost) cost[row] = worst.cost;
      if (moved) {
        std::uint8_t* mine = moved + row * table.n_moves();
        std::fill(mine, mine + table.n_moves(), std::uint8_t{0});
        for (int k = 0; k < worst.n_moved; ++k) mine[scratch.order[worst.flipped][k]] = 1;
      }
    }
  });
}

double worst_case_sum(const MixedTable& table, const LiftedLayout& layout, const double* x, int n_threads, double* cost_sum) {
  const PointTables point(table, layout, x);
  const RowBlocks blocks(table.n_rows);
  std::vector<double> values(static_cast<std::size_t>(blocks.n_blocks)), costs(values.size());
  for_each_block(blocks, n_threads, [&](std::int64_t block) {
    RowScratch scratch(table);
    double value = 0, cost = 0;
    for (std::int64_t row = blocks.begin(block); row < blocks.end(block); ++row) {
      enumerate_prefixes(table, point, row, row_score(table, layout, point, row), 0.0, scratch);
      value += table.weights[row] * scratch.pieces[scratch.best].value;
      cost += table.weights[row] * scratch.pieces[scratch.best].cost;
    }
    values[block] = value;
    costs[block] = cost;
  });
  if (cost_sum) *cost_sum = std::accumulate(costs.begin(), costs.end(), 0.0);
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace surefoot
