// One step of a descent on the robust objective: the rows' model around a point, its minimiser, and the objective there.
#pragma once

#include <vector>

#include "surefoot/robust/lifted_space.hpp"
#include "surefoot/robust/row_sums.hpp"

namespace surefoot {

struct StepRequest {
  double radius;
  ModelReach reach;
  double damping;  // as a share of the curvature
  StepOptions options;
};

struct RobustStep {
  QuadraticStep step;
  Plan plan;                // the adversary's, in the step's multipliers
  std::vector<double> end;  // where a full step leads, tightened
  double objective = 0;     // there
};

RobustStep take_step(const LiftedSpace& space, const RowSums& rows, const std::vector<double>& x, const KeptPieces& kept,
                     const StepRequest& request);

// x + length * direction, tightened, and the objective there.
struct LiftedPoint {
  std::vector<double> x;
  double objective;
};

LiftedPoint point_at(const LiftedSpace& space, const RowSums& rows, double radius, const std::vector<double>& x, double length,
                     const std::vector<double>& direction);

}  // namespace surefoot
