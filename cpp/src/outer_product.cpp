#include "surefoot/outer_product.hpp"

#include <algorithm>

#include "surefoot/dispatch.hpp"

namespace surefoot {

SUREFOOT_DISPATCH void add_outer(double* M, std::size_t stride, const double* dense, int n_dense, const std::int32_t* slots,
                                 int n_slots, double scale) {
  for (int a = 0; a < n_dense; ++a) {
    const double scaled = scale * dense[a];
    double* line = M + static_cast<std::size_t>(a) * stride;
    for (int b = 0; b <= a; ++b) line[b] += scaled * dense[b];
  }
  for (int s = 0; s < n_slots; ++s) {
    double* line = M + static_cast<std::size_t>(slots[s]) * stride;
    for (int b = 0; b < n_dense; ++b) line[b] += scale * dense[b];
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
