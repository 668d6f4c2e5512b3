#include "surefoot/robust/sqp_step.hpp"

#include <utility>

namespace surefoot {

LiftedPoint point_at(const LiftedSpace& space, const RowSums& rows, double radius, const std::vector<double>& x, double length,
                     const std::vector<double>& direction) {
  LiftedPoint point{x, 0};
  for (std::size_t a = 0; a < x.size(); ++a) point.x[a] += length * direction[a];
  space.tighten(point.x.data());
  point.objective = rows.value(point.x) + radius * point.x[static_cast<std::size_t>(space.layout.price)];
  return point;
}

RobustStep take_step(const LiftedSpace& space, const RowSums& rows, const std::vector<double>& x, const KeptPieces& kept,
                     const StepRequest& request) {
  RobustStep taken;
  {
    const RowModel model = rows.row_model(x, request.reach, kept);
    const StepTerms terms = step_terms(model, space, request.radius, request.damping);
    taken.step = solve_quadratic_step(model, space.layout.size, terms.linear.data(), terms.damping.data(),
                                      space.constraints_at(x.data()), request.options);
    taken.plan = make_plan(space.prices, model, taken.step.mass.data(), taken.step.hinge_mass.data());
  }
  LiftedPoint end = point_at(space, rows, request.radius, x, 1.0, taken.step.step);
  taken.end = std::move(end.x);
  taken.objective = end.objective;
  return taken;
}

}  // namespace surefoot
