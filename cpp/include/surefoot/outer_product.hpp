// Symmetric rank-one sums over a vector that is dense in its first entries and has a few unit entries behind them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace surefoot {

// Lower triangle of M += scale * v v^T, where v holds `dense` in positions 0..n_dense-1 and 1 at each of `slots` (all beyond them).
void add_outer(double* M, std::size_t stride, const double* dense, int n_dense, const std::int32_t* slots, int n_slots,
               double scale);

// Lower triangle of the n x n matrix M += scale * v v^T.
void add_square(double* M, const double* v, int n, double scale);

}  // namespace surefoot
