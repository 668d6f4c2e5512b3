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
#pragma once

#include <cstdint>
#include <vector>

namespace surefoot {

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

  int n_levels() const { return level_offset.back(); }
  int mask_words() const { return n_categorical == 0 ? 1 : (n_categorical + 63) / 64; }
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
