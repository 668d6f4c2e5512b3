#include "surefoot/riskscore/shift/shifted_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "surefoot/core/cholesky.hpp"

namespace surefoot {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr const ShiftedFitParameters& parameters = shifted_fit_parameters;

// Newton's method for the merit function smooth loss - barrier * (sum of logarithms of the distances to the limits).
// Coordinates: coefficients, lambda, scale.
class BarrierNewton {
 public:
  BarrierNewton(ShiftLattice& lattice, const FitRegion& region, double most_lambda)
      : lattice_(lattice),
        region_(region),
        n_(lattice.n_columns() + 2),
        low_(region.least_lambda(lattice)),
        high_(most_lambda),
        lambda_per_scale_(region.lambda_per_scale(lattice)) {
    for (int j = 0; j < n_ - 1; ++j) {
      scaled_ = scaled_ || region.tied[j];
      if (!region.tied[j] && region.box.lower[j] < region.box.upper[j]) free_[n_free_++] = j;
    }
    scaled_ = scaled_ && region.scale.free();
    free_[n_free_++] = n_ - 1;
    n_open_ = n_free_ - 1;
    if (scaled_) free_[n_free_++] = n_;
  }

  // Moves the start into the interior.
  void make_interior(double* point) const {
    double& lambda = point[n_ - 1];
    const ScaleRange& scale = region_.scale;
    const double inside = parameters.interior_fraction * (scale.high - scale.low);
    point[n_] = std::clamp(point[n_], scale.low + inside, scale.high - inside);
    lambda = std::max({lambda, parameters.min_lambda_fraction * high_ / (1 + high_),
                       low_ * parameters.lambda_factor + parameters.lambda_distance,
                       parameters.lambda_factor * lambda_per_scale_ * point[n_] + parameters.lambda_distance});
    for (int j = 0; j < n_ - 1; ++j) {
      if (region_.tied[j]) continue;
      const double lower = region_.box.lower[j], upper = region_.box.upper[j];
      const double margin = parameters.interior_fraction * std::min(1.0, upper - lower);
      point[j] = std::clamp(point[j], lower + margin, upper - margin);
      if (j > 0 && lattice_.prices().moves(j - 1))
        lambda = std::max(lambda, parameters.lambda_factor * std::fabs(point[j]) / lattice_.prices().price[j - 1] +
                                      parameters.lambda_distance);
    }
    lambda = std::min(lambda, parameters.max_lambda_fraction * high_);
    tie(point);
  }

  void advance(const double* point, double length, const double* step, double* next) const {
    for (int j = 0; j <= n_; ++j) next[j] = point[j] + length * step[j];
    tie(next);
  }

  void evaluate(const double* point, double smoothing) { lattice_.sum(point, smoothing, sums_); }
  const ShiftedSums& sums() const { return sums_; }

  // Newton's direction and its decrement, from the sums at the point.
  double direction(const double* point, double barrier, double* step) {
    double gradient[width], factor[width * width];
    const auto at = [&](int a, int b) -> double& { return factor[std::max(a, b) * width + std::min(a, b)]; };
    std::copy_n(sums_.gradient, n_, gradient);
    for (int a = 0; a < n_; ++a) std::copy_n(sums_.curvature + a * max_shifted_coordinates, a + 1, factor + a * width);
    if (scaled_) add_scale(gradient, at);
    for_each_limit(point, [&](int j, double along_j, double along_lambda, double distance) {
      const double slope = barrier / distance, curvature = slope / distance;
      if (j != n_ - 1) {
        gradient[j] -= slope * along_j;
        at(j, j) += curvature * along_j * along_j;
        at(n_ - 1, j) += curvature * along_j * along_lambda;
      }
      gradient[n_ - 1] -= slope * along_lambda;
      at(n_ - 1, n_ - 1) += curvature * along_lambda * along_lambda;
    });
    double small[width * width], solution[width];
    for (int a = 0; a < n_free_; ++a) {
      for (int b = 0; b <= a; ++b) small[a * width + b] = at(free_[a], free_[b]);
      small[a * width + a] *= 1 + parameters.regularisation;
      solution[a] = -gradient[free_[a]];
    }
    cholesky_factor(small, n_free_, width, parameters.pivot_tolerance);
    cholesky_solve(small, n_free_, width, solution);
    std::fill_n(step, n_ + 1, 0.0);
    double decrement = 0;
    for (int a = 0; a < n_free_; ++a) {
      step[free_[a]] = solution[a];
      decrement -= gradient[free_[a]] * solution[a];
    }
    return decrement;
  }

  // The longest step, up to 1, that leaves a fraction of the distance to every limit.
  double max_step_length(const double* point, const double* step) const {
    double length = 1;
    for_each_limit(point, [&](int j, double along_j, double along_lambda, double distance) {
      const double approach = -((j != n_ - 1 ? along_j * step[j] : 0.0) + along_lambda * step[n_ - 1]);
      if (approach > 0) length = std::min(length, parameters.max_step_fraction * distance / approach);
    });
    return length;
  }

  double merit(const double* point, double barrier) const {
    double value = sums_.smooth;
    bool inside = true;
    for_each_limit(point, [&](int, double, double, double distance) {
      inside = inside && distance > 0;
      if (inside) value -= barrier * std::log(distance);
    });
    return inside ? value : infinity;
  }

  static constexpr int width = max_shifted_coordinates + 1;

 private:
  void tie(double* point) const {
    for (int j = 0; j < n_ - 1; ++j)
      if (region_.tied[j]) point[j] = region_.point[j] * point[n_];
  }

  // Derivatives along the scale, which moves all tied coefficients at once.
  template <class Entry>
  void add_scale(double* gradient, const Entry& at) const {
    gradient[n_] = 0;
    for (int b = 0; b <= n_; ++b) at(n_, b) = 0;
    for (int a = 0; a < n_ - 1; ++a) {
      if (!region_.tied[a]) continue;
      gradient[n_] += region_.point[a] * gradient[a];
      for (int b = 0; b < n_; ++b) at(n_, b) += region_.point[a] * at(a, b);
    }
    for (int a = 0; a < n_ - 1; ++a)
      if (region_.tied[a]) at(n_, n_) += region_.point[a] * at(n_, a);
  }

  // Calls limit(j, a, b, distance) for every limit, distance = a point_j + b lambda + constant; j = n_ - 1 stands for lambda
  // alone.
  template <class Limit>
  void for_each_limit(const double* point, const Limit& limit) const {
    const double lambda = point[n_ - 1];
    for (int a = 0; a < n_open_; ++a) {
      const int j = free_[a];
      limit(j, 1.0, 0.0, point[j] - region_.box.lower[j]);
      limit(j, -1.0, 0.0, region_.box.upper[j] - point[j]);
      if (j == 0 || !lattice_.prices().moves(j - 1)) continue;
      const double price = lattice_.prices().price[j - 1];
      limit(j, 1.0, price, price * lambda + point[j]);
      limit(j, -1.0, price, price * lambda - point[j]);
    }
    limit(n_ - 1, 0.0, 1.0, lambda - low_);
    limit(n_ - 1, 0.0, -1.0, high_ - lambda);
    if (!scaled_) return;
    limit(n_, 1.0, 0.0, point[n_] - region_.scale.low);
    limit(n_, -1.0, 0.0, region_.scale.high - point[n_]);
    if (lambda_per_scale_ > 0) limit(n_, -lambda_per_scale_, 1.0, lambda - lambda_per_scale_ * point[n_]);
  }

  ShiftLattice& lattice_;
  const FitRegion& region_;
  int n_, free_[width], n_free_ = 0, n_open_ = 0;
  double low_, high_, lambda_per_scale_;
  bool scaled_ = false;
  ShiftedSums sums_;
};

}  // namespace

double shifted_bound(const ShiftLattice& lattice, const ShiftedSums& sums, const double* point, const FitRegion& region,
                     double most_lambda) {
  const ShiftPrices& prices = lattice.prices();
  const PointBox& box = region.box;
  const int n = lattice.n_columns() + 2;
  const double low = region.least_lambda(lattice), per_scale = region.lambda_per_scale(lattice);
  double bound = sums.mixture, breaks[2 * max_card_size + 3], along_scale = 0;
  int moving[max_card_size], n_moving = 0, n_breaks = 0;
  for (int j = 0; j < n; ++j) bound -= sums.gradient[j] * point[j];
  breaks[n_breaks++] = low;
  breaks[n_breaks++] = std::max(most_lambda, low);
  breaks[n_breaks++] = std::clamp(per_scale * region.scale.high, low, breaks[1]);
  for (int j = 0; j < n - 1; ++j) {
    const double g = sums.gradient[j];
    if (region.tied[j]) {
      along_scale += g * region.point[j];
      continue;
    }
    if (j == 0 || !prices.moves(j - 1)) {
      bound += std::min(g * box.lower[j], g * box.upper[j]);
      continue;
    }
    moving[n_moving++] = j;
    for (const double limit : {std::fabs(box.lower[j]), std::fabs(box.upper[j])})
      breaks[n_breaks++] = std::clamp(limit / prices.price[j - 1], low, breaks[1]);
  }
  double least = infinity;
  for (int k = 0; k < n_breaks; ++k) {
    double value = sums.gradient[n - 1] * breaks[k];
    double longest = region.scale.high;
    if (per_scale > 0) longest = std::clamp(breaks[k] / per_scale, region.scale.low, region.scale.high);
    value += std::min(along_scale * region.scale.low, along_scale * longest);
    for (int m = 0; m < n_moving; ++m) {
      const int j = moving[m];
      const double g = sums.gradient[j], most = prices.price[j - 1] * breaks[k];
      // At `low` rounding may leave the two limits a hair apart in the wrong order; the ends of the box are then the wider
      // choice.
      const double from = std::min(std::max(box.lower[j], -most), box.upper[j]);
      const double to = std::max(std::min(box.upper[j], most), box.lower[j]);
      value += std::min(g * from, g * to);
    }
    least = std::min(least, value);
  }
  const double mean_price = std::fabs(prices.radius - sums.gradient[n - 1]);
  return bound + least - lambda_rounding(lattice, breaks[1], prices.radius + mean_price);
}

void fit_shifted(ShiftLattice& lattice, const FitRegion& region, double most_lambda, double slack, double threshold,
                 double tolerance, BoxFit& fit) {
  const int n = lattice.n_columns() + 2;
  double point[BarrierNewton::width], next[BarrierNewton::width], step[BarrierNewton::width];
  bool fixed = true, all_tied = true;
  for (int j = 0; j < n - 1; ++j) {
    const double lower = region.box.lower[j], upper = region.box.upper[j];
    point[j] = region.tied[j] ? 0 : std::clamp(fit.point[j], lower, upper);
    fixed = fixed && !region.tied[j] && lower == upper;
    all_tied = all_tied && region.tied[j];
  }
  if (all_tied) return least_along_scale(lattice, region, most_lambda, slack, threshold, tolerance, fit);
  point[n - 1] = fit.lambda;
  point[n] = fit.scale;
  fit.loss = infinity;
  fit.bound = -infinity;
  if (fixed) {
    const double low = region.least_lambda(lattice);
    fit.loss = lattice.least_worst(point, low, std::max(most_lambda, low), fit.bound);
    fit.bound -= slack;
    std::copy_n(point, n - 1, fit.point);
    fit.lambda = point[n - 1];
    fit.sides[0] = fit.sides[2] = {1, lattice.low_side()};
    fit.sides[1] = fit.sides[3] = {1, lattice.high_side()};
    return;
  }
  BarrierNewton path(lattice, region, most_lambda);
  path.make_interior(point);
  double smoothing = parameters.first_smoothing;
  path.evaluate(point, smoothing);
  for (int k = 0, of_stage = 0; k < parameters.max_steps; ++k, ++of_stage) {
    const double bound = shifted_bound(lattice, path.sums(), point, region, most_lambda);
    fit.bound = std::max(fit.bound, bound - slack);
    if (fit.bound > threshold) break;
    const double barrier = parameters.barrier_ratio * smoothing;
    const bool stage_done =
        path.sums().mixture - bound <= parameters.stage_gap * barrier * n || of_stage == parameters.max_stage_steps;
    if (!stage_done) {
      const double decrement = path.direction(point, barrier, step);
      const double merit = path.merit(point, barrier);
      double length = path.max_step_length(point, step);
      bool better = false;
      for (int halving = 0; halving < parameters.max_halvings && !better; ++halving, length /= 2) {
        path.advance(point, length, step, next);
        path.evaluate(next, smoothing);
        better = path.merit(next, barrier) <= merit - parameters.sufficient_decrease * length * decrement +
                                                  parameters.merit_rounding * (1 + std::fabs(merit));
      }
      if (better) {
        std::copy_n(next, n + 1, point);
        continue;
      }
    }
    double slope;
    if (lattice.worst(point, slope) - fit.bound <= tolerance || smoothing <= parameters.last_smoothing) break;
    smoothing *= parameters.smoothing_factor;
    of_stage = -1;
    path.evaluate(point, smoothing);
  }
  double slope;
  if (!(fit.bound > threshold)) fit.loss = lattice.worst(point, slope);
  std::copy_n(point, n - 1, fit.point);
  fit.lambda = point[n - 1];
  fit.scale = point[n];
  fit.smoothing = smoothing;
}

}  // namespace surefoot
