#include "arrays.hpp"
#include "surefoot/inverse/mirror_steps.hpp"

namespace surefoot::bindings {
namespace {

// Examples, and options, together with the arrays they point into.
struct BoundExamples {
  BinaryExamples examples;
  std::vector<nb::object> owners;
};

struct BoundOptions {
  MirrorOptions options;
  std::size_t n_features, n_weights;
  std::vector<nb::object> owners;
};

struct MirrorStepsResult {
  std::int64_t n_steps;
  std::vector<std::int8_t> flips;
  std::vector<double> objectives;
  std::size_t n_unknowns;
};

void make_examples(BoundExamples* self, Matrix<double> rows, Matrix<double> right, Matrix<double> row_tolerance,
                   Matrix<double> start, Matrix<double> tilt, Vector<double> constant, Matrix<double> table,
                   Matrix<double> features, Matrix<double> own) {
  const std::size_t count = start.shape(0), n = start.shape(1), m = right.shape(1), p = features.shape(0);
  require(rows.shape(0) == count * m && rows.shape(1) == n, "rows of all programmes must stand one below the other");
  require(right.shape(0) == count && row_tolerance.shape(0) == count && row_tolerance.shape(1) == m,
          "right-hand sides and tolerances must agree in size");
  require(tilt.shape(0) == count && tilt.shape(1) == n && constant.shape(0) == count, "tilt must have the shape of start");
  require(table.shape(0) == count && table.shape(1) == n + 1, "tables need an entry for every number of flips");
  require(features.shape(1) == n && own.shape(0) == count && own.shape(1) == p, "features must agree in size");
  new (self) BoundExamples{
      {static_cast<int>(count), static_cast<int>(n), static_cast<int>(m), static_cast<int>(p), rows.data(), right.data(),
       row_tolerance.data(), start.data(), tilt.data(), constant.data(), table.data(), features.data(), own.data()},
      {nb::cast(rows), nb::cast(right), nb::cast(row_tolerance), nb::cast(start), nb::cast(tilt), nb::cast(constant),
       nb::cast(table), nb::cast(features), nb::cast(own)}};
}

void make_options(BoundOptions* self, bool exponentiated, bool fixed_total, double log_radius, Vector<double> lower,
                  Vector<double> upper, Vector<std::int8_t> signs, StepRule rule, double scale, double convexity,
                  bool linear_average, double kappa, bool squares, Vector<double> center) {
  const std::size_t p = center.shape(0);
  require(lower.shape(0) == p && upper.shape(0) == p && signs.shape(0) == p,
          "bounds, signs and centre must have an entry for every feature");
  std::size_t n_weights = p;
  for (std::size_t j = 0; exponentiated && j < p; ++j) n_weights += signs.data()[j] ? 1 : 0;
  new (self) BoundOptions{{exponentiated, fixed_total, log_radius, lower.data(), upper.data(), signs.data(), rule, scale,
                           convexity, linear_average, kappa, squares, center.data()},
                          p,
                          n_weights,
                          {nb::cast(lower), nb::cast(upper), nb::cast(signs), nb::cast(center)}};
}

MirrorStepsResult make_steps(const BoundExamples& given, const BoundOptions& chosen, MirrorState& state,
                             Matrix<std::int64_t> drawn, std::int64_t max_nodes, bool complete, Changed<double> multipliers,
                             Changed<std::int8_t> decisions) {
  const BinaryExamples& examples = given.examples;
  const std::size_t n = static_cast<std::size_t>(examples.n_unknowns), m = static_cast<std::size_t>(examples.n_rows);
  const std::size_t n_examples = static_cast<std::size_t>(examples.count);
  require(chosen.n_features == static_cast<std::size_t>(examples.n_features) && state.mean.size() == chosen.n_features,
          "options and points must have an entry for every feature");
  require(state.iterate.size() == chosen.n_weights, "the iterate has the wrong size");
  require(multipliers.shape(0) == n_examples && multipliers.shape(1) == m, "multipliers must be those of the rows");
  require(decisions.shape(0) == n_examples && decisions.shape(1) == n, "decisions have the wrong size");
  const std::size_t count = drawn.shape(0) * drawn.shape(1);
  for (std::size_t k = 0; k < count; ++k)
    require(0 <= drawn.data()[k] && drawn.data()[k] < examples.count, "an example that does not exist was drawn");
  MirrorStepsResult result{0, std::vector<std::int8_t>(count * n), std::vector<double>(drawn.shape(0)), n};
  nb::gil_scoped_release free;
  result.n_steps = mirror_steps(examples, chosen.options, {max_nodes, complete}, state, {multipliers.data(), decisions.data()},
                                drawn.data(), static_cast<std::int64_t>(drawn.shape(0)),
                                static_cast<std::int64_t>(drawn.shape(1)), result.flips.data(), result.objectives.data());
  return result;
}

}  // namespace

void bind_mirror_steps(nb::module_& module) {
  nb::enum_<StepRule>(module, "StepRule")
      .value("adaptive", StepRule::adaptive)
      .value("normalized", StepRule::normalized)
      .value("sqrt", StepRule::sqrt)
      .value("strong", StepRule::strong)
      .value("constant", StepRule::constant);
  nb::class_<BoundExamples>(module, "BinaryExamples")
      .def("__init__", &make_examples, nb::kw_only(), nb::arg("rows"), nb::arg("right"), nb::arg("row_tolerance"),
           nb::arg("start"), nb::arg("tilt"), nb::arg("constant"), nb::arg("table"), nb::arg("features"), nb::arg("own"));
  nb::class_<BoundOptions>(module, "MirrorOptions")
      .def("__init__", &make_options, nb::kw_only(), nb::arg("exponentiated"), nb::arg("fixed_total"), nb::arg("log_radius"),
           nb::arg("lower"), nb::arg("upper"), nb::arg("signs"), nb::arg("rule"), nb::arg("scale"), nb::arg("convexity"),
           nb::arg("linear_average"), nb::arg("kappa"), nb::arg("squares"), nb::arg("center"));
  nb::class_<MirrorState>(module, "MirrorState")
      .def(
          "__init__",
          [](MirrorState* self, Vector<double> iterate, Vector<double> mean, double mass, double sum_squares,
             std::int64_t steps) { new (self) MirrorState{copied(iterate), copied(mean), mass, sum_squares, steps}; },
          nb::kw_only(), nb::arg("iterate"), nb::arg("mean"), nb::arg("mass"), nb::arg("sum_squares"), nb::arg("steps"))
      .def_prop_ro("iterate", [](const MirrorState& state) { return to_numpy(std::vector<double>(state.iterate)); })
      .def_prop_ro("mean", [](const MirrorState& state) { return to_numpy(std::vector<double>(state.mean)); })
      .def_ro("mass", &MirrorState::mass)
      .def_ro("sum_squares", &MirrorState::sum_squares)
      .def_ro("steps", &MirrorState::steps);
  nb::class_<MirrorStepsResult>(module, "MirrorStepsResult")
      .def_ro("n_steps", &MirrorStepsResult::n_steps)
      .def_prop_ro(
          "flips",
          [](const MirrorStepsResult& result) { return to_numpy(std::vector<std::int8_t>(result.flips), result.n_unknowns); })
      .def_prop_ro("objectives",
                   [](const MirrorStepsResult& result) { return to_numpy(std::vector<double>(result.objectives)); });
  module.def("mirror_steps", &make_steps, nb::arg("examples"), nb::arg("options"), nb::arg("state"), nb::kw_only(),
             nb::arg("drawn"), nb::arg("max_nodes"), nb::arg("complete"), nb::arg("multipliers"), nb::arg("decisions"));
}

}  // namespace surefoot::bindings
