#include <algorithm>

#include "arrays.hpp"
#include "surefoot/inverse/boxed_search.hpp"

namespace surefoot::bindings {
namespace {

// Programmes of one shape, one below the other, together with the arrays they point into.
struct BoxedProgrammes {
  std::size_t count, n, m;
  const double *rows, *low, *high, *lower, *upper;
  const std::uint8_t* whole;
  std::vector<nb::object> owners;

  BoxedTask task(std::size_t i, std::size_t n_terms, const double* gain, const double* constant) const {
    return {{static_cast<int>(n), static_cast<int>(m), rows + i * m * n, low + i * m, high + i * m},
            lower + i * n,
            upper + i * n,
            whole + i * n,
            static_cast<int>(n_terms),
            gain + i * n_terms * n,
            constant + i * n_terms};
  }
};

struct BoxedDecisions {
  std::vector<double> points, values;
  std::vector<std::uint8_t> complete, found;
  std::size_t n_unknowns;
};

// The trees of all programmes one behind the other; `nodes` and `leaves` count those of each.
struct BoxedProofs {
  std::vector<std::uint8_t> complete;
  std::vector<std::int64_t> nodes, leaves;
  std::vector<std::int32_t> column;
  std::vector<double> at, multipliers;
  std::size_t n_rows;
};

void make_programmes(BoxedProgrammes* self, Matrix<double> rows, Matrix<double> low, Matrix<double> high, Matrix<double> lower,
                     Matrix<double> upper, Matrix<std::uint8_t> whole) {
  const std::size_t count = lower.shape(0), n = lower.shape(1), m = low.shape(1);
  require(rows.shape(0) == count * m && rows.shape(1) == n, "rows of all programmes must stand one below the other");
  require(low.shape(0) == count && high.shape(0) == count && high.shape(1) == m, "sides must be those of the rows");
  require(upper.shape(0) == count && upper.shape(1) == n && whole.shape(0) == count && whole.shape(1) == n,
          "bounds and marks must have an entry for every unknown");
  new (self)
      BoxedProgrammes{count,
                      n,
                      m,
                      rows.data(),
                      low.data(),
                      high.data(),
                      lower.data(),
                      upper.data(),
                      whole.data(),
                      {nb::cast(rows), nb::cast(low), nb::cast(high), nb::cast(lower), nb::cast(upper), nb::cast(whole)}};
}

BoxedLimits limits_of(std::int64_t max_nodes, double seconds) {
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double> left(std::clamp(seconds, 0.0, 1e8));
  return {max_nodes, now + std::chrono::duration_cast<std::chrono::steady_clock::duration>(left)};
}

std::size_t terms_of(const BoxedProgrammes& all, const Matrix<double>& gain, const Matrix<double>& constant,
                     const Vector<double>& levels) {
  const std::size_t n_terms = constant.shape(1);
  require(constant.shape(0) == all.count && gain.shape(0) == all.count * n_terms && gain.shape(1) == all.n,
          "gains must have a row for every term");
  require(levels.shape(0) == all.count, "there must be a level for every programme");
  return n_terms;
}

}  // namespace

void bind_boxed_search(nb::module_& module) {
  nb::class_<BoxedDecisions>(module, "BoxedDecisions")
      .def_prop_ro("points",
                   [](const BoxedDecisions& found) { return to_numpy(std::vector<double>(found.points), found.n_unknowns); })
      .def_prop_ro("values", [](const BoxedDecisions& found) { return to_numpy(std::vector<double>(found.values)); })
      .def_prop_ro("complete", [](const BoxedDecisions& found) { return to_numpy(std::vector<std::uint8_t>(found.complete)); })
      .def_prop_ro("found", [](const BoxedDecisions& found) { return to_numpy(std::vector<std::uint8_t>(found.found)); });
  nb::class_<BoxedProofs>(module, "BoxedProofs")
      .def_prop_ro("complete", [](const BoxedProofs& found) { return to_numpy(std::vector<std::uint8_t>(found.complete)); })
      .def_prop_ro("nodes", [](const BoxedProofs& found) { return to_numpy(std::vector<std::int64_t>(found.nodes)); })
      .def_prop_ro("leaves", [](const BoxedProofs& found) { return to_numpy(std::vector<std::int64_t>(found.leaves)); })
      .def_prop_ro("column", [](const BoxedProofs& found) { return to_numpy(std::vector<std::int32_t>(found.column)); })
      .def_prop_ro("at", [](const BoxedProofs& found) { return to_numpy(std::vector<double>(found.at)); })
      .def_prop_ro("multipliers",
                   [](const BoxedProofs& found) { return to_numpy(std::vector<double>(found.multipliers), found.n_rows); });
  nb::class_<BoxedProgrammes>(module, "BoxedProgrammes")
      .def("__init__", &make_programmes, nb::kw_only(), nb::arg("rows"), nb::arg("low"), nb::arg("high"), nb::arg("lower"),
           nb::arg("upper"), nb::arg("whole"))
      .def(
          "search",
          [](const BoxedProgrammes& all, Matrix<double> gain, Matrix<double> constant, Vector<double> cutoffs,
             std::int64_t max_nodes, double seconds) {
            const std::size_t n_terms = terms_of(all, gain, constant, cutoffs);
            BoxedDecisions result{std::vector<double>(all.count * all.n), std::vector<double>(all.count),
                                  std::vector<std::uint8_t>(all.count), std::vector<std::uint8_t>(all.count), all.n};
            const BoxedLimits limits = limits_of(max_nodes, seconds);
            nb::gil_scoped_release free;
            BoxedSearch search;
            for (std::size_t i = 0; i < all.count; ++i) {
              const BoxedDecision& found =
                  search.search(all.task(i, n_terms, gain.data(), constant.data()), cutoffs(i), limits);
              std::copy(found.point.begin(), found.point.end(), result.points.begin() + static_cast<std::ptrdiff_t>(i * all.n));
              result.values[i] = found.value, result.complete[i] = found.complete, result.found[i] = found.found;
            }
            return result;
          },
          nb::kw_only(), nb::arg("gain"), nb::arg("constant"), nb::arg("cutoffs"), nb::arg("max_nodes"), nb::arg("seconds"))
      .def(
          "prove",
          [](const BoxedProgrammes& all, Matrix<double> gain, Matrix<double> constant, Vector<double> goals,
             std::int64_t max_nodes, double seconds) {
            const std::size_t n_terms = terms_of(all, gain, constant, goals);
            BoxedProofs result{};
            result.n_rows = all.m;
            const BoxedLimits limits = limits_of(max_nodes, seconds);
            nb::gil_scoped_release free;
            BoxedSearch search;
            for (std::size_t i = 0; i < all.count; ++i) {
              const BoxedProof& found = search.prove(all.task(i, n_terms, gain.data(), constant.data()), goals(i), limits);
              result.complete.push_back(found.complete);
              const std::size_t nodes = found.complete ? found.column.size() : 0;
              result.nodes.push_back(static_cast<std::int64_t>(nodes));
              result.leaves.push_back(nodes ? std::count(found.column.begin(), found.column.end(), -1) : 0);
              if (!nodes) continue;
              result.column.insert(result.column.end(), found.column.begin(), found.column.end());
              result.at.insert(result.at.end(), found.at.begin(), found.at.end());
              result.multipliers.insert(result.multipliers.end(), found.multipliers.begin(), found.multipliers.end());
            }
            return result;
          },
          nb::kw_only(), nb::arg("gain"), nb::arg("constant"), nb::arg("goals"), nb::arg("max_nodes"), nb::arg("seconds"));
}

}  // namespace surefoot::bindings
