#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "arrays.hpp"
#include "surefoot/robust/sqp_loop.hpp"

namespace surefoot::bindings {
namespace {

nb::object as_array(const std::vector<double>& x) { return to_numpy(std::vector<double>(x)); }

// Rows that only Python knows how to reach: an object with the methods of robust/sqp/row_sums.py's RowSums. Each answer is made
// for one request and seen by nobody else, so it is moved out of its object.
class PythonRows final : public RowSums {
 public:
  PythonRows(nb::handle rows, std::size_t mask_words) : rows_(rows), mask_words_(mask_words) {}

  RowModel row_model(const std::vector<double>& x, const ModelRegion& region, const WorkingSet& working_set) const override {
    nb::gil_scoped_acquire held;
    const nb::object answer = rows_.attr("row_model")(as_array(x), region, working_set);
    RowModel model = std::move(nb::cast<RowModel&>(answer));
    require(model.gradient.size() == x.size() && model.curvature.size() == x.size() * x.size() &&
                model.tied.mask.size() == static_cast<std::size_t>(model.tied.n_pieces()) * mask_words_,
            "the row model must have the same coordinates");
    return model;
  }

  double value(const std::vector<double>& x) const override {
    nb::gil_scoped_acquire held;
    return nb::cast<double>(rows_.attr("value")(as_array(x)));
  }

  PlanSums plan_sums(const Plan& plan, const std::vector<double>& x, bool with_curvature) const override {
    nb::gil_scoped_acquire held;
    const nb::object answer = rows_.attr("plan_sums")(plan, as_array(x), with_curvature);
    PlanSums sums = std::move(nb::cast<PlanSums&>(answer));
    require(sums.gradient.size() == x.size() && (!with_curvature || sums.curvature.size() == x.size() * x.size()),
            "the sums of a plan need one entry per lifted coordinate");
    return sums;
  }

  WorkingSet worst_pieces(const std::vector<double>& x, const std::vector<double>& before) const override {
    nb::gil_scoped_acquire held;
    const nb::object answer = rows_.attr("worst_pieces")(as_array(x), as_array(before));
    WorkingSet pieces = std::move(nb::cast<WorkingSet&>(answer));
    const std::size_t n = pieces.row.size();
    require(pieces.mask.size() == n * mask_words_ && pieces.flipped.size() == n && pieces.fraction.size() == n,
            "the pieces must have the same features");
    return pieces;
  }

 private:
  nb::handle rows_;
  std::size_t mask_words_;
};

// A loop together with what it refers to.
struct BoundLoop {
  nb::object space, rows;
  std::size_t mask_words;
  SqpLoop loop;

  // Sets when a step, or a bound, is to end early.
  void set_deadline(double seconds_left) {
    // A year is longer than any clock needs, and does not overflow it.
    const std::chrono::duration<double> left(std::clamp(seconds_left, 0.0, 3e7));
    loop.deadline = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(left);
  }

  // Calls work(sums) without the interpreter's lock, which rows that Python must reach take back for themselves.
  template <class Work>
  auto with_sums(Work&& work) {
    const BoundTable* known = nb::isinstance<BoundTable>(rows) ? &nb::cast<const BoundTable&>(rows) : nullptr;
    nb::gil_scoped_release released;
    if (known) return work(TableSums(known->table, known->layout, loop.options().n_threads));
    return work(PythonRows(rows, mask_words));
  }
};

// One iteration of several: the objective and the bound after it, whether the objective fell, and when it was done.
struct Iteration {
  double objective, lower_bound;
  bool decreased;
  double seconds;
};

}  // namespace

void bind_sqp_loop(nb::module_& module) {
  nb::class_<Iteration>(module, "SqpIteration")
      .def_ro("objective", &Iteration::objective)
      .def_ro("lower_bound", &Iteration::lower_bound)
      .def_ro("decreased", &Iteration::decreased)
      .def_ro("seconds", &Iteration::seconds);

  nb::class_<DualBound>(module, "DualBound")
      .def_prop_ro("plan", [](const DualBound& self) { return Plan(self.plan); })
      .def_prop_ro("lowest", [](const DualBound& self) { return as_array(self.lowest); })
      .def_prop_ro("highest", [](const DualBound& self) { return as_array(self.highest); })
      .def_prop_ro("point", [](const DualBound& self) { return as_array(self.point); })
      .def_ro("value", &DualBound::value);

  nb::class_<BoundLoop>(module, "SqpLoop")
      .def(
          "__init__",
          [](BoundLoop* self, nb::object space, nb::object rows, Vector<double> x, double objective, double radius,
             double tolerance, double price_limit, double intercept_limit, double level_limit, bool warm_start,
             bool dual_bounds, std::int64_t n_rows, int n_threads, const SqpParameters& parameters) {
            const auto& known = nb::cast<const LiftedSpace&>(space);
            require_point(known.layout, x.shape(0));
            if (nb::isinstance<BoundTable>(rows))
              require(nb::cast<const BoundTable&>(rows).layout.size == known.layout.size,
                      "the rows must have the same coordinates");
            const SqpOptions options{radius,     tolerance,   {price_limit, intercept_limit, level_limit},
                                     warm_start, dual_bounds, n_rows,
                                     n_threads,  parameters};
            const auto words = static_cast<std::size_t>(known.prices.mask_words());
            new (self) BoundLoop{std::move(space), std::move(rows), words, SqpLoop(known, options, copied(x), objective)};
          },
          nb::arg("space"), nb::arg("rows"), nb::arg("x"), nb::kw_only(), nb::arg("objective"), nb::arg("radius"),
          nb::arg("tolerance"), nb::arg("price_limit"), nb::arg("intercept_limit"), nb::arg("level_limit"),
          nb::arg("warm_start"), nb::arg("dual_bounds"), nb::arg("n_rows"), nb::arg("n_threads"), nb::arg("parameters"))
      .def(
          "advance",
          [](BoundLoop& self, double seconds_left) {
            self.set_deadline(seconds_left);
            return self.with_sums([&](const RowSums& rows) { return self.loop.advance(rows); });
          },
          nb::kw_only(), nb::arg("seconds_left") = std::numeric_limits<double>::infinity())
      .def(
          "iterate",
          [](BoundLoop& self, int max_iterations, int failures, int max_failures, double seconds, double seconds_left) {
            self.set_deadline(seconds_left);
            return self.with_sums([&](const RowSums& rows) {
              const auto started = std::chrono::steady_clock::now();
              std::vector<Iteration> done;
              double elapsed = 0;
              do {
                const bool decreased = self.loop.advance(rows);
                failures = decreased ? 0 : failures + 1;
                elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
                done.push_back({self.loop.objective, self.loop.lower_bound, decreased, elapsed});
              } while (static_cast<int>(done.size()) < max_iterations && elapsed < seconds && failures < max_failures &&
                       !self.loop.optimal());
              return done;
            });
          },
          nb::kw_only(), nb::arg("max_iterations"), nb::arg("failures"), nb::arg("max_failures"), nb::arg("seconds"),
          nb::arg("seconds_left") = std::numeric_limits<double>::infinity())
      .def(
          "bound_last_step",
          [](BoundLoop& self, double seconds_left) {
            self.set_deadline(seconds_left);
            self.with_sums([&](const RowSums& rows) { self.loop.bound_last_step(rows); });
          },
          nb::kw_only(), nb::arg("seconds_left") = std::numeric_limits<double>::infinity())
      .def(
          "update_working_set",
          [](BoundLoop& self, const Plan& plan, std::optional<Vector<double>> failed) {
            if (nb::isinstance<BoundTable>(self.rows)) require_plan(nb::cast<const BoundTable&>(self.rows), plan);
            std::vector<double> end;
            if (failed) {
              require_point(nb::cast<const LiftedSpace&>(self.space).layout, failed->shape(0));
              end = copied(*failed);
            }
            self.with_sums([&](const RowSums& rows) { self.loop.update_working_set(rows, plan, failed ? &end : nullptr); });
          },
          nb::arg("plan"), nb::arg("failed").none())
      .def_prop_rw(
          "x", [](const BoundLoop& self) { return as_array(self.loop.x); },
          [](BoundLoop& self, Vector<double> x) {
            require_point(nb::cast<const LiftedSpace&>(self.space).layout, x.shape(0));
            self.loop.x = copied(x);
          })
      .def_prop_rw(
          "working_set", [](const BoundLoop& self) { return WorkingSet(self.loop.working_set); },
          [](BoundLoop& self, const WorkingSet& pieces) {
            if (nb::isinstance<BoundTable>(self.rows)) require_working_set(nb::cast<const BoundTable&>(self.rows), pieces);
            self.loop.working_set = pieces;
          })
      .def_prop_rw(
          "objective", [](const BoundLoop& self) { return self.loop.objective; },
          [](BoundLoop& self, double value) { self.loop.objective = value; })
      .def_prop_rw(
          "active_width", [](const BoundLoop& self) { return self.loop.active_width; },
          [](BoundLoop& self, double value) { self.loop.active_width = value; })
      .def_prop_rw(
          "regularisation", [](const BoundLoop& self) { return self.loop.regularisation; },
          [](BoundLoop& self, double value) { self.loop.regularisation = value; })
      .def_prop_rw(
          "predicted_decrease", [](const BoundLoop& self) { return self.loop.predicted_decrease; },
          [](BoundLoop& self, double value) { self.loop.predicted_decrease = value; })
      .def_prop_ro("lower_bound", [](const BoundLoop& self) { return self.loop.lower_bound; })
      .def_prop_ro("has_bound", [](const BoundLoop& self) { return self.loop.bound.has_value(); })
      .def_prop_ro("optimal", [](const BoundLoop& self) { return self.loop.optimal(); })
      .def_prop_ro("region", [](const BoundLoop& self) { return self.loop.region(); })
      .def_prop_ro("dual_bound", [](const BoundLoop& self) { return self.loop.bound; });

  module.def(
      "worst_pieces",
      [](const BoundTable& rows, Vector<double> x, Vector<double> before, int n_threads) {
        rows.point(x);
        rows.point(before);
        const auto here = copied(x), there = copied(before);
        nb::gil_scoped_release released;
        return TableSums(rows.table, rows.layout, n_threads).worst_pieces(here, there);
      },
      nb::arg("rows"), nb::arg("x"), nb::arg("before"), nb::kw_only(), nb::arg("n_threads"));
}

}  // namespace surefoot::bindings
