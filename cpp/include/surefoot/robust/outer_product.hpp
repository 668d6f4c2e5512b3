// Symmetric rank-one sums over rows: a part with values of its own and a few unit entries behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "surefoot/robust/row_part.hpp"

namespace surefoot {

// Lower triangle of M += sum over added rows of scale * v v^T, where v holds `part` and 1 at each of `slots` (all beyond the part's).
// Slots in the last line and column of M are left out: they stand for coefficients that are fixed at 0, which nobody reads.
// Dense parts are gathered and added several at a time, so that a line of M is read and written once for all of them; M is complete
// after flush().
class OuterSum {
 public:
  static constexpr int gathered = 32;

  OuterSum(double* M, std::size_t stride, int n_dense);

  void add(const RowPart& part, const std::int32_t* slots, int n_slots, double scale);
  void flush();

 private:
  double* M_;
  std::size_t stride_;
  int n_dense_, padded_;
  int count_ = 0;
  std::vector<double> rows_;  // gathered x padded
  double scale_[gathered] = {};
  std::vector<std::int32_t> sorted_;
};

// Lower triangle of the n x n matrix M += scale * v v^T.
void add_square(double* M, const double* v, int n, double scale);

}  // namespace surefoot
