#include "arrays.hpp"
#include "surefoot/inverse/mirror_steps.hpp"

namespace surefoot::bindings {

namespace {

// The examples together with the arrays they point into.
struct BoundExamples {
  FlipExamples examples;
  std::vector<nb::object> owners;
};

BoundExamples bound(Matrix<double> rows, Matrix<double> room, Matrix<double> slack, Matrix<double> start, Matrix<double> tilt,
                    Vector<double> constant, Matrix<double> table, Matrix<double> features, Matrix<double> own) {
  const std::size_t count = start.shape(0), n = start.shape(1), m = room.shape(1), p = features.shape(0);
  require(rows.shape(0) == count * m && rows.shape(1) == n, "rows of all programmes must stand one below the other");
  require(room.shape(0) == count && slack.shape(0) == count && slack.shape(1) == m, "room and slack must agree in size");
  require(tilt.shape(0) == count && tilt.shape(1) == n && constant.shape(0) == count, "tilt must have the shape of start");
  require(table.shape(0) == count && table.shape(1) == n + 1, "tables need an entry for every number of flips");
  require(features.shape(1) == n && own.shape(0) == count && own.shape(1) == p, "features must agree in size");
  return {{static_cast<int>(count), static_cast<int>(n), static_cast<int>(m), static_cast<int>(p), rows.data(), room.data(),
           slack.data(), start.data(), tilt.data(), constant.data(), table.data(), features.data(), own.data()},
          {nb::cast(rows), nb::cast(room), nb::cast(slack), nb::cast(start), nb::cast(tilt), nb::cast(constant),
           nb::cast(table), nb::cast(features), nb::cast(own)}};
}

}  // namespace

void bind_mirror_walk(nb::module_& module) {
  nb::class_<BoundExamples>(module, "FlipExamples");
  module.def("flip_examples", &bound, nb::arg("rows"), nb::arg("room"), nb::arg("slack"), nb::arg("start"), nb::arg("tilt"),
             nb::arg("constant"), nb::arg("table"), nb::arg("features"), nb::arg("own"));
  module.def(
      "walk",
      [](const BoundExamples& given, bool exponentiated, bool fixed_total, double log_radius, Vector<double> lower,
         Vector<double> upper, Vector<std::int8_t> signs, int rule, double scale, double convexity, bool linear_average,
         double kappa, bool squares, Vector<double> center, Vector<double> state, Vector<double> mean, double mass,
         double sum_squares, std::int64_t steps, Matrix<std::int64_t> drawn, std::int64_t max_nodes, bool complete,
         Changed<double> prices, Changed<std::int8_t> decided) {
        const FlipExamples& e = given.examples;
        const std::size_t p = static_cast<std::size_t>(e.n_features), n = static_cast<std::size_t>(e.n_unknowns);
        require(lower.shape(0) == p && upper.shape(0) == p && signs.shape(0) == p && center.shape(0) == p &&
                    mean.shape(0) == p && state.shape(0) >= p,
                "bounds, signs, centre and points must have an entry for every feature");
        require(0 <= rule && rule <= static_cast<int>(StepRule::constant), "no such rule");
        std::size_t width = p;
        for (std::size_t j = 0; exponentiated && j < p; ++j) width += signs.data()[j] ? 1 : 0;
        require(state.shape(0) == width, "the state has the wrong size");
        require(prices.shape(0) == static_cast<std::size_t>(e.count) && prices.shape(1) == static_cast<std::size_t>(e.n_rows),
                "prices must be those of the rows");
        require(decided.shape(0) == static_cast<std::size_t>(e.count) && decided.shape(1) == n,
                "decisions have the wrong size");
        const std::size_t count = drawn.shape(0) * drawn.shape(1);
        for (std::size_t k = 0; k < count; ++k)
          require(0 <= drawn.data()[k] && drawn.data()[k] < e.count, "an example that does not exist was drawn");
        const MirrorRules rules{
            exponentiated, fixed_total, log_radius,     lower.data(), upper.data(), signs.data(), static_cast<StepRule>(rule),
            scale,         convexity,   linear_average, kappa,        squares,      center.data()};
        MirrorState at{{state.data(), state.data() + state.shape(0)}, {mean.data(), mean.data() + p}, mass, sum_squares, steps};
        std::vector<std::int8_t> flips(count * n);
        std::int64_t made = 0;
        {
          nb::gil_scoped_release free;
          made =
              walk(e, rules, at, drawn.data(), static_cast<std::int64_t>(drawn.shape(0)),
                   static_cast<std::int64_t>(drawn.shape(1)), max_nodes, complete, prices.data(), decided.data(), flips.data());
        }
        return nb::make_tuple(made, to_numpy(std::move(at.state)), to_numpy(std::move(at.mean)), at.mass, at.squares,
                              to_numpy(std::move(flips), n));
      },
      nb::arg("examples"), nb::arg("exponentiated"), nb::arg("fixed_total"), nb::arg("log_radius"), nb::arg("lower"),
      nb::arg("upper"), nb::arg("signs"), nb::arg("rule"), nb::arg("scale"), nb::arg("convexity"), nb::arg("linear_average"),
      nb::arg("kappa"), nb::arg("squares"), nb::arg("center"), nb::arg("state"), nb::arg("mean"), nb::arg("mass"),
      nb::arg("sum_squares"), nb::arg("steps"), nb::arg("drawn"), nb::arg("max_nodes"), nb::arg("complete"), nb::arg("prices"),
      nb::arg("decided"));
}

}  // namespace surefoot::bindings
