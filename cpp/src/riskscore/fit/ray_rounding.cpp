#include "surefoot/riskscore/fit/ray_rounding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace surefoot {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

void RayRounding::round(const ScoreCells& cells, const std::vector<int>& columns, const BoxFit& real, double threshold,
                        const Offer& offer) {
  std::vector<Rounded> cards = along_ray(cells, columns, real);
  if (cards.size() > parameters_.max_descents) cards.resize(parameters_.max_descents);
  for (Rounded& card : cards) {
    if (card.loss > threshold * parameters_.descent_factor) break;
    descend(cells, columns, card, false);
  }
  const auto best =
      std::min_element(cards.begin(), cards.end(), [](const Rounded& a, const Rounded& b) { return a.loss < b.loss; });
  if (best == cards.end() || best->loss > threshold * parameters_.pair_factor) return;
  descend(cells, columns, *best, true);
  offer_whole(cells, *best, threshold, offer);
  // With a whole intercept another rounding, or a neighbour, may be the better card.
  for (const Rounded& card : cards)
    if (&card != &*best && card.loss <= threshold * parameters_.pair_factor) offer_whole(cells, card, threshold, offer);
  for (std::size_t j = 0; j < columns.size(); ++j)
    for (const int by : {1, -1}) {
      Rounded moved = *best;
      moved.points[j] += by;
      if (within(columns, j, moved) && fit_points(cells, threshold, moved)) offer_whole(cells, moved, threshold, offer);
    }
}

bool RayRounding::fit_points(const ScoreCells& cells, double threshold, Rounded& card) {
  PointBox box;
  BoxFit fit{};
  box.lower[0] = problem_.intercept_lower;
  box.upper[0] = problem_.intercept_upper;
  fit.point[0] = card.intercept;
  fit.scale = card.scale;
  for (std::size_t j = 0; j < card.points.size(); ++j) fit.point[j + 1] = box.lower[j + 1] = box.upper[j + 1] = card.points[j];
  fit_.fit(cells, box, slack_, threshold, parameters_.tolerance, fit);
  card.intercept = fit.point[0];
  card.scale = fit.scale;
  card.loss = fit.loss;
  return fit.bound <= threshold;
}

// The distinct roundings along the ray, the best first.
std::vector<RayRounding::Rounded> RayRounding::along_ray(const ScoreCells& cells, const std::vector<int>& columns,
                                                         const BoxFit& real) {
  const std::size_t n = columns.size();
  // The scale at which the first of the points is at its limit.
  double finest = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const double coefficient = real.point[j + 1] * real.scale;
    const auto column = static_cast<std::size_t>(columns[j]);
    const double limit = coefficient > 0 ? problem_.upper[column] : problem_.lower[column];
    if (limit != 0) finest = std::max(finest, coefficient / limit);
  }
  std::vector<Rounded> cards;
  std::set<std::vector<int>> seen;
  for (int k = 0; k < parameters_.n_scales && !stopped_(); ++k) {
    const double fraction = 1 - (1 - parameters_.min_fraction) * k / (parameters_.n_scales - 1);
    const double scale = std::clamp(finest / fraction, problem_.scale.low, problem_.scale.high);
    Rounded card{std::vector<int>(n), real.point[0] * real.scale / scale, scale, infinity};
    for (std::size_t j = 0; j < n; ++j) {
      const auto column = static_cast<std::size_t>(columns[j]);
      card.points[j] = static_cast<int>(std::clamp(std::rint(real.point[j + 1] * real.scale / scale),
                                                   static_cast<double>(problem_.lower[column]),
                                                   static_cast<double>(problem_.upper[column])));
    }
    if (!seen.insert(card.points).second) continue;
    fit_points(cells, infinity, card);
    cards.push_back(std::move(card));
  }
  std::stable_sort(cards.begin(), cards.end(), [](const Rounded& a, const Rounded& b) { return a.loss < b.loss; });
  return cards;
}

void RayRounding::descend(const ScoreCells& cells, const std::vector<int>& columns, Rounded& card, bool pairs) {
  const std::size_t n = columns.size();
  for (bool better = true; better;) {
    better = false;
    for (std::size_t first = 0; first < n; ++first)
      for (const int by : {1, -1}) {
        while (step(cells, columns, first, by, first, 0, card)) better = true;
        if (!pairs) continue;
        for (std::size_t second = first + 1; second < n; ++second)
          for (const int by_second : {1, -1})
            while (step(cells, columns, first, by, second, by_second, card)) better = true;
      }
  }
}

bool RayRounding::within(const std::vector<int>& columns, std::size_t j, const Rounded& card) const {
  const auto column = static_cast<std::size_t>(columns[j]);
  return problem_.lower[column] <= card.points[j] && card.points[j] <= problem_.upper[column];
}

// Takes a step if it helps.
bool RayRounding::step(const ScoreCells& cells, const std::vector<int>& columns, std::size_t first, int by, std::size_t second,
                       int by_second, Rounded& card) {
  if (stopped_()) return false;
  Rounded moved = card;
  moved.points[first] += by;
  moved.points[second] += by_second;
  if (!within(columns, first, moved) || !within(columns, second, moved)) return false;
  if (!fit_points(cells, card.loss, moved) || !(moved.loss < card.loss - 2 * parameters_.tolerance)) return false;
  card = std::move(moved);
  return true;
}

void RayRounding::offer_whole(const ScoreCells& cells, const Rounded& card, double threshold, const Offer& offer) {
  const std::size_t n = card.points.size();
  std::vector<int> points(n + 1);
  std::copy(card.points.begin(), card.points.end(), points.begin() + 1);
  for (const double whole : {std::floor(card.intercept), std::ceil(card.intercept)}) {
    if (stopped_()) return;
    if (whole < problem_.intercept_lower || whole > problem_.intercept_upper) continue;
    PointBox box;
    BoxFit fit{};
    fit.scale = card.scale;
    points[0] = static_cast<int>(whole);
    for (std::size_t j = 0; j <= n; ++j) fit.point[j] = box.lower[j] = box.upper[j] = points[j];
    fit_.fit(cells, box, slack_, threshold, parameters_.tolerance, fit);
    if (fit.bound <= threshold) offer(points.data());
  }
}

}  // namespace surefoot
