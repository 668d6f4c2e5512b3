// Quadratic models of a loss, minimised over points that have a price.
//
//   min over p, low <= p <= high, of   slope . (p - q) + 1/2 (p - q)' curvature (p - q) + price * sum_j |p_j| / reach_j,
// reach_j = high_j where p_j > 0, -low_j where p_j < 0, and low_j <= 0 <= high_j. Coordinate descent, which costs as much for a sweep as
// a product with the curvature: how many rows the curvature was summed over no longer matters.
#pragma once

#include <vector>

namespace surefoot {

struct PricedQuadratic {
  std::vector<double> low, high;
  std::vector<double> slope;
  std::vector<double> curvature;  // n x n, symmetric, row by row
  std::vector<double> point;      // q at first; p in the end
  double price = 0;

  void resize(std::size_t n);
  void minimise();
};

}  // namespace surefoot
