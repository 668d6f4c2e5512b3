// Dense Cholesky factor of a symmetric positive definite matrix, in place, lower triangle by rows.
#pragma once

#include <cstddef>

namespace surefoot {

// Factors the leading size x size block (rows `stride` apart). A pivot at or below `floor` times its original diagonal entry is
// replaced by a huge one, which fixes that coordinate's step at zero instead of letting noise steer it.
void cholesky_factor(double* A, int size, std::size_t stride, double floor);

// Solves L L^T x = b in place.
void cholesky_solve(const double* L, int size, std::size_t stride, double* b);

}  // namespace surefoot
