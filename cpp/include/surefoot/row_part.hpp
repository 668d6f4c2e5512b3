// The entries of one row that have values of their own: the intercept and the numeric columns. All of them for a dense table, the
// non-zero ones for a sparse one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace surefoot {

struct RowPart {
  const double* value;
  const std::int32_t* slot;  // ascending; null: the first `count` slots
  int count;

  double dot(const double* v) const {
    double sum = 0;
    if (slot) {
      for (int a = 0; a < count; ++a) sum += value[a] * v[slot[a]];
    } else {
      for (int a = 0; a < count; ++a) sum += value[a] * v[a];
    }
    return sum;
  }

  void add_to(double* out, double scale) const {
    if (slot) {
      for (int a = 0; a < count; ++a) out[slot[a]] += scale * value[a];
    } else {
      for (int a = 0; a < count; ++a) out[a] += scale * value[a];
    }
  }
};

}  // namespace surefoot
