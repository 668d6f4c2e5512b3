// A lower bound by weak duality, from the multipliers of a quadratic programme.
//
// Problem. F(beta, lambda) = lambda radius + sum_i w_i (worst-case loss of row i at price lambda). The multipliers say which
// fraction of each row's mass moves where. For fixed masses and level mixes
//
//   G(beta) = sum_k mass_k softplus(a_k . beta),      F(beta, lambda) >= G(beta) + lambda (radius - sum_k mass_k cost_k).
//
// At a point where the gradient g of G vanishes (up to what numeric columns may spend, || (gamma_j g_j)_j || <= radius - cost)
// the slopes q_k = sigmoid(t_k), t_k = a_k . beta, make a feasible dual point. Elsewhere the residual of the gradient costs at
// most its size times bounds on the coefficients (Hoelder), and
//
//   dual bound = conjugate - residual penalty = sum_k mass_k (softplus(t_k) - q_k t_k) - sum_j bound_j |residual_j|.
//
// One iteration (Newton's method on the residual of G, from the end of the step):
//   1. residual: gradient minus the numeric gradient that an optimum near the point would have (NumericTarget)
//   2. Newton step with the curvature at hand; more regularisation if the residual does not halve
//   3. keep the point with the best dual bound; new curvature only if the residual fell slowly (chord method)
// Stop when the deficit (residual penalty + unspent budget) is a small part of the gap, or no longer falls: then masses and
// mixes hold the bound back, and only another SQP step can raise it. Stop too once the time is over.
//
// Reference: weak duality of Wasserstein distributionally robust logistic regression, as in Shafieezadeh-Abadeh, Mohajerin
// Esfahani and Kuhn, Distributionally Robust Logistic Regression (2015).
#pragma once

#include <chrono>
#include <vector>

#include "surefoot/robust/lifted_space.hpp"
#include "surefoot/robust/row_sums.hpp"

namespace surefoot {

// What is known of every model at least as good as the one at hand: its price, the size of its intercept, and the sum over
// features of the largest level coefficient and over ranged columns of the coefficient times the width of the range. Infinite where nothing is known.
struct CoefficientLimits {
  double price, intercept, levels;
};

// No benchmark is on record for single values.
struct DualBoundParameters {
  int max_corrections = 20;  // Newton steps; slopes of well classified rows fall by a factor of e with each
  // Regularisations tried in turn, over the mean curvature: negligible masses leave directions with next to no curvature, in
  // which Newton's step goes astray.
  double ridge[3] = {1e-10, 1e-6, 1e-2};
  double residual_reduction = 0.5;    // a step that leaves at most this part of the residual needs no further regularisation
  double chord_reduction = 0.1;       // one that leaves at most this part shows that the curvature is still right
  double binding_margin = 1e-3;       // numeric coefficients this near the price, relative to it, may be what holds it
  double least_spent = 0.5;           // columns spending less than this part of the budget are not scaled up to it
  double spare_budget = 1e-2;         // a budget left over below this part of the radius is an inexact step's, and is spent
  double budget_rounding = 1e-6;      // relative margin by which a cost is reduced below the radius, or raised to it
  double assumed_size = 10.0;         // coefficients that nothing bounds are within this times 1 + the largest at hand
  double deficit_of_gap = 0.1;        // deficit at which corrections end, over the gap that would remain without it
  double deficit_of_tolerance = 0.1;  // the least gap so considered, over the tolerance
  double deficit_stall = 0.7;         // corrections end when one leaves more than this part of the deficit
};

struct DualBound {
  Plan plan;
  std::vector<double> lowest, highest;  // fractions of the levels that a feature moves to, by target label
  std::vector<double> point;            // where the slopes are taken
  double value;
};

// The problem and the incumbent that a bound is for.
struct DualBoundRequest {
  double radius;
  CoefficientLimits limits;
  double upper_bound;  // objective of the incumbent
  double tolerance;    // relative gap to be proven
  // Past it no Newton step is begun but the first: each takes a factorisation of a dense matrix.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

// pair_multiplier: of the step's pair constraints; x: the step's end.
DualBound find_dual_bound(const LiftedSpace& space, const RowSums& rows, Plan plan, const double* pair_multiplier,
                          const double* x, const DualBoundRequest& request, const DualBoundParameters& parameters);

}  // namespace surefoot
