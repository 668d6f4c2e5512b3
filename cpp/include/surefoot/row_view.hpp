// One row of a table as the pieces of its loss see it, and what sums over such pieces share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "surefoot/mixed_table.hpp"
#include "surefoot/parallel.hpp"
#include "surefoot/worst_case.hpp"

namespace surefoot {

// Which features moved: mask_words() words of 64 bits.
inline bool has_bit(const std::uint64_t* mask, int l) { return (mask[l >> 6] >> (l & 63)) & 1u; }
inline void set_bit(std::uint64_t* mask, int l) { mask[l >> 6] |= std::uint64_t{1} << (l & 63); }

// Everything about one row that does not depend on the piece.
struct RowView {
  const MixedTable& table;
  const LiftedLayout& layout;
  std::vector<double> dense;
  const std::int32_t* codes = nullptr;
  double label = 0;
  double weight = 0;

  RowView(const MixedTable& t, const LiftedLayout& l) : table(t), layout(l), dense(dense_size()) {}

  std::size_t dense_size() const { return static_cast<std::size_t>(layout.first_numeric + table.n_numeric); }

  void move_to(std::int64_t row) {
    if (layout.first_numeric == 1) dense[0] = 1.0;
    std::copy_n(table.numeric + row * table.n_numeric, table.n_numeric, dense.begin() + layout.first_numeric);
    codes = table.codes + row * table.n_categorical;
    label = table.labels[row];
    weight = table.weights[row];
  }

  double target(bool flipped) const { return flipped ? -label : label; }

  std::int32_t slot(int l, const std::uint64_t* mask, bool flipped) const {
    if (has_bit(mask, l)) return target(flipped) > 0 ? layout.low[l] : layout.high[l];
    return layout.level[table.level_offset[l] + codes[l]];
  }

  double argument(const PointTables& point, double score, const std::uint64_t* mask, bool flipped) const {
    const double s = target(flipped);
    double t = -s * score;
    for (int l = 0; l < table.n_categorical; ++l)
      if (has_bit(mask, l)) t += point.gain[s > 0 ? 0 : 1][table.level_offset[l] + codes[l]];
    return t;
  }

  double cost(const std::uint64_t* mask, bool flipped) const {
    double sum = flipped ? table.flip_price : 0.0;
    for (int l = 0; l < table.n_categorical; ++l)
      if (has_bit(mask, l)) sum += table.move_price[l];
    return sum;
  }
};

// gradient += scale * (dense, 1 at the slots)
inline void add_gradient(double* gradient, const std::vector<double>& dense, const std::vector<std::int32_t>& slots,
                         double scale) {
  for (std::size_t a = 0; a < dense.size(); ++a) gradient[a] += scale * dense[a];
  for (const auto slot : slots) gradient[slot] += scale;
}

inline void add_into(std::vector<double>& all, const std::vector<double>& part) {
  for (std::size_t k = 0; k < all.size(); ++k) all[k] += part[k];
}

// Each block sums a curvature matrix of its own.
inline RowBlocks curvature_blocks(const MixedTable& table, const LiftedLayout& layout) {
  const auto length = static_cast<std::size_t>(layout.size) + 1;
  return RowBlocks(table.n_rows, 32 * table.n_rows, length * length);
}

}  // namespace surefoot
