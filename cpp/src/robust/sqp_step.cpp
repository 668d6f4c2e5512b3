#include "surefoot/robust/sqp_step.hpp"

#include <utility>

namespace surefoot {

TrialPoint trial_point(const LiftedSpace& space, const RowSums& rows, double radius, const std::vector<double>& x,
                       double length, const std::vector<double>& direction) {
  TrialPoint point{x, 0};
  for (std::size_t a = 0; a < x.size(); ++a) point.x[a] += length * direction[a];
  space.tighten(point.x.data());
  point.objective = rows.value(point.x) + radius * point.x[static_cast<std::size_t>(space.layout.price)];
  return point;
}

SqpStep solve_step(const LiftedSpace& space, const RowSums& rows, const std::vector<double>& x, const WorkingSet& working_set,
                   const SqpStepOptions& options) {
  SqpStep step;
  {
    // The model is the largest object of a solve: it is gone before the objective is evaluated.
    const RowModel model = rows.row_model(x, options.region, working_set);
    const QpTerms terms = qp_terms(model, space, options.radius, options.regularisation);
    step.qp = solve_qp(model, space.layout.size, terms.linear.data(), terms.regularisation.data(),
                       space.constraints_at(x.data()), options.qp);
    step.plan = make_plan(space.prices, model, step.qp.mass.data(), step.qp.hinge_mass.data());
  }
  step.trial = trial_point(space, rows, options.radius, x, 1.0, step.qp.step);
  return step;
}

}  // namespace surefoot
