#include "arrays.hpp"
#include "packed.hpp"
#include "surefoot/robust/row_model.hpp"
#include "surefoot/robust/shift_plan.hpp"

namespace surefoot::bindings {
namespace {

// Calls visit with every field, for packing and unpacking alike.
template <class Model, class Visit>
void fields_of(Model& m, Visit&& visit) {
  auto& t = m.tied;
  visit(m.value, m.gradient, m.curvature, m.point, t.row, t.weight, t.part_at, t.part_value, t.part_slot, t.shared_at,
        t.shared_slot, t.varied_at, t.varied_slot, t.piece_at, t.entry_at, t.varied, t.value, t.coef, t.mask, t.flipped,
        t.hinge_at, t.hinge_feature, t.hinge_value, t.hinge_level, t.hinge_envelope, t.hinge_price_coef, t.hinge_level_coef);
}

template <class P, class Visit>
void plan_fields(P& p, Visit&& visit) {
  visit(p.point, p.row, p.piece_at, p.mask, p.flipped, p.mass, p.cost);
}

}  // namespace

// Pieces that a model must contain may come from elsewhere; what they point to must exist here.
void require_pieces(const BoundTable& rows, const RememberedPieces& pieces) {
  const std::size_t n = pieces.row.size();
  require(pieces.mask.size() == n * static_cast<std::size_t>(rows.table.mask_words()) && pieces.flipped.size() == n &&
              pieces.share.size() == n,
          "remembered pieces need one mask, flip and share each");
  for (std::size_t k = 0; k < n; ++k)
    require(pieces.row[k] >= 0 && pieces.row[k] < rows.table.n_rows && (k == 0 || pieces.row[k - 1] <= pieces.row[k]),
            "remembered pieces must be sorted by row");
}

// So may a plan.
void require_plan(const BoundTable& rows, const Plan& plan) {
  const std::size_t n = plan.mass.size();
  bool sound = plan.point.size() == static_cast<std::size_t>(rows.layout.size) + 1 &&
               plan.piece_at.size() == plan.row.size() + 1 && plan.piece_at.front() == 0 &&
               plan.piece_at.back() == static_cast<std::int64_t>(n) && plan.flipped.size() == n && plan.cost.size() == n &&
               plan.mask.size() == n * static_cast<std::size_t>(rows.table.mask_words());
  for (std::size_t i = 0; sound && i < plan.row.size(); ++i)
    sound = plan.row[i] >= 0 && plan.row[i] < rows.table.n_rows && (i == 0 || plan.row[i - 1] < plan.row[i]) &&
            plan.piece_at[i] <= plan.piece_at[i + 1];
  require(sound, "the plan does not belong to these rows");
}

void bind_row_model(nb::module_& module) {
  nb::class_<RowModel>(module, "RowModel")
      .def_prop_ro("gradient", [](const RowModel& self) { return to_numpy(std::vector<double>(self.gradient)); })
      .def_prop_ro("curvature",
                   [](const RowModel& self) { return to_numpy(std::vector<double>(self.curvature), self.gradient.size()); })
      .def_prop_ro("n_pieces", [](const RowModel& self) { return self.tied.n_pieces(); })
      .def_prop_ro("n_hinges", [](const RowModel& self) { return self.tied.n_hinges(); })
      .def("pieces",
           [](const RowModel& self) {
             std::vector<std::int64_t> row;
             std::vector<double> weight;
             for (std::int64_t i = 0; i < self.tied.size(); ++i) {
               const auto count = static_cast<std::size_t>(self.tied.piece_at[i + 1] - self.tied.piece_at[i]);
               row.insert(row.end(), count, i);
               weight.insert(weight.end(), count, self.tied.weight[i]);
             }
             return nb::make_tuple(to_numpy(std::move(row)), to_numpy(std::move(weight)),
                                   to_numpy(std::vector<double>(self.tied.value)),
                                   to_numpy(piece_gradients(self), self.gradient.size()));
           })
      .def("hinges",
           [](const RowModel& self) {
             std::vector<std::int64_t> piece;
             for (std::int64_t k = 0; k < self.tied.n_pieces(); ++k)
               piece.insert(piece.end(), static_cast<std::size_t>(self.tied.hinge_at[k + 1] - self.tied.hinge_at[k]), k);
             return nb::make_tuple(to_numpy(std::move(piece)), to_numpy(std::vector<double>(self.tied.hinge_value)),
                                   to_numpy(hinge_gradients(self), self.gradient.size()));
           })
      .def(
          "append",
          [](RowModel& self, const RowModel& part, std::int64_t first_row) {
            require(self.gradient.size() == part.gradient.size(), "the parts must have the same coordinates");
            require(&self != &part, "a model cannot be appended to itself");
            append_row_model(self, part, first_row);
          },
          nb::arg("part"), nb::arg("first_row"))
      .def("__getstate__",
           [](const RowModel& self) {
             Packer packer;
             fields_of(self, [&](const auto&... fields) { packer.all(fields...); });
             return nb::bytes(packer.bytes.data(), packer.bytes.size());
           })
      .def("__setstate__", [](RowModel& self, nb::bytes state) {
        new (&self) RowModel();
        fields_of(self, [&](auto&... fields) { Unpacker(state.c_str(), state.size()).all(fields...); });
      });

  nb::class_<Plan>(module, "Plan")
      .def("of_rows", &Plan::of_rows, nb::arg("begin"), nb::arg("end"), nb::arg("mask_words"))
      .def("__getstate__",
           [](const Plan& self) {
             Packer packer;
             plan_fields(self, [&](const auto&... fields) { packer.all(fields...); });
             return nb::bytes(packer.bytes.data(), packer.bytes.size());
           })
      .def("__setstate__", [](Plan& self, nb::bytes state) {
        new (&self) Plan();
        plan_fields(self, [&](auto&... fields) { Unpacker(state.c_str(), state.size()).all(fields...); });
      });

  module.def(
      "build_row_model",
      [](const BoundTable& rows, Vector<double> x, double tie_width, double precision, double far, Vector<std::int64_t> row,
         Matrix<std::uint64_t> mask, Vector<std::uint8_t> flipped, Vector<double> share, int n_threads) {
        const double* point = rows.point(x);
        const RememberedPieces remembered{{row.data(), row.shape(0)},
                                          {mask.data(), mask.size()},
                                          {flipped.data(), flipped.shape(0)},
                                          {share.data(), share.shape(0)}};
        require_pieces(rows, remembered);
        nb::gil_scoped_release released;
        return build_row_model(rows.table, rows.layout, point, {tie_width, precision, far}, remembered, n_threads);
      },
      nb::arg("rows"), nb::arg("x"), nb::arg("tie_width"), nb::arg("precision"), nb::arg("far"), nb::arg("row"),
      nb::arg("mask"), nb::arg("flipped"), nb::arg("share"), nb::arg("n_threads"));

  module.def(
      "sum_plan",
      [](const BoundTable& rows, const Plan& plan, Vector<double> x, bool with_curvature, int n_threads) {
        const double* point = rows.point(x);
        require_plan(rows, plan);
        PlanSums sums;
        {
          nb::gil_scoped_release released;
          sums = sum_plan(rows.table, rows.layout, plan, point, with_curvature, n_threads);
        }
        const std::size_t length = sums.gradient.size();
        return nb::make_tuple(sums.conjugate, sums.cost, to_numpy(std::move(sums.gradient)),
                              to_numpy(std::move(sums.curvature), length));
      },
      nb::arg("rows"), nb::arg("plan"), nb::arg("x"), nb::arg("with_curvature"), nb::arg("n_threads"));

  module.def(
      "write_plan",
      [](const BoundTable& rows, const Plan& plan, Vector<double> x) {
        const double* point = rows.point(x);
        require_plan(rows, plan);
        const auto n = static_cast<std::size_t>(rows.table.n_rows) - plan.row.size() + plan.mass.size();
        std::vector<std::int64_t> row(n);
        std::vector<std::uint8_t> moved(n * static_cast<std::size_t>(rows.table.n_categorical)), flipped(n);
        std::vector<double> piece_mass(n), slope(n);
        {
          nb::gil_scoped_release released;
          write_plan(rows.table, rows.layout, plan, point, row.data(), moved.data(), flipped.data(), piece_mass.data(),
                     slope.data());
        }
        return nb::make_tuple(to_numpy(std::move(row)), to_numpy(std::move(moved)), to_numpy(std::move(flipped)),
                              to_numpy(std::move(piece_mass)), to_numpy(std::move(slope)));
      },
      nb::arg("rows"), nb::arg("plan"), nb::arg("x"));
}

}  // namespace surefoot::bindings
