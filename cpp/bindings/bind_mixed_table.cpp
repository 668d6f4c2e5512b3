#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include <cmath>
#include <memory>

#include "arrays.hpp"
#include "surefoot/robust/worst_case.hpp"

namespace surefoot::bindings {
namespace {

using Columns = std::variant<Matrix<double>, std::tuple<Vector<std::int64_t>, Vector<std::int32_t>, Vector<double>, int>>;

// Numeric columns: a matrix, or (start of each row's entries and the end, columns, values, number of columns) of a sparse one.
void take_numeric(const Matrix<double>& numeric, MixedTable& table) {
  require(static_cast<std::int64_t>(numeric.shape(0)) == table.n_rows,
          "numeric, codes, labels and weights must have the same number of rows");
  table.n_numeric = static_cast<int>(numeric.shape(1));
  table.numeric = numeric.data();
}

void take_numeric(const std::tuple<Vector<std::int64_t>, Vector<std::int32_t>, Vector<double>, int>& sparse,
                  MixedTable& table) {
  const auto& [entry_at, column, value, n_columns] = sparse;
  require(static_cast<std::int64_t>(entry_at.shape(0)) == table.n_rows + 1,
          "numeric, codes, labels and weights must have the same number of rows");
  require(column.shape(0) == value.shape(0) && n_columns >= 0, "a sparse table needs one column for every value");
  table.n_numeric = n_columns;
  table.numeric = value.data();
  table.entry_at = entry_at.data();
  table.column = column.data();
  // A column out of range would read outside the coefficient vector.
  require(table.entry_at[0] == 0 && table.entry_at[table.n_rows] == static_cast<std::int64_t>(value.shape(0)),
          "the rows of a sparse table must cover its entries");
  for (std::int64_t row = 0; row < table.n_rows; ++row) {
    require(table.entry_at[row] <= table.entry_at[row + 1], "the rows of a sparse table must come one after the other");
    for (auto e = table.entry_at[row]; e < table.entry_at[row + 1]; ++e)
      require(table.column[e] >= 0 && table.column[e] < n_columns &&
                  (e == table.entry_at[row] || table.column[e - 1] < table.column[e]),
              "the columns of a sparse row must be ascending and in range");
  }
}

// What the adversary does to all rows together, and to each of them.
struct WorstCaseSum {
  double loss, cost;
};

struct WorstCaseRows {
  nb::object loss, moved, flipped, cost;
};

MixedTable make_table(const Columns& numeric, const Matrix<std::int32_t>& codes, const Vector<double>& labels,
                      const Vector<double>& weights, const Vector<std::int32_t>& n_levels, const Vector<double>& move_price,
                      double flip_price, const std::optional<Matrix<double>>& ranges) {
  MixedTable table;
  table.n_rows = static_cast<std::int64_t>(labels.shape(0));
  table.n_categorical = static_cast<int>(codes.shape(1));
  require(codes.shape(0) == labels.shape(0) && weights.shape(0) == labels.shape(0),
          "numeric, codes, labels and weights must have the same number of rows");
  require(n_levels.shape(0) == codes.shape(1) && move_price.shape(0) == codes.shape(1),
          "n_levels and move_price need one entry per categorical column");
  std::visit([&](const auto& columns) { take_numeric(columns, table); }, numeric);
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
  if (ranges && ranges->shape(0) > 0) {
    require(ranges->shape(1) == 4, "a range has a column, two ends and a price");
    require(!table.entry_at, "the columns of a sparse table have no ranges");
    for (std::size_t r = 0; r < ranges->shape(0); ++r) {
      const double* line = ranges->data() + 4 * r;
      require(line[0] >= 0 && line[0] < table.n_numeric && line[0] == std::floor(line[0]), "ranged column out of range");
      require(std::isfinite(line[1]) && std::isfinite(line[2]) && line[1] < line[2] && line[3] > 0 && std::isfinite(line[3]),
              "a range has two finite ends and a finite price");
      table.ranges.push_back({static_cast<int>(line[0]), line[1], line[2], line[3]});
    }
  }
  return table;
}

}  // namespace

void bind_mixed_table(nb::module_& module) {
  nb::class_<WorstCaseSum>(module, "WorstCaseSum").def_ro("loss", &WorstCaseSum::loss).def_ro("cost", &WorstCaseSum::cost);
  nb::class_<WorstCaseRows>(module, "WorstCaseRows")
      .def_ro("loss", &WorstCaseRows::loss)
      .def_ro("moved", &WorstCaseRows::moved)
      .def_ro("flipped", &WorstCaseRows::flipped)
      .def_ro("cost", &WorstCaseRows::cost);
  nb::class_<BoundTable>(module, "RobustRows")
      .def(
          "__init__",
          [](BoundTable* self, const Columns& numeric, Matrix<std::int32_t> codes, Vector<double> labels,
             Vector<double> weights, Vector<std::int32_t> n_levels, Vector<double> move_price, double flip_price,
             bool fit_intercept, int n_extra, std::optional<Matrix<double>> ranges) {
            auto table = make_table(numeric, codes, labels, weights, n_levels, move_price, flip_price, ranges);
            require(n_extra >= 0, "n_extra must not be negative");
            LiftedLayout layout(table, fit_intercept, n_extra);
            std::vector<nb::object> owners{nb::cast(codes), nb::cast(labels), nb::cast(weights)};
            if (const auto* dense = std::get_if<0>(&numeric)) {
              owners.push_back(nb::cast(*dense));
            } else {
              const auto& sparse = std::get<1>(numeric);
              for (const auto& part :
                   {nb::cast(std::get<0>(sparse)), nb::cast(std::get<1>(sparse)), nb::cast(std::get<2>(sparse))})
                owners.push_back(part);
            }
            new (self) BoundTable{std::move(table), std::move(layout), std::move(owners)};
          },
          nb::kw_only(), nb::arg("numeric"), nb::arg("codes"), nb::arg("labels"), nb::arg("weights"), nb::arg("n_levels"),
          nb::arg("move_price"), nb::arg("flip_price"), nb::arg("fit_intercept"), nb::arg("n_extra") = 0,
          nb::arg("ranges") = nb::none())
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
            return WorstCaseSum{value, cost};
          },
          nb::arg("x"), nb::arg("n_threads"))
      .def(
          "worst_case_rows",
          [](const BoundTable& self, Vector<double> x, int n_threads) {
            const double* point = self.point(x);
            const auto n = static_cast<std::size_t>(self.table.n_rows);
            std::vector<double> value(n), cost(n);
            std::vector<std::uint8_t> moved(n * static_cast<std::size_t>(self.table.n_moves())), flipped(n);
            {
              nb::gil_scoped_release released;
              worst_case_rows(self.table, self.layout, point, n_threads, value.data(), moved.data(), flipped.data(),
                              cost.data());
            }
            return WorstCaseRows{to_numpy(std::move(value)), to_numpy(std::move(moved)), to_numpy(std::move(flipped)),
                                 to_numpy(std::move(cost))};
          },
          nb::arg("x"), nb::arg("n_threads"));
}

}  // namespace surefoot::bindings
