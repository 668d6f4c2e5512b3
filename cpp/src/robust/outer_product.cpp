#include "surefoot/robust/outer_product.hpp"

#include <algorithm>

#include "surefoot/core/dispatch.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#define SUREFOOT_AVX2
#include <immintrin.h>
#endif

namespace surefoot {
namespace {

// Lines and columns of M whose sums stay in registers while the gathered rows pass by.
constexpr int tile_lines = 4, tile_columns = 8;
using Tile = double[tile_lines][tile_columns];

// sums = sum over k < count of w_k v_k^T, with w_k the tile's entries of the k-th row times its scale, v_k its entries at the columns.
using TileSums = void (*)(Tile& sums, const double* w, const double* v, int padded, int count);

void tile_sums(Tile& sums, const double* w, const double* v, int padded, int count) {
  for (auto& line : sums)
    for (double& sum : line) sum = 0;
  for (int k = 0; k < count; ++k, v += padded, w += tile_lines)
    for (int i = 0; i < tile_lines; ++i)
      for (int j = 0; j < tile_columns; ++j) sums[i][j] += w[i] * v[j];
}

#ifdef SUREFOOT_AVX2
// Compilers do not keep all eight registers of sums when they see the loops above.
__attribute__((target("avx2,fma"))) void wide_tile_sums(Tile& sums, const double* w, const double* v, int padded, int count) {
  __m256d s00 = _mm256_setzero_pd(), s01 = s00, s10 = s00, s11 = s00, s20 = s00, s21 = s00, s30 = s00, s31 = s00;
  for (int k = 0; k < count; ++k, v += padded, w += tile_lines) {
    const __m256d v0 = _mm256_loadu_pd(v), v1 = _mm256_loadu_pd(v + 4);
    const __m256d w0 = _mm256_broadcast_sd(w), w1 = _mm256_broadcast_sd(w + 1);
    s00 = _mm256_fmadd_pd(w0, v0, s00);
    s01 = _mm256_fmadd_pd(w0, v1, s01);
    s10 = _mm256_fmadd_pd(w1, v0, s10);
    s11 = _mm256_fmadd_pd(w1, v1, s11);
    const __m256d w2 = _mm256_broadcast_sd(w + 2), w3 = _mm256_broadcast_sd(w + 3);
    s20 = _mm256_fmadd_pd(w2, v0, s20);
    s21 = _mm256_fmadd_pd(w2, v1, s21);
    s30 = _mm256_fmadd_pd(w3, v0, s30);
    s31 = _mm256_fmadd_pd(w3, v1, s31);
  }
  const __m256d all[tile_lines][2] = {{s00, s01}, {s10, s11}, {s20, s21}, {s30, s31}};
  for (int i = 0; i < tile_lines; ++i)
    for (int half = 0; half < 2; ++half) _mm256_storeu_pd(&sums[i][4 * half], all[i][half]);
}
#endif

TileSums best_tile_sums() {
#ifdef SUREFOOT_AVX2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return wide_tile_sums;
#endif
  return tile_sums;
}

// Lower triangle of M += sum over k < count of scale_k v_k v_k^T; v_k is the k-th line of rows, `padded` apart, 0 behind its n entries.
void add_gathered(double* M, std::size_t stride, const double* rows, int n, int padded, const double* scale, int count) {
  static const TileSums sum_tile = best_tile_sums();
  for (int a = 0; a < n; a += tile_lines) {
    double scaled[OuterSum::gathered * tile_lines];
    for (int k = 0; k < count; ++k)
      for (int i = 0; i < tile_lines; ++i) scaled[k * tile_lines + i] = scale[k] * rows[k * padded + a + i];
    const int lines = std::min(tile_lines, n - a);
    for (int b = 0; b < a + lines; b += tile_columns) {
      Tile sums;
      sum_tile(sums, scaled, rows + b, padded, count);
      for (int i = 0; i < lines; ++i) {
        double* line = M + static_cast<std::size_t>(a + i) * stride + b;
        const int columns = a + i - b + 1;
        if (columns >= tile_columns) {
          for (int j = 0; j < tile_columns; ++j) line[j] += sums[i][j];
        } else {
          for (int j = 0; j < columns; ++j) line[j] += sums[i][j];
        }
      }
    }
  }
}

}  // namespace

OuterSum::OuterSum(double* M, std::size_t stride, int n_dense)
    : M_(M),
      stride_(stride),
      n_dense_(n_dense),
      padded_((n_dense + tile_columns - 1) / tile_columns * tile_columns),
      rows_(static_cast<std::size_t>(gathered) * static_cast<std::size_t>(padded_)) {}

void OuterSum::add(const RowPart& part, const std::int32_t* slots, int n_slots, double scale) {
  if (scale == 0) return;
  if (part.slot) {
    for (int a = 0; a < part.count; ++a) {
      const double scaled = scale * part.value[a];
      double* line = M_ + static_cast<std::size_t>(part.slot[a]) * stride_;
      for (int b = 0; b <= a; ++b) line[part.slot[b]] += scaled * part.value[b];
    }
  } else {
    std::copy_n(part.value, n_dense_, rows_.begin() + static_cast<std::ptrdiff_t>(count_) * padded_);
    scale_[count_] = scale;
    if (++count_ == gathered) flush();
  }
  // Most levels of most rows are the reference, and nobody reads what is summed up for those.
  sorted_.clear();
  for (int s = 0; s < n_slots; ++s)
    if (static_cast<std::size_t>(slots[s]) + 1 < stride_) sorted_.push_back(slots[s]);
  if (!std::is_sorted(sorted_.begin(), sorted_.end())) std::sort(sorted_.begin(), sorted_.end());
  for (std::size_t s = 0; s < sorted_.size(); ++s) {
    double* line = M_ + static_cast<std::size_t>(sorted_[s]) * stride_;
    part.add_to(line, scale);
    for (std::size_t r = 0; r <= s; ++r) line[sorted_[r]] += scale;
  }
}

void OuterSum::flush() {
  if (count_ == 0) return;
  add_gathered(M_, stride_, rows_.data(), n_dense_, padded_, scale_, count_);
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
