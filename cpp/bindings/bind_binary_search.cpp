#include <algorithm>
#include <limits>

#include "arrays.hpp"
#include "surefoot/inverse/binary_search.hpp"

namespace surefoot::bindings {

void bind_binary_search(nb::module_& module) {
  module.def(
      "search_flips",
      [](Matrix<double> rows, Vector<double> room, Vector<double> slack, Vector<double> gain, Vector<double> table,
         double floor, std::int64_t max_nodes) {
        const std::size_t n = gain.shape(0), m = room.shape(0);
        require(rows.shape(0) == m && rows.shape(1) == n && slack.shape(0) == m, "rows, room and slack must agree in size");
        require(table.shape(0) == n + 1, "the table needs an entry for every number of flips");
        FlipAnswer answer;
        {
          nb::gil_scoped_release free;
          answer = search_flips({static_cast<int>(n), static_cast<int>(m), rows.data(), room.data(), gain.data(), table.data()},
                                slack.data(), floor, max_nodes);
        }
        std::vector<double> flips(answer.flips.begin(), answer.flips.end());
        return nb::make_tuple(answer.found, answer.complete, answer.value, to_numpy(std::move(flips)), answer.n_nodes);
      },
      nb::arg("rows"), nb::arg("room"), nb::arg("slack"), nb::arg("gain"), nb::arg("table"), nb::arg("floor"),
      nb::arg("max_nodes"));
  module.def(
      "search_all_flips",
      [](Matrix<double> rows, Matrix<double> room, Matrix<double> slack, Matrix<double> gain, Matrix<double> table,
         Vector<double> floors, std::int64_t max_nodes, Changed<double> prices) {
        const std::size_t count = gain.shape(0), n = gain.shape(1), m = room.shape(1);
        require(rows.shape(0) == count * m && rows.shape(1) == n, "rows of all programmes must stand one below the other");
        require(room.shape(0) == count && slack.shape(0) == count && slack.shape(1) == m, "room and slack must agree in size");
        require(table.shape(0) == count && table.shape(1) == n + 1, "tables need an entry for every number of flips");
        require(floors.shape(0) == count, "floors must be those of the programmes");
        require(prices.shape(0) == count && prices.shape(1) == m, "prices must be those of the rows");
        std::vector<double> flips(count * n), values(count);
        std::vector<std::int8_t> state(count);
        {
          nb::gil_scoped_release free;
          FlipSearch search;
          for (std::size_t i = 0; i < count; ++i) {
            const FlipAnswer& answer = search.search({static_cast<int>(n), static_cast<int>(m), rows.data() + i * m * n,
                                                      room.data() + i * m, gain.data() + i * n, table.data() + i * (n + 1)},
                                                     slack.data() + i * m, floors(i), max_nodes, prices.data() + i * m);
            std::copy(answer.flips.begin(), answer.flips.end(), flips.begin() + static_cast<std::ptrdiff_t>(i * n));
            values[i] = answer.value;
            // A floor is what no flip at all is worth: if nothing is better, that is the answer.
            const bool any = answer.found || floors(i) > -std::numeric_limits<double>::infinity();
            state[i] = static_cast<std::int8_t>(answer.complete ? (any ? 1 : -1) : 0);
          }
        }
        return nb::make_tuple(to_numpy(std::move(flips), n), to_numpy(std::move(values)), to_numpy(std::move(state)));
      },
      nb::arg("rows"), nb::arg("room"), nb::arg("slack"), nb::arg("gain"), nb::arg("table"), nb::arg("floors"),
      nb::arg("max_nodes"), nb::arg("prices"));
}

}  // namespace surefoot::bindings
