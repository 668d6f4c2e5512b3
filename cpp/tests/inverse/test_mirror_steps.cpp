// Steps of mirror descent against steps written out by hand.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "check.hpp"
#include "surefoot/inverse/mirror_steps.hpp"

using namespace surefoot;

namespace {

// One example with two unknowns, response (0, 1), "at least one of them", and the l1 distance: 1 + x_1 - x_2.
struct Two {
  std::vector<double> rows{-1.0, 1.0}, right{0.0}, tolerance{1e-9}, start{0.0, 1.0}, tilt{-1.0, 1.0}, constant{1.0};
  std::vector<double> table{0.0, 0.0, 0.0}, features{1.0, 0.0, 0.0, 1.0}, own{0.0, 1.0};
  std::vector<double> lower{0.0, 0.0}, upper{10.0, 10.0}, center{0.0, 0.0};
  std::vector<std::int8_t> signs{0, 0};

  BinaryExamples examples() const {
    return {1,
            2,
            1,
            2,
            rows.data(),
            right.data(),
            tolerance.data(),
            start.data(),
            tilt.data(),
            constant.data(),
            table.data(),
            features.data(),
            own.data()};
  }
  MirrorOptions options(bool exponentiated) const {
    return {exponentiated, false, std::log(100.0), lower.data(), upper.data(), signs.data(), StepRule::constant,
            0.5,           0.0,   false,           0.0,          false,        center.data()};
  }
};

}  // namespace

TEST(a_euclidean_step_moves_against_the_slope_of_the_worst_decision) {
  const Two two;
  // At theta = (0, 0) the decisions (1, 1), (1, 0) have distances 1 and 2: the worst is (1, 0), its slope (-1, 1).
  MirrorState at{{0.0, 0.0}, {0.0, 0.0}, 0.0, 0.0, 0};
  std::vector<double> multipliers(1, 0.0);
  std::vector<std::int8_t> decisions(2, -1);
  const std::vector<std::int64_t> drawn{0};
  std::vector<std::int8_t> flips(2);
  std::vector<double> objectives(1);
  CHECK(mirror_steps(two.examples(), two.options(false), {1 << 20, true}, at, {multipliers.data(), decisions.data()},
                     drawn.data(), 1, 1, flips.data(), objectives.data()) == 1);
  CHECK(flips[0] == 1 && flips[1] == 1);
  CHECK(std::abs(at.iterate[0] - 0.5) < 1e-15 && at.iterate[1] == 0.0);  // theta_2 would be -0.5: clipped
  CHECK(objectives[0] == 2.0);
  CHECK(at.steps == 1 && at.mass == 1.0 && at.mean[0] == 0.0);
}

TEST(an_exponentiated_step_multiplies) {
  const Two two;
  MirrorState at{{std::log(0.2), std::log(0.3)}, {0.2, 0.3}, 0.0, 0.0, 0};
  std::vector<double> multipliers(1, 0.0);
  std::vector<std::int8_t> decisions(2, -1);
  const std::vector<std::int64_t> drawn{0};
  std::vector<std::int8_t> flips(2);
  std::vector<double> objectives(1);
  mirror_steps(two.examples(), two.options(true), {1 << 20, true}, at, {multipliers.data(), decisions.data()}, drawn.data(), 1,
               1, flips.data(), objectives.data());
  CHECK(std::abs(std::exp(at.iterate[0]) - 0.2 * std::exp(0.5)) < 1e-14);
  CHECK(std::abs(std::exp(at.iterate[1]) - 0.3 * std::exp(-0.5)) < 1e-14);
}

TEST(steps_that_must_be_complete_end_where_nodes_run_out) {
  const Two two;
  MirrorState at{{0.0, 0.0}, {0.0, 0.0}, 0.0, 0.0, 0};
  std::vector<double> multipliers(1, 0.0);
  std::vector<std::int8_t> decisions(2, -1);
  const std::vector<std::int64_t> drawn{0, 0};
  std::vector<std::int8_t> flips(4);
  std::vector<double> objectives(2);
  CHECK(mirror_steps(two.examples(), two.options(false), {1, true}, at, {multipliers.data(), decisions.data()}, drawn.data(), 2,
                     1, flips.data(), objectives.data()) == 0);
  CHECK(at.steps == 0 && at.iterate[0] == 0.0);
  // Otherwise the response stands in, and the point stays.
  CHECK(mirror_steps(two.examples(), two.options(false), {1, false}, at, {multipliers.data(), decisions.data()}, drawn.data(),
                     2, 1, flips.data(), objectives.data()) == 2);
  CHECK(at.steps == 2 && at.iterate[0] == 0.0 && flips[0] == -1);
}
