// A primal heuristic at a free scale: rounding along the ray of a relaxed fit.
//
// At a free scale the points may lie anywhere along the ray through the fitted coefficients c: points = c / t for any scale t
// that keeps them within their limits (Liu, Zhong, Li, Seltzer and Rudin, FasterRisk, NeurIPS 2022). Roundings at some scales
// along the ray are fitted again in scale and intercept, both real, which is a problem of two unknowns; the best of them then
// descend by steps of one point in one or two columns until no step decreases the loss. The intercept is rounded last, down and
// up, for the best card and its neighbours.
//
// All this is about the rows as they are. Under shift the fit that is rounded is the robust one, and whoever takes the cards
// computes their worst-case value.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "surefoot/riskscore/fit/scaled_fit.hpp"
#include "surefoot/riskscore/problem/score_problem.hpp"

namespace surefoot {

// Introduced together with the free-scale cards of bench_risk_scores, not tuned further.
struct RayParameters {
  // Scales along the ray; the largest of the points goes from its limit down to a fraction of it.
  int n_scales = 17;
  double min_fraction = 0.2;
  // Roundings that descend, the best first; those with a loss above this multiple of the threshold do not.
  std::size_t max_descents = 3;
  double descent_factor = 1.03;
  // Pairs of steps and a whole intercept are tried for losses up to this multiple of the threshold.
  double pair_factor = 1.005;
  // Loss: accuracy of the fits while cards are compared; the value of a card is computed by the caller.
  double tolerance = 1e-9;
};

class RayRounding {
 public:
  // points[0] is the intercept; a point may be 0.
  using Offer = std::function<void(const int* points)>;

  // Once `stopped` says so no further card is fitted or offered.
  RayRounding(
      const ScoreProblem& problem, double slack, std::function<bool()> stopped = [] { return false; },
      const RayParameters& parameters = {})
      : problem_(problem), slack_(slack), stopped_(std::move(stopped)), parameters_(parameters), fit_(problem.scale) {}

  // Offers cards on the support `columns`, whose cells are given, with losses at or below `threshold`. Rules are not looked at.
  void round(const ScoreCells& cells, const std::vector<int>& columns, const BoxFit& real, double threshold,
             const Offer& offer);

 private:
  struct Rounded {
    std::vector<int> points;  // of the columns
    double intercept, scale, loss;
  };

  // Best scale and intercept of given points; false if the loss is above the threshold.
  bool fit_points(const ScoreCells& cells, double threshold, Rounded& card);
  std::vector<Rounded> along_ray(const ScoreCells& cells, const std::vector<int>& columns, const BoxFit& real);
  void descend(const ScoreCells& cells, const std::vector<int>& columns, Rounded& card, bool pairs);
  bool within(const std::vector<int>& columns, std::size_t j, const Rounded& card) const;
  bool step(const ScoreCells& cells, const std::vector<int>& columns, std::size_t first, int by, std::size_t second,
            int by_second, Rounded& card);
  void offer_whole(const ScoreCells& cells, const Rounded& card, double threshold, const Offer& offer);

  const ScoreProblem& problem_;
  double slack_;
  std::function<bool()> stopped_;
  RayParameters parameters_;
  ScaledFit fit_;
};

}  // namespace surefoot
