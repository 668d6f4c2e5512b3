#include "surefoot/riskscore/shift/shifted_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "surefoot/core/cholesky.hpp"

namespace surefoot {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double first_smoothing = 0.01, last_smoothing = 1e-9, smoothing_ratio = 0.1;
// The walls of the box distort the path less than the smoothed maxima do, but must be felt before they are hit.
constexpr double wall_ratio = 0.1;
constexpr int max_steps = 120, most_of_stage = 14, max_halvings = 40;

// Newton's method for smooth loss - wall * sum of logarithms of the distances to the limits. Coordinates: coefficients, lambda, scale.
class PathFollower {
 public:
  PathFollower(RobustLattice& lattice, const RobustRegion& region, double most_lambda)
      : lattice_(lattice),
        region_(region),
        n_(lattice.n_columns() + 2),
        low_(region.least_lambda(lattice)),
        high_(most_lambda),
        reach_(region.reach(lattice)) {
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
  void enter(double* point) const {
    double& lambda = point[n_ - 1];
    const ScaleRange& scale = region_.scale;
    const double inside = 0.02 * (scale.high - scale.low);
    point[n_] = std::clamp(point[n_], scale.low + inside, scale.high - inside);
    lambda = std::max({lambda, 0.05 * high_ / (1 + high_), low_ * 1.1 + 1e-3, 1.1 * reach_ * point[n_] + 1e-3});
    for (int j = 0; j < n_ - 1; ++j) {
      if (region_.tied[j]) continue;
      const double lower = region_.box.lower[j], upper = region_.box.upper[j], margin = 0.02 * std::min(1.0, upper - lower);
      point[j] = std::clamp(point[j], lower + margin, upper - margin);
      if (j > 0 && lattice_.prices().moves(j - 1))
        lambda = std::max(lambda, 1.1 * std::fabs(point[j]) / lattice_.prices().price[j - 1] + 1e-3);
    }
    lambda = std::min(lambda, 0.999 * high_);
    tie(point);
  }

  void advance(const double* point, double length, const double* step, double* next) const {
    for (int j = 0; j <= n_; ++j) next[j] = point[j] + length * step[j];
    tie(next);
  }

  void evaluate(const double* point, double smoothing) { lattice_.sum(point, smoothing, sums_); }
  const RobustSums& sums() const { return sums_; }

  // Newton's direction and its decrement, from the sums at the point.
  double direction(const double* point, double wall, double* step) {
    double gradient[width], factor[width * width];
    const auto at = [&](int a, int b) -> double& { return factor[std::max(a, b) * width + std::min(a, b)]; };
    std::copy_n(sums_.gradient, n_, gradient);
    for (int a = 0; a < n_; ++a) std::copy_n(sums_.curvature + a * max_robust_coordinates, a + 1, factor + a * width);
    if (scaled_) add_scale(gradient, at);
    for_each_wall(point, [&](int j, double along_j, double along_lambda, double distance) {
      const double pull = wall / distance, bend = pull / distance;
      if (j != n_ - 1) {
        gradient[j] -= pull * along_j;
        at(j, j) += bend * along_j * along_j;
        at(n_ - 1, j) += bend * along_j * along_lambda;
      }
      gradient[n_ - 1] -= pull * along_lambda;
      at(n_ - 1, n_ - 1) += bend * along_lambda * along_lambda;
    });
    double small[width * width], solution[width];
    for (int a = 0; a < n_free_; ++a) {
      for (int b = 0; b <= a; ++b) small[a * width + b] = at(free_[a], free_[b]);
      small[a * width + a] *= 1 + 1e-12;
      solution[a] = -gradient[free_[a]];
    }
    cholesky_factor(small, n_free_, width, 1e-13);
    cholesky_solve(small, n_free_, width, solution);
    std::fill_n(step, n_ + 1, 0.0);
    double decrement = 0;
    for (int a = 0; a < n_free_; ++a) {
      step[free_[a]] = solution[a];
      decrement -= gradient[free_[a]] * solution[a];
    }
    return decrement;
  }

  // The longest step, up to 1, that keeps a part of every distance.
  double reach(const double* point, const double* step) const {
    double length = 1;
    for_each_wall(point, [&](int j, double along_j, double along_lambda, double distance) {
      const double approach = -((j != n_ - 1 ? along_j * step[j] : 0.0) + along_lambda * step[n_ - 1]);
      if (approach > 0) length = std::min(length, 0.95 * distance / approach);
    });
    return length;
  }

  double merit(const double* point, double wall) const {
    double value = sums_.smooth;
    bool inside = true;
    for_each_wall(point, [&](int, double, double, double distance) {
      inside = inside && distance > 0;
      if (inside) value -= wall * std::log(distance);
    });
    return inside ? value : infinity;
  }

  static constexpr int width = max_robust_coordinates + 1;

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

  // Calls wall(j, a, b, distance) for every limit, distance = a point_j + b lambda + constant; j = n_ - 1 stands for lambda alone.
  template <class Wall>
  void for_each_wall(const double* point, const Wall& wall) const {
    const double lambda = point[n_ - 1];
    for (int a = 0; a < n_open_; ++a) {
      const int j = free_[a];
      wall(j, 1.0, 0.0, point[j] - region_.box.lower[j]);
      wall(j, -1.0, 0.0, region_.box.upper[j] - point[j]);
      if (j == 0 || !lattice_.prices().moves(j - 1)) continue;
      const double price = lattice_.prices().price[j - 1];
      wall(j, 1.0, price, price * lambda + point[j]);
      wall(j, -1.0, price, price * lambda - point[j]);
    }
    wall(n_ - 1, 0.0, 1.0, lambda - low_);
    wall(n_ - 1, 0.0, -1.0, high_ - lambda);
    if (!scaled_) return;
    wall(n_, 1.0, 0.0, point[n_] - region_.scale.low);
    wall(n_, -1.0, 0.0, region_.scale.high - point[n_]);
    if (reach_ > 0) wall(n_, -reach_, 1.0, lambda - reach_ * point[n_]);
  }

  RobustLattice& lattice_;
  const RobustRegion& region_;
  int n_, free_[width], n_free_ = 0, n_open_ = 0;
  double low_, high_, reach_;
  bool scaled_ = false;
  RobustSums sums_;
};

}  // namespace

double robust_bound(const RobustLattice& lattice, const RobustSums& sums, const double* point, const RobustRegion& region,
                    double most_lambda) {
  const RobustPrices& prices = lattice.prices();
  const PointBox& box = region.box;
  const int n = lattice.n_columns() + 2;
  const double low = region.least_lambda(lattice), reach = region.reach(lattice);
  double bound = sums.shared, breaks[2 * max_card_size + 3], along_scale = 0;
  int moving[max_card_size], n_moving = 0, n_breaks = 0;
  for (int j = 0; j < n; ++j) bound -= sums.gradient[j] * point[j];
  breaks[n_breaks++] = low;
  breaks[n_breaks++] = std::max(most_lambda, low);
  breaks[n_breaks++] = std::clamp(reach * region.scale.high, low, breaks[1]);
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
    if (reach > 0) longest = std::clamp(breaks[k] / reach, region.scale.low, region.scale.high);
    value += std::min(along_scale * region.scale.low, along_scale * longest);
    for (int m = 0; m < n_moving; ++m) {
      const int j = moving[m];
      const double g = sums.gradient[j], room = prices.price[j - 1] * breaks[k];
      // At `low` rounding may leave the two limits a hair apart in the wrong order; the ends of the box are then the wider choice.
      const double from = std::min(std::max(box.lower[j], -room), box.upper[j]);
      const double to = std::max(std::min(box.upper[j], room), box.lower[j]);
      value += std::min(g * from, g * to);
    }
    least = std::min(least, value);
  }
  const double paid = std::fabs(prices.radius - sums.gradient[n - 1]);
  return bound + least - lambda_rounding(lattice, breaks[1], prices.radius + paid);
}

void fit_robust(RobustLattice& lattice, const RobustRegion& region, double most_lambda, double slack, double threshold,
                double tolerance, BoxFit& fit) {
  const int n = lattice.n_columns() + 2;
  double point[PathFollower::width], next[PathFollower::width], step[PathFollower::width];
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
    return;
  }
  PathFollower path(lattice, region, most_lambda);
  path.enter(point);
  double smoothing = first_smoothing;
  path.evaluate(point, smoothing);
  for (int k = 0, of_stage = 0; k < max_steps; ++k, ++of_stage) {
    const double bound = robust_bound(lattice, path.sums(), point, region, most_lambda);
    fit.bound = std::max(fit.bound, bound - slack);
    if (fit.bound > threshold) break;
    // A stage ends when what the bound loses by slopes that have not vanished is what the walls alone would cost it: curvatures of
    // smoothed maxima are large, so a small decrement does not mean small slopes.
    const double wall = wall_ratio * smoothing;
    bool settled = path.sums().shared - bound <= 4 * wall * n || of_stage == most_of_stage;
    if (!settled) {
      const double decrement = path.direction(point, wall, step);
      const double merit = path.merit(point, wall);
      double length = path.reach(point, step);
      bool better = false;
      for (int halving = 0; halving < max_halvings && !better; ++halving, length /= 2) {
        path.advance(point, length, step, next);
        path.evaluate(next, smoothing);
        // Near the end rounding hides what a step gains.
        better = path.merit(next, wall) <= merit - 0.05 * length * decrement + 1e-14 * (1 + std::fabs(merit));
      }
      if (better) {
        std::copy_n(next, n + 1, point);
        continue;
      }
    }
    double slope;
    if (lattice.worst(point, slope) - fit.bound <= tolerance || smoothing <= last_smoothing) break;
    smoothing *= smoothing_ratio;
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
