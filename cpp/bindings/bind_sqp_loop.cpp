#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <utility>

#include "arrays.hpp"
#include "surefoot/robust/sqp_loop.hpp"

namespace surefoot::bindings {
namespace {

using Pieces = std::tuple<Vector<std::int64_t>, Matrix<std::uint64_t>, Vector<std::uint8_t>, Vector<double>>;
using AnyNumbers = nb::ndarray<const double, nb::numpy, nb::c_contig, nb::device::cpu>;

KeptPieces taken(const Pieces& pieces) {
  const auto& [row, mask, flipped, share] = pieces;
  const std::size_t n = row.shape(0);
  require(mask.shape(0) == n && flipped.shape(0) == n && share.shape(0) == n,
          "remembered pieces need one mask, flip and share each");
  return {copied(row), {mask.data(), mask.data() + mask.size()}, copied(flipped), copied(share)};
}

nb::object told(const KeptPieces& pieces, std::size_t mask_words) {
  return nb::make_tuple(to_numpy(std::vector<std::int64_t>(pieces.row)),
                        to_numpy(std::vector<std::uint64_t>(pieces.mask), mask_words),
                        to_numpy(std::vector<std::uint8_t>(pieces.flipped)), to_numpy(std::vector<double>(pieces.share)));
}

nb::object told(const std::vector<double>& x) { return to_numpy(std::vector<double>(x)); }

// Rows that only Python knows how to reach: an object with the methods of robust/sqp/lifted_rows.py's RowSums.
class AskedSums final : public RowSums {
 public:
  AskedSums(nb::handle rows, std::size_t mask_words) : rows_(rows), mask_words_(mask_words) {}

  RowModel row_model(const std::vector<double>& x, const ModelReach& reach, const KeptPieces& kept) const override {
    nb::gil_scoped_acquire held;
    const nb::object answer =
        rows_.attr("row_model")(told(x), reach.tie_width, reach.precision, reach.far, told(kept, mask_words_));
    // Nobody else has seen it.
    RowModel model = std::move(nb::cast<RowModel&>(answer));
    require(model.gradient.size() == x.size() && model.curvature.size() == x.size() * x.size() &&
                model.tied.mask.size() == static_cast<std::size_t>(model.tied.n_pieces()) * mask_words_,
            "the row model must have the same coordinates");
    return model;
  }

  double value(const std::vector<double>& x) const override {
    nb::gil_scoped_acquire held;
    return nb::cast<double>(rows_.attr("value")(told(x)));
  }

  PlanSums plan_sums(const Plan& plan, const std::vector<double>& x, bool with_curvature) const override {
    nb::gil_scoped_acquire held;
    const nb::object answer = rows_.attr("plan_sums")(plan, told(x), with_curvature);
    const auto [conjugate, cost, gradient, curvature] =
        nb::cast<std::tuple<double, double, Vector<double>, AnyNumbers>>(answer);
    require(gradient.shape(0) == x.size() && (!with_curvature || curvature.size() == x.size() * x.size()),
            "the sums of a plan need one entry per lifted coordinate");
    PlanSums sums{conjugate, cost, copied(gradient), {}};
    if (with_curvature) sums.curvature.assign(curvature.data(), curvature.data() + curvature.size());
    return sums;
  }

  KeptPieces worst_pieces(const std::vector<double>& x, const std::vector<double>& before) const override {
    nb::gil_scoped_acquire held;
    const nb::object answer = rows_.attr("worst_pieces")(told(x), told(before));
    KeptPieces pieces = taken(nb::cast<Pieces>(answer));
    require(pieces.mask.size() == pieces.row.size() * mask_words_, "the pieces must have the same features");
    return pieces;
  }

 private:
  nb::handle rows_;
  std::size_t mask_words_;
};

// A descent together with what it refers to.
struct BoundDescent {
  nb::object space, rows;
  std::size_t mask_words;
  Descent descent;

  // Calls work(sums) without the interpreter's lock, which rows that Python must reach take back for themselves.
  template <class Work>
  auto with_sums(Work&& work) {
    const BoundTable* known = nb::isinstance<BoundTable>(rows) ? &nb::cast<const BoundTable&>(rows) : nullptr;
    nb::gil_scoped_release released;
    if (known) return work(TableSums(known->table, known->layout, descent.terms().n_threads));
    return work(AskedSums(rows, mask_words));
  }
};

// A step of a walk: the objective and the bound after it, whether the objective fell, and when it was done.
using WalkedStep = std::tuple<double, double, bool, double>;

}  // namespace

void bind_descent(nb::module_& module) {
  nb::class_<BoundDescent>(module, "Descent")
      .def(
          "__init__",
          [](BoundDescent* self, nb::object space, nb::object rows, Vector<double> x, double objective, double radius,
             double tolerance, double price_limit, double intercept_limit, double level_limit, bool near, bool proofs,
             std::int64_t n_rows, int n_threads) {
            const auto& known = nb::cast<const LiftedSpace&>(space);
            require_point(known.layout, x.shape(0));
            if (nb::isinstance<BoundTable>(rows))
              require(nb::cast<const BoundTable&>(rows).layout.size == known.layout.size,
                      "the rows must have the same coordinates");
            const DescentTerms terms{radius, tolerance, {price_limit, intercept_limit, level_limit}, near, proofs,
                                     n_rows, n_threads};
            const auto words = static_cast<std::size_t>(known.prices.mask_words());
            new (self) BoundDescent{std::move(space), std::move(rows), words, Descent(known, terms, copied(x), objective)};
          },
          nb::arg("space"), nb::arg("rows"), nb::arg("x"), nb::arg("objective"), nb::arg("radius"), nb::arg("tolerance"),
          nb::arg("price_limit"), nb::arg("intercept_limit"), nb::arg("level_limit"), nb::arg("near"), nb::arg("proofs"),
          nb::arg("n_rows"), nb::arg("n_threads"))
      .def("advance",
           [](BoundDescent& self) { return self.with_sums([&](const RowSums& rows) { return self.descent.advance(rows); }); })
      .def(
          "walk",
          [](BoundDescent& self, int most_steps, int failures, int patience, double seconds) {
            return self.with_sums([&](const RowSums& rows) {
              const auto started = std::chrono::steady_clock::now();
              std::vector<WalkedStep> steps;
              double elapsed = 0;
              do {
                const bool fell = self.descent.advance(rows);
                failures = fell ? 0 : failures + 1;
                elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
                steps.emplace_back(self.descent.objective, self.descent.lower_bound, fell, elapsed);
              } while (static_cast<int>(steps.size()) < most_steps && elapsed < seconds && failures < patience &&
                       !self.descent.optimal());
              return steps;
            });
          },
          nb::arg("most_steps"), nb::arg("failures"), nb::arg("patience"), nb::arg("seconds"))
      .def("prove_last",
           [](BoundDescent& self) { self.with_sums([&](const RowSums& rows) { self.descent.prove_last(rows); }); })
      .def(
          "remember",
          [](BoundDescent& self, const Plan& plan, std::optional<Vector<double>> missed) {
            if (nb::isinstance<BoundTable>(self.rows)) require_plan(nb::cast<const BoundTable&>(self.rows), plan);
            std::vector<double> end;
            if (missed) {
              require_point(nb::cast<const LiftedSpace&>(self.space).layout, missed->shape(0));
              end = copied(*missed);
            }
            self.with_sums([&](const RowSums& rows) { self.descent.remember(rows, plan, missed ? &end : nullptr); });
          },
          nb::arg("plan"), nb::arg("missed").none())
      .def_prop_rw(
          "x", [](const BoundDescent& self) { return told(self.descent.x); },
          [](BoundDescent& self, Vector<double> x) {
            require_point(nb::cast<const LiftedSpace&>(self.space).layout, x.shape(0));
            self.descent.x = copied(x);
          })
      .def_prop_rw(
          "remembered", [](const BoundDescent& self) { return told(self.descent.kept, self.mask_words); },
          [](BoundDescent& self, const Pieces& pieces) {
            KeptPieces kept = taken(pieces);
            if (nb::isinstance<BoundTable>(self.rows)) require_pieces(nb::cast<const BoundTable&>(self.rows), kept.view());
            self.descent.kept = std::move(kept);
          })
      .def_prop_rw(
          "objective", [](const BoundDescent& self) { return self.descent.objective; },
          [](BoundDescent& self, double value) { self.descent.objective = value; })
      .def_prop_rw(
          "tie_width", [](const BoundDescent& self) { return self.descent.tie_width; },
          [](BoundDescent& self, double value) { self.descent.tie_width = value; })
      .def_prop_rw(
          "damping", [](const BoundDescent& self) { return self.descent.damping; },
          [](BoundDescent& self, double value) { self.descent.damping = value; })
      .def_prop_rw(
          "expected", [](const BoundDescent& self) { return self.descent.expected; },
          [](BoundDescent& self, double value) { self.descent.expected = value; })
      .def_prop_ro("lower_bound", [](const BoundDescent& self) { return self.descent.lower_bound; })
      .def_prop_ro("proven", [](const BoundDescent& self) { return self.descent.bound.has_value(); })
      .def_prop_ro("optimal", [](const BoundDescent& self) { return self.descent.optimal(); })
      .def_prop_ro("reach",
                   [](const BoundDescent& self) {
                     const ModelReach reach = self.descent.reach();
                     return nb::make_tuple(reach.tie_width, reach.precision, reach.far);
                   })
      .def_prop_ro("proof", [](const BoundDescent& self) -> nb::object {
        const auto& bound = self.descent.bound;
        if (!bound) return nb::none();
        return nb::make_tuple(Plan(bound->plan), told(bound->lowest), told(bound->highest), told(bound->point), bound->value);
      });

  module.def(
      "worst_pieces",
      [](const BoundTable& rows, Vector<double> x, Vector<double> before, int n_threads) {
        rows.point(x);
        rows.point(before);
        const auto here = copied(x), there = copied(before);
        KeptPieces pieces;
        {
          nb::gil_scoped_release released;
          pieces = TableSums(rows.table, rows.layout, n_threads).worst_pieces(here, there);
        }
        return told(pieces, static_cast<std::size_t>(rows.table.mask_words()));
      },
      nb::arg("rows"), nb::arg("x"), nb::arg("before"), nb::arg("n_threads"));
}

}  // namespace surefoot::bindings
