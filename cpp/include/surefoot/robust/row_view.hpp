// One row of a table as the pieces of its loss see it, and what sums over such pieces share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "surefoot/core/parallel.hpp"
#include "surefoot/robust/mixed_table.hpp"
#include "surefoot/robust/row_part.hpp"
#include "surefoot/robust/worst_case.hpp"

namespace surefoot {

// Which moves are made: mask_words() words of 64 bits.
inline bool has_bit(const std::uint64_t* mask, int l) { return (mask[l >> 6] >> (l & 63)) & 1u; }
inline void set_bit(std::uint64_t* mask, int l) { mask[l >> 6] |= std::uint64_t{1} << (l & 63); }

// Everything about one row that does not depend on the piece.
struct RowView {
  const MixedTable& table;
  const LiftedLayout& layout;
  std::vector<double> value;        // of the row's part: 1 for the intercept, then the numeric columns
  std::vector<std::int32_t> slot_;  // sparse only
  const std::int32_t* codes = nullptr;
  std::int64_t row = 0;
  double label = 0;
  double weight = 0;

  RowView(const MixedTable& t, const LiftedLayout& l)
      : table(t), layout(l), value(static_cast<std::size_t>(l.first_numeric), 1.0) {
    if (!t.entry_at) value.resize(static_cast<std::size_t>(l.first_numeric + t.n_numeric));
    if (t.entry_at) slot_.assign(static_cast<std::size_t>(l.first_numeric), 0);
  }

  void move_to(std::int64_t r) {
    row = r;
    if (table.entry_at) {
      const auto first = static_cast<std::size_t>(layout.first_numeric);
      const auto begin = table.entry_at[row], end = table.entry_at[row + 1];
      value.resize(first);
      slot_.resize(first);
      value.insert(value.end(), table.numeric + begin, table.numeric + end);
      for (auto e = begin; e < end; ++e) slot_.push_back(layout.first_numeric + table.column[e]);
    } else {
      std::copy_n(table.numeric + row * table.n_numeric, table.n_numeric, value.begin() + layout.first_numeric);
    }
    codes = table.codes + row * table.n_categorical;
    label = table.labels[row];
    weight = table.weights[row];
  }

  RowPart part() const { return {value.data(), table.entry_at ? slot_.data() : nullptr, static_cast<int>(value.size())}; }

  // The entry of a ranged column after the moves of a mask; `high` is the second of its two moves.
  double entry(std::size_t r, const std::uint64_t* mask) const {
    const int l = table.n_categorical + 2 * static_cast<int>(r);
    const NumericRange& range = table.ranges[r];
    const bool low = has_bit(mask, l), high = has_bit(mask, l + 1);
    const double own = table.numeric[row * table.n_numeric + range.column];
    return low && high ? range.low + range.high - own : low ? range.low : high ? range.high : own;
  }

  // Puts the ranged columns of the row's part where a mask moves them.
  void place(const std::uint64_t* mask) {
    for (std::size_t r = 0; r < table.ranges.size(); ++r)
      value[static_cast<std::size_t>(layout.first_numeric + table.ranges[r].column)] = entry(r, mask);
  }

  double target(bool flipped) const { return flipped ? -label : label; }

  std::int32_t slot(int l, const std::uint64_t* mask, bool flipped) const {
    if (has_bit(mask, l)) return target(flipped) > 0 ? layout.low[l] : layout.high[l];
    return layout.level[table.level_offset[l] + codes[l]];
  }

  double argument(const PointTables& point, double score, const std::uint64_t* mask, bool flipped) const {
    const double s = target(flipped);
    double t = -s * score;
    for (int l = 0; l < table.n_moves(); ++l)
      if (has_bit(mask, l)) t += point.gain_of(table, row, s > 0 ? 0 : 1, l);
    return t;
  }

  double cost(const std::uint64_t* mask, bool flipped) const {
    double sum = flipped ? table.flip_price : 0.0;
    for (int l = 0; l < table.n_moves(); ++l)
      if (has_bit(mask, l)) sum += table.price_of(l, row);
    return sum;
  }
};

// gradient += scale * (part, 1 at the slots)
inline void add_gradient(double* gradient, const RowPart& part, const std::vector<std::int32_t>& slots, double scale) {
  part.add_to(gradient, scale);
  for (const auto slot : slots) gradient[slot] += scale;
}

inline void add_into(std::vector<double>& all, const std::vector<double>& part) {
  for (std::size_t k = 0; k < all.size(); ++k) all[k] += part[k];
}

// Each block sums a curvature matrix of its own.
inline RowBlocks curvature_blocks(const MixedTable& table, const LiftedLayout& layout) {
  const auto length = static_cast<std::size_t>(layout.size) + 1;
  return RowBlocks(table.n_rows, RowBlockParameters{}.work_per_row * table.n_rows, length * length);
}

}  // namespace surefoot
