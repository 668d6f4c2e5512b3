// The quadratic programme of one SQP step, solved by a primal-dual interior point.
//
//   min over d, r of   g.d + 1/2 d'(H + R)d + sum over tied rows of weight_i r_i           R: diagonal regularisation
//   subject to         value_ik + gradient_ik . d + sum over its hinges of max(0, value_h + gradient_h . d) <= r_i
//                                                          for every piece k of every tied row i
//                      first_coef d[first] + second_coef d[second] <= slack   for every pair constraint
//                      sum_j coef_j d[slot_j] <= slack                        if there is a sum constraint
//                      || scale_j (x + d)[slot_j] ||_2 <= (x + d)[price]      if there is a cone constraint
//
// One iteration (Mehrotra's predictor-corrector; Nocedal and Wright, Numerical Optimization, Section 16.6):
//   1. residuals: dual, primal, complementarity. Stop if all are within the tolerance
//   2. KKT system: hinges, pieces and rows are eliminated (row_elimination.hpp), and so are the slacks and multipliers of all
//      other constraints. The Schur complement has the size of d and is factored once (core/sparse_cholesky.hpp: rare levels
//      first, as no two levels of a column share a row)
//   3. affine direction; centring sigma = (complementarity after the longest affine step / complementarity)^3
//   4. combined direction, towards sigma mu with Mehrotra's second-order term
//   5. up to a few centrality correctors (Gondzio 1996) while each lengthens the step; they reuse the factor
//   6. step length: a fraction of the way to the boundary, at most 1; equal for primal and dual
// It also stops when the merit (sum of the three residuals) no longer improves, and then returns the best iterate.
//
// Large models are solved on their active pieces and hinges first (active_rows.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

#include "surefoot/robust/active_rows.hpp"
#include "surefoot/robust/row_model.hpp"
#include "surefoot/robust/second_order_cone.hpp"

namespace surefoot {

// Two coordinates each: first_coef d[first] + second_coef d[second] <= slack.
struct PairConstraint {
  std::int32_t first, second;
  double first_coef, second_coef;
  double slack;
};

struct SumConstraint {
  std::vector<std::int32_t> slot;  // empty: no constraint
  std::vector<double> coef;
  double slack = 0;
};

struct QpConstraints {
  std::vector<PairConstraint> pairs;
  SumConstraint sum;
  ConeConstraint cone;
};

struct QpSolution {
  std::vector<double> step;             // d, length size + 1, last entry 0
  std::vector<double> mass;             // multiplier of every piece of the tied rows; those of a row sum to its weight
  std::vector<double> hinge_mass;       // multiplier of every hinge: the part of its piece's mass for which it is open
  std::vector<double> pair_multiplier;  // of every pair constraint
  double predicted_decrease = 0;        // of the model, from d = 0 to the step
  int iterations = 0;
  bool converged = false;
};

// No benchmark is on record for single values; 0.99 of the way to the boundary is the literature's.
struct InteriorPointParameters {
  double initial_margin = 0.1;       // least slack at the initial point, units of loss; larger starts farther inside
  double least_centrality = 1e-6;    // least centrality weight of a constraint, units of loss
  double hinge_centrality = 0.2;     // centrality weight of a hinge over its piece's; more lets the many hinges bend the path
  double cone_interior = 1.1;        // initial apex of the cone over the norm of the rest, a factor
  double boundary_fraction = 0.99;   // of the step to the boundary; longer steps converge faster and are less central
  int max_correctors = 3;            // centrality correctors per factorisation; each costs one pass over the tied rows
  double corrector_threshold = 0.9;  // step length from which on no corrector is tried
  double corrector_extension = 0.3;  // added to the step length that a corrector aims at
  double corrector_gain = 0.03;      // least growth of the step length for another corrector
  double neighbourhood = 10.0;       // factor by which products may differ from sigma mu w before a corrector acts
  double pivot_floor = 1e-14;        // Cholesky pivots below this times their diagonal entry fix the coordinate at 0
  double inexact_fraction = 0.01;    // relative error of a predicted decrease above QpOptions::final_decrease
  double merit_improvement = 0.9;    // an iterate is the best so far if its merit is below this times the best
  int max_stalled_iterations = 15;   // iterations without a new best iterate before rounding is said to have won
  int max_diverging_iterations = 5;  // the same, if the best merit is small and the present one large
  double small_merit = 1e-6;         // what small means, units of loss
  double divergence_factor = 1e3;    // what large means, over the best merit
};

struct QpOptions {
  double tolerance;  // bounds complementarity, dual residual and primal residual, units of loss
  int max_iterations;
  // How far the step is expected to move losses: the first guess of the active set.
  double active_width = std::numeric_limits<double>::infinity();
  int n_threads = 1;
  // A larger predicted decrease is solved for inexactly.
  double final_decrease = std::numeric_limits<double>::infinity();
  // When to end with the best iterate so far; one iteration is made in any case.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  InteriorPointParameters interior_point = {};
  ActiveRowsParameters active_rows = {};
};

QpSolution solve_qp(const RowModel& model, int size, const double* linear, const double* regularisation,
                    const QpConstraints& constraints, const QpOptions& options);

}  // namespace surefoot
