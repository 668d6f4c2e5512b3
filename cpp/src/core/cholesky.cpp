#include "surefoot/core/cholesky.hpp"

#include <algorithm>
#include <cmath>

#include "surefoot/core/dense_vector.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#define SUREFOOT_AVX2
#include <immintrin.h>
#endif

namespace surefoot {
namespace {

// Products of so many lines with so many others stay in registers while their entries pass by.
constexpr int tile_lines = 4, tile_columns = 2;
using Tile = double[tile_lines][tile_columns];

// tile = the products of four lines of L, from a on, with two, from b on, over their first n entries.
using TileDots = void (*)(Tile& tile, const double* a, const double* b, std::size_t stride, int n);

void tile_dots(Tile& tile, const double* a, const double* b, std::size_t stride, int n) {
  for (int i = 0; i < tile_lines; ++i)
    for (int j = 0; j < tile_columns; ++j)
      tile[i][j] = dot(a + static_cast<std::size_t>(i) * stride, b + static_cast<std::size_t>(j) * stride, n);
}

#ifdef SUREFOOT_AVX2
__attribute__((target("avx2,fma"))) double lane_sum(__m256d v) {
  const __m128d halves = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
  return _mm_cvtsd_f64(_mm_add_sd(halves, _mm_unpackhi_pd(halves, halves)));
}

__attribute__((target("avx2,fma"))) void wide_tile_dots(Tile& tile, const double* a, const double* b, std::size_t stride,
                                                        int n) {
  const double *a0 = a, *a1 = a + stride, *a2 = a1 + stride, *a3 = a2 + stride, *b0 = b, *b1 = b + stride;
  __m256d s00 = _mm256_setzero_pd(), s01 = s00, s10 = s00, s11 = s00, s20 = s00, s21 = s00, s30 = s00, s31 = s00;
  int k = 0;
  for (; k + 4 <= n; k += 4) {
    const __m256d v0 = _mm256_loadu_pd(b0 + k), v1 = _mm256_loadu_pd(b1 + k);
    const __m256d w0 = _mm256_loadu_pd(a0 + k), w1 = _mm256_loadu_pd(a1 + k);
    s00 = _mm256_fmadd_pd(w0, v0, s00);
    s01 = _mm256_fmadd_pd(w0, v1, s01);
    s10 = _mm256_fmadd_pd(w1, v0, s10);
    s11 = _mm256_fmadd_pd(w1, v1, s11);
    const __m256d w2 = _mm256_loadu_pd(a2 + k), w3 = _mm256_loadu_pd(a3 + k);
    s20 = _mm256_fmadd_pd(w2, v0, s20);
    s21 = _mm256_fmadd_pd(w2, v1, s21);
    s30 = _mm256_fmadd_pd(w3, v0, s30);
    s31 = _mm256_fmadd_pd(w3, v1, s31);
  }
  const __m256d sums[tile_lines][tile_columns] = {{s00, s01}, {s10, s11}, {s20, s21}, {s30, s31}};
  for (int i = 0; i < tile_lines; ++i)
    for (int j = 0; j < tile_columns; ++j) {
      double sum = lane_sum(sums[i][j]);
      for (int r = k; r < n; ++r)
        sum += a[static_cast<std::size_t>(i) * stride + r] * b[static_cast<std::size_t>(j) * stride + r];
      tile[i][j] = sum;
    }
}
#endif

TileDots best_tile_dots() {
#ifdef SUREFOOT_AVX2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return wide_tile_dots;
#endif
  return tile_dots;
}

}  // namespace

void cholesky_factor(double* A, int size, std::size_t stride, double floor) {
  static const TileDots multiply = best_tile_dots();
  const auto line = [&](int i) { return A + static_cast<std::size_t>(i) * stride; };
  for (int top = 0; top < size; top += tile_lines) {
    const int end = std::min(top + tile_lines, size);
    // Whole tiles left of the diagonal one; the last lines may be too few to fill any.
    const int tiled = end - top == tile_lines ? top : 0;
    for (int j = 0; j < tiled; j += tile_columns) {
      Tile products;
      multiply(products, line(top), line(j), stride, j);
      const double first = 1.0 / line(j)[j], below = line(j + 1)[j], second = 1.0 / line(j + 1)[j + 1];
      for (int i = 0; i < tile_lines; ++i) {
        double* row = line(top + i);
        row[j] = (row[j] - products[i][0]) * first;
        row[j + 1] = (row[j + 1] - products[i][1] - row[j] * below) * second;
      }
    }
    for (int i = top; i < end; ++i) {
      double* row = line(i);
      const double diagonal = row[i];
      for (int j = tiled; j < i; ++j) row[j] = (row[j] - dot(row, line(j), j)) / line(j)[j];
      const double pivot = diagonal - dot(row, row, i);
      row[i] = pivot > floor * diagonal && pivot > 0 ? std::sqrt(pivot) : 1e150;
    }
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
    add_scaled(b, row, -b[i], i);
  }
}

}  // namespace surefoot
