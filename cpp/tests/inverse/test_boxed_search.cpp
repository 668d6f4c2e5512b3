#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "surefoot/inverse/boxed_search.hpp"

using namespace surefoot;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const BoxedLimits kFree{1 << 20, std::chrono::steady_clock::time_point::max()};

// max 2 x + 3 y with x + y <= 1.5 and x - y >= -1 over [0, 1]^2.
struct Small {
  std::vector<double> rows{1, 1, 1, -1}, low{-kInfinity, -1}, high{1.5, kInfinity}, lower{0, 0}, upper{1, 1}, gain{2, 3},
      constant{0};
  std::vector<std::uint8_t> whole{0, 0};
  BoxedTask task() const {
    return {{2, 2, rows.data(), low.data(), high.data()},
            lower.data(),
            upper.data(),
            whole.data(),
            1,
            gain.data(),
            constant.data()};
  }
};

}  // namespace

TEST(a_programme_is_solved_and_its_multipliers_prove_it) {
  const Small small;
  BoxedSimplex simplex;
  simplex.begin(small.task().programme, small.lower.data(), small.upper.data());
  simplex.price(small.gain.data());
  CHECK(simplex.solve() == BoxedStatus::optimal);
  CHECK(std::abs(simplex.point()[0] - 0.5) < 1e-12 && std::abs(simplex.point()[1] - 1.0) < 1e-12);
  CHECK(std::abs(simplex.bound(simplex.multipliers()) - 4.0) < 1e-12);
}

TEST(what_cannot_be_met_is_refuted_by_multipliers) {
  Small small;
  small.low[1] = 2;  // x - y >= 2
  BoxedSimplex simplex;
  simplex.begin(small.task().programme, small.lower.data(), small.upper.data());
  simplex.price(small.gain.data());
  CHECK(simplex.solve() == BoxedStatus::infeasible);
  CHECK(simplex.refute(-1e6) && simplex.bound(simplex.multipliers()) <= -1e6);
}

TEST(whole_unknowns_are_branched_on) {
  Small small;
  small.whole = {1, 0};
  BoxedSearch search;
  const BoxedDecision& found = search.search(small.task(), -kInfinity, kFree);
  CHECK(found.complete && found.found && std::abs(found.value - 3.5) < 1e-12);
  CHECK(found.point[0] == 1.0 && std::abs(found.point[1] - 0.5) < 1e-12);
  const BoxedProof& proof = search.prove(small.task(), 3.5 + 1e-9, kFree);
  CHECK(proof.complete && proof.column.size() == 3 && proof.column[0] == 0 && proof.at[0] == 0.0);
  CHECK(!search.prove(small.task(), 3.4, kFree).complete);
}

TEST(equal_gains_do_not_lead_in_circles) {
  std::mt19937 generator(1);
  std::uniform_real_distribution<double> number(-1.0, 1.0);
  BoxedSearch search;
  for (int trial = 0; trial < 200; ++trial) {
    const int n = 6, m = 8;
    std::vector<double> rows(n * m), low(m, -kInfinity), high(m), lower(n, 0.0), upper(n, 1.0), gain(n, 0.0), constant{1.0};
    for (double& entry : rows) entry = std::round(2 * number(generator));
    for (int r = 0; r < m; ++r) {
      double side = 0;  // met by 1/2 everywhere
      for (int j = 0; j < n; ++j) side += 0.5 * rows[r * n + j];
      high[r] = side;
    }
    const std::vector<std::uint8_t> whole(n, 0);
    const BoxedTask task{{n, m, rows.data(), low.data(), high.data()},
                         lower.data(),
                         upper.data(),
                         whole.data(),
                         1,
                         gain.data(),
                         constant.data()};
    const BoxedDecision& found = search.search(task, -kInfinity, kFree);
    CHECK(found.complete && found.found && found.value == 1.0);
  }
}

TEST(a_search_that_is_cut_short_says_so) {
  Small small;
  small.whole = {1, 1};
  BoxedSearch search;
  CHECK(!search.search(small.task(), -kInfinity, {0, kFree.until}).complete);
  CHECK(!search.search(small.task(), -kInfinity, {100, {}}).complete);
}
