#include "arrays.hpp"
#include "surefoot/quadratic_step.hpp"

namespace surefoot::bindings {

void bind_quadratic_step(nb::module_& module) {
  module.def(
      "solve_quadratic_step",
      [](const RowModel& model, Vector<double> linear, Vector<double> damping, Vector<std::int32_t> first,
         Vector<double> first_coef, Vector<std::int32_t> second, Vector<double> second_coef, Vector<double> slack,
         double tolerance, int max_iterations, int n_threads) {
        const std::size_t length = model.gradient.size();
        const std::size_t n = slack.shape(0);
        require(linear.shape(0) == length && damping.shape(0) == length,
                "linear and damping need one entry per lifted coordinate");
        require(first.shape(0) == n && second.shape(0) == n && first_coef.shape(0) == n && second_coef.shape(0) == n,
                "constraints need two slots, two coefficients and a slack each");
        std::vector<SharedConstraint> constraints(n);
        for (std::size_t c = 0; c < n; ++c) {
          for (const auto slot : {first.data()[c], second.data()[c]})
            require(slot >= 0 && static_cast<std::size_t>(slot) < length, "constraint slot out of range");
          constraints[c] = {first.data()[c], second.data()[c], first_coef.data()[c], second_coef.data()[c], slack.data()[c]};
        }
        QuadraticStep result;
        {
          nb::gil_scoped_release released;
          result = solve_quadratic_step(model, static_cast<int>(length) - 1, linear.data(), damping.data(), constraints,
                                        tolerance, max_iterations, n_threads);
        }
        return nb::make_tuple(to_numpy(std::move(result.step)), to_numpy(std::move(result.mass)),
                              to_numpy(std::move(result.hinge_mass)), to_numpy(std::move(result.multiplier)), result.decrease,
                              result.iterations, result.converged);
      },
      nb::arg("model"), nb::arg("linear"), nb::arg("damping"), nb::arg("first"), nb::arg("first_coef"), nb::arg("second"),
      nb::arg("second_coef"), nb::arg("slack"), nb::arg("tolerance"), nb::arg("max_iterations"), nb::arg("n_threads"));
}

}  // namespace surefoot::bindings
