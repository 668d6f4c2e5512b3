// KKT conditions of the quadratic programme, recomputed from the row model.
#include <cmath>

#include "check.hpp"
#include "random_qp.hpp"

using namespace surefoot;

namespace {

void check_optimality(const RandomQp& at, double tolerance) {
  const TiedRows& tied = at.model.tied;
  const QpSolution& found = at.solved;
  CHECK_EQUAL(found.step[static_cast<std::size_t>(at.size)], 0.0);
  auto stationarity = at.curved(found.step);
  for (int a = 0; a < at.size; ++a) stationarity[a] += at.linear[a];
  for (std::int64_t i = 0; i < tied.size(); ++i) {
    double total = 0;
    const double row = row_at(tied, i, found.step);
    for (auto k = tied.piece_at[i]; k < tied.piece_at[i + 1]; ++k) {
      CHECK(found.mass[k] >= 0);
      total += found.mass[k];
      add_piece(tied, stationarity, i, k, found.mass[k]);
      CHECK_NEAR(found.mass[k] * (row - piece_at(tied, i, k, found.step)), 0.0, tolerance);
      for (auto h = tied.hinge_at[k]; h < tied.hinge_at[k + 1]; ++h) {
        CHECK(found.hinge_mass[h] >= 0 && found.hinge_mass[h] <= found.mass[k]);
        add_hinge(tied, stationarity, i, h, found.hinge_mass[h]);
        const double hinge = hinge_at(tied, i, h, found.step);
        CHECK_NEAR(hinge > 0 ? (found.mass[k] - found.hinge_mass[h]) * hinge : found.hinge_mass[h] * hinge, 0.0, tolerance);
      }
    }
    CHECK_NEAR(total, tied.weight[i], 1e-14);
  }
  for (std::size_t c = 0; c < at.constraints.size(); ++c) {
    const PairConstraint& row = at.constraints[c];
    const double left = row.slack - row.first_coef * found.step[row.first] - row.second_coef * found.step[row.second];
    CHECK(left >= -tolerance);
    CHECK(found.pair_multiplier[c] >= 0);
    CHECK_NEAR(found.pair_multiplier[c] * left, 0.0, tolerance);
    stationarity[row.first] += found.pair_multiplier[c] * row.first_coef;
    stationarity[row.second] += found.pair_multiplier[c] * row.second_coef;
  }
  for (int a = 0; a < at.size; ++a) CHECK_NEAR(stationarity[a], 0.0, tolerance);
}

}  // namespace

TEST(optimality_conditions_hold_with_listed_pieces) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const RandomQp at(seed, 25, seed % 2 ? 0.8 : inf, 1.0, 0.5, 0.5, 0.0, 1e-3, 1e-8);
    CHECK(at.model.tied.size() > 0);
    CHECK(at.solved.converged);
    check_optimality(at, 1e-7);
  }
}

TEST(optimality_conditions_hold_with_hinges) {
  std::int64_t hinges = 0;
  for (unsigned seed = 0; seed < 10; ++seed) {
    const RandomQp at(seed, 25, seed % 2 ? 2.0 : inf, 4.0, 1.5, 2.0, 1e-2, 1.0);
    hinges += at.model.tied.n_hinges();
    CHECK(at.solved.converged);
    check_optimality(at, 1e-7);
  }
  CHECK(hinges > 0);
}

TEST(a_tolerance_below_rounding_still_ends_at_the_best_point_on_the_way) {
  for (unsigned seed = 0; seed < 10; ++seed)
    check_optimality(RandomQp(seed, 25, seed % 2 ? 2.0 : inf, 4.0, 1.5, 2.0, 1e-2, 1.0, 1e-15), 1e-6);
}

TEST(optimality_conditions_hold_without_ties) {
  const RandomQp at(1, 25, inf, 1.0, 0.5, 0.0, 0.0);
  CHECK_EQUAL(at.model.tied.size(), 0);
  CHECK(at.solved.converged);
  check_optimality(at, 1e-7);
}

TEST(no_feasible_step_nearby_is_better_and_the_decrease_is_what_the_model_falls) {
  std::mt19937 draw(3);
  std::normal_distribution<double> normal;
  for (unsigned seed = 0; seed < 4; ++seed) {
    const RandomQp at(seed, 25, seed % 2 ? 0.8 : inf, 2.0, 0.8, 0.5, 1e-3);
    const double best = at.value(at.solved.step);
    CHECK_NEAR(at.solved.predicted_decrease, at.value(std::vector<double>(at.x.size())) - best, 1e-9);
    CHECK(at.solved.predicted_decrease > 0);
    for (int trial = 0; trial < 100; ++trial) {
      auto other = at.solved.step;
      for (int a = 0; a < at.size; ++a) other[a] += 0.1 * normal(draw);
      bool feasible = true;
      for (const auto& row : at.constraints)
        feasible = feasible && row.first_coef * other[row.first] + row.second_coef * other[row.second] <= row.slack;
      if (feasible) CHECK(at.value(other) >= best - 1e-7);
    }
    // Towards d = 0, which is always feasible.
    for (const double length : {0.0, 0.5, 0.9, 0.99}) {
      auto other = at.solved.step;
      for (double& entry : other) entry *= length;
      CHECK(at.value(other) >= best - 1e-7);
    }
  }
}

TEST(threads_do_not_change_a_bit) {
  const RandomQp alone(5, 9001, 0.8, 1.0, 0.5, 2.0, 1e-3, 1e-3, 1e-9, 1),
      together(5, 9001, 0.8, 1.0, 0.5, 2.0, 1e-3, 1e-3, 1e-9, 3);
  CHECK(alone.model.tied.size() >= 4096);
  CHECK(alone.solved.step == together.solved.step);
  CHECK(alone.solved.mass == together.solved.mass);
  CHECK(alone.solved.hinge_mass == together.solved.hinge_mass);
  CHECK(alone.solved.pair_multiplier == together.solved.pair_multiplier);
  CHECK_EQUAL(alone.solved.iterations, together.solved.iterations);
}

TEST(a_step_sought_among_the_nearest_ties_falls_as_far_as_one_that_sees_all) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    const RandomQp at(seed, 6000, inf, 4.0, 1.5, 2.0, 1e-2, 1.0, 1e-10);
    CHECK(at.model.tied.n_hinges() >= 2000);
    for (const double near : {0.0, 1e-3, 0.1}) {
      const QpSolution found = at.solve({1e-10, 200, near});
      CHECK(found.converged);
      CHECK_NEAR(found.predicted_decrease, at.value(std::vector<double>(at.x.size())) - at.value(found.step), 1e-9);
      CHECK(found.predicted_decrease <= at.solved.predicted_decrease + 1e-9);
      CHECK(found.predicted_decrease >= 0.9 * at.solved.predicted_decrease);
      for (std::int64_t i = 0; i < at.model.tied.size(); ++i) {
        double total = 0;
        for (auto k = at.model.tied.piece_at[i]; k < at.model.tied.piece_at[i + 1]; ++k) total += found.mass[k];
        CHECK_NEAR(total, at.model.tied.weight[i], 1e-14);
      }
    }
  }
}

TEST(a_large_decrease_is_right_to_a_hundredth_in_fewer_iterations_and_a_small_one_to_the_tolerance) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const RandomQp at(seed, 25, seed % 2 ? 0.8 : inf, 2.0, 0.8, 0.5, 1e-3);
    const auto with = [&](double final_decrease) { return at.solve({1e-10, 200, inf, 1, final_decrease}); };
    const QpSolution exact = with(inf), rough = with(0.5 * exact.predicted_decrease),
                     last = with(1.01 * exact.predicted_decrease);
    CHECK(rough.converged);
    CHECK(rough.iterations < exact.iterations);
    CHECK(rough.predicted_decrease >= 0.95 * exact.predicted_decrease);
    CHECK(rough.predicted_decrease <= exact.predicted_decrease + 1e-9);
    CHECK(last.step == exact.step);
  }
}

TEST(a_step_limit_ends_with_finite_numbers_and_is_not_called_converged) {
  RandomQp at(2, 25, 0.8, 1.0, 0.5, 0.2, 0.0);
  const auto cut = at.solve({1e-11, 2});
  CHECK(!cut.converged);
  for (const double entry : cut.step) CHECK(std::isfinite(entry));
  for (std::int64_t i = 0; i < at.model.tied.size(); ++i) {
    double total = 0;
    for (auto k = at.model.tied.piece_at[i]; k < at.model.tied.piece_at[i + 1]; ++k) total += cut.mass[k];
    CHECK_NEAR(total, at.model.tied.weight[i], 1e-14);
  }
}

namespace {

// The point nearest to `wanted` under constraints alone: a step from x with unit curvature and no rows.
std::vector<double> nearest(const std::vector<double>& x, const std::vector<double>& wanted, const QpConstraints& constraints) {
  const std::size_t size = x.size(), stride = size + 1;
  RowModel model;
  model.gradient.assign(stride, 0.0);
  model.curvature.assign(stride * stride, 0.0);
  std::vector<double> linear(stride, 0.0), regularisation(stride, 0.0);
  for (std::size_t a = 0; a < size; ++a) {
    model.curvature[a * stride + a] = 1.0;
    linear[a] = x[a] - wanted[a];
  }
  auto solved = solve_qp(model, static_cast<int>(size), linear.data(), regularisation.data(), constraints, {1e-9, 100});
  CHECK(solved.converged);
  for (std::size_t a = 0; a < size; ++a) solved.step[a] += x[a];
  return solved.step;
}

}  // namespace

TEST(cone_constraint_projects_onto_the_cone) {
  std::mt19937 draw(3);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 200; ++trial) {
    const int n = 1 + trial % 5;
    std::vector<double> x(static_cast<std::size_t>(n) + 1), wanted(x.size());
    for (auto* v : {&x, &wanted})
      for (double& u : *v) u = normal(draw);
    const double scale = 0.5 + 0.01 * trial;
    QpConstraints constraints;
    constraints.cone.price = n;
    constraints.cone.price_value = x[n];
    double length = 0;
    for (int a = 0; a < n; ++a) {
      constraints.cone.slot.push_back(a);
      constraints.cone.scale.push_back(scale);
      constraints.cone.value.push_back(scale * x[a]);
      length += wanted[a] * wanted[a];
    }
    length = std::sqrt(length);
    // Distance to the ray (u, price) = t (direction, scale |u|): t = (length + scale price) / (1 + scale^2) where that is positive.
    const double along = (length + scale * wanted[n]) / (1.0 + scale * scale);
    const bool inside = scale * length <= wanted[n];
    const auto found = nearest(x, wanted, constraints);
    for (int a = 0; a < n; ++a) CHECK_NEAR(found[a], inside ? wanted[a] : std::max(along, 0.0) * wanted[a] / length, 1e-4);
    CHECK_NEAR(found[n], inside ? wanted[n] : scale * std::max(along, 0.0), 1e-4);
  }
}

TEST(sum_constraint_projects_onto_the_half_space) {
  std::mt19937 draw(4);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<double> x(6), wanted(6), coef(4);
    for (auto* v : {&x, &wanted, &coef})
      for (double& u : *v) u = normal(draw);
    QpConstraints constraints;
    constraints.sum.slot = {4, 0, 2, 5};
    constraints.sum.coef = coef;
    const double limit = normal(draw);
    double square = 0, excess = -limit;
    constraints.sum.slack = limit;
    for (std::size_t k = 0; k < 4; ++k) {
      constraints.sum.slack -= coef[k] * x[constraints.sum.slot[k]];
      excess += coef[k] * wanted[constraints.sum.slot[k]];
      square += coef[k] * coef[k];
    }
    auto expected = wanted;
    for (std::size_t k = 0; k < 4; ++k) expected[constraints.sum.slot[k]] -= std::max(excess, 0.0) / square * coef[k];
    const auto found = nearest(x, wanted, constraints);
    for (std::size_t a = 0; a < 6; ++a) CHECK_NEAR(found[a], expected[a], 1e-4);
  }
}
