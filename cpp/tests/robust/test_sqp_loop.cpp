// A descent and its proofs: what it calls a bound is below the objective everywhere, and what it calls optimal is.
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

  Descent descent(bool proofs = true) const {
    std::vector<double> start(at.x.size(), 0.0);
    const double value = objective(start);
    return {space, {radius, tolerance, limits, false, proofs, at.table.n_rows, 1}, std::move(start), value};
  }
};

}  // namespace

TEST(a_descent_ends_at_an_optimum_that_no_point_nearby_beats) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const Problem problem(seed);
    Descent descent = problem.descent();
    int steps = 0;
    while (!descent.optimal() && steps < 60) {
      descent.advance(problem.rows);
      ++steps;
    }
    CHECK(descent.optimal());
    CHECK(descent.bound.has_value());
    CHECK_NEAR(descent.objective, problem.objective(descent.x), 1e-14);
    CHECK_NEAR(descent.lower_bound, descent.objective, 2 * tolerance);
    std::mt19937 draw(seed);
    std::normal_distribution<double> normal;
    for (int trial = 0; trial < 300; ++trial) {
      std::vector<double> x = descent.x;
      const double size = std::pow(10.0, -(trial % 6));
      for (int a = 0; a < problem.space.n_coefficients(); ++a) x[static_cast<std::size_t>(a)] += size * normal(draw);
      // The price may be anything that the coefficients allow.
      x[static_cast<std::size_t>(problem.at.layout.price)] *= 0.5 + 0.25 * (trial % 5);
      CHECK(problem.objective(x) >= descent.lower_bound);
    }
  }
}

TEST(every_bound_on_the_way_is_below_the_optimum) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const Problem problem(seed);
    Descent descent = problem.descent(), early = problem.descent(false);
    for (int step = 0; step < 60 && !descent.optimal(); ++step) descent.advance(problem.rows);
    for (int step = 0; step < 6; ++step) {
      early.advance(problem.rows);
      CHECK(!early.bound.has_value());
      Descent asked = early;
      asked.bound.reset();
      asked.lower_bound = 0;
      asked.prove_last(problem.rows);
      CHECK(asked.bound.has_value());
      CHECK(asked.lower_bound <= descent.objective + 1e-12);
    }
  }
}

TEST(without_proofs_a_descent_never_calls_itself_optimal) {
  const Problem problem(3);
  Descent descent = problem.descent(false);
  for (int step = 0; step < 20; ++step) descent.advance(problem.rows);
  CHECK(!descent.bound.has_value());
  CHECK(!descent.optimal());
}

TEST(remembered_pieces_grow_where_a_step_fell_short) {
  const Problem problem(1);
  Descent descent = problem.descent();
  descent.advance(problem.rows);
  const RowModel model = problem.rows.row_model(descent.x, {0.3, 1e-3}, {});
  std::vector<double> mass, hinge_mass(static_cast<std::size_t>(model.tied.n_hinges()), 0.0);
  for (std::int64_t i = 0; i < model.tied.size(); ++i)
    for (auto k = model.tied.piece_at[i]; k < model.tied.piece_at[i + 1]; ++k)
      mass.push_back(model.tied.weight[i] / static_cast<double>(model.tied.piece_at[i + 1] - model.tied.piece_at[i]));
  const Plan plan = make_plan(problem.at.table, model, mass.data(), hinge_mass.data());
  descent.remember(problem.rows, plan, nullptr);
  const std::size_t held = descent.kept.row.size();
  std::vector<double> far = descent.x;
  for (double& value : far) value *= -3.0;
  problem.space.tighten(far.data());
  descent.remember(problem.rows, plan, &far);
  CHECK(descent.kept.row.size() > held);
  CHECK(std::is_sorted(descent.kept.row.begin(), descent.kept.row.end()));
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
  const std::vector<double> multiplier(problem.space.constraints.shared.size(), 1.0);
  std::vector<double> cheap = problem.at.x;
  const ProvenPlan proof =
      prove_plan(problem.space, problem.rows, plan, multiplier.data(), cheap.data(), 1e-6, limits, 0.7, 1e-6);
  CHECK_EQUAL(proof.plan.mass.size(), std::size_t{1});
  CHECK(proof.value < 0.7);
}
