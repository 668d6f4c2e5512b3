// Tuning values of the SQP loop. src/surefoot/robust/sqp/parameters.py holds the same defaults; a test compares them.
#pragma once

#include <cstdint>

#include "surefoot/robust/active_rows.hpp"
#include "surefoot/robust/dual_bound.hpp"
#include "surefoot/robust/qp_interior_point.hpp"

namespace surefoot {

// "Warm" is a start at the optimum of a neighbouring problem. Losses and objective have the same unit. The path timings of
// bench_real_weights were made with these values; no record says that a single value was chosen on them.
struct SqpParameters {
  // First step.
  double cold_active_width = 0.1;     // of the first model, units of loss; wider lists more pieces and breaks fewer steps
  double warm_active_width = 0.07;    // the same
  double cold_regularisation = 0.1;   // Levenberg-Marquardt factor of the first model, over the curvature; more shortens steps
  double warm_regularisation = 1e-4;  // the same
  double cold_decrease = 0.1;         // predicted decrease assumed before the first step, over the objective
  double warm_decrease = 1e-4;        // the same
  // Model.
  double hinge_precision = 0.2;         // error of hinges, over the last predicted decrease; coarser models are smaller
  double min_active_width = 1e-7;       // units of loss
  double max_active_width = 1.0;        // units of loss
  double width_growth = 2.0;            // factor on the active width after a shortened step
  int max_short_steps = 3;              // short steps before the model is given outer linearisation cuts
  double cut_radius = 1.0;              // how far from the point these cuts hold, units of loss
  std::int64_t max_cut_cells = 20'000;  // rows times features above which cuts would cost more than they save
  double working_fraction = 1e-3;       // of its row's mass from which on a piece stays in the working set after a full step
  double failed_fraction = 1e-4;        // the same after a shortened one
  // Quadratic programme.
  double qp_active_width = 0.05;       // first active set of the programme, over the active width of the model
  int qp_max_iterations = 100;         // of its interior point, which takes 10 to 30
  double qp_gap_fraction = 0.01;       // its tolerance, over the gap to be reached
  double qp_decrease_fraction = 1e-3;  // its tolerance, over the last predicted decrease; the larger counts
  // Factor on qp_gap_fraction after a step that had nothing left to gain and proved too little, and where that ends. With 0.01
  // a separable table (tests/robust/solvers/test_dear_columns.py, seed 2) ends 1 % short of the tolerance; no other choice.
  double qp_refinement = 0.1;
  double least_qp_gap_fraction = 1e-8;
  // Line search.
  double sufficient_decrease = 0.1;  // Armijo: actual over predicted decrease of the shortened step
  double backtracking = 0.5;         // factor on the step length
  double min_step_length = 1e-3;     // below it the step is taken as it is
  double expansion = 2.0;            // factor on the step length while a full step fell by more than predicted
  // Regularisation, in the part of a trust-region radius.
  double good_ratio = 0.5;               // actual over predicted decrease from which on a full step's model is trusted
  double regularisation_decrease = 0.1;  // factor after such a step
  double short_length = 0.5;             // step length below which the model is trusted less
  double regularisation_increase = 3.0;  // factor after such a step
  double min_regularisation = 1e-10;     // over the curvature
  double max_regularisation = 1e6;       // over the curvature
  // Dual bound and convergence.
  double prediction_constant = 0.35;  // prediction error of a model, over decrease^1.5 relative to the objective; measured
  double bound_error_factor = 2.0;    // error of the dual bound, over the prediction error at the end of the step
  double objective_rounding = 1e-14;  // objectives closer than this, relatively, are equal; the last step may rise by as much

  InteriorPointParameters interior_point;
  ActiveRowsParameters active_rows;
  DualBoundParameters dual_bound;
};

}  // namespace surefoot
