#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "surefoot/robust/lifted_space.hpp"

namespace surefoot::bindings {
namespace {

NumericNorm norm_named(const std::string& name) {
  require(name == "l1" || name == "l2" || name == "linf", "the norm must be l1, l2 or linf");
  return name == "l1" ? NumericNorm::l1 : name == "l2" ? NumericNorm::l2 : NumericNorm::linf;
}

void require_below(const Vector<std::int32_t>& positions, std::size_t end, const char* message) {
  for (std::size_t k = 0; k < positions.shape(0); ++k)
    require(positions.data()[k] >= 0 && static_cast<std::size_t>(positions.data()[k]) < end, message);
}

}  // namespace

void bind_lifted_space(nb::module_& module) {
  nb::class_<LiftedSpace>(module, "LiftedSpace")
      .def(
          "__init__",
          [](LiftedSpace* self, const BoundTable& layout, Vector<double> numeric_weights, const std::string& norm,
             Vector<std::int32_t> priced, Vector<std::int32_t> constrained_levels, Vector<std::int32_t> first,
             Vector<double> first_coef, Vector<std::int32_t> second, Vector<double> second_coef, Vector<std::int32_t> sum_slot,
             Vector<double> sum_coef, Vector<std::int32_t> cone_slot, Vector<double> cone_scale) {
            const auto length = static_cast<std::size_t>(layout.layout.size) + 1;
            const std::size_t n = first.shape(0);
            require(numeric_weights.shape(0) == static_cast<std::size_t>(layout.table.n_numeric),
                    "every numeric column needs a weight");
            require(first_coef.shape(0) == n && second.shape(0) == n && second_coef.shape(0) == n,
                    "constraints need two slots and two coefficients each");
            require(sum_slot.shape(0) == sum_coef.shape(0) && cone_slot.shape(0) == cone_scale.shape(0),
                    "sum and cone constraints need a coefficient for every slot");
            require(2 * constrained_levels.shape(0) <= n, "every constrained level needs two constraints");
            for (const auto& slots : {first, second, sum_slot, cone_slot})
              require_below(slots, length, "constraint slot out of range");
            require_below(priced, numeric_weights.shape(0), "priced column out of range");
            require_below(constrained_levels, static_cast<std::size_t>(layout.table.n_levels()), "level out of range");
            require(norm_named(norm) != NumericNorm::linf || priced.shape(0) == 0 ||
                        static_cast<std::size_t>(layout.layout.price) + priced.shape(0) < length - 1,
                    "the norm linf needs an extra coordinate for every priced column");
            MixedTable prices = layout.table;
            prices.n_rows = 0;
            prices.numeric = nullptr;
            prices.entry_at = nullptr;
            prices.column = prices.codes = nullptr;
            prices.labels = prices.weights = nullptr;
            QpConstraints constraints;
            for (std::size_t c = 0; c < n; ++c)
              constraints.pairs.push_back(
                  {first.data()[c], second.data()[c], first_coef.data()[c], second_coef.data()[c], 0.0});
            constraints.sum = {copied(sum_slot), copied(sum_coef), 0.0};
            constraints.cone = {layout.layout.price, 0.0, copied(cone_slot), copied(cone_scale),
                                std::vector<double>(cone_slot.shape(0))};
            new (self) LiftedSpace{std::move(prices),     layout.layout,  copied(numeric_weights),
                                   norm_named(norm),      copied(priced), copied(constrained_levels),
                                   std::move(constraints)};
          },
          nb::arg("layout"), nb::kw_only(), nb::arg("numeric_weights"), nb::arg("norm"), nb::arg("priced"),
          nb::arg("constrained_levels"), nb::arg("first"), nb::arg("first_coef"), nb::arg("second"), nb::arg("second_coef"),
          nb::arg("sum_slot"), nb::arg("sum_coef"), nb::arg("cone_slot"), nb::arg("cone_scale"))
      .def(
          "tighten",
          [](const LiftedSpace& self, nb::ndarray<double, nb::numpy, nb::shape<-1>, nb::c_contig, nb::device::cpu> x) {
            require_point(self.layout, x.shape(0));
            self.tighten(x.data());
          },
          nb::arg("x").noconvert())
      .def(
          "least_price",
          [](const LiftedSpace& self, Vector<double> x) {
            require_point(self.layout, x.shape(0));
            return self.least_price(x.data());
          },
          nb::arg("x"))
      .def(
          "qp_terms",
          [](const LiftedSpace& self, const RowModel& model, double radius, double regularisation) {
            require(model.gradient.size() == static_cast<std::size_t>(self.layout.size) + 1,
                    "the row model must have the same coordinates");
            return qp_terms(model, self, radius, regularisation);
          },
          nb::arg("model"), nb::arg("radius"), nb::arg("regularisation"));

  nb::class_<QpTerms>(module, "QpTerms")
      .def_prop_ro("linear", [](const QpTerms& self) { return to_numpy(std::vector<double>(self.linear)); })
      .def_prop_ro("regularisation", [](const QpTerms& self) { return to_numpy(std::vector<double>(self.regularisation)); });
}

}  // namespace surefoot::bindings
