#include "surefoot/riskscore/fit/point_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "surefoot/riskscore/problem/card_scales.hpp"

namespace surefoot {
namespace {

// Relative to the size of its terms: bounds the rounding of a linear rule, which is obeyed up to that (card_rules.py).
constexpr double rule_rounding = 1e-9;

class PointSearch {
 public:
  PointSearch(SupportLoss& loss, const ScoreCells& cells, const PointRange& range, double slack, CardListener& listener)
      : loss_(loss),
        cells_(cells),
        range_(range),
        slack_(slack),
        listener_(listener),
        n_(cells.n_columns + 1),
        scales_(loss.scales()) {
    for (int j = 0; j < n_; ++j) {
      box_.lower[j] = range.lower[j];
      box_.upper[j] = range.upper[j];
      fixed_[j] = false;
    }
  }

  long run(const double* start) {
    BoxFit fit;
    std::copy_n(start, n_, fit.point);
    if (bound_box(fit)) branch(fit, 0);
    return n_fits_;
  }

 private:
  // Bounds the box; false if it is pruned.
  bool bound_box(BoxFit& fit) {
    for (const PointRow& row : range_.rows)
      if (!feasible(row)) return false;
    if (range_.rates != nullptr)
      for (const RateRule& rule : *range_.rates)
        if (!feasible(rule)) return false;
    if (range_.group_rates != nullptr)
      for (const GroupRates& rates : *range_.group_rates)
        if (!rates.feasible(box_.lower, box_.upper)) return false;
    ++n_fits_;
    const double threshold = listener_.threshold();
    loss_.fit(box_, slack_, threshold, loss_.tolerance(), fit);
    return fit.bound <= threshold;
  }

  bool feasible(const PointRow& row) const {
    double low = 0, high = 0;
    for (int j = 0; j < n_; ++j) {
      const double a = row.coefficient[j] * box_.lower[j], b = row.coefficient[j] * box_.upper[j];
      low += std::min(a, b);
      high += std::max(a, b);
    }
    const double margin = rule_rounding * (1 + std::fabs(low) + std::fabs(high));
    return scales_.least(low) <= row.upper + margin && scales_.most(high) >= row.lower - margin;
  }

  // Some cards of the box flag a cell if its largest log odds over the box are at or above the threshold, all do if the
  // smallest are.
  bool feasible(const RateRule& rule) const {
    double some = 0, all = 0;
    for (int k = 0; k < cells_.n_packs; ++k) {
      Pack low = {}, high = {};
      for (int j = 0; j < n_; ++j) {
        const Pack one = {1, 1, 1, 1};
        const Pack value = j == 0 ? one : cells_.values[static_cast<std::size_t>((j - 1) * cells_.n_packs + k)];
        const Pack a = value * box_.lower[j], b = value * box_.upper[j];
        for (int lane = 0; lane < lanes; ++lane) {
          low[lane] += std::min(a[lane], b[lane]);
          high[lane] += std::max(a[lane], b[lane]);
        }
      }
      const Pack positive = cells_.positive[static_cast<std::size_t>(k)];
      const Pack weight = rule.positive ? positive : cells_.total[static_cast<std::size_t>(k)] - positive;
      for (int lane = 0; lane < lanes; ++lane) {
        const bool scaled = !rule.at_even_odds();
        if ((scaled ? scales_.most(high[lane]) : high[lane]) >= rule.threshold) some += weight[lane];
        if ((scaled ? scales_.least(low[lane]) : low[lane]) >= rule.threshold) all += weight[lane];
      }
    }
    return all <= rule.most && some >= rule.least;
  }

  bool is_value(int coordinate, int value) const {
    if (coordinate > 0 && value == 0) return false;
    const std::vector<int>* values = range_.values[coordinate];
    return values == nullptr || std::binary_search(values->begin(), values->end(), value);
  }

  void branch(const BoxFit& fit, int n_fixed) {
    if (listener_.stopped()) return;
    if (n_fixed == n_) {
      int points[max_coordinates];
      for (int j = 0; j < n_; ++j) points[j] = static_cast<int>(box_.lower[j]);
      if (!scales_.free())
        listener_.offer(points, fit.loss, 1);
      else
        offer_scaled(points, fit);
      return;
    }
    const int c = next_coordinate(fit, n_fixed);
    const double lower = box_.lower[c], upper = box_.upper[c], middle = fit.point[c];
    fixed_[c] = true;
    // At a free scale the fit may lie outside the range, which is then enumerated from its near end.
    int down = static_cast<int>(std::floor(std::clamp(middle, lower, upper))), up = down + 1;
    bool go_down = down >= lower, go_up = up <= upper;
    // Each value takes a fit of its own, so that one who stops is not kept waiting for all of them.
    while ((go_down || go_up) && !listener_.stopped()) {
      const bool take_down = go_down && (!go_up || middle - down <= up - middle);
      const int value = take_down ? down-- : up++;
      if (is_value(c, value)) {
        box_.lower[c] = box_.upper[c] = value;
        BoxFit inner = fit;
        inner.point[c] = value;
        if (bound_box(inner)) {
          branch(inner, n_fixed + 1);
        } else {
          // Where the fit itself, with coordinate `middle`, is within the threshold, such values of c are an interval around
          // it.
          const double threshold = listener_.threshold();
          if (inner.bound > threshold && fit.loss <= threshold) (take_down ? go_down : go_up) = false;
        }
      }
      go_down = go_down && down >= lower;
      go_up = go_up && up <= upper;
    }
    box_.lower[c] = lower;
    box_.upper[c] = upper;
    fixed_[c] = false;
  }

  // Rules about risks may leave a card only a part of the scales; the fit on the way here knew nothing of them.
  void offer_scaled(const int* points, BoxFit fit) {
    const ScaleRange admitted = card_scales_.admitted(range_, cells_, box_.lower, scales_);
    if (admitted.empty()) return;
    loss_.narrow(admitted);
    // Where the scale changes nothing it stays where it begins: at the largest multiplier, which goes with the smallest points.
    fit.scale = admitted.low;
    loss_.fit(box_, slack_, std::numeric_limits<double>::infinity(), 0, fit);
    loss_.narrow(scales_);
    if (fit.bound <= listener_.threshold()) listener_.offer(points, fit.loss, 1 / fit.scale);
  }

  // Branching rule. The intercept touches every row, so fixing it first raises the bound most; then the most fractional points.
  // Where the scale is free the largest points come first, which leave the fewest choices for the scale, and the intercept
  // last.
  int next_coordinate(const BoxFit& fit, int n_fixed) const {
    int best = -1;
    double worst = -1;
    for (int j = 0; j < n_; ++j) {
      if (fixed_[j]) continue;
      if (j == 0 && loss_.intercept_first()) return 0;
      double off = std::fabs(fit.point[j] - std::round(fit.point[j]));
      if (!loss_.intercept_first()) off = j == 0 ? 0 : n_fixed == 0 ? std::fabs(fit.point[j]) : 1 + off;
      if (off > worst) {
        worst = off;
        best = j;
      }
    }
    return best;
  }

  SupportLoss& loss_;
  const ScoreCells& cells_;
  const PointRange& range_;
  double slack_;
  CardListener& listener_;
  int n_;
  ScaleRange scales_;
  CardScales card_scales_;
  PointBox box_;
  bool fixed_[max_coordinates];
  long n_fits_ = 0;
};

}  // namespace

long search_points(SupportLoss& loss, const ScoreCells& cells, const PointRange& range, double slack, const double* start,
                   CardListener& listener) {
  if (range.one_sign.empty()) return PointSearch(loss, cells, range, slack, listener).run(start);
  long n_fits = 0;
  for (const int sign : {1, -1}) {
    PointRange half = range;
    half.one_sign.pop_back();
    bool possible = true;
    for (const int j : range.one_sign.back()) {
      (sign > 0 ? half.lower : half.upper)[j] = sign > 0 ? std::max(range.lower[j], 1) : std::min(range.upper[j], -1);
      possible = possible && half.lower[j] <= half.upper[j];
    }
    if (possible) n_fits += search_points(loss, cells, half, slack, start, listener);
  }
  return n_fits;
}

}  // namespace surefoot
