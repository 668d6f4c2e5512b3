// The rows of a robust logistic problem, and where each coefficient lives in the lifted vector.
//
// Lifted vector x of length size + 1:
//   intercept | numeric columns | non-reference levels | lowest and highest level of each movable feature | price | extra
// Extra coordinates belong to the caller: no row sees them.
// Coefficients that are fixed at 0 (reference levels, an absent intercept, envelopes of features that cannot move) all share the
// last position, `size`. Sums may scatter into it freely; nobody reads them back, and x[size] is always 0.
//
// The envelopes are what makes the level-wise maxima smooth: a moved feature contributes low_l (target label +1) or high_l (-1)
// instead of its own level, and "low_l <= every level of l <= high_l" is left to linear constraints shared by all rows.
//
// Moves of a row are numbered: one per categorical feature, then two per numeric column with a range, to its low and to its high
// end. Of a ranged column all that a worst case can do is to stay or to go to an end (gain and price of a part of the way are the
// same part of both), so such a move is like that of a category, but for what it gains and costs: both are proportional to the
// distance from the row's own value. It needs no envelope: the entry of the column is another one. A mask may name both ends at
// once: that is the mirror image of the value in its range, at more than its price, and never part of a worst case. Where the price is 0, the multipliers
// of a quadratic programme may say so all the same.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace surefoot {

// A numeric column that moves within finite ends, at a price per unit of distance.
struct NumericRange {
  int column;
  double low, high, price;
};

struct MixedTable {
  std::int64_t n_rows = 0;
  int n_numeric = 0;
  int n_categorical = 0;
  const double* numeric = nullptr;         // n_rows x n_numeric, or the stored entries of a sparse table, row after row
  const std::int64_t* entry_at = nullptr;  // sparse only: where each row's entries start, and the end
  const std::int32_t* column = nullptr;    // sparse only: column of each entry, ascending within a row
  const std::int32_t* codes = nullptr;     // n_rows x n_categorical
  const double* labels = nullptr;          // -1 or +1
  const double* weights = nullptr;         // non-negative
  std::vector<std::int32_t> level_offset;  // n_categorical + 1
  std::vector<double> move_price;          // delta, may be infinite
  double flip_price = 0;                   // kappa, may be infinite
  std::vector<NumericRange> ranges;        // of dense tables only

  int n_levels() const { return level_offset.back(); }
  int n_moves() const { return n_categorical + 2 * static_cast<int>(ranges.size()); }
  int mask_words() const { return n_moves() == 0 ? 1 : (n_moves() + 63) / 64; }

  // Of a move l >= n_categorical: the range, and how far the end lies from a row's value, with its sign.
  const NumericRange& range_of(int l) const { return ranges[static_cast<std::size_t>(l - n_categorical) / 2]; }
  bool to_high(int l) const { return ((l - n_categorical) & 1) != 0; }
  double way(int l, std::int64_t row) const {
    const NumericRange& range = range_of(l);
    return (to_high(l) ? range.high : range.low) - numeric[row * n_numeric + range.column];
  }

  // How far a step must change the loss for a move to begin or to end, over what it takes for a way of one unit: the columns of
  // solvers have a spread of one, and along a short way coefficients gain as little as they cost.
  double reach(int l, std::int64_t row) const { return l < n_categorical ? 1.0 : std::fmin(1.0, std::fabs(way(l, row))); }

  // What a move of a row costs, per unit of price.
  double price_of(int l, std::int64_t row) const {
    return l < n_categorical ? move_price[l] : range_of(l).price * std::fabs(way(l, row));
  }
};

struct LiftedLayout {
  int size = 0;
  int intercept = 0;
  int first_numeric = 0;
  int price = 0;
  std::vector<std::int32_t> level;  // slot of each level, `size` for reference levels
  std::vector<std::int32_t> low;    // slot of each feature's lowest coefficient
  std::vector<std::int32_t> high;

  LiftedLayout(const MixedTable& table, bool fit_intercept, int n_extra = 0);
};

}  // namespace surefoot
