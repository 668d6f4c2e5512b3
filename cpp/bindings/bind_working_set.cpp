#include <nanobind/stl/tuple.h>

#include <tuple>

#include "arrays.hpp"
#include "packed.hpp"
#include "surefoot/robust/row_model.hpp"

namespace surefoot::bindings {
namespace {

template <class Set, class Call>
void fields_of(Set& set, Call&& call) {
  call(set.row, set.mask, set.flipped, set.fraction);
}

}  // namespace

// A working set may come from elsewhere; what it points to must exist here.
void require_working_set(const BoundTable& rows, const WorkingSet& pieces) {
  const std::size_t n = pieces.row.size();
  require(pieces.mask.size() == n * static_cast<std::size_t>(rows.table.mask_words()) && pieces.flipped.size() == n &&
              pieces.fraction.size() == n,
          "pieces of a working set need one mask, flip and fraction each");
  for (std::size_t k = 0; k < n; ++k)
    require(pieces.row[k] >= 0 && pieces.row[k] < rows.table.n_rows && (k == 0 || pieces.row[k - 1] <= pieces.row[k]),
            "pieces of a working set must be sorted by row");
}

void bind_working_set(nb::module_& module) {
  nb::class_<WorkingSet>(module, "WorkingSet")
      .def(nb::init<>())
      .def(
          "__init__",
          [](WorkingSet* self, Vector<std::int64_t> row, Matrix<std::uint64_t> mask, Vector<std::uint8_t> flipped,
             Vector<double> fraction) {
            const std::size_t n = row.shape(0);
            require(mask.shape(0) == n && flipped.shape(0) == n && fraction.shape(0) == n,
                    "pieces of a working set need one mask, flip and fraction each");
            new (self) WorkingSet{copied(row), {mask.data(), mask.data() + mask.size()}, copied(flipped), copied(fraction)};
          },
          nb::arg("row"), nb::arg("mask"), nb::arg("flipped"), nb::arg("fraction"))
      .def("__len__", [](const WorkingSet& self) { return self.row.size(); })
      .def_prop_ro("row", [](const WorkingSet& self) { return to_numpy(std::vector<std::int64_t>(self.row)); })
      .def_prop_ro("mask",
                   [](const WorkingSet& self) {
                     return to_numpy(std::vector<std::uint64_t>(self.mask),
                                     self.row.empty() ? 1 : self.mask.size() / self.row.size());
                   })
      .def_prop_ro("flipped", [](const WorkingSet& self) { return to_numpy(std::vector<std::uint8_t>(self.flipped)); })
      .def_prop_ro("fraction", [](const WorkingSet& self) { return to_numpy(std::vector<double>(self.fraction)); })
      .def("joined", &WorkingSet::joined, nb::arg("other"))
      .def("of_rows", &WorkingSet::of_rows, nb::arg("begin"), nb::arg("end"))
      .def("shifted", &WorkingSet::shifted, nb::arg("first_row"))
      .def("__getstate__",
           [](const WorkingSet& self) {
             Packer packer;
             fields_of(self, [&](const auto&... fields) { packer.all(fields...); });
             return nb::bytes(packer.bytes.data(), packer.bytes.size());
           })
      .def("__setstate__", [](WorkingSet& self, nb::bytes state) {
        new (&self) WorkingSet();
        fields_of(self, [&](auto&... fields) { Unpacker(state.c_str(), state.size()).all(fields...); });
      });

  nb::class_<ModelRegion>(module, "ModelRegion")
      .def(
          "__init__",
          [](ModelRegion* self, double active_width, double precision, double cut_radius) {
            new (self) ModelRegion{active_width, precision, cut_radius};
          },
          nb::arg("active_width") = 0.0, nb::arg("precision") = 0.0, nb::arg("cut_radius") = 0.0)
      .def_ro("active_width", &ModelRegion::active_width)
      .def_ro("precision", &ModelRegion::precision)
      .def_ro("cut_radius", &ModelRegion::cut_radius)
      .def("__getstate__",
           [](const ModelRegion& self) { return std::tuple(self.active_width, self.precision, self.cut_radius); })
      .def("__setstate__", [](ModelRegion& self, const std::tuple<double, double, double>& state) {
        new (&self) ModelRegion{std::get<0>(state), std::get<1>(state), std::get<2>(state)};
      });
}

}  // namespace surefoot::bindings
