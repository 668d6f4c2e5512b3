#include "arrays.hpp"
#include "surefoot/robust/lifted_space.hpp"
#include "surefoot/robust/shift_plan.hpp"

namespace surefoot::bindings {
namespace {

// A solution together with the plan in its multipliers.
struct PlannedSolution {
  QpSolution qp;
  Plan plan;
};

}  // namespace

void bind_qp_interior_point(nb::module_& module) {
  nb::class_<PlannedSolution>(module, "QpSolution")
      .def_prop_ro("step", [](const PlannedSolution& self) { return to_numpy(std::vector<double>(self.qp.step)); })
      .def_prop_ro("mass", [](const PlannedSolution& self) { return to_numpy(std::vector<double>(self.qp.mass)); })
      .def_prop_ro("hinge_mass", [](const PlannedSolution& self) { return to_numpy(std::vector<double>(self.qp.hinge_mass)); })
      .def_prop_ro("pair_multiplier",
                   [](const PlannedSolution& self) { return to_numpy(std::vector<double>(self.qp.pair_multiplier)); })
      .def_prop_ro("predicted_decrease", [](const PlannedSolution& self) { return self.qp.predicted_decrease; })
      .def_prop_ro("iterations", [](const PlannedSolution& self) { return self.qp.iterations; })
      .def_prop_ro("converged", [](const PlannedSolution& self) { return self.qp.converged; })
      .def_prop_ro("plan", [](const PlannedSolution& self) { return Plan(self.plan); });

  module.def(
      "solve_qp",
      [](const RowModel& model, const LiftedSpace& space, Vector<double> x, const QpTerms& terms, double tolerance,
         int max_iterations, int n_threads) {
        const std::size_t length = model.gradient.size();
        require(length == static_cast<std::size_t>(space.layout.size) + 1, "the row model must have the same coordinates");
        require(x.shape(0) == length && terms.linear.size() == length,
                "point and terms need one entry per lifted coordinate and a zero");
        PlannedSolution solved;
        nb::gil_scoped_release released;
        QpOptions options{tolerance, max_iterations};
        options.n_threads = n_threads;
        solved.qp = solve_qp(model, space.layout.size, terms.linear.data(), terms.regularisation.data(),
                             space.constraints_at(x.data()), options);
        solved.plan = make_plan(space.prices, model, solved.qp.mass.data(), solved.qp.hinge_mass.data());
        return solved;
      },
      nb::arg("model"), nb::arg("space"), nb::arg("x"), nb::arg("terms"), nb::kw_only(), nb::arg("tolerance"),
      nb::arg("max_iterations"), nb::arg("n_threads"));
}

}  // namespace surefoot::bindings
