// The logistic loss log(1 + exp(t)) and its first two derivatives, without overflow.
#pragma once

#include <cmath>

namespace surefoot {

inline double softplus(double t) { return (t > 0 ? t : 0.0) + std::log1p(std::exp(-std::fabs(t))); }

inline double sigmoid(double t) {
  const double e = std::exp(-std::fabs(t));
  return (t >= 0 ? 1.0 : e) / (1.0 + e);
}

}  // namespace surefoot
