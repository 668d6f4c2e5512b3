// The search over flips against every vector.
#include <cmath>
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
    std::vector<double> rows(static_cast<std::size_t>(n * m)), room(static_cast<std::size_t>(m)),
        gain(static_cast<std::size_t>(n));
    std::vector<double> slack(static_cast<std::size_t>(m), 0.0), table(static_cast<std::size_t>(n + 1));
    for (double& value : rows) value = uniform(random);
    for (double& value : room) value = uniform(random);
    for (double& value : gain) value = uniform(random);
    for (int k = 0; k <= n; ++k) table[k] = round % 2 ? std::sqrt(static_cast<double>(k)) : 0.0;
    double best = -std::numeric_limits<double>::infinity();
    for (int bits = 0; bits < (1 << n); ++bits) {
      double value = 0;
      int count = 0;
      bool kept = true;
      for (int j = 0; j < n; ++j)
        if (bits >> j & 1) value += gain[j], ++count;
      for (int r = 0; r < m; ++r) {
        double side = 0;
        for (int j = 0; j < n; ++j)
          if (bits >> j & 1) side += rows[r * n + j];
        kept = kept && side <= room[r];
      }
      if (kept) best = std::max(best, value + table[count]);
    }
    const FlipProgram program{n, m, rows.data(), room.data(), gain.data(), table.data()};
    const FlipAnswer answer = search_flips(program, slack.data(), -std::numeric_limits<double>::infinity(), 1 << 20);
    CHECK(answer.complete);
    CHECK(answer.found == std::isfinite(best));
    if (!answer.found) continue;
    CHECK(std::abs(answer.value - best) < 1e-12);
    CHECK(!search_flips(program, slack.data(), best + 1e-9, 1 << 20).found);
    CHECK(search_flips(program, slack.data(), best - 1e-6, 1 << 20).found);
    const FlipAnswer stopped = search_flips(program, slack.data(), -std::numeric_limits<double>::infinity(), 1);
    CHECK(!stopped.complete || stopped.n_nodes <= 1);
  }
}
