// Symmetric rank-one sums over a row: a part with values of its own and a few unit entries behind it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "surefoot/row_part.hpp"

namespace surefoot {

// Lower triangle of M += scale * v v^T, where v holds `part` and 1 at each of `slots` (all beyond the part's).
void add_outer(double* M, std::size_t stride, const RowPart& part, const std::int32_t* slots, int n_slots, double scale);

// Lower triangle of the n x n matrix M += scale * v v^T.
void add_square(double* M, const double* v, int n, double scale);

}  // namespace surefoot
