#include "surefoot/robust_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "surefoot/cholesky.hpp"

namespace surefoot {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double first_smoothing = 0.01, last_smoothing = 1e-9, smoothing_ratio = 0.1;
// The walls of the box distort the path less than the smoothed maxima do, but must be felt before they are hit.
constexpr double wall_ratio = 0.1;
constexpr int max_steps = 120, most_of_stage = 14, max_halvings = 40;

bool moves(const RobustPrices& prices, int column) { return !prices.flips[column] && std::isfinite(prices.price[column]); }

// The smallest lambda that any points of the box allow.
double least_lambda(const RobustLattice& lattice, const PointBox& box) {
  double least = 0;
  for (int j = 0; j < lattice.n_columns(); ++j)
    if (moves(lattice.prices(), j))
      least = std::max(least, std::max({0.0, box.lower[j + 1], -box.upper[j + 1]}) / lattice.prices().price[j]);
  return least;
}

// Newton's method for smooth loss - wall * sum of logarithms of the distances to the limits.
class PathFollower {
 public:
  PathFollower(RobustLattice& lattice, const PointBox& box, double most_lambda)
      : lattice_(lattice), box_(box), n_(lattice.n_columns() + 2), low_(least_lambda(lattice, box)), high_(most_lambda) {
    for (int j = 0; j < n_ - 1; ++j)
      if (box.lower[j] < box.upper[j]) free_[n_free_++] = j;
    free_[n_free_++] = n_ - 1;
  }

  // Moves the start into the interior.
  void enter(double* point) const {
    double& lambda = point[n_ - 1];
    lambda = std::max({lambda, 0.05 * high_ / (1 + high_), low_ * 1.1 + 1e-3});
    for (int j = 0; j < n_ - 1; ++j) {
      const double margin = 0.02 * std::min(1.0, box_.upper[j] - box_.lower[j]);
      point[j] = std::clamp(point[j], box_.lower[j] + margin, box_.upper[j] - margin);
      if (j > 0 && moves(lattice_.prices(), j - 1))
        lambda = std::max(lambda, 1.1 * std::fabs(point[j]) / lattice_.prices().price[j - 1] + 1e-3);
    }
    lambda = std::min(lambda, 0.999 * high_);
  }

  void evaluate(const double* point, double smoothing) { lattice_.sum(point, smoothing, sums_); }
  const RobustSums& sums() const { return sums_; }

  // Newton's direction and its decrement, from the sums at the point.
  double direction(const double* point, double wall, double* step) {
    double gradient[max_robust_coordinates], factor[max_robust_coordinates * max_robust_coordinates];
    std::copy_n(sums_.gradient, n_, gradient);
    std::copy_n(sums_.curvature, static_cast<std::size_t>(n_) * max_robust_coordinates, factor);
    const auto at = [&](int a, int b) -> double& { return factor[a * max_robust_coordinates + b]; };
    for_each_wall(point, [&](int j, double along_j, double along_lambda, double distance) {
      const double pull = wall / distance, bend = pull / distance;
      if (j < n_ - 1) {
        gradient[j] -= pull * along_j;
        at(j, j) += bend * along_j * along_j;
        at(n_ - 1, j) += bend * along_j * along_lambda;
      }
      gradient[n_ - 1] -= pull * along_lambda;
      at(n_ - 1, n_ - 1) += bend * along_lambda * along_lambda;
    });
    double small[max_robust_coordinates * max_robust_coordinates], solution[max_robust_coordinates];
    for (int a = 0; a < n_free_; ++a) {
      for (int b = 0; b <= a; ++b) small[a * max_robust_coordinates + b] = at(free_[a], free_[b]);
      small[a * max_robust_coordinates + a] *= 1 + 1e-12;
      solution[a] = -gradient[free_[a]];
    }
    cholesky_factor(small, n_free_, max_robust_coordinates, 1e-13);
    cholesky_solve(small, n_free_, max_robust_coordinates, solution);
    std::fill_n(step, n_, 0.0);
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
      const double approach = -((j < n_ - 1 ? along_j * step[j] : 0.0) + along_lambda * step[n_ - 1]);
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

  double low() const { return low_; }
  double high() const { return high_; }

 private:
  // Calls wall(j, a, b, distance) for every limit, distance = a point_j + b lambda + constant; j = n_ - 1 stands for lambda alone.
  template <class Wall>
  void for_each_wall(const double* point, const Wall& wall) const {
    const double lambda = point[n_ - 1];
    for (int a = 0; a + 1 < n_free_; ++a) {
      const int j = free_[a];
      wall(j, 1.0, 0.0, point[j] - box_.lower[j]);
      wall(j, -1.0, 0.0, box_.upper[j] - point[j]);
      if (j == 0 || !moves(lattice_.prices(), j - 1)) continue;
      const double price = lattice_.prices().price[j - 1];
      wall(j, 1.0, price, price * lambda + point[j]);
      wall(j, -1.0, price, price * lambda - point[j]);
    }
    wall(n_ - 1, 0.0, 1.0, lambda - low_);
    wall(n_ - 1, 0.0, -1.0, high_ - lambda);
  }

  RobustLattice& lattice_;
  const PointBox& box_;
  int n_, free_[max_robust_coordinates], n_free_ = 0;
  double low_, high_;
  RobustSums sums_;
};

}  // namespace

double robust_bound(const RobustLattice& lattice, const RobustSums& sums, const double* point, const PointBox& box,
                    double most_lambda) {
  const RobustPrices& prices = lattice.prices();
  const int n = lattice.n_columns() + 2;
  const double low = least_lambda(lattice, box);
  double bound = sums.shared, breaks[2 * max_card_size + 2];
  int moving[max_card_size], n_moving = 0, n_breaks = 0;
  for (int j = 0; j < n; ++j) bound -= sums.gradient[j] * point[j];
  breaks[n_breaks++] = low;
  breaks[n_breaks++] = std::max(most_lambda, low);
  for (int j = 0; j < n - 1; ++j) {
    const double g = sums.gradient[j];
    if (j == 0 || !moves(prices, j - 1)) {
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
  // Rounding of the slope along lambda counts as far out as lambda can be: see rounding_slack.hpp.
  const double paid = std::fabs(prices.radius - sums.gradient[n - 1]);
  return bound + least - 0x1p-52 * (lattice.n_terms() + 8 * n + 32) * breaks[1] * (prices.radius + paid);
}

void fit_robust(RobustLattice& lattice, const PointBox& box, double most_lambda, double slack, double threshold,
                double tolerance, BoxFit& fit) {
  const int n = lattice.n_columns() + 2;
  double point[max_robust_coordinates], next[max_robust_coordinates], step[max_robust_coordinates];
  bool fixed = true;
  for (int j = 0; j < n - 1; ++j) {
    point[j] = std::clamp(fit.point[j], box.lower[j], box.upper[j]);
    fixed = fixed && box.lower[j] == box.upper[j];
  }
  point[n - 1] = fit.lambda;
  fit.loss = infinity;
  fit.bound = -infinity;
  if (fixed) {
    const double low = least_lambda(lattice, box);
    fit.loss = lattice.least_worst(point, low, std::max(most_lambda, low), fit.bound);
    fit.bound -= slack;
    std::copy_n(point, n - 1, fit.point);
    fit.lambda = point[n - 1];
    return;
  }
  PathFollower path(lattice, box, most_lambda);
  path.enter(point);
  double smoothing = first_smoothing;
  path.evaluate(point, smoothing);
  for (int k = 0, of_stage = 0; k < max_steps; ++k, ++of_stage) {
    const double bound = robust_bound(lattice, path.sums(), point, box, most_lambda);
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
        for (int j = 0; j < n; ++j) next[j] = point[j] + length * step[j];
        path.evaluate(next, smoothing);
        // Near the end rounding hides what a step gains.
        better = path.merit(next, wall) <= merit - 0.05 * length * decrement + 1e-14 * (1 + std::fabs(merit));
      }
      if (better) {
        std::copy_n(next, n, point);
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
  fit.smoothing = smoothing;
}

}  // namespace surefoot
