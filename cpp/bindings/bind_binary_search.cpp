#include <algorithm>
#include <limits>

#include "arrays.hpp"
#include "surefoot/inverse/binary_search.hpp"

namespace surefoot::bindings {
namespace {

// The searches of all programmes of a batch, one row each.
struct BinaryBatchResult {
  std::vector<double> flips;  // count x n_unknowns
  // One flag per programme; neither is set where the limit of nodes was exceeded.
  std::vector<std::uint8_t> solved, infeasible;
  std::size_t n_unknowns;
};

}  // namespace

void bind_binary_search(nb::module_& module) {
  nb::class_<BinarySearchResult>(module, "BinarySearchResult")
      .def_ro("found", &BinarySearchResult::found)
      .def_ro("complete", &BinarySearchResult::complete)
      .def_ro("value", &BinarySearchResult::value)
      .def_ro("n_nodes", &BinarySearchResult::n_nodes)
      .def_prop_ro("flips",
                   [](const BinarySearchResult& result) {
                     return to_numpy(std::vector<double>(result.flips.begin(), result.flips.end()));
                   })
      .def_prop_ro("log", [](const BinarySearchResult& result) { return to_numpy(std::vector<std::int32_t>(result.log)); })
      .def_prop_ro("order", [](const BinarySearchResult& result) { return to_numpy(std::vector<int>(result.order)); })
      .def_prop_ro("multipliers",
                   [](const BinarySearchResult& result) { return to_numpy(std::vector<double>(result.multipliers)); });
  nb::class_<BinaryBatchResult>(module, "BinaryBatchResult")
      .def_prop_ro(
          "flips",
          [](const BinaryBatchResult& result) { return to_numpy(std::vector<double>(result.flips), result.n_unknowns); })
      .def_prop_ro("solved", [](const BinaryBatchResult& result) { return to_numpy(std::vector<std::uint8_t>(result.solved)); })
      .def_prop_ro("infeasible",
                   [](const BinaryBatchResult& result) { return to_numpy(std::vector<std::uint8_t>(result.infeasible)); });
  module.def(
      "search_binary",
      [](Matrix<double> rows, Vector<double> right, Vector<double> row_tolerance, Vector<double> gain, Vector<double> table,
         double cutoff, std::int64_t max_nodes, Vector<double> start) {
        const std::size_t n = gain.shape(0), m = right.shape(0);
        require(rows.shape(0) == m && rows.shape(1) == n && row_tolerance.shape(0) == m,
                "rows, right-hand sides and tolerances must agree in size");
        require(table.shape(0) == n + 1, "the table needs an entry for every number of flips");
        const BinaryProgram program{static_cast<int>(n),  static_cast<int>(m), rows.data(), right.data(),
                                    row_tolerance.data(), gain.data(),         table.data()};
        // An empty start means that nothing is logged.
        require(start.shape(0) == n || start.shape(0) == 0, "the start needs an entry for every unknown");
        nb::gil_scoped_release free;
        BinarySearch search;
        return BinarySearchResult(search.search(program, {cutoff, max_nodes, start.shape(0) ? start.data() : nullptr}));
      },
      nb::kw_only(), nb::arg("rows"), nb::arg("right"), nb::arg("row_tolerance"), nb::arg("gain"), nb::arg("table"),
      nb::arg("cutoff"), nb::arg("max_nodes"), nb::arg("start"));
  module.def(
      "search_binary_batch",
      [](Matrix<double> rows, Matrix<double> right, Matrix<double> row_tolerance, Matrix<double> gain, Matrix<double> table,
         Vector<double> cutoffs, std::int64_t max_nodes, Changed<double> multipliers) {
        const std::size_t count = gain.shape(0), n = gain.shape(1), m = right.shape(1);
        require(rows.shape(0) == count * m && rows.shape(1) == n, "rows of all programmes must stand one below the other");
        require(right.shape(0) == count && row_tolerance.shape(0) == count && row_tolerance.shape(1) == m,
                "right-hand sides and tolerances must agree in size");
        require(table.shape(0) == count && table.shape(1) == n + 1, "tables need an entry for every number of flips");
        require(cutoffs.shape(0) == count, "cutoffs must be those of the programmes");
        require(multipliers.shape(0) == count && multipliers.shape(1) == m, "multipliers must be those of the rows");
        BinaryBatchResult batch{std::vector<double>(count * n), std::vector<std::uint8_t>(count),
                                std::vector<std::uint8_t>(count), n};
        nb::gil_scoped_release free;
        BinarySearch search;
        for (std::size_t i = 0; i < count; ++i) {
          const BinaryProgram program{static_cast<int>(n),       static_cast<int>(m),          rows.data() + i * m * n,
                                      right.data() + i * m,      row_tolerance.data() + i * m, gain.data() + i * n,
                                      table.data() + i * (n + 1)};
          const BinarySearchResult& result = search.search(program, {cutoffs(i), max_nodes}, multipliers.data() + i * m);
          std::copy(result.flips.begin(), result.flips.end(), batch.flips.begin() + static_cast<std::ptrdiff_t>(i * n));
          // A finite cutoff is the value of no flip at all: if nothing is better, that is the optimum.
          const bool feasible = result.found || cutoffs(i) > -std::numeric_limits<double>::infinity();
          batch.solved[i] = result.complete && feasible;
          batch.infeasible[i] = result.complete && !feasible;
        }
        return batch;
      },
      nb::kw_only(), nb::arg("rows"), nb::arg("right"), nb::arg("row_tolerance"), nb::arg("gain"), nb::arg("table"),
      nb::arg("cutoffs"), nb::arg("max_nodes"), nb::arg("multipliers"));
}

}  // namespace surefoot::bindings
