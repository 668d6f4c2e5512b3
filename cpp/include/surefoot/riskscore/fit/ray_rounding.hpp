// Whole points near a real-valued fit, where the scale is free.
//
// At a free scale the points may lie anywhere along the ray through the fitted coefficients c: points = c / t for any scale t that keeps
// them within their limits. Roundings at some scales along the ray are fitted again in scale and intercept, both real, which is a
// problem of two unknowns; the best of them then take steps of one point in one or two columns while that helps. The intercept is rounded
// last, down and up, for the best card and its neighbours.
//
// All this looks at the rows as they are. Under the worst case the fit that is rounded is the robust one, and whoever takes the cards works
// out what they are worth.
#pragma once

#include <functional>
#include <vector>

#include "surefoot/riskscore/fit/scaled_fit.hpp"
#include "surefoot/riskscore/problem/score_problem.hpp"

namespace surefoot {

class RayRounding {
 public:
  // points[0] is the intercept; a point may be 0.
  using Offer = std::function<void(const int* points)>;

  RayRounding(const ScoreProblem& problem, double slack) : problem_(problem), slack_(slack), fit_(problem.scale) {}

  // Offers cards on the support `columns`, whose cells are given, with losses at or below `worth`. Rules are not looked at.
  void round(const ScoreCells& cells, const std::vector<int>& columns, const BoxFit& real, double worth, const Offer& offer);

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
  void offer_whole(const ScoreCells& cells, const Rounded& card, double worth, const Offer& offer);

  const ScoreProblem& problem_;
  double slack_;
  ScaledFit fit_;
};

}  // namespace surefoot
