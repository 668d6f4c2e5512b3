// The entries of one row that have values of their own: the intercept and the numeric columns. All of them for a dense table, the
// non-zero ones for a sparse one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "surefoot/core/dense_vector.hpp"

namespace surefoot {

// Four running sums: one would wait for each of its additions.
inline double sparse_dot(const double* value, const std::int32_t* slot, const double* v, std::int64_t count) {
  double s[4] = {};
  std::int64_t a = 0;
  for (; a + 4 <= count; a += 4)
    for (int r = 0; r < 4; ++r) s[r] += value[a + r] * v[slot[a + r]];
  double sum = (s[0] + s[2]) + (s[1] + s[3]);
  for (; a < count; ++a) sum += value[a] * v[slot[a]];
  return sum;
}

struct RowPart {
  const double* value;
  const std::int32_t* slot;  // ascending; null: the first `count` slots
  int count;

  double dot(const double* v) const { return slot ? sparse_dot(value, slot, v, count) : surefoot::dot(value, v, count); }

  void add_to(double* out, double scale) const {
    if (slot) {
      for (int a = 0; a < count; ++a) out[slot[a]] += scale * value[a];
    } else {
      add_scaled(out, value, scale, count);
    }
  }
};

}  // namespace surefoot
