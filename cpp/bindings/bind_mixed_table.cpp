#include <nanobind/stl/string.h>

#include <cmath>
#include <memory>

#include "arrays.hpp"
#include "surefoot/worst_case.hpp"

namespace surefoot::bindings {
namespace {

MixedTable make_table(const Matrix<double>& numeric, const Matrix<std::int32_t>& codes, const Vector<double>& labels,
                      const Vector<double>& weights, const Vector<std::int32_t>& n_levels, const Vector<double>& move_price,
                      double flip_price) {
  MixedTable table;
  table.n_rows = static_cast<std::int64_t>(labels.shape(0));
  table.n_numeric = static_cast<int>(numeric.shape(1));
  table.n_categorical = static_cast<int>(codes.shape(1));
  require(numeric.shape(0) == labels.shape(0) && codes.shape(0) == labels.shape(0) && weights.shape(0) == labels.shape(0),
          "numeric, codes, labels and weights must have the same number of rows");
  require(n_levels.shape(0) == codes.shape(1) && move_price.shape(0) == codes.shape(1),
          "n_levels and move_price need one entry per categorical column");
  table.numeric = numeric.data();
  table.codes = codes.data();
  table.labels = labels.data();
  table.weights = weights.data();
  table.flip_price = flip_price;
  table.move_price.assign(move_price.data(), move_price.data() + move_price.shape(0));
  table.level_offset.assign(1, 0);
  for (std::size_t l = 0; l < n_levels.shape(0); ++l) {
    require(n_levels.data()[l] > 0, "every categorical column needs a level");
    table.level_offset.push_back(table.level_offset.back() + n_levels.data()[l]);
  }
  // A code out of range would read outside the coefficient vector: the one check the core cannot do without.
  const std::int32_t* code = codes.data();
  for (std::int64_t row = 0; row < table.n_rows; ++row)
    for (int l = 0; l < table.n_categorical; ++l, ++code)
      if (*code < 0 || *code >= n_levels.data()[l])
        throw std::invalid_argument("row " + std::to_string(row) + ", categorical column " + std::to_string(l) + ": code " +
                                    std::to_string(*code) + " is not a level");
  return table;
}

}  // namespace

void bind_mixed_table(nb::module_& module) {
  nb::class_<BoundTable>(module, "RobustRows")
      .def(
          "__init__",
          [](BoundTable* self, Matrix<double> numeric, Matrix<std::int32_t> codes, Vector<double> labels,
             Vector<double> weights, Vector<std::int32_t> n_levels, Vector<double> move_price, double flip_price,
             bool fit_intercept) {
            auto table = make_table(numeric, codes, labels, weights, n_levels, move_price, flip_price);
            LiftedLayout layout(table, fit_intercept);
            new (self) BoundTable{std::move(table), std::move(layout), std::move(numeric),
                                  std::move(codes), std::move(labels), std::move(weights)};
          },
          nb::arg("numeric"), nb::arg("codes"), nb::arg("labels"), nb::arg("weights"), nb::arg("n_levels"),
          nb::arg("move_price"), nb::arg("flip_price"), nb::arg("fit_intercept"))
      .def_prop_ro("size", [](const BoundTable& self) { return self.layout.size; })
      .def_prop_ro("mask_words", [](const BoundTable& self) { return self.table.mask_words(); })
      .def_prop_ro("first_numeric", [](const BoundTable& self) { return self.layout.first_numeric; })
      .def_prop_ro("price_slot", [](const BoundTable& self) { return self.layout.price; })
      .def_prop_ro("level_slots", [](const BoundTable& self) { return to_numpy(std::vector<std::int32_t>(self.layout.level)); })
      .def_prop_ro("low_slots", [](const BoundTable& self) { return to_numpy(std::vector<std::int32_t>(self.layout.low)); })
      .def_prop_ro("high_slots", [](const BoundTable& self) { return to_numpy(std::vector<std::int32_t>(self.layout.high)); })
      .def(
          "worst_case_sum",
          [](const BoundTable& self, Vector<double> x, int n_threads) {
            const double* point = self.point(x);
            double value = 0, cost = 0;
            {
              nb::gil_scoped_release released;
              value = worst_case_sum(self.table, self.layout, point, n_threads, &cost);
            }
            return nb::make_tuple(value, cost);
          },
          nb::arg("x"), nb::arg("n_threads"))
      .def(
          "worst_case_rows",
          [](const BoundTable& self, Vector<double> x, int n_threads) {
            const double* point = self.point(x);
            const auto n = static_cast<std::size_t>(self.table.n_rows);
            std::vector<double> value(n), cost(n);
            std::vector<std::uint8_t> moved(n * static_cast<std::size_t>(self.table.n_categorical)), flipped(n);
            {
              nb::gil_scoped_release released;
              worst_case_rows(self.table, self.layout, point, n_threads, value.data(), moved.data(), flipped.data(),
                              cost.data());
            }
            return nb::make_tuple(to_numpy(std::move(value)), to_numpy(std::move(moved)), to_numpy(std::move(flipped)),
                                  to_numpy(std::move(cost)));
          },
          nb::arg("x"), nb::arg("n_threads"));
}

}  // namespace surefoot::bindings
