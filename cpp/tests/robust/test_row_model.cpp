// Row sums around a point, against the worst-case loss itself and against finite differences.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "drawn_table.hpp"
#include "surefoot/core/softplus.hpp"
#include "surefoot/robust/row_model.hpp"
#include "surefoot/robust/shift_plan.hpp"
#include "surefoot/robust/worst_case.hpp"

using namespace surefoot;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

RowModel model_of(const DrawnTable& at, double active_width, double precision, int n_threads = 1,
                  const WorkingSet& working_set = {}) {
  return build_row_model(at.table, at.layout, at.x.data(), {active_width, precision}, working_set, n_threads);
}

double worst_sum(const DrawnTable& at, const std::vector<double>& x) {
  return worst_case_sum(at.table, at.layout, x.data(), 1, nullptr);
}

// Gradient of a tied row's piece, then of its hinges, times a direction.
double along(const TiedRows& tied, std::int64_t i, std::int64_t k, const std::vector<double>& d) {
  double sum = tied.part(i).dot(d.data());
  for (auto s = tied.shared_at[i]; s < tied.shared_at[i + 1]; ++s) sum += d[tied.shared_slot[s]];
  sum *= tied.coef[k];
  const auto n_varied = tied.varied_at[i + 1] - tied.varied_at[i];
  for (std::int64_t v = 0; v < n_varied; ++v)
    sum += tied.varied[tied.entry_at[i] + (k - tied.piece_at[i]) * n_varied + v] * d[tied.varied_slot[tied.varied_at[i] + v]];
  return sum;
}

double hinge_along(const TiedRows& tied, std::int64_t i, std::int64_t h, const std::vector<double>& d) {
  const std::int32_t* slot = tied.varied_slot.data() + tied.varied_at[i];
  return tied.hinge_price_coef[h] * d[slot[0]] +
         tied.hinge_level_coef[h] * (d[slot[tied.hinge_level[h]]] - d[slot[tied.hinge_envelope[h]]]);
}

// What the model says of the sum of all rows at the point plus d, curvature left out.
double linear_model(const DrawnTable& at, const RowModel& model, const std::vector<double>& d) {
  const TiedRows& tied = model.tied;
  double sum = model.value;
  for (int a = 0; a < at.layout.size; ++a) sum += model.gradient[a] * d[a];
  for (std::int64_t i = 0; i < tied.size(); ++i) {
    double before = -inf, after = -inf;
    for (auto k = tied.piece_at[i]; k < tied.piece_at[i + 1]; ++k) {
      double now = tied.value[k], then = now + along(tied, i, k, d);
      for (auto h = tied.hinge_at[k]; h < tied.hinge_at[k + 1]; ++h) {
        now += std::max(0.0, tied.hinge_value[h]);
        then += std::max(0.0, tied.hinge_value[h] + hinge_along(tied, i, h, d));
      }
      before = std::max(before, now);
      after = std::max(after, then);
    }
    sum += tied.weight[i] * (after - before);
  }
  return sum;
}

// Masses that divide each tied row's weight unevenly.
std::vector<double> some_masses(const TiedRows& tied) {
  std::vector<double> mass(static_cast<std::size_t>(tied.n_pieces()));
  for (std::int64_t i = 0; i < tied.size(); ++i) {
    const auto count = static_cast<double>(tied.piece_at[i + 1] - tied.piece_at[i]);
    for (auto k = tied.piece_at[i]; k < tied.piece_at[i + 1]; ++k)
      mass[k] = tied.weight[i] * 2.0 * static_cast<double>(k - tied.piece_at[i] + 1) / (count * (count + 1.0));
  }
  return mass;
}

// A third of each piece's mass has every other hinge open, two thirds have the rest.
std::vector<double> some_hinge_masses(const TiedRows& tied, const std::vector<double>& mass) {
  std::vector<double> hinge(static_cast<std::size_t>(tied.n_hinges()));
  for (std::int64_t k = 0; k < tied.n_pieces(); ++k)
    for (auto h = tied.hinge_at[k]; h < tied.hinge_at[k + 1]; ++h) hinge[h] = mass[k] * (h % 2 ? 1.0 : 2.0) / 3.0;
  return hinge;
}

// sum of mass_k softplus(t_k), written from the plan that write_plan returns.
struct WrittenPlan {
  std::vector<std::int64_t> row;
  std::vector<std::uint8_t> moved, flipped;
  std::vector<double> mass, slope;

  WrittenPlan(const DrawnTable& at, const Plan& plan)
      : row(static_cast<std::size_t>(at.table.n_rows) - plan.row.size() + plan.mass.size()),
        moved(row.size() * static_cast<std::size_t>(at.table.n_categorical)),
        flipped(row.size()),
        mass(row.size()),
        slope(row.size()) {
    write_plan(at.table, at.layout, plan, at.x.data(), row.data(), moved.data(), flipped.data(), mass.data(), slope.data());
  }

  double argument(const DrawnTable& at, std::size_t k, const std::vector<double>& x) const {
    const MixedTable& table = at.table;
    const double label = flipped[k] ? -table.labels[row[k]] : table.labels[row[k]];
    double score = x[at.layout.intercept];
    for (int j = 0; j < table.n_numeric; ++j)
      score += table.numeric[row[k] * table.n_numeric + j] * x[at.layout.first_numeric + j];
    for (int l = 0; l < table.n_categorical; ++l) {
      const auto own = table.level_offset[l] + table.codes[row[k] * table.n_categorical + l];
      const auto slot = !moved[k * table.n_categorical + l] ? at.layout.level[own]
                        : label > 0                         ? at.layout.low[l]
                                                            : at.layout.high[l];
      score += slot == at.layout.size ? 0.0 : x[slot];
    }
    return -label * score;
  }

  double loss(const DrawnTable& at, const std::vector<double>& x) const {
    double sum = 0;
    for (std::size_t k = 0; k < row.size(); ++k) sum += mass[k] * softplus(argument(at, k, x));
    return sum;
  }
};

double largest_row_gap(const DrawnTable& at, const WrittenPlan& written) {
  std::vector<double> totals(static_cast<std::size_t>(at.table.n_rows));
  for (std::size_t k = 0; k < written.row.size(); ++k) totals[written.row[k]] += written.mass[k];
  double gap = 0;
  for (std::size_t row = 0; row < totals.size(); ++row) gap = std::max(gap, std::fabs(totals[row] - at.weights[row]));
  return gap;
}

}  // namespace

TEST(value_equals_the_worst_case_sum_for_any_active_width) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const DrawnTable at(seed, 40, 2, {3, 2, 4}, seed % 2 ? 0.8 : inf, 1.0, 0.4);
    for (const double active_width : {0.0, 0.1, 1e9})
      CHECK_NEAR(model_of(at, active_width, 0.0).value, worst_sum(at, at.x), 1e-13);
  }
}

TEST(gradient_of_rows_with_one_piece_equals_finite_differences) {
  const DrawnTable at(1, 30, 2, {3, 2, 4}, 0.8, 1.0, 0.4);
  const RowModel model = model_of(at, 0.0, 0.0);
  CHECK_EQUAL(model.tied.size(), 0);
  for (int a = 0; a < at.layout.size; ++a) {
    auto up = at.x, down = at.x;
    up[a] += 1e-6;
    down[a] -= 1e-6;
    CHECK_NEAR(model.gradient[a], (worst_sum(at, up) - worst_sum(at, down)) / 2e-6, 1e-7);
  }
}

TEST(model_of_tied_rows_agrees_with_the_loss_to_first_order) {
  std::mt19937 draw(7);
  std::normal_distribution<double> normal;
  bool any_tie = false;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const DrawnTable at(seed, 40, 2, {3, 2, 4}, seed % 2 ? 0.8 : inf, 1.0, 0.4);
    const RowModel model = model_of(at, 1e9, 0.0);
    any_tie = any_tie || model.tied.size() > 0;
    std::vector<double> d(at.x.size()), moved = at.x;
    for (int a = 0; a < at.layout.size; ++a) moved[a] += d[a] = 1e-5 * normal(draw);
    CHECK_NEAR(linear_model(at, model, d), worst_sum(at, moved), 1e-8);
  }
  CHECK(any_tie);
}

TEST(pieces_with_hinges_stand_for_all_subsets_within_the_precision) {
  std::mt19937 draw(8);
  std::normal_distribution<double> normal;
  bool any_hinge = false;
  for (unsigned seed = 0; seed < 20; ++seed) {
    // Large coefficients: most rows are where the loss is nearly straight.
    const DrawnTable at(seed, 40, 1, {3, 2, 4, 3}, seed % 2 ? 2.0 : inf, 6.0, 2.0);
    const double precision = 1e-3;
    const RowModel model = model_of(at, 3.0, precision);
    any_hinge = any_hinge || model.tied.n_hinges() > 0;
    std::vector<double> d(at.x.size()), moved = at.x;
    for (int a = 0; a < at.layout.size; ++a) moved[a] += d[a] = 1e-5 * normal(draw);
    CHECK_NEAR(linear_model(at, model, d), worst_sum(at, moved), 5e-3);
  }
  CHECK(any_hinge);
}

TEST(cuts_with_hinges_bound_the_loss_from_below_wherever_a_step_ends) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const double flip_price = seed % 2 ? 0.8 : inf;
    const DrawnTable at(seed, 12, 2, {3, 2, 4, 2}, flip_price, 0.5 + 0.01 * seed, 0.4);
    const RowModel near = build_row_model(at.table, at.layout, at.x.data(), {0.1, 1e-12, 0.0}, {}, 1);
    const RowModel cuts = build_row_model(at.table, at.layout, at.x.data(), {0.1, 1e-12, 3.0}, {}, 1);
    CHECK(cuts.tied.size() == at.table.n_rows);
    CHECK_NEAR(cuts.value, near.value, 1e-12);
    std::mt19937 draw(seed);
    std::normal_distribution<double> normal;
    std::vector<double> d(at.x.size()), end(at.x);
    for (int a = 0; a < at.layout.size; ++a) d[a] = normal(draw);
    d[at.layout.price] = 0.3 * std::fabs(normal(draw));
    for (std::size_t a = 0; a < end.size(); ++a) end[a] += d[a];
    const double there = worst_sum(at, end);
    CHECK(linear_model(at, cuts, d) <= there + 1e-12);
    CHECK(linear_model(at, cuts, d) >= linear_model(at, near, d) - 1e-12);
  }
}

TEST(plans_drop_negligible_masses_and_keep_the_weight_of_every_row) {
  const DrawnTable at(5, 40, 2, {3, 2, 4}, 0.8, 1.0, 0.3);
  const RowModel model = model_of(at, 0.5, 1e-3);
  auto mass = some_masses(model.tied);
  for (std::int64_t i = 0; i < model.tied.size(); ++i) {
    const auto first = model.tied.piece_at[i];
    for (auto k = first; k < model.tied.piece_at[i + 1]; ++k) mass[k] = k == first ? model.tied.weight[i] : 1e-14;
  }
  const Plan plan = make_plan(at.table, model, mass.data(), std::vector<double>(model.tied.n_hinges(), 1e-15).data());
  CHECK(plan.mass.size() == static_cast<std::size_t>(model.tied.size()));
  for (std::size_t i = 0; i < plan.mass.size(); ++i) CHECK_NEAR(plan.mass[i], model.tied.weight[i], 1e-15);
}

TEST(threads_do_not_change_a_bit) {
  const DrawnTable at(2, 9001, 2, {3, 2, 4}, 0.8, 1.0, 0.4);
  const RowModel alone = model_of(at, 0.1, 1e-3, 1), together = model_of(at, 0.1, 1e-3, 3);
  CHECK(alone.tied.size() > 0);
  CHECK_EQUAL(alone.value, together.value);
  CHECK(alone.gradient == together.gradient);
  CHECK(alone.curvature == together.curvature);
  CHECK(alone.tied.row == together.tied.row);
  CHECK(alone.tied.piece_at == together.tied.piece_at);
  CHECK(alone.tied.value == together.tied.value);
  CHECK(alone.tied.varied == together.tied.varied);
  CHECK(alone.tied.varied_slot == together.tied.varied_slot);
  CHECK(alone.tied.hinge_value == together.tied.hinge_value);
  const auto mass = some_masses(alone.tied);
  const Plan plan = make_plan(at.table, alone, mass.data(), some_hinge_masses(alone.tied, mass).data());
  const PlanSums one = sum_plan(at.table, at.layout, plan, at.x.data(), true, 1);
  const PlanSums three = sum_plan(at.table, at.layout, plan, at.x.data(), true, 3);
  CHECK_EQUAL(one.conjugate, three.conjugate);
  CHECK_EQUAL(one.cost, three.cost);
  CHECK(one.gradient == three.gradient);
  CHECK(one.curvature == three.curvature);
}

TEST(pieces_of_the_working_set_enter_although_they_are_not_nearly_tied) {
  const DrawnTable at(3, 20, 1, {3, 3}, 0.9, 1.0, 5.0);
  CHECK_EQUAL(model_of(at, 0.0, 0.0).tied.size(), 0);
  const PointTables point(at.table, at.layout, at.x.data());
  std::vector<std::int64_t> row;
  std::vector<std::uint64_t> mask;
  std::vector<std::uint8_t> flipped;
  std::vector<double> fraction;
  for (std::int64_t i = 0; i < at.table.n_rows; i += 2) {
    const bool flip = i % 4 == 0;
    const int side = (at.labels[i] > 0) != flip ? 0 : 1;
    // Every feature that gains: a move without gain differs from staying by its price only, and others may stand for it.
    std::uint64_t moved = 0;
    for (int l = 0; l < 2; ++l)
      if (point.gain[side][at.table.level_offset[l] + at.codes[2 * i + l]] > 0) moved |= std::uint64_t{1} << l;
    if (moved == 0) continue;
    row.push_back(i);
    mask.push_back(moved);
    flipped.push_back(flip);
    fraction.push_back(0.5);
  }
  CHECK(row.size() > 4);
  const RowModel model = model_of(at, 0.0, 0.0, 1, {row, mask, flipped, fraction});
  CHECK(model.tied.row == row);
  for (std::size_t i = 0; i < row.size(); ++i) {
    bool found = false;
    for (auto p = model.tied.piece_at[i]; p < model.tied.piece_at[i + 1]; ++p)
      found = found || (model.tied.mask[p] == mask[i] && model.tied.flipped[p] == flipped[i]);
    CHECK(found);
  }
  CHECK_NEAR(model.value, worst_sum(at, at.x), 1e-13);
}

TEST(plan_sums_equal_finite_differences_of_the_plans_loss) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const DrawnTable at(seed, 30, 2, {3, 2, 4}, seed % 2 ? 0.8 : inf, seed < 3 ? 1.0 : 4.0, seed < 3 ? 0.4 : 1.5);
    const RowModel model = model_of(at, 1.0, seed < 3 ? 0.0 : 1e-2);
    CHECK(model.tied.size() > 0);
    const auto mass = some_masses(model.tied);
    const Plan plan = make_plan(at.table, model, mass.data(), some_hinge_masses(model.tied, mass).data());
    const WrittenPlan written(at, plan);
    CHECK_NEAR(largest_row_gap(at, written), 0.0, 1e-15);
    const PlanSums sums = sum_plan(at.table, at.layout, plan, at.x.data(), true, 1);
    const auto length = sums.gradient.size();
    double conjugate = 0;
    for (std::size_t k = 0; k < written.row.size(); ++k) {
      const double t = written.argument(at, k, at.x);
      CHECK_NEAR(written.slope[k], sigmoid(t), 1e-12);
      CHECK(written.mass[k] >= 0);
      conjugate += written.mass[k] * (softplus(t) - sigmoid(t) * t);
    }
    CHECK_NEAR(sums.conjugate, conjugate, 1e-12);
    for (int a = 0; a < at.layout.size; ++a) {
      auto up = at.x, down = at.x;
      up[a] += 1e-5;
      down[a] -= 1e-5;
      CHECK_NEAR(sums.gradient[a], (written.loss(at, up) - written.loss(at, down)) / 2e-5, 1e-8);
      const PlanSums above = sum_plan(at.table, at.layout, plan, up.data(), false, 1);
      const PlanSums below = sum_plan(at.table, at.layout, plan, down.data(), false, 1);
      CHECK(above.curvature.empty());
      for (int b = 0; b < at.layout.size; ++b) {
        const auto low = static_cast<std::size_t>(std::min(a, b)), high = static_cast<std::size_t>(std::max(a, b));
        CHECK_NEAR(sums.curvature[high * length + low], (above.gradient[b] - below.gradient[b]) / 2e-5, 1e-8);
      }
    }
  }
}

TEST(cost_of_a_plan_is_the_mass_times_the_ground_cost_of_its_shifts) {
  const DrawnTable at(4, 30, 1, {3, 2, 4}, 0.8, 3.0, 0.7);
  const RowModel model = model_of(at, 0.5, 1e-2);
  const auto mass = some_masses(model.tied);
  const Plan plan = make_plan(at.table, model, mass.data(), some_hinge_masses(model.tied, mass).data());
  const WrittenPlan written(at, plan);
  double cost = 0;
  for (std::size_t k = 0; k < written.row.size(); ++k) {
    double price = written.flipped[k] ? at.table.flip_price : 0.0;
    for (int l = 0; l < 3; ++l) price += written.moved[3 * k + l] ? at.table.move_price[l] : 0.0;
    cost += written.mass[k] * price;
  }
  CHECK(cost > 0);
  CHECK_NEAR(sum_plan(at.table, at.layout, plan, at.x.data(), false, 1).cost, cost, 1e-12);
}

TEST(more_features_than_one_mask_word_holds) {
  const DrawnTable at(5, 12, 1, std::vector<int>(70, 2), 3.0, 0.5, 0.2);
  CHECK_EQUAL(at.table.mask_words(), 2);
  const RowModel model = model_of(at, 0.05, 1e-4);
  CHECK_NEAR(model.value, worst_sum(at, at.x), 1e-12);
  const auto mass = some_masses(model.tied);
  const Plan plan = make_plan(at.table, model, mass.data(), some_hinge_masses(model.tied, mass).data());
  const WrittenPlan written(at, plan);
  CHECK_NEAR(largest_row_gap(at, written), 0.0, 1e-15);
  bool second_word = false;
  for (std::size_t k = 0; k < written.row.size(); ++k)
    for (std::size_t l = 64; l < 70; ++l) second_word = second_word || written.moved[70 * k + l];
  CHECK(second_word);
  const PlanSums sums = sum_plan(at.table, at.layout, plan, at.x.data(), false, 1);
  double conjugate = 0;
  for (std::size_t k = 0; k < written.row.size(); ++k) {
    const double t = written.argument(at, k, at.x);
    conjugate += written.mass[k] * (softplus(t) - sigmoid(t) * t);
  }
  CHECK_NEAR(sums.conjugate, conjugate, 1e-11);
}

TEST(models_and_plans_of_parts_join_to_those_of_the_whole) {
  const DrawnTable at(8, 50, 2, {3, 2, 4}, 0.8, 1.0, 0.4);
  const RowModel whole = model_of(at, 0.3, 1e-3);
  std::vector<RowModel> models;
  std::vector<MixedTable> tables;
  const std::vector<std::int64_t> first_row{0, 17, 17, 50};
  for (std::size_t p = 0; p + 1 < first_row.size(); ++p) {
    MixedTable part = at.table;
    part.n_rows = first_row[p + 1] - first_row[p];
    part.numeric += first_row[p] * part.n_numeric;
    part.codes += first_row[p] * part.n_categorical;
    part.labels += first_row[p];
    part.weights += first_row[p];
    models.push_back(build_row_model(part, at.layout, at.x.data(), {0.3, 1e-3}, {}, 1));
    tables.push_back(part);
  }
  RowModel joined = models[0];
  for (std::size_t p = 1; p < models.size(); ++p) append_row_model(joined, models[p], first_row[p]);
  CHECK_NEAR(joined.value, whole.value, 1e-14);
  for (std::size_t a = 0; a < whole.gradient.size(); ++a) CHECK_NEAR(joined.gradient[a], whole.gradient[a], 1e-14);
  for (std::size_t a = 0; a < whole.curvature.size(); ++a) CHECK_NEAR(joined.curvature[a], whole.curvature[a], 1e-14);
  CHECK(joined.tied.row == whole.tied.row);
  CHECK(joined.tied.varied == whole.tied.varied);
  CHECK(joined.tied.hinge_at == whole.tied.hinge_at);
  CHECK(joined.tied.part_at == whole.tied.part_at);
  const auto mass = some_masses(whole.tied);
  const Plan plan = make_plan(at.table, whole, mass.data(), some_hinge_masses(whole.tied, mass).data());
  const PlanSums all = sum_plan(at.table, at.layout, plan, at.x.data(), false, 1);
  double conjugate = 0, cost = 0;
  std::vector<double> gradient(all.gradient.size());
  for (std::size_t p = 0; p < tables.size(); ++p) {
    const Plan part = plan.of_rows(first_row[p], first_row[p + 1], static_cast<std::size_t>(at.table.mask_words()));
    const PlanSums sums = sum_plan(tables[p], at.layout, part, at.x.data(), false, 1);
    conjugate += sums.conjugate;
    cost += sums.cost;
    for (std::size_t a = 0; a < gradient.size(); ++a) gradient[a] += sums.gradient[a];
  }
  CHECK_NEAR(conjugate, all.conjugate, 1e-14);
  CHECK_NEAR(cost, all.cost, 1e-14);
  for (std::size_t a = 0; a < gradient.size(); ++a) CHECK_NEAR(gradient[a], all.gradient[a], 1e-14);
}

TEST(gradients_written_out_are_those_of_a_plan_and_of_the_hinges) {
  const DrawnTable at(8, 50, 2, {3, 2, 4}, 0.8, 1.0, 0.4);
  const RowModel model = model_of(at, 0.3, 1e-3);
  const auto mass = some_masses(model.tied);
  const auto pieces = piece_gradients(model), hinges = hinge_gradients(model);
  const std::size_t length = model.gradient.size();
  const Plan plan = make_plan(at.table, model, mass.data(), std::vector<double>(hinges.size() / length).data());
  const PlanSums sums = sum_plan(at.table, at.layout, plan, at.x.data(), false, 1);
  CHECK(!mass.empty() && !hinges.empty());
  for (std::size_t a = 0; a < static_cast<std::size_t>(at.layout.price); ++a) {
    double slope = model.gradient[a];
    for (std::size_t k = 0; k < mass.size(); ++k) slope += mass[k] * pieces[k * length + a];
    CHECK_NEAR(slope, sums.gradient[a], 1e-13);
  }
  // What a hinge adds is linear in the point, without a constant.
  for (std::size_t h = 0; h < model.tied.hinge_value.size(); ++h) {
    double value = 0;
    for (std::size_t a = 0; a < length; ++a) value += hinges[h * length + a] * at.x[a];
    CHECK_NEAR(value, model.tied.hinge_value[h], 1e-13);
  }
}

TEST(sparse_rows_give_the_sums_of_the_same_rows_written_out) {
  for (const bool with_flips : {false, true}) {
    DrawnTable at(11, 60, 4, {3, 2, 2}, with_flips ? 0.7 : inf, 1.0, 0.3);
    std::vector<double> dense = at.numeric, stored;
    std::vector<std::int64_t> entry_at{0};
    std::vector<std::int32_t> column;
    for (std::int64_t row = 0; row < at.table.n_rows; ++row) {
      for (int j = 0; j < 4; ++j) {
        double& value = dense[static_cast<std::size_t>(row * 4 + j)];
        if ((row + j) % 3 == 0) value = 0.0;
        if (value == 0.0) continue;
        stored.push_back(value);
        column.push_back(j);
      }
      entry_at.push_back(static_cast<std::int64_t>(stored.size()));
    }
    at.table.numeric = dense.data();
    const RowModel full = model_of(at, 0.3, 1e-6);
    MixedTable sparse = at.table;
    sparse.numeric = stored.data();
    sparse.entry_at = entry_at.data();
    sparse.column = column.data();
    const RowModel few = build_row_model(sparse, at.layout, at.x.data(), {0.3, 1e-6}, {}, 1);
    CHECK_NEAR(few.value, full.value, 1e-13);
    for (std::size_t a = 0; a < full.gradient.size(); ++a) CHECK_NEAR(few.gradient[a], full.gradient[a], 1e-13);
    for (std::size_t a = 0; a < full.curvature.size(); ++a) CHECK_NEAR(few.curvature[a], full.curvature[a], 1e-13);
    CHECK(few.tied.size() == full.tied.size() && few.tied.size() > 0);
    for (std::int64_t i = 0; i < full.tied.size(); ++i) {
      CHECK_NEAR(few.tied.part(i).dot(at.x.data()), full.tied.part(i).dot(at.x.data()), 1e-13);
      CHECK(few.tied.part(i).count < full.tied.part(i).count);
    }
  }
}
