// Symmetric rank-one sums over a vector that is dense in its first entries and has a few unit entries behind them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace surefoot {

// Lower triangle of M += scale * v v^T, where v holds `dense` in positions 0..n_dense-1 and 1 at each of `slots` (all beyond them).
inline void add_outer(double* M, std::size_t stride, const double* dense, int n_dense, const std::int32_t* slots, int n_slots,
                      double scale) {
  for (int a = 0; a < n_dense; ++a) {
    const double scaled = scale * dense[a];
    double* line = M + static_cast<std::size_t>(a) * stride;
    for (int b = 0; b <= a; ++b) line[b] += scaled * dense[b];
  }
  for (int s = 0; s < n_slots; ++s) {
    double* line = M + static_cast<std::size_t>(slots[s]) * stride;
    for (int b = 0; b < n_dense; ++b) line[b] += scale * dense[b];
    for (int r = 0; r <= s; ++r) {
      const auto [low, high] = std::minmax(slots[r], slots[s]);
      M[static_cast<std::size_t>(high) * stride + static_cast<std::size_t>(low)] += scale;
    }
  }
}

}  // namespace surefoot
