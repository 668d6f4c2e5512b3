#include "arrays.hpp"
#include "packed.hpp"
#include "surefoot/robust/row_model.hpp"
#include "surefoot/robust/shift_plan.hpp"

namespace surefoot::bindings {
namespace {

// Calls `call` with every field, for packing and unpacking alike.
template <class Model, class Call>
void fields_of(Model& m, Call&& call) {
  auto& t = m.tied;
  call(m.value, m.gradient, m.curvature, m.point, t.row, t.weight, t.part_at, t.part_value, t.part_slot, t.shared_at,
       t.shared_slot, t.varied_at, t.varied_slot, t.piece_at, t.entry_at, t.varied, t.value, t.coef, t.mask, t.flipped,
       t.hinge_at, t.hinge_feature, t.hinge_value, t.hinge_level, t.hinge_envelope, t.hinge_price_coef, t.hinge_level_coef);
}

template <class P, class Call>
void plan_fields(P& p, Call&& call) {
  call(p.point, p.row, p.piece_at, p.mask, p.flipped, p.mass, p.cost);
}

// Pieces and hinges of the tied rows, written out for methods that need them as matrices.
struct PieceGradients {
  nb::object row, weight, value, gradient;
};

struct HingeGradients {
  nb::object piece, value, gradient;
};

struct WrittenPlan {
  nb::object row, moved, flipped, mass, slope;
};

}  // namespace

// A plan may come from elsewhere; what it points to must exist here.
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
  nb::class_<PieceGradients>(module, "PieceGradients")
      .def_ro("row", &PieceGradients::row)
      .def_ro("weight", &PieceGradients::weight)
      .def_ro("value", &PieceGradients::value)
      .def_ro("gradient", &PieceGradients::gradient);
  nb::class_<HingeGradients>(module, "HingeGradients")
      .def_ro("piece", &HingeGradients::piece)
      .def_ro("value", &HingeGradients::value)
      .def_ro("gradient", &HingeGradients::gradient);

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
             return PieceGradients{to_numpy(std::move(row)), to_numpy(std::move(weight)),
                                   to_numpy(std::vector<double>(self.tied.value)),
                                   to_numpy(piece_gradients(self), self.gradient.size())};
           })
      .def("hinges",
           [](const RowModel& self) {
             std::vector<std::int64_t> piece;
             for (std::int64_t k = 0; k < self.tied.n_pieces(); ++k)
               piece.insert(piece.end(), static_cast<std::size_t>(self.tied.hinge_at[k + 1] - self.tied.hinge_at[k]), k);
             return HingeGradients{to_numpy(std::move(piece)), to_numpy(std::vector<double>(self.tied.hinge_value)),
                                   to_numpy(hinge_gradients(self), self.gradient.size())};
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

  nb::class_<PlanSums>(module, "PlanSums")
      .def_ro("conjugate", &PlanSums::conjugate)
      .def_ro("cost", &PlanSums::cost)
      .def_prop_ro("gradient", [](const PlanSums& self) { return to_numpy(std::vector<double>(self.gradient)); })
      .def_prop_ro("curvature",
                   [](const PlanSums& self) { return to_numpy(std::vector<double>(self.curvature), self.gradient.size()); })
      .def(
          "add",
          [](PlanSums& self, const PlanSums& part) {
            require(self.gradient.size() == part.gradient.size() && self.curvature.size() == part.curvature.size(),
                    "the parts must have the same coordinates");
            self.conjugate += part.conjugate;
            self.cost += part.cost;
            for (std::size_t a = 0; a < self.gradient.size(); ++a) self.gradient[a] += part.gradient[a];
            for (std::size_t a = 0; a < self.curvature.size(); ++a) self.curvature[a] += part.curvature[a];
          },
          nb::arg("part"))
      .def("__getstate__",
           [](const PlanSums& self) {
             Packer packer;
             packer.all(self.conjugate, self.cost, self.gradient, self.curvature);
             return nb::bytes(packer.bytes.data(), packer.bytes.size());
           })
      .def("__setstate__", [](PlanSums& self, nb::bytes state) {
        new (&self) PlanSums();
        Unpacker(state.c_str(), state.size()).all(self.conjugate, self.cost, self.gradient, self.curvature);
      });

  nb::class_<WrittenPlan>(module, "WrittenPlan")
      .def_ro("row", &WrittenPlan::row)
      .def_ro("moved", &WrittenPlan::moved)
      .def_ro("flipped", &WrittenPlan::flipped)
      .def_ro("mass", &WrittenPlan::mass)
      .def_ro("slope", &WrittenPlan::slope);

  module.def(
      "build_row_model",
      [](const BoundTable& rows, Vector<double> x, const ModelRegion& region, const WorkingSet& working_set, int n_threads) {
        const double* point = rows.point(x);
        require_working_set(rows, working_set);
        nb::gil_scoped_release released;
        return build_row_model(rows.table, rows.layout, point, region, working_set, n_threads);
      },
      nb::arg("rows"), nb::arg("x"), nb::arg("region"), nb::arg("working_set"), nb::kw_only(), nb::arg("n_threads"));

  module.def(
      "sum_plan",
      [](const BoundTable& rows, const Plan& plan, Vector<double> x, bool with_curvature, int n_threads) {
        const double* point = rows.point(x);
        require_plan(rows, plan);
        nb::gil_scoped_release released;
        return sum_plan(rows.table, rows.layout, plan, point, with_curvature, n_threads);
      },
      nb::arg("rows"), nb::arg("plan"), nb::arg("x"), nb::kw_only(), nb::arg("with_curvature"), nb::arg("n_threads"));

  module.def(
      "write_plan",
      [](const BoundTable& rows, const Plan& plan, Vector<double> x) {
        const double* point = rows.point(x);
        require_plan(rows, plan);
        const auto n = static_cast<std::size_t>(rows.table.n_rows) - plan.row.size() + plan.mass.size();
        std::vector<std::int64_t> row(n);
        std::vector<std::uint8_t> moved(n * static_cast<std::size_t>(rows.table.n_moves())), flipped(n);
        std::vector<double> piece_mass(n), slope(n);
        {
          nb::gil_scoped_release released;
          write_plan(rows.table, rows.layout, plan, point, row.data(), moved.data(), flipped.data(), piece_mass.data(),
                     slope.data());
        }
        return WrittenPlan{to_numpy(std::move(row)), to_numpy(std::move(moved)), to_numpy(std::move(flipped)),
                           to_numpy(std::move(piece_mass)), to_numpy(std::move(slope))};
      },
      nb::arg("rows"), nb::arg("plan"), nb::arg("x"));
}

}  // namespace surefoot::bindings
