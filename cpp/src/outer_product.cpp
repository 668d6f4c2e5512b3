#include "surefoot/outer_product.hpp"

#include <algorithm>

#include "surefoot/dispatch.hpp"

namespace surefoot {
namespace {

// Lower triangle of M += sum of eight scale_k v_k v_k^T; v_k is the k-th line of rows.
SUREFOOT_DISPATCH void add_eight(double* M, std::size_t stride, const double* rows, int n, const double* scale) {
  const std::size_t length = static_cast<std::size_t>(n);
  const double *v0 = rows, *v1 = v0 + length, *v2 = v1 + length, *v3 = v2 + length, *v4 = v3 + length, *v5 = v4 + length,
               *v6 = v5 + length, *v7 = v6 + length;
  for (int a = 0; a < n; ++a) {
    const double s0 = scale[0] * v0[a], s1 = scale[1] * v1[a], s2 = scale[2] * v2[a], s3 = scale[3] * v3[a];
    const double s4 = scale[4] * v4[a], s5 = scale[5] * v5[a], s6 = scale[6] * v6[a], s7 = scale[7] * v7[a];
    double* line = M + static_cast<std::size_t>(a) * stride;
    for (int b = 0; b <= a; ++b)
      line[b] +=
          ((s0 * v0[b] + s1 * v1[b]) + (s2 * v2[b] + s3 * v3[b])) + ((s4 * v4[b] + s5 * v5[b]) + (s6 * v6[b] + s7 * v7[b]));
  }
}

}  // namespace

OuterSum::OuterSum(double* M, std::size_t stride, int n_dense)
    : M_(M),
      stride_(stride),
      n_dense_(n_dense),
      rows_(static_cast<std::size_t>(gathered) * static_cast<std::size_t>(n_dense)) {}

void OuterSum::add(const RowPart& part, const std::int32_t* slots, int n_slots, double scale) {
  if (scale == 0) return;
  if (part.slot) {
    for (int a = 0; a < part.count; ++a) {
      const double scaled = scale * part.value[a];
      double* line = M_ + static_cast<std::size_t>(part.slot[a]) * stride_;
      for (int b = 0; b <= a; ++b) line[part.slot[b]] += scaled * part.value[b];
    }
  } else {
    std::copy_n(part.value, n_dense_, rows_.begin() + static_cast<std::ptrdiff_t>(count_) * n_dense_);
    scale_[count_] = scale;
    if (++count_ == gathered) flush();
  }
  for (int s = 0; s < n_slots; ++s) {
    part.add_to(M_ + static_cast<std::size_t>(slots[s]) * stride_, scale);
    for (int r = 0; r <= s; ++r) {
      const std::int32_t low = std::min(slots[r], slots[s]), high = std::max(slots[r], slots[s]);
      M_[static_cast<std::size_t>(high) * stride_ + static_cast<std::size_t>(low)] += scale;
    }
  }
}

void OuterSum::flush() {
  if (count_ == 0) return;
  // Lines of earlier rows stay behind the last one; with a scale of 0 they add nothing.
  std::fill(scale_ + count_, scale_ + gathered, 0.0);
  add_eight(M_, stride_, rows_.data(), n_dense_, scale_);
  count_ = 0;
}

SUREFOOT_DISPATCH void add_square(double* M, const double* v, int n, double scale) {
  for (int a = 0; a < n; ++a) {
    const double scaled = scale * v[a];
    double* line = M + static_cast<std::size_t>(a) * static_cast<std::size_t>(n);
    for (int b = 0; b <= a; ++b) line[b] += scaled * v[b];
  }
}

}  // namespace surefoot
