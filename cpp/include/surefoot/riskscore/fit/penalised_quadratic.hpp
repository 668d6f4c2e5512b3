// A quadratic model with a weighted l1 penalty in a box: the subproblem of a proximal Newton method.
//
//   min over p, low <= p <= high, of   slope . (p - q) + 1/2 (p - q)' curvature (p - q) + price * sum_j |p_j| / s_j,
// s_j = high_j where p_j > 0, -low_j where p_j < 0, and low_j <= 0 <= high_j. Cyclic coordinate descent: one sweep
// soft-thresholds every coordinate and costs as much as a product with the curvature, however many rows that was summed over.
// Ends when a sweep decreases the model by less than a tolerance.
#pragma once

#include <vector>

namespace surefoot {

struct QuadraticParameters {
  // Sweeps over all coordinates. Not tuned.
  int max_sweeps = 1000;
  // Decrease of the model in one sweep: a few digits more than losses are compared by. Not tuned.
  double tolerance = 1e-14;
  // Added to every curvature, some of which vanish.
  double regularisation = 1e-12;
};

struct PenalisedQuadratic {
  std::vector<double> low, high;
  std::vector<double> slope;
  std::vector<double> curvature;  // n x n, symmetric, row by row
  std::vector<double> point;      // q at first; p in the end
  double price = 0;

  void resize(std::size_t n);
  void minimise(const QuadraticParameters& parameters = {});
};

}  // namespace surefoot
