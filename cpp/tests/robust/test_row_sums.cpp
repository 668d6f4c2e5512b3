// What a solver asks of rows in memory: its working set, pieces that became the worst, and plans with a piece for every row.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "drawn_table.hpp"
#include "surefoot/robust/qp_interior_point.hpp"
#include "surefoot/robust/row_sums.hpp"
#include "surefoot/robust/row_view.hpp"
#include "surefoot/robust/worst_case.hpp"

using namespace surefoot;

namespace {

DrawnTable drawn(unsigned seed) { return {seed, 80, 3, {3, 2, 4}, seed % 2 ? 1.3 : 0.6, 0.8, 0.4}; }

// A plan over the tied rows in which every piece has some mass.
Plan spread_plan(const DrawnTable& at) {
  const RowModel model = build_row_model(at.table, at.layout, at.x.data(), {0.3, 1e-3}, {}, 1);
  std::vector<double> mass(static_cast<std::size_t>(model.tied.n_pieces()));
  std::vector<double> hinge_mass(static_cast<std::size_t>(model.tied.n_hinges()));
  for (std::int64_t i = 0; i < model.tied.size(); ++i)
    for (auto k = model.tied.piece_at[i]; k < model.tied.piece_at[i + 1]; ++k) {
      mass[k] = model.tied.weight[i] / static_cast<double>(model.tied.piece_at[i + 1] - model.tied.piece_at[i]);
      for (auto h = model.tied.hinge_at[k]; h < model.tied.hinge_at[k + 1]; ++h) hinge_mass[h] = 0.3 * mass[k];
    }
  return make_plan(at.table, model, mass.data(), hinge_mass.data());
}

}  // namespace

TEST(a_plan_with_a_piece_for_every_row_has_the_same_sums) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const DrawnTable at = drawn(seed);
    const Plan plan = spread_plan(at);
    const TableSums rows(at.table, at.layout, 1);
    const Plan whole = rows.completed_plan(plan);
    CHECK(!plan.row.empty() && plan.row.size() < whole.row.size());
    CHECK_EQUAL(whole.row.size(), static_cast<std::size_t>(at.table.n_rows));
    std::vector<double> x = at.x;
    for (double& value : x) value *= 0.9;
    const PlanSums one = rows.plan_sums(plan, x, true), other = rows.plan_sums(whole, x, true);
    CHECK_NEAR(other.conjugate, one.conjugate, 1e-14);
    CHECK_NEAR(other.cost, one.cost, 1e-14);
    for (std::size_t a = 0; a < x.size(); ++a) CHECK_NEAR(other.gradient[a], one.gradient[a], 1e-14);
    for (std::size_t a = 0; a < one.curvature.size(); ++a) CHECK_NEAR(other.curvature[a], one.curvature[a], 1e-14);
    double mass = 0, weight = 0;
    for (const double entry : whole.mass) mass += entry;
    for (const double entry : at.weights) weight += entry;
    CHECK_NEAR(mass, weight, 1e-14);
  }
}

TEST(worst_pieces_are_those_of_the_rows_whose_worst_case_changed) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const DrawnTable at = drawn(seed);
    const auto n = static_cast<std::size_t>(at.table.n_rows), width = static_cast<std::size_t>(at.table.n_categorical);
    std::vector<double> there = at.x;
    there[static_cast<std::size_t>(at.layout.price)] *= 0.5;
    std::vector<std::uint8_t> before(n * width), after(n * width), flipped_before(n), flipped_after(n);
    worst_case_rows(at.table, at.layout, at.x.data(), 1, nullptr, before.data(), flipped_before.data(), nullptr);
    worst_case_rows(at.table, at.layout, there.data(), 1, nullptr, after.data(), flipped_after.data(), nullptr);
    const WorkingSet worst = TableSums(at.table, at.layout, 1).worst_pieces(there, at.x);
    std::size_t listed = 0;
    for (std::size_t row = 0; row < n; ++row) {
      bool changed = flipped_before[row] != flipped_after[row];
      for (std::size_t l = 0; l < width; ++l) changed = changed || before[row * width + l] != after[row * width + l];
      if (!changed) continue;
      CHECK(listed < worst.row.size() && worst.row[listed] == static_cast<std::int64_t>(row));
      if (listed >= worst.row.size()) break;
      CHECK_EQUAL(worst.flipped[listed], flipped_after[row]);
      for (std::size_t l = 0; l < width; ++l)
        CHECK_EQUAL(has_bit(&worst.mask[listed], static_cast<int>(l)), after[row * width + l] != 0);
      ++listed;
    }
    CHECK(listed > 0);
    CHECK_EQUAL(listed, worst.row.size());
  }
}

TEST(a_working_set_has_the_pieces_that_hold_more_than_their_fraction_and_joins_in_the_order_of_rows) {
  const DrawnTable at = drawn(1);
  const Plan plan = spread_plan(at);
  const WorkingSet all = WorkingSet::of_plan(plan, 0.0);
  CHECK_EQUAL(all.row.size(), plan.mass.size());
  double held = 0;
  for (const double fraction : all.fraction) held += fraction;
  CHECK_NEAR(held, static_cast<double>(plan.row.size()), 1e-12);
  const WorkingSet some = WorkingSet::of_plan(plan, 0.4);
  CHECK(!some.row.empty() && some.row.size() < all.row.size());
  for (const double fraction : some.fraction) CHECK(fraction > 0.4);
  const WorkingSet both = all.joined(some);
  CHECK_EQUAL(both.row.size(), all.row.size() + some.row.size());
  CHECK(std::is_sorted(both.row.begin(), both.row.end()));
  const WorkingSet nothing;
  CHECK(nothing.joined(all).mask == all.mask);
  CHECK(nothing.joined(nothing).row.empty());
}

TEST(a_working_set_cut_at_rows_and_shifted_back_is_the_same_set) {
  const DrawnTable at = drawn(2);
  const WorkingSet all = WorkingSet::of_plan(spread_plan(at), 0.0);
  WorkingSet again;
  const std::vector<std::int64_t> cuts{0, 17, 17, 50, at.table.n_rows};
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    const WorkingSet part = all.of_rows(cuts[k], cuts[k + 1]);
    for (const auto row : part.row) CHECK(row >= 0 && row < cuts[k + 1] - cuts[k]);
    again = again.joined(part.shifted(cuts[k]));
  }
  CHECK(again.row == all.row);
  CHECK(again.mask == all.mask);
  CHECK(again.flipped == all.flipped);
  CHECK(again.fraction == all.fraction);
}
