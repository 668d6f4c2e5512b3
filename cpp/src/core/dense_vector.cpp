#include "surefoot/core/dense_vector.hpp"

#include "surefoot/core/dispatch.hpp"

namespace surefoot {

SUREFOOT_DISPATCH double dot(const double* a, const double* b, int n) {
  double s[8] = {};
  int k = 0;
  for (; k + 8 <= n; k += 8)
    for (int r = 0; r < 8; ++r) s[r] += a[k + r] * b[k + r];
  double sum = ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
  for (; k < n; ++k) sum += a[k] * b[k];
  return sum;
}

SUREFOOT_DISPATCH void add_scaled(double* out, const double* v, double scale, int n) {
  for (int k = 0; k < n; ++k) out[k] += scale * v[k];
}

}  // namespace surefoot
