// An SQP loop and its dual bounds: what it calls a bound is below the objective everywhere, and what it calls optimal is.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "check.hpp"
#include "drawn_space.hpp"
#include "surefoot/robust/sqp_loop.hpp"

using namespace surefoot;

namespace {

constexpr double radius = 0.1, tolerance = 1e-8;
// More than any coefficient of these tables can be, per unit of the objective.
constexpr CoefficientLimits limits{1.0 / radius, 1e3, 1e3};

struct Problem {
  DrawnTable at;
  LiftedSpace space;
  TableSums rows;

  explicit Problem(unsigned seed)
      : at(seed, 90, 2, {3, 2}, seed % 2 ? 1.2 : std::numeric_limits<double>::infinity(), 0.5, 0.4),
        space(space_of(at, 1.5)),
        rows(at.table, at.layout, 1) {
    // Weights of a drawn table need not sum to 1.
    double total = 0;
    for (const double weight : at.weights) total += weight;
    for (double& weight : at.weights) weight /= total;
  }

  double objective(std::vector<double> x) const {
    space.tighten(x.data());
    return rows.value(x) + radius * x[static_cast<std::size_t>(at.layout.price)];
  }

  SqpLoop loop(bool dual_bounds = true) const {
    std::vector<double> start(at.x.size(), 0.0);
    const double value = objective(start);
    return {space, {radius, tolerance, limits, false, dual_bounds, at.table.n_rows, 1}, std::move(start), value};
  }
};

}  // namespace

TEST(a_loop_ends_at_an_optimum_that_no_point_nearby_beats) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const Problem problem(seed);
    SqpLoop loop = problem.loop();
    int steps = 0;
    while (!loop.optimal() && steps < 60) {
      loop.advance(problem.rows);
      ++steps;
    }
    CHECK(loop.optimal());
    CHECK(loop.bound.has_value());
    CHECK_NEAR(loop.objective, problem.objective(loop.x), 1e-14);
    CHECK_NEAR(loop.lower_bound, loop.objective, 2 * tolerance);
    std::mt19937 draw(seed);
    std::normal_distribution<double> normal;
    for (int trial = 0; trial < 300; ++trial) {
      std::vector<double> x = loop.x;
      const double size = std::pow(10.0, -(trial % 6));
      for (int a = 0; a < problem.space.n_coefficients(); ++a) x[static_cast<std::size_t>(a)] += size * normal(draw);
      // The price may be anything that the coefficients allow.
      x[static_cast<std::size_t>(problem.at.layout.price)] *= 0.5 + 0.25 * (trial % 5);
      CHECK(problem.objective(x) >= loop.lower_bound);
    }
  }
}

TEST(every_bound_on_the_way_is_below_the_optimum) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const Problem problem(seed);
    SqpLoop loop = problem.loop(), early = problem.loop(false);
    for (int step = 0; step < 60 && !loop.optimal(); ++step) loop.advance(problem.rows);
    for (int step = 0; step < 6; ++step) {
      early.advance(problem.rows);
      CHECK(!early.bound.has_value());
      SqpLoop bounded = early;
      bounded.bound.reset();
      bounded.lower_bound = 0;
      bounded.bound_last_step(problem.rows);
      CHECK(bounded.bound.has_value());
      CHECK(bounded.lower_bound <= loop.objective + 1e-12);
    }
  }
}

TEST(without_dual_bounds_a_loop_never_calls_itself_optimal) {
  const Problem problem(3);
  SqpLoop loop = problem.loop(false);
  for (int step = 0; step < 20; ++step) loop.advance(problem.rows);
  CHECK(!loop.bound.has_value());
  CHECK(!loop.optimal());
}

TEST(the_working_set_grows_where_a_step_failed) {
  const Problem problem(1);
  SqpLoop loop = problem.loop();
  loop.advance(problem.rows);
  const RowModel model = problem.rows.row_model(loop.x, {0.3, 1e-3}, {});
  std::vector<double> mass, hinge_mass(static_cast<std::size_t>(model.tied.n_hinges()), 0.0);
  for (std::int64_t i = 0; i < model.tied.size(); ++i)
    for (auto k = model.tied.piece_at[i]; k < model.tied.piece_at[i + 1]; ++k)
      mass.push_back(model.tied.weight[i] / static_cast<double>(model.tied.piece_at[i + 1] - model.tied.piece_at[i]));
  const Plan plan = make_plan(problem.at.table, model, mass.data(), hinge_mass.data());
  loop.update_working_set(problem.rows, plan, nullptr);
  const std::size_t held = loop.working_set.row.size();
  std::vector<double> failed = loop.x;
  for (double& value : failed) value *= -3.0;
  problem.space.tighten(failed.data());
  loop.update_working_set(problem.rows, plan, &failed);
  CHECK(loop.working_set.row.size() > held);
  CHECK(std::is_sorted(loop.working_set.row.begin(), loop.working_set.row.end()));
}

// Multipliers that are not numbers leave a tied row without a piece.
TEST(a_plan_with_a_row_without_pieces_that_costs_too_much_is_survived) {
  const Problem problem(1);
  Plan plan;
  plan.point = problem.at.x;
  plan.row = {5, 7};
  plan.piece_at = {0, 1, 1};
  plan.mask = {1};
  plan.flipped = {0};
  plan.mass = {problem.at.weights[5]};
  plan.cost = {problem.at.table.move_price[0]};
  const std::vector<double> multiplier(problem.space.constraints.pairs.size(), 1.0);
  std::vector<double> cheap = problem.at.x;
  const DualBound bound =
      find_dual_bound(problem.space, problem.rows, plan, multiplier.data(), cheap.data(), {1e-6, limits, 0.7, 1e-6}, {});
  CHECK_EQUAL(bound.plan.mass.size(), std::size_t{1});
  CHECK(bound.value < 0.7);
}
