// The parameter records of the SQP loop, field by field: what parameters.py sets, the loop reads.
#include <nanobind/stl/array.h>

#include <algorithm>
#include <array>

#include "arrays.hpp"
#include "surefoot/robust/sqp_parameters.hpp"

namespace surefoot::bindings {
namespace {

#define FIELD(Record, name) .def_rw(#name, &Record::name)

void bind_interior_point(nb::module_& module) {
  using P = InteriorPointParameters;
  // clang-format off
  nb::class_<P>(module, "InteriorPointParameters")
      .def(nb::init<>())
      FIELD(P, initial_margin) FIELD(P, least_centrality) FIELD(P, hinge_centrality) FIELD(P, cone_interior)
      FIELD(P, boundary_fraction) FIELD(P, max_correctors) FIELD(P, corrector_threshold) FIELD(P, corrector_extension)
      FIELD(P, corrector_gain) FIELD(P, neighbourhood) FIELD(P, pivot_floor) FIELD(P, inexact_fraction)
      FIELD(P, merit_improvement) FIELD(P, max_stalled_iterations) FIELD(P, max_diverging_iterations) FIELD(P, small_merit)
      FIELD(P, divergence_factor);
  // clang-format on
}

void bind_active_rows(nb::module_& module) {
  using P = ActiveRowsParameters;
  // clang-format off
  nb::class_<P>(module, "ActiveRowsParameters")
      .def(nb::init<>())
      FIELD(P, least_hinges) FIELD(P, least_inactive) FIELD(P, loose_factor) FIELD(P, violation_fraction) FIELD(P, free_hinges)
      FIELD(P, least_scale) FIELD(P, max_rounds) FIELD(P, crowded) FIELD(P, crowded_width);
  // clang-format on
}

void bind_dual_bound(nb::module_& module) {
  using P = DualBoundParameters;
  // clang-format off
  nb::class_<P>(module, "DualBoundParameters")
      .def(nb::init<>())
      FIELD(P, max_corrections) FIELD(P, residual_reduction) FIELD(P, chord_reduction) FIELD(P, binding_margin)
      FIELD(P, least_spent) FIELD(P, spare_budget) FIELD(P, budget_rounding) FIELD(P, assumed_size) FIELD(P, deficit_of_gap)
      FIELD(P, deficit_of_tolerance) FIELD(P, deficit_stall)
      .def_prop_rw(
          "ridge", [](const P& self) { return std::array<double, 3>{self.ridge[0], self.ridge[1], self.ridge[2]}; },
          [](P& self, const std::array<double, 3>& ridge) { std::copy(ridge.begin(), ridge.end(), self.ridge); });
  // clang-format on
}

}  // namespace

void bind_sqp_parameters(nb::module_& module) {
  bind_interior_point(module);
  bind_active_rows(module);
  bind_dual_bound(module);
  using P = SqpParameters;
  // clang-format off
  nb::class_<P>(module, "SqpParameters")
      .def(nb::init<>())
      FIELD(P, cold_active_width) FIELD(P, warm_active_width) FIELD(P, cold_regularisation) FIELD(P, warm_regularisation)
      FIELD(P, cold_decrease) FIELD(P, warm_decrease) FIELD(P, hinge_precision) FIELD(P, min_active_width)
      FIELD(P, max_active_width) FIELD(P, width_growth) FIELD(P, max_short_steps) FIELD(P, cut_radius) FIELD(P, max_cut_cells)
      FIELD(P, working_fraction) FIELD(P, failed_fraction)
      FIELD(P, qp_active_width) FIELD(P, qp_max_iterations) FIELD(P, qp_gap_fraction) FIELD(P, qp_decrease_fraction)
      FIELD(P, qp_refinement) FIELD(P, least_qp_gap_fraction)
      FIELD(P, sufficient_decrease) FIELD(P, backtracking) FIELD(P, min_step_length) FIELD(P, expansion) FIELD(P, good_ratio)
      FIELD(P, regularisation_decrease) FIELD(P, short_length) FIELD(P, regularisation_increase) FIELD(P, min_regularisation)
      FIELD(P, max_regularisation) FIELD(P, prediction_constant) FIELD(P, bound_error_factor) FIELD(P, objective_rounding)
      FIELD(P, interior_point) FIELD(P, active_rows) FIELD(P, dual_bound);
  // clang-format on
}

}  // namespace surefoot::bindings
