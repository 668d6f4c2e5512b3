// The worst case itself, without smoothing, and its minimum along lambda.
#include <algorithm>
#include <cmath>

#include "surefoot/riskscore/shift/shift_lattice.hpp"

namespace surefoot {

template <bool stretched>
ShiftLattice::Tangent ShiftLattice::tangent(const double* point) {
  const double lambda = point[n_columns_ + 1];
  Tangent plane{lambda, lambda * prices_.radius, prices_.radius, 0};
  double* v = value_.data();
  double* cost = cost_.data();
  double* stretch = stretch_.data();
  for (std::size_t group = 0; group < n_groups_; ++group) {
    open_group(group, point);
    std::fill_n(cost, corners_, 0.0);
    if constexpr (stretched)
      for (std::size_t i = 0; i < corners_; ++i) stretch[i] = std::fabs(slope_[i]) * score_[i];
    for (int step = 0; step < n_steps_; ++step) {
      const std::size_t bit = step_bit_[step];
      const double price = lambda * step_price_[step];
      for (std::size_t block = 0; block < corners_; block += 2 * bit)
        for (std::size_t i = block; i < block + bit; ++i) {
          const double low = v[i], high = v[i + bit], low_cost = cost[i], high_cost = cost[i + bit];
          const double from_high = high - price, from_low = low - price;
          // Both cannot be: prices are above 0.
          if (from_high > low) {
            v[i] = from_high;
            cost[i] = high_cost + step_price_[step];
            if constexpr (stretched) stretch[i] = stretch[i + bit];
          }
          if (from_low > high) {
            v[i + bit] = from_low;
            cost[i + bit] = low_cost + step_price_[step];
            if constexpr (stretched) stretch[i + bit] = stretch[i];
          }
        }
    }
    const double* mass = mass_.data() + group * corners_;
    for (std::size_t i = 0; i < corners_; ++i) {
      plane.value += mass[i] * v[i];
      plane.slope -= mass[i] * cost[i];
      if constexpr (stretched) plane.stretch += mass[i] * stretch[i];
    }
  }
  return plane;
}

double ShiftLattice::worst(const double* point, double& slope) {
  const Tangent plane = tangent<false>(point);
  slope = plane.slope;
  return plane.value;
}

template <bool stretched>
double ShiftLattice::least(double* point, double from, double to, double& bound, double& stretch) {
  constexpr double gap = lattice_parameters.meeting_gap;
  double& lambda = point[n_columns_ + 1];
  const auto at = [&](double price) {
    lambda = price;
    return tangent<stretched>(point);
  };
  const auto set_sides = [&](double place, double rounding) {
    const double away = lattice_parameters.side_distance * (1 + place) + rounding;
    low_side_ = place - away;
    high_side_ = place + away;
  };
  Tangent low = at(from);
  bound = low.value;
  stretch = low.stretch + low.slope * from;
  set_sides(from, 0);
  if (low.slope >= 0) {
    low_side_ = high_side_;
    return low.value;
  }
  Tangent high = at(to);
  bound = high.value;
  stretch = high.stretch;
  set_sides(to, 0);
  if (high.slope <= 0) return high.value;
  for (int k = 0; k < lattice_parameters.max_tangents; ++k) {
    // low.value + low.slope (x - low.lambda) = high.value + high.slope (x - high.lambda).
    const double steep = low.slope - high.slope;
    double meeting = (high.value - low.value + low.slope * low.lambda - high.slope * high.lambda) / steep;
    meeting = std::clamp(meeting, low.lambda, high.lambda);
    bound = low.value + low.slope * (meeting - low.lambda);
    stretch = high.stretch + high.slope / -steep * (low.stretch - high.stretch);
    const double best = std::min(low.value, high.value);
    set_sides(meeting, lattice_parameters.side_rounding * (1 + low.value + high.value) / -steep);
    if (best - bound <= gap * (1 + best) || high.lambda - low.lambda <= gap * (1 + high.lambda)) break;
    // Every third step bisects: tangents alone may close in slowly.
    const Tangent next = at(k % 3 == 2 ? 0.5 * (low.lambda + high.lambda) : meeting);
    if (next.slope == 0) {
      low = high = next;
      bound = next.value;
      stretch = next.stretch;
      set_sides(next.lambda, 0);
      break;
    }
    if (next.lambda == meeting && next.value <= bound) {
      // The tangents meet on the function itself; mixed, they are level there.
      low = high = next;
      bound = next.value;
      break;
    }
    (next.slope < 0 ? low : high) = next;
  }
  const Tangent& best = low.value <= high.value ? low : high;
  lambda = best.lambda;
  bound = std::min(bound, best.value);
  return best.value;
}

double ShiftLattice::least_worst(double* point, double low, double high, double& bound) {
  double stretch;
  return least<false>(point, low, high, bound, stretch);
}

double ShiftLattice::least_worst(double* point, double low, double high, double& bound, double& stretch) {
  return least<true>(point, low, high, bound, stretch);
}

}  // namespace surefoot
