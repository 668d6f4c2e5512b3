// Cholesky factor of a symmetric matrix in dense storage, most of whose lines may be nearly empty.
//
// Coordinates with few neighbours are eliminated first, those with the fewest before others (minimum degree; George and Liu
// 1989), and what remains, which elimination has filled, is factored as a dense matrix. A column with thousands of levels is such
// a case: two of its levels share no row, and a level of three rows meets at most three levels of another column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace surefoot {

// When coordinates are eliminated by themselves. Chosen by counting operations on tables with 300 to 3,000 levels.
struct SparseCholeskyParameters {
  int least_size = 256;          // smaller matrices take no time to speak of
  double most_neighbours = 0.5;  // over the coordinates left: scattered updates take longer than those of the dense rest
  double most_left = 0.8;        // fraction that stays dense from which on all do
};

class SparseCholesky {
 public:
  // Factors the leading size x size block of A, lower triangle by rows `stride` apart, which is overwritten; pivots that are next
  // to nothing are replaced as cholesky_factor does. The order of elimination is kept while no entry appears outside of it.
  void factor(double* A, int size, std::size_t stride, double floor);

  // Solves L L^T x = b in place; A as factor left it.
  void solve(const double* A, double* b) const;

  int n_dense() const { return static_cast<int>(core_.size()); }

 private:
  bool fits(const double* A) const;
  void order(const double* A);
  void eliminate(double* A, double floor);

  int size_ = 0;
  std::size_t stride_ = 0;
  bool dense_ = true;
  std::vector<int> eliminated_, core_;      // in the order of elimination; ascending
  std::vector<std::size_t> neighbours_at_;  // start of each eliminated coordinate's neighbours, and the end
  std::vector<int> neighbours_;             // those that are left when it is eliminated, ascending
  std::vector<std::uint64_t> pattern_;      // bits of the lower triangle that may hold something, by lines
  std::vector<double> pivots_, entries_, diagonal_, rest_;
  mutable std::vector<double> right_;
};

}  // namespace surefoot
