#include <algorithm>

#include "arrays.hpp"
#include "surefoot/riskscore/fit/axis_loss.hpp"
#include "surefoot/riskscore/fit/elastic_step.hpp"

namespace surefoot::bindings {

void bind_axis_loss(nb::module_& module) {
  module.def(
      "axis_losses",
      [](Vector<double> total, Vector<double> positive, Vector<double> score, Vector<double> column, Vector<double> steps) {
        const std::size_t n = total.shape(0);
        require(positive.shape(0) == n && score.shape(0) == n && column.shape(0) == n, "one entry per row is needed");
        std::vector<double> losses(steps.shape(0));
        axis_losses({n, total.data(), positive.data()}, score.data(), column.data(), steps.data(),
                    static_cast<int>(losses.size()), losses.data());
        return to_numpy(std::move(losses));
      },
      nb::arg("total"), nb::arg("positive"), nb::arg("score"), nb::arg("column"), nb::arg("steps"));
  module.def(
      "axis_table_losses",
      [](Vector<double> total, Vector<double> positive, Vector<std::int32_t> score, Vector<std::int32_t> column,
         Vector<std::int32_t> steps, Vector<double> table, std::int32_t first) {
        const std::size_t n = total.shape(0);
        require(positive.shape(0) == n && score.shape(0) == n && column.shape(0) == n, "one entry per row is needed");
        const std::int64_t last = first + static_cast<std::int64_t>(table.shape(0)) - 1;
        // A product of extremes bounds every entry: one pass over rows instead of a check at each look-up.
        const auto [low, high] = std::minmax_element(score.data(), score.data() + n);
        const auto [left, right] = std::minmax_element(column.data(), column.data() + n);
        for (std::size_t k = 0; n > 0 && k < steps.shape(0); ++k) {
          const std::int64_t one = std::int64_t{steps.data()[k]} * *left, other = std::int64_t{steps.data()[k]} * *right;
          require(*low + std::min(one, other) >= first && *high + std::max(one, other) <= last, "a score is not in the table");
        }
        std::vector<double> losses(steps.shape(0));
        axis_table_losses({n, total.data(), positive.data()}, score.data(), column.data(), steps.data(),
                          static_cast<int>(losses.size()), table.data(), first, losses.data());
        return to_numpy(std::move(losses));
      },
      nb::arg("total"), nb::arg("positive"), nb::arg("score"), nb::arg("column"), nb::arg("steps"), nb::arg("table"),
      nb::arg("first"));
  module.def(
      "elastic_step",
      [](Matrix<double> curvature, Vector<double> gradient, Vector<double> start, Vector<double> lower, Vector<double> upper,
         Vector<double> l1, Vector<double> l2, double tolerance, int max_sweeps) {
        const std::size_t n = gradient.shape(0);
        require(curvature.shape(0) == n && curvature.shape(1) == n, "the curvature needs a row and a column per coordinate");
        require(start.shape(0) == n && lower.shape(0) == n && upper.shape(0) == n && l1.shape(0) == n && l2.shape(0) == n,
                "one entry per coordinate is needed");
        std::vector<double> x(start.data(), start.data() + n), slope(n);
        elastic_step({static_cast<int>(n), curvature.data(), gradient.data(), start.data(), lower.data(), upper.data(),
                      l1.data(), l2.data()},
                     tolerance, max_sweeps, x.data(), slope.data());
        return to_numpy(std::move(x));
      },
      nb::arg("curvature"), nb::arg("gradient"), nb::arg("start"), nb::arg("lower"), nb::arg("upper"), nb::arg("l1"),
      nb::arg("l2"), nb::arg("tolerance"), nb::arg("max_sweeps"));
}

}  // namespace surefoot::bindings
