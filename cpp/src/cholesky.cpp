#include "surefoot/cholesky.hpp"

#include <cmath>

#include "surefoot/dispatch.hpp"

namespace surefoot {
namespace {

// Eight running sums let the compiler keep several multiply-adds in flight without reordering a single sum.
SUREFOOT_DISPATCH double dot(const double* a, const double* b, int n) {
  double s[8] = {};
  int k = 0;
  for (; k + 8 <= n; k += 8)
    for (int r = 0; r < 8; ++r) s[r] += a[k + r] * b[k + r];
  double sum = ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
  for (; k < n; ++k) sum += a[k] * b[k];
  return sum;
}

}  // namespace

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
