#include "surefoot/cholesky.hpp"

#include <cmath>

#include "surefoot/dense_vector.hpp"

namespace surefoot {
void cholesky_factor(double* A, int size, std::size_t stride, double floor) {
  for (int i = 0; i < size; ++i) {
    double* row = A + static_cast<std::size_t>(i) * stride;
    const double diagonal = row[i];
    for (int j = 0; j < i; ++j) {
      const double* other = A + static_cast<std::size_t>(j) * stride;
      row[j] = (row[j] - dot(row, other, j)) / other[j];
    }
    const double pivot = diagonal - dot(row, row, i);
    row[i] = pivot > floor * diagonal && pivot > 0 ? std::sqrt(pivot) : 1e150;
  }
}

void cholesky_solve(const double* L, int size, std::size_t stride, double* b) {
  for (int i = 0; i < size; ++i) {
    const double* row = L + static_cast<std::size_t>(i) * stride;
    b[i] = (b[i] - dot(row, b, i)) / row[i];
  }
  for (int i = size - 1; i >= 0; --i) {
    const double* row = L + static_cast<std::size_t>(i) * stride;
    b[i] /= row[i];
    for (int j = 0; j < i; ++j) b[j] -= row[j] * b[i];
  }
}

}  // namespace surefoot
