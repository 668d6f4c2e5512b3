// The branch and bound over 0/1 vectors against every vector.
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "surefoot/inverse/binary_search.hpp"

using namespace surefoot;

TEST(the_best_flips_are_found_and_nothing_exceeds_them) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int round = 0; round < 60; ++round) {
    const int n = 1 + static_cast<int>(random() % 9), m = static_cast<int>(random() % 4);
    std::vector<double> rows(static_cast<std::size_t>(n * m)), right(static_cast<std::size_t>(m)),
        gain(static_cast<std::size_t>(n));
    std::vector<double> tolerance(static_cast<std::size_t>(m), 0.0), table(static_cast<std::size_t>(n + 1));
    for (double& value : rows) value = uniform(random);
    for (double& value : right) value = uniform(random);
    for (double& value : gain) value = uniform(random);
    for (int k = 0; k <= n; ++k) table[k] = round % 2 ? std::sqrt(static_cast<double>(k)) : 0.0;
    double best = -std::numeric_limits<double>::infinity();
    for (int bits = 0; bits < (1 << n); ++bits) {
      double value = 0;
      int count = 0;
      bool feasible = true;
      for (int j = 0; j < n; ++j)
        if (bits >> j & 1) value += gain[j], ++count;
      for (int r = 0; r < m; ++r) {
        double activity = 0;
        for (int j = 0; j < n; ++j)
          if (bits >> j & 1) activity += rows[r * n + j];
        feasible = feasible && activity <= right[r];
      }
      if (feasible) best = std::max(best, value + table[count]);
    }
    const BinaryProgram program{n, m, rows.data(), right.data(), tolerance.data(), gain.data(), table.data()};
    const double none = -std::numeric_limits<double>::infinity();
    const auto search = [&](double cutoff, std::int64_t max_nodes) {
      return BinarySearch().search(program, {cutoff, max_nodes});
    };
    const BinarySearchResult result = search(none, 1 << 20);
    CHECK(result.complete);
    CHECK(result.found == std::isfinite(best));
    if (!result.found) continue;
    CHECK(std::abs(result.value - best) < 1e-12);
    CHECK(!search(best + 1e-9, 1 << 20).found);
    CHECK(search(best - 1e-6, 1 << 20).found);
    const BinarySearchResult stopped = search(none, 1);
    CHECK(!stopped.complete || stopped.n_nodes <= 1);
  }
}
