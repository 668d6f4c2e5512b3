// One SQP step on the robust objective: the row model around a point, its minimiser, the plan in its multipliers, and the
// objective at the trial point.
#pragma once

#include <vector>

#include "surefoot/robust/lifted_space.hpp"
#include "surefoot/robust/row_sums.hpp"

namespace surefoot {

struct SqpStepOptions {
  double radius;
  ModelRegion region;
  double regularisation;  // over the curvature
  QpOptions qp;
};

// x + length * direction with tight envelopes, and the objective there.
struct TrialPoint {
  std::vector<double> x;
  double objective = 0;
};

struct SqpStep {
  QpSolution qp;
  Plan plan;         // the adversary's, in the multipliers
  TrialPoint trial;  // of the full step
};

SqpStep solve_step(const LiftedSpace& space, const RowSums& rows, const std::vector<double>& x, const WorkingSet& working_set,
                   const SqpStepOptions& options);

TrialPoint trial_point(const LiftedSpace& space, const RowSums& rows, double radius, const std::vector<double>& x,
                       double length, const std::vector<double>& direction);

}  // namespace surefoot
