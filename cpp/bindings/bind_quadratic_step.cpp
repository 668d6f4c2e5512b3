#include "arrays.hpp"
#include "surefoot/robust/lifted_space.hpp"
#include "surefoot/robust/shift_plan.hpp"

namespace surefoot::bindings {

void bind_quadratic_step(nb::module_& module) {
  module.def(
      "solve_quadratic_step",
      [](const RowModel& model, const LiftedSpace& space, Vector<double> x, Vector<double> linear, Vector<double> damping,
         double tolerance, int max_iterations, double final_decrease, double near, int n_threads) {
        const std::size_t length = model.gradient.size();
        require(length == static_cast<std::size_t>(space.layout.size) + 1, "the row model must have the same coordinates");
        require(x.shape(0) == length && linear.shape(0) == length && damping.shape(0) == length,
                "point, linear and damping need one entry per lifted coordinate and a zero");
        QuadraticStep result;
        Plan plan;
        {
          nb::gil_scoped_release released;
          result = solve_quadratic_step(model, space.layout.size, linear.data(), damping.data(), space.constraints_at(x.data()),
                                        {tolerance, max_iterations, near, n_threads, final_decrease});
          plan = make_plan(space.prices, model, result.mass.data(), result.hinge_mass.data());
        }
        return nb::make_tuple(to_numpy(std::move(result.step)), to_numpy(std::move(result.mass)),
                              to_numpy(std::move(result.hinge_mass)), to_numpy(std::move(result.multiplier)), result.decrease,
                              std::move(plan));
      },
      nb::arg("model"), nb::arg("space"), nb::arg("x"), nb::arg("linear"), nb::arg("damping"), nb::arg("tolerance"),
      nb::arg("max_iterations"), nb::arg("final_decrease"), nb::arg("near"), nb::arg("n_threads"));
}

}  // namespace surefoot::bindings
