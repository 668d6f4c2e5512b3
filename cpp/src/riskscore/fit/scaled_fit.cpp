#include "surefoot/riskscore/fit/scaled_fit.hpp"

#include <algorithm>

namespace surefoot {

double finest_scale(const ScaleRange& range, const PointBox& box, int n_columns, const double* coefficients) {
  double scale = 0;
  if (box.lower[0] == box.upper[0] && box.lower[0] != 0) {
    scale = coefficients[0] / box.lower[0];
  } else {
    for (int j = 1; j <= n_columns; ++j) {
      const double limit = coefficients[j] > 0 ? box.upper[j] : box.lower[j];
      if (coefficients[j] * limit > 0) scale = std::max(scale, coefficients[j] / limit);
    }
  }
  return std::clamp(scale, range.low, range.high);
}

void ScaledFit::fit(const ScoreCells& cells, const PointBox& box, double slack, double threshold, double tolerance,
                    BoxFit& fit) {
  const int n = cells.n_columns;
  n_open_ = 0;
  for (int j = 1; j <= n; ++j)
    if (box.lower[j] < box.upper[j]) open_[n_open_++] = j;
  fit.scale = std::clamp(fit.scale, range_.low, range_.high);
  for (int j = 0; j <= n; ++j) fit.point[j] = std::clamp(fit.point[j], box.lower[j], box.upper[j]);
  if (n_open_ == n && n > 0)
    fit_coefficients(cells, box, slack, threshold, tolerance, fit);
  else
    fit_scale(cells, box, slack, threshold, tolerance, fit);
}

// No points are fixed: the scale enters through the hulls alone.
void ScaledFit::fit_coefficients(const ScoreCells& cells, const PointBox& box, double slack, double threshold, double tolerance,
                                 BoxFit& fit) {
  const int n = cells.n_columns;
  PointBox hull{};
  for (int j = 0; j <= n; ++j) {
    hull.lower[j] = range_.least(box.lower[j]);
    hull.upper[j] = range_.most(box.upper[j]);
    fit.point[j] *= fit.scale;
  }
  fit_box(cells, hull, slack, threshold, tolerance, fit);
  fit.scale = finest_scale(range_, box, n, fit.point);
  for (int j = 0; j <= n; ++j) fit.point[j] /= fit.scale;
}

// The score of what is fixed becomes a column whose coefficient is the scale. There is one column fewer for each point fixed,
// so that the whole has no more columns than before.
void ScaledFit::fit_scale(const ScoreCells& cells, const PointBox& box, double slack, double threshold, double tolerance,
                          BoxFit& fit) {
  const int n = cells.n_columns;
  const std::size_t packs = static_cast<std::size_t>(cells.n_packs);
  const bool intercept_open = box.lower[0] < box.upper[0];
  reduced_.reset(n_open_ + 1, cells.n_cells);
  reduced_.total = cells.total;
  reduced_.positive = cells.positive;
  if (!intercept_open) std::fill_n(reduced_.values.begin(), packs, Pack{} + box.lower[0]);
  for (int j = 1; j <= n; ++j)
    if (!(box.lower[j] < box.upper[j]))
      for (std::size_t k = 0; k < packs; ++k)
        reduced_.values[k] += box.lower[j] * cells.values[static_cast<std::size_t>(j - 1) * packs + k];
  for (int a = 0; a < n_open_; ++a)
    std::copy_n(cells.values.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(open_[a] - 1) * packs), packs,
                reduced_.values.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(a + 1) * packs));
  PointBox hull;
  BoxFit reduced;
  hull.lower[0] = intercept_open ? range_.least(box.lower[0]) : 0;
  hull.upper[0] = intercept_open ? range_.most(box.upper[0]) : 0;
  reduced.point[0] = intercept_open ? fit.point[0] * fit.scale : 0;
  hull.lower[1] = range_.low;
  hull.upper[1] = range_.high;
  reduced.point[1] = fit.scale;
  for (int a = 0; a < n_open_; ++a) {
    hull.lower[a + 2] = range_.least(box.lower[open_[a]]);
    hull.upper[a + 2] = range_.most(box.upper[open_[a]]);
    reduced.point[a + 2] = fit.point[open_[a]] * fit.scale;
  }
  fit_box(reduced_, hull, slack, threshold, tolerance, reduced);
  fit.loss = reduced.loss;
  fit.bound = reduced.bound;
  fit.scale = reduced.point[1];
  if (intercept_open) fit.point[0] = reduced.point[0] / fit.scale;
  for (int a = 0; a < n_open_; ++a) fit.point[open_[a]] = reduced.point[a + 2] / fit.scale;
}

}  // namespace surefoot
