// Sequential quadratic programming on a finite maximum.
//
//   min over x of  F(x) = radius lambda + sum_i w_i max_k (softplus(a_ik . x) - lambda cost_ik)      x: lifted coordinates
//
// One iteration (advance):
//   1. model: per row the maximum of its linearised pieces within the active width, plus 1/2 d'(H + R)d (row_model.hpp); R is
//      Levenberg-Marquardt regularisation
//   2. quadratic programme: step and predicted decrease; its multipliers are the adversary's plan (qp_interior_point.hpp)
//   3. dual bound of the plan, if it may close the gap (dual_bound.hpp); stop if the relative gap is within the tolerance. If it
//      is not and the step has nothing left to gain, the next programme is solved more exactly: its residual is what is missing
//   4. Armijo line search on F along the step; past its end while F falls faster than predicted
//   5. update by the ratio of actual to predicted decrease: less regularisation after a good full step, more after a short one;
//      active width of the order of the square root of the predicted decrease, because a quadratic that falls by delta moves
//      losses by about sqrt(delta); working set from the plan's masses
// Termination, polishing and limits: src/surefoot/robust/sqp/sqp_loop.py.
//
// Reference: Nocedal and Wright, Numerical Optimization, Chapter 18 (SQP); Fletcher, Practical Methods of Optimization, Chapter
// 14 (non-smooth optimization), for quadratic models of a finite maximum.
#pragma once

#include <chrono>
#include <limits>
#include <optional>
#include <vector>

#include "surefoot/robust/dual_bound.hpp"
#include "surefoot/robust/sqp_parameters.hpp"
#include "surefoot/robust/sqp_step.hpp"

namespace surefoot {

// What does not change while a loop runs.
struct SqpOptions {
  double radius;
  double tolerance;          // of the gap, relative
  CoefficientLimits limits;  // at an objective of 1, to which they are proportional
  bool warm_start;           // whether x is near an optimum: little is left to gain
  bool dual_bounds;          // without them the loop is a search for an initial point, and never calls itself optimal
  std::int64_t n_rows;
  int n_threads;
  SqpParameters parameters = {};
};

class SqpLoop {
 public:
  SqpLoop(const LiftedSpace& space, const SqpOptions& options, std::vector<double> x, double objective);

  // One iteration; whether the objective fell.
  bool advance(const RowSums& rows);

  // The dual bound of the last step, which may not have been promising enough to ask for.
  void bound_last_step(const RowSums& rows);

  // Working set from the pieces of a plan that hold mass; after a failed step also the worst pieces at its trial point.
  void update_working_set(const RowSums& rows, const Plan& plan, const std::vector<double>* failed);

  ModelRegion region() const;
  bool optimal() const;
  const SqpOptions& options() const { return options_; }

  std::vector<double> x;
  double objective;
  double lower_bound = 0;
  std::optional<DualBound> bound;
  WorkingSet working_set;
  double active_width;
  double regularisation;                                                                          // over the curvature
  double predicted_decrease;                                                                      // of the last step
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();  // of a step

 private:
  double final_decrease() const;
  bool bound_is_promising(const SqpStep& step) const;
  void update_bound(const RowSums& rows, const SqpStep& step);
  void refine_programme(double predicted);
  bool accept(TrialPoint& point, double slack = 0);

  const LiftedSpace& space_;
  const SqpOptions options_;
  double qp_gap_fraction_;  // tolerance of the next step's programme, over the gap to be reached
  int short_steps_ = 0;
  std::optional<SqpStep> last_step_;
};

}  // namespace surefoot
