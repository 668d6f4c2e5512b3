// The lifted coordinates of a robust problem: where coefficients live, what a move costs, and the constraints on a lifted
// vector.
//
//   low_l <= every level of l <= high_l        dual norm of (beta_j / gamma_j)_j <= price        price >= 0
//
// The dual norm is a maximum (two coordinates each), a cone, or a sum over magnitudes t_j >= |beta_j|, which are the extra
// coordinates of the layout; see src/surefoot/robust/sqp/lifted_coordinates.py, which writes these constraints down.
#pragma once

#include <cstdint>
#include <vector>

#include "surefoot/robust/mixed_table.hpp"
#include "surefoot/robust/qp_interior_point.hpp"

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
  QpConstraints constraints;                     // as seen from x = 0

  int n_coefficients() const;

  // Sets the envelopes to the extreme levels, and the price to the least that the numeric coefficients allow, if it is below.
  void tighten(double* x) const;

  // The dual norm of (beta_j / gamma_j)_j.
  double least_price(const double* x) const;

  // || (gamma_j g_j)_j || over the priced columns: the part of the radius that a gradient of the plan spends on numeric moves.
  double numeric_cost(const double* gradient) const;

  QpConstraints constraints_at(const double* x) const;
};

// Linear and regularisation terms of the quadratic programme of a row model. The regularisation is Levenberg-Marquardt's: a
// multiple of the diagonal of H; price and envelopes, which have no curvature of their own, are held like a typical
// coefficient.
struct QpTerms {
  std::vector<double> linear, regularisation;
};

QpTerms qp_terms(const RowModel& model, const LiftedSpace& space, double radius, double regularisation);

}  // namespace surefoot
