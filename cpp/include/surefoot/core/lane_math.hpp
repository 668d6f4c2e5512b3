// Four numbers at a time: the logistic loss and its slope, accurate to a few units in the last place of max(1, |t|).
#pragma once

#include <cstdint>

namespace surefoot {

// Compilers lower these to whatever the processor has; functions that use them are worth a SUREFOOT_DISPATCH.
typedef double Pack __attribute__((vector_size(32)));
typedef std::int64_t PackBits __attribute__((vector_size(32)));
constexpr int lanes = 4;

#define SUREFOOT_INLINE inline __attribute__((always_inline))

// Results leave by reference: returning a pack would tie the calling convention to the processor.
SUREFOOT_INLINE void fill(Pack& pack, double value) { pack = Pack{value, value, value, value}; }

// value = log(1 + exp(t)), slope = 1 / (1 + exp(-t)).
//
// With a = |t| and e = exp(-a) in (0, 1]: value = max(t, 0) + log(1 + e), slope = 1 / (1 + e) or e / (1 + e).
// exp: -a = n log 2 + r with |r| <= 0.347, a Taylor polynomial of degree 12 (remainder 2e-16) and n moved into the exponent bits.
// log: 2 artanh(z) with z = (u - 1) / (u + 1) for u = 1 + e or (1 + e) / 2, |z| <= 0.172, ten terms (remainder 2e-17).
SUREFOOT_INLINE void softplus_pack(const Pack& t, Pack& value, Pack& slope) {
  constexpr double rounding = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves the nearest integer in the low bits
  const Pack zero = {}, one = zero + 1.0;
  Pack a = t < zero ? -t : t;
  // exp(-200) is 0 beside anything it is added to, and its products stay clear of denormal numbers, which are slow.
  a = a > zero + 200.0 ? zero + 200.0 : a;
  const Pack shifted = -1.4426950408889634 * a + rounding;
  const Pack n = shifted - rounding;
  const Pack r = (-a - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
  Pack e = r * (1.0 / 479001600) + 1.0 / 39916800;
  e = e * r + 1.0 / 3628800;
  e = e * r + 1.0 / 362880;
  e = e * r + 1.0 / 40320;
  e = e * r + 1.0 / 5040;
  e = e * r + 1.0 / 720;
  e = e * r + 1.0 / 120;
  e = e * r + 1.0 / 24;
  e = e * r + 1.0 / 6;
  e = e * r + 0.5;
  e = e * r + 1.0;
  e = e * r + 1.0;
  PackBits bits;
  __builtin_memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 1023) << 52;
  Pack scale;
  __builtin_memcpy(&scale, &bits, sizeof scale);
  e *= scale;
  const Pack reciprocal = one / (e + 1.0);
  slope = t >= zero ? reciprocal : e * reciprocal;
  const auto halved = e > zero + 0.41421356237309503;
  const Pack z = (halved ? e - 1.0 : e) / (halved ? e + 3.0 : e + 2.0);
  const Pack zz = z * z;
  Pack series = zz * (1.0 / 19) + 1.0 / 17;
  series = series * zz + 1.0 / 15;
  series = series * zz + 1.0 / 13;
  series = series * zz + 1.0 / 11;
  series = series * zz + 1.0 / 9;
  series = series * zz + 1.0 / 7;
  series = series * zz + 1.0 / 5;
  series = series * zz + 1.0 / 3;
  series = series * zz + 1.0;
  value = 2.0 * z * series + (halved ? zero + 0.69314718055994531 : zero) + (t > zero ? t : zero);
}

}  // namespace surefoot
