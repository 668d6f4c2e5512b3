#include "arrays.hpp"
#include "surefoot/quadratic_step.hpp"

namespace surefoot::bindings {

void bind_quadratic_step(nb::module_& module) {
  module.def(
      "solve_quadratic_step",
      [](const RowModel& model, Vector<double> linear, Vector<double> damping, Vector<std::int32_t> first,
         Vector<double> first_coef, Vector<std::int32_t> second, Vector<double> second_coef, Vector<double> slack,
         Vector<std::int32_t> wide_slot, Vector<double> wide_coef, double wide_slack, Vector<std::int32_t> norm_slot,
         Vector<double> norm_scale, Vector<double> norm_value, std::int32_t price_slot, double price, double tolerance,
         int max_iterations, double final_decrease, double near, int n_threads) {
        const std::size_t length = model.gradient.size();
        const std::size_t n = slack.shape(0);
        require(linear.shape(0) == length && damping.shape(0) == length,
                "linear and damping need one entry per lifted coordinate");
        require(first.shape(0) == n && second.shape(0) == n && first_coef.shape(0) == n && second_coef.shape(0) == n,
                "constraints need two slots, two coefficients and a slack each");
        require(wide_slot.shape(0) == wide_coef.shape(0) && norm_slot.shape(0) == norm_scale.shape(0) &&
                    norm_slot.shape(0) == norm_value.shape(0),
                "wide and norm constraints need a coefficient for every slot");
        const auto in_range = [&](std::int32_t slot) {
          require(slot >= 0 && static_cast<std::size_t>(slot) < length, "constraint slot out of range");
        };
        in_range(price_slot);
        for (const auto& slots : {wide_slot, norm_slot})
          for (std::size_t k = 0; k < slots.shape(0); ++k) in_range(slots.data()[k]);
        StepConstraints constraints;
        constraints.shared.resize(n);
        constraints.wide = {{wide_slot.data(), wide_slot.data() + wide_slot.shape(0)},
                            {wide_coef.data(), wide_coef.data() + wide_coef.shape(0)},
                            wide_slack};
        constraints.norm = {price_slot,
                            price,
                            {norm_slot.data(), norm_slot.data() + norm_slot.shape(0)},
                            {norm_scale.data(), norm_scale.data() + norm_scale.shape(0)},
                            {norm_value.data(), norm_value.data() + norm_value.shape(0)}};
        for (std::size_t c = 0; c < n; ++c) {
          in_range(first.data()[c]);
          in_range(second.data()[c]);
          constraints.shared[c] = {first.data()[c], second.data()[c], first_coef.data()[c], second_coef.data()[c],
                                   slack.data()[c]};
        }
        QuadraticStep result;
        {
          nb::gil_scoped_release released;
          result = solve_quadratic_step(model, static_cast<int>(length) - 1, linear.data(), damping.data(), constraints,
                                        {tolerance, max_iterations, near, n_threads, final_decrease});
        }
        return nb::make_tuple(to_numpy(std::move(result.step)), to_numpy(std::move(result.mass)),
                              to_numpy(std::move(result.hinge_mass)), to_numpy(std::move(result.multiplier)), result.decrease,
                              result.iterations, result.converged);
      },
      nb::arg("model"), nb::arg("linear"), nb::arg("damping"), nb::arg("first"), nb::arg("first_coef"), nb::arg("second"),
      nb::arg("second_coef"), nb::arg("slack"), nb::arg("wide_slot"), nb::arg("wide_coef"), nb::arg("wide_slack"),
      nb::arg("norm_slot"), nb::arg("norm_scale"), nb::arg("norm_value"), nb::arg("price_slot"), nb::arg("price"),
      nb::arg("tolerance"), nb::arg("max_iterations"), nb::arg("final_decrease"), nb::arg("near"), nb::arg("n_threads"));
}

}  // namespace surefoot::bindings
