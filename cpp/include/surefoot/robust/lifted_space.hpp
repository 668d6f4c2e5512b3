// What all rows of a robust problem share: where coefficients live, what a move costs, and what is asked of a lifted vector.
//
//   low_l <= every level of l <= high_l        dual norm of (beta_j / gamma_j)_j <= price        price >= 0
//
// The dual norm is a maximum (two coordinates each), a cone, or a sum over magnitudes t_j >= |beta_j|, which are the extra
// coordinates of the layout; see src/surefoot/robust/sqp/lifted_coordinates.py, which writes these constraints down.
#pragma once

#include <cstdint>
#include <vector>

#include "surefoot/robust/mixed_table.hpp"
#include "surefoot/robust/quadratic_step.hpp"

namespace surefoot {

// The norm in which a move along the numeric columns is priced.
enum class NumericNorm { l1, l2, linf };

struct LiftedSpace {
  MixedTable prices;  // of moves and flips; it has no rows
  LiftedLayout layout;
  std::vector<double> numeric_weight;  // gamma, infinite where a column never moves
  NumericNorm norm = NumericNorm::l1;
  std::vector<std::int32_t> priced;              // columns whose moves have a price
  std::vector<std::int32_t> constrained_levels;  // those of the first constraints: "low <= level" for all, then "level <= high"
  StepConstraints constraints;                   // as seen from x = 0

  int n_coefficients() const;

  // Sets the envelopes to the extreme levels, and the price to the least that the numeric coefficients allow, if it is below.
  void tighten(double* x) const;

  // The dual norm of (beta_j / gamma_j)_j.
  double least_price(const double* x) const;

  // || (gamma_j g_j)_j || over the priced columns.
  double spent_on(const double* gradient) const;

  StepConstraints constraints_at(const double* x) const;
};

// The linear and the damping term of a step on a row model: a multiple of the curvature holds every coordinate, and price and
// envelopes, which have none of their own, as if they had that of a typical coefficient.
struct StepTerms {
  std::vector<double> linear, damping;
};

StepTerms step_terms(const RowModel& model, const LiftedSpace& space, double radius, double damping);

}  // namespace surefoot
