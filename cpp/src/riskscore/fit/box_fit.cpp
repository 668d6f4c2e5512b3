#include "surefoot/riskscore/fit/box_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "surefoot/core/cholesky.hpp"

namespace surefoot {
namespace {

constexpr const BoxFitParameters& parameters = box_fit_parameters;

double tangent_bound(const CellSums& sums, const double* point, const PointBox& box, int n) {
  double bound = sums.loss;
  for (int j = 0; j < n; ++j) {
    const double g = sums.gradient[j];
    bound -= g * point[j] - std::min(g * box.lower[j], g * box.upper[j]);
  }
  return bound;
}

// Newton's direction in the coordinates marked as free.
void newton_direction(const CellSums& sums, const bool* is_free, int n, double* direction) {
  int free[max_coordinates], n_free = 0;
  for (int j = 0; j < n; ++j) {
    direction[j] = 0;
    if (is_free[j]) free[n_free++] = j;
  }
  double factor[max_coordinates * max_coordinates], step[max_coordinates];
  for (int a = 0; a < n_free; ++a) {
    for (int b = 0; b <= a; ++b) factor[a * max_coordinates + b] = sums.curvature[free[a] * max_coordinates + free[b]];
    factor[a * max_coordinates + a] +=
        parameters.regularisation + parameters.relative_regularisation * factor[a * max_coordinates + a];
    step[a] = -sums.gradient[free[a]];
  }
  cholesky_factor(factor, n_free, max_coordinates, parameters.pivot_tolerance);
  cholesky_solve(factor, n_free, max_coordinates, step);
  for (int a = 0; a < n_free; ++a) direction[free[a]] = step[a];
}

// A descent direction along which a short step stays in the box. Coordinates at an end of the box that the gradient pushes
// against are held, and so are those that Newton's direction would lead out of it: clamping them could make it a direction of
// ascent.
void feasible_direction(const CellSums& sums, const double* point, const PointBox& box, int n, double* direction) {
  bool is_free[max_coordinates];
  const auto blocked = [&](int j, double move) {
    return (point[j] <= box.lower[j] && move < 0) || (point[j] >= box.upper[j] && move > 0);
  };
  for (int j = 0; j < n; ++j) is_free[j] = box.lower[j] < box.upper[j] && !blocked(j, -sums.gradient[j]);
  for (bool again = true; again;) {
    again = false;
    newton_direction(sums, is_free, n, direction);
    for (int j = 0; j < n; ++j)
      if (is_free[j] && blocked(j, direction[j])) {
        is_free[j] = false;
        again = true;
      }
  }
  // A coordinate held for its direction's sake alone can still decrease the loss when the others cannot: then a scaled gradient
  // step.
  double slope = 0, rest = 0;
  for (int j = 0; j < n; ++j) {
    const double square =
        sums.gradient[j] * sums.gradient[j] / (sums.curvature[j * max_coordinates + j] + parameters.regularisation);
    if (is_free[j])
      slope += square;
    else if (box.lower[j] < box.upper[j] && !blocked(j, -sums.gradient[j]))
      rest += square;
  }
  if (rest <= slope) return;
  for (int j = 0; j < n; ++j) {
    const bool held = box.lower[j] == box.upper[j] || blocked(j, -sums.gradient[j]);
    direction[j] = held ? 0 : -sums.gradient[j] / (sums.curvature[j * max_coordinates + j] + parameters.regularisation) / n;
  }
}

}  // namespace

void fit_box(const ScoreCells& cells, const PointBox& box, double slack, double threshold, double tolerance, BoxFit& fit) {
  const int n = cells.n_columns + 1;
  for (int j = 0; j < n; ++j) fit.point[j] = std::clamp(fit.point[j], box.lower[j], box.upper[j]);
  CellSums sums;
  sum_cells(cells, fit.point, sums);
  fit.loss = sums.loss;
  fit.bound = -std::numeric_limits<double>::infinity();
  for (int step = 0; step < fit.max_steps; ++step) {
    fit.bound = std::max(fit.bound, tangent_bound(sums, fit.point, box, n) - slack);
    if (fit.bound > threshold || fit.loss - fit.bound <= tolerance + slack) return;
    double direction[max_coordinates], next[max_coordinates];
    feasible_direction(sums, fit.point, box, n, direction);
    CellSums tried;
    double slope = 0;
    for (int j = 0; j < n; ++j) slope -= sums.gradient[j] * direction[j];
    const bool rounding = !(slope > parameters.min_decrease * (1 + fit.loss));
    const int max_halvings = rounding ? 1 : parameters.max_halvings;
    double length = 1;
    bool better = false;
    // Where the curvature vanishes the step leads far out of the box, to the same corner however often it is halved: only
    // halvings of steps that end inside count.
    for (int halving = 0; halving < max_halvings && !better && length > 0; length /= 2) {
      bool inside = true;
      for (int j = 0; j < n; ++j) {
        const double moved = fit.point[j] + length * direction[j];
        next[j] = std::clamp(moved, box.lower[j], box.upper[j]);
        inside = inside && next[j] == moved;
      }
      sum_cells(cells, next, tried);
      better = tried.loss < fit.loss || (tried.loss <= fit.loss + parameters.loss_rounding * (1 + fit.loss) &&
                                         tangent_bound(tried, next, box, n) - slack > fit.bound);
      if (inside || rounding) ++halving;
    }
    if (!better) return;
    std::copy_n(next, n, fit.point);
    sums = tried;
    fit.loss = sums.loss;
  }
}

}  // namespace surefoot
