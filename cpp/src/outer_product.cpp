#include "surefoot/outer_product.hpp"

#include <algorithm>

#include "surefoot/dispatch.hpp"

namespace surefoot {

SUREFOOT_DISPATCH void add_outer(double* M, std::size_t stride, const RowPart& part, const std::int32_t* slots, int n_slots,
                                 double scale) {
  const double* value = part.value;
  for (int a = 0; a < part.count; ++a) {
    const double scaled = scale * value[a];
    double* line = M + static_cast<std::size_t>(part.slot ? part.slot[a] : a) * stride;
    if (part.slot) {
      for (int b = 0; b <= a; ++b) line[part.slot[b]] += scaled * value[b];
    } else {
      for (int b = 0; b <= a; ++b) line[b] += scaled * value[b];
    }
  }
  for (int s = 0; s < n_slots; ++s) {
    part.add_to(M + static_cast<std::size_t>(slots[s]) * stride, scale);
    for (int r = 0; r <= s; ++r) {
      const std::int32_t low = std::min(slots[r], slots[s]), high = std::max(slots[r], slots[s]);
      M[static_cast<std::size_t>(high) * stride + static_cast<std::size_t>(low)] += scale;
    }
  }
}

SUREFOOT_DISPATCH void add_square(double* M, const double* v, int n, double scale) {
  for (int a = 0; a < n; ++a) {
    const double scaled = scale * v[a];
    double* line = M + static_cast<std::size_t>(a) * static_cast<std::size_t>(n);
    for (int b = 0; b <= a; ++b) line[b] += scaled * v[b];
  }
}

}  // namespace surefoot
