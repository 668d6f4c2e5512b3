// The lower bound that the multipliers of a quadratic step prove.
//
// They say which share of each row's mass moves where. For fixed masses and level mixes
//
//   G(beta) = sum_k mass_k softplus(a_k . beta)
//
// is a smooth logistic loss, and F(beta, lambda) >= G(beta) + lambda (radius - sum_k mass_k cost_k). At a point where the gradient of G
// vanishes (up to what the numeric columns may carry, norm of (gamma_j g_j)_j <= radius - cost) the slopes q_k = sigmoid(a_k . beta)
// make a feasible plan, and its bound is sum_k mass_k (softplus(t_k) - q_k t_k). The step's end is nearly such a point; a Newton
// correction on G squares what is left of the gradient, and the remainder is paid for with bounds on the coefficients. Corrections
// cost far less than a step, so they go on while the payment is what holds the bound back, or a gradient of numeric columns that does
// not spend what it may, or spends it on columns that do not hold the price.
#pragma once

#include <vector>

#include "surefoot/robust/lifted_space.hpp"
#include "surefoot/robust/row_sums.hpp"

namespace surefoot {

// What is known of every model at least as good as the one at hand: its price, the size of its intercept, and the sum over features
// of the largest level coefficient. Infinite where nothing is known.
struct CoefficientLimits {
  double price, intercept, levels;
};

struct ProvenPlan {
  Plan plan;
  std::vector<double> lowest, highest;  // shares of the levels that a feature moves to, by target label
  std::vector<double> point;            // where the slopes are taken
  double value;
};

// multiplier: of the step's shared constraints; x: the step's end.
ProvenPlan prove_plan(const LiftedSpace& space, const RowSums& rows, Plan plan, const double* multiplier, const double* x,
                      double radius, const CoefficientLimits& limits, double upper_bound, double tolerance);

}  // namespace surefoot
