// One step of sequential quadratic programming over a row model.
//
//   min over d, r of   g.d + 1/2 d'(H + damping)d + sum over tied rows of weight_i r_i
//   subject to         value_ik + gradient_ik . d + sum over its hinges of max(0, value_h + gradient_h . d) <= r_i
//                                                          for every piece k of every tied row i
//                      first_coef d[first] + second_coef d[second] <= slack   for every shared constraint
//                      sum_j coef_j d[slot_j] <= slack                        if there is a wide constraint
//                      || scale_j (x + d)[slot_j] ||_2 <= (x + d)[price]      if there is a norm constraint
//
// solved by a primal-dual interior point (Mehrotra's predictor and corrector). Hinges are eliminated from their pieces and pieces
// from their rows, one by one, so a step costs one pass over the tied rows and one factorisation of the size of d, however many tie.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "surefoot/robust/norm_cone.hpp"
#include "surefoot/robust/row_model.hpp"

namespace surefoot {

struct SharedConstraint {
  std::int32_t first, second;
  double first_coef, second_coef;
  double slack;
};

struct WideConstraint {
  std::vector<std::int32_t> slot;  // empty: no constraint
  std::vector<double> coef;
  double slack = 0;
};

struct StepConstraints {
  std::vector<SharedConstraint> shared;
  WideConstraint wide;
  NormConstraint norm;
};

struct QuadraticStep {
  std::vector<double> step;        // d, length size + 1, last entry 0
  std::vector<double> mass;        // multiplier of every piece of the tied rows; those of a row sum to its weight
  std::vector<double> hinge_mass;  // how much of its piece's mass changes its mind, per hinge
  std::vector<double> multiplier;  // of every shared constraint
  double decrease = 0;             // how much the model falls from d = 0 to the step
  int iterations = 0;
  bool converged = false;
};

struct StepOptions {
  double tolerance;  // of the decrease
  int max_iterations;
  double near =
      std::numeric_limits<double>::infinity();  // how far the step is expected to move losses: a first guess, nothing more
  int n_threads = 1;
  double final_decrease = std::numeric_limits<double>::infinity();  // a larger one need only be right to a hundredth
};

QuadraticStep solve_quadratic_step(const RowModel& model, int size, const double* linear, const double* damping,
                                   const StepConstraints& constraints, const StepOptions& options);

}  // namespace surefoot
