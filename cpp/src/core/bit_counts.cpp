#include "surefoot/core/bit_counts.hpp"

#include <bit>

#if defined(__x86_64__) && defined(__GNUC__)
#define SUREFOOT_AVX2
#include <immintrin.h>
#endif

namespace surefoot {
namespace {

using SharedBits = std::int64_t (*)(const std::uint64_t*, const std::uint64_t*, std::int64_t);

std::int64_t plain_shared_bits(const std::uint64_t* a, const std::uint64_t* b, std::int64_t n_words) {
  std::int64_t count = 0;
  for (std::int64_t k = 0; k < n_words; ++k) count += std::popcount(a[k] & b[k]);
  return count;
}

#ifdef SUREFOOT_AVX2
// Sixteen entries of a table count the bits of half a byte, 64 halves at a time.
__attribute__((target("avx2,popcnt"))) std::int64_t wide_shared_bits(const std::uint64_t* a, const std::uint64_t* b,
                                                                     std::int64_t n_words) {
  const __m256i counts =
      _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
  const __m256i low = _mm256_set1_epi8(15);
  __m256i sum = _mm256_setzero_si256();
  std::int64_t k = 0;
  while (k + 4 <= n_words) {
    // A byte holds the bits of at most 31 bytes without overflow.
    __m256i bytes = _mm256_setzero_si256();
    for (int round = 0; round < 31 && k + 4 <= n_words; ++round, k += 4) {
      const __m256i both = _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + k)),
                                            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + k)));
      bytes = _mm256_add_epi8(bytes, _mm256_shuffle_epi8(counts, _mm256_and_si256(both, low)));
      bytes = _mm256_add_epi8(bytes, _mm256_shuffle_epi8(counts, _mm256_and_si256(_mm256_srli_epi32(both, 4), low)));
    }
    sum = _mm256_add_epi64(sum, _mm256_sad_epu8(bytes, _mm256_setzero_si256()));
  }
  std::int64_t count =
      _mm256_extract_epi64(sum, 0) + _mm256_extract_epi64(sum, 1) + _mm256_extract_epi64(sum, 2) + _mm256_extract_epi64(sum, 3);
  for (; k < n_words; ++k) count += std::popcount(a[k] & b[k]);
  return count;
}
#endif

SharedBits best_shared_bits() {
#ifdef SUREFOOT_AVX2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")) return wide_shared_bits;
#endif
  return plain_shared_bits;
}

}  // namespace

std::int64_t shared_bits(const std::uint64_t* a, const std::uint64_t* b, std::int64_t n_words) {
  static const SharedBits count = best_shared_bits();
  return count(a, b, n_words);
}

}  // namespace surefoot
