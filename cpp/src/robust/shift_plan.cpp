#include "surefoot/robust/shift_plan.hpp"

#include <algorithm>
#include <cmath>

#include "surefoot/core/softplus.hpp"
#include "surefoot/robust/outer_product.hpp"
#include "surefoot/robust/row_view.hpp"
#include "surefoot/robust/worst_case.hpp"

namespace surefoot {
namespace {

// Calls work(row, mask, flipped, mass) for every piece of the plan in rows [begin, end).
template <class Work>
void for_each_plan_piece(const MixedTable& table, const LiftedLayout& layout, const Plan& plan, const PointTables& made_at,
                         std::int64_t begin, std::int64_t end, Work&& work) {
  const auto words = static_cast<std::size_t>(table.mask_words());
  auto listed = static_cast<std::size_t>(std::lower_bound(plan.row.begin(), plan.row.end(), begin) - plan.row.begin());
  RowScratch scratch(table);
  std::vector<std::uint64_t> mask(words);
  for (std::int64_t row = begin; row < end; ++row) {
    if (listed < plan.row.size() && plan.row[listed] == row) {
      for (auto p = static_cast<std::size_t>(plan.piece_at[listed]); p < static_cast<std::size_t>(plan.piece_at[listed + 1]);
           ++p)
        work(row, plan.mask.data() + p * words, plan.flipped[p] != 0, plan.mass[p]);
      ++listed;
    } else {
      enumerate_prefixes(table, made_at, row, row_score(table, layout, made_at, row), 0.0, scratch);
      const Piece& worst = scratch.pieces[scratch.best];
      std::fill(mask.begin(), mask.end(), 0);
      for (int k = 0; k < worst.n_moved; ++k) set_bit(mask.data(), scratch.order[worst.flipped][k]);
      work(row, mask.data(), worst.flipped, table.weights[row]);
    }
  }
}

// What is left of a piece's mass where a move is toggled, and what that adds to the cost.
struct Toggle {
  double left;
  std::int32_t move;
  double cost;
};

}  // namespace

Plan make_plan(const MixedTable& table, const RowModel& model, const double* mass, const double* hinge_mass) {
  const auto words = static_cast<std::size_t>(table.mask_words());
  const TiedRows& tied = model.tied;
  Plan plan;
  plan.point = model.point;
  plan.row = tied.row;
  plan.piece_at.push_back(0);
  std::vector<Toggle> toggles;
  std::vector<std::uint64_t> mask(words);
  const auto add_piece = [&](std::int64_t p, double piece_mass, double cost) {
    plan.mask.insert(plan.mask.end(), mask.begin(), mask.end());
    plan.flipped.push_back(tied.flipped[p]);
    plan.mass.push_back(piece_mass);
    plan.cost.push_back(cost);
  };
  for (std::int64_t i = 0; i < tied.size(); ++i) {
    const double negligible = ShiftPlanParameters{}.negligible_mass * tied.weight[i];
    const std::size_t begin = plan.mass.size();
    const auto n_varied = tied.varied_at[i + 1] - tied.varied_at[i];
    for (auto p = tied.piece_at[i]; p < tied.piece_at[i + 1]; ++p) {
      toggles.clear();
      for (auto h = tied.hinge_at[p]; h < tied.hinge_at[p + 1]; ++h) {
        const std::int32_t l = tied.hinge_feature[h];
        const double cost = -tied.hinge_price_coef[h];
        const std::uint64_t* own = tied.mask.data() + static_cast<std::size_t>(p) * words;
        if (l < table.n_categorical || !table.to_high(l) || has_bit(own, l) || has_bit(own, l - 1)) {
          toggles.push_back({hinge_mass[h], l, cost});
        } else {
          // A row goes to one end or to the other: where it stays so far, they are taken from the two ends of the mass.
          toggles.push_back({INFINITY, l, cost});
          toggles.push_back({mass[p] - hinge_mass[h], l, -cost});
        }
      }
      std::stable_sort(toggles.begin(), toggles.end(), [](const auto& a, const auto& b) { return a.left > b.left; });
      std::copy_n(tied.mask.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(p) * words), words, mask.begin());
      double left = mass[p], cost = -tied.varied[tied.entry_at[i] + (p - tied.piece_at[i]) * n_varied];
      for (const auto& toggle : toggles) {
        if (left - toggle.left > negligible) {
          add_piece(p, left - toggle.left, cost);
          left = toggle.left;
        }
        mask[static_cast<std::size_t>(toggle.move) >> 6] ^= std::uint64_t{1} << (toggle.move & 63);
        cost += toggle.cost;
      }
      if (left > negligible) add_piece(p, left, cost);
    }
    double retained = 0;
    for (std::size_t k = begin; k < plan.mass.size(); ++k) retained += plan.mass[k];
    for (std::size_t k = begin; k < plan.mass.size(); ++k) plan.mass[k] *= tied.weight[i] / retained;
    plan.piece_at.push_back(static_cast<std::int64_t>(plan.mass.size()));
  }
  return plan;
}

Plan Plan::of_rows(std::int64_t begin, std::int64_t end, std::size_t mask_words) const {
  const auto first = std::lower_bound(row.begin(), row.end(), begin) - row.begin();
  const auto last = std::lower_bound(row.begin(), row.end(), end) - row.begin();
  const auto from = piece_at[static_cast<std::size_t>(first)], to = piece_at[static_cast<std::size_t>(last)];
  Plan part;
  part.point = point;
  for (auto i = first; i < last; ++i) part.row.push_back(row[static_cast<std::size_t>(i)] - begin);
  for (auto i = first; i <= last; ++i) part.piece_at.push_back(piece_at[static_cast<std::size_t>(i)] - from);
  const auto words = static_cast<std::ptrdiff_t>(mask_words);
  part.mask.assign(mask.begin() + from * words, mask.begin() + to * words);
  part.flipped.assign(flipped.begin() + from, flipped.begin() + to);
  part.mass.assign(mass.begin() + from, mass.begin() + to);
  part.cost.assign(cost.begin() + from, cost.begin() + to);
  return part;
}

Plan completed_plan(const MixedTable& table, const LiftedLayout& layout, const Plan& plan, int n_threads) {
  const auto n = static_cast<std::size_t>(table.n_rows), words = static_cast<std::size_t>(table.mask_words());
  const auto features = static_cast<std::size_t>(table.n_moves());
  std::vector<std::uint8_t> moved(n * features), flipped(n);
  std::vector<double> cost(n);
  worst_case_rows(table, layout, plan.point.data(), n_threads, nullptr, moved.data(), flipped.data(), cost.data());
  const std::size_t n_pieces = n - plan.row.size() + plan.mass.size();
  Plan completed;
  completed.point = plan.point;
  completed.row.resize(n);
  completed.piece_at.assign(n + 1, 0);
  completed.mask.assign(n_pieces * words, 0);
  completed.flipped.resize(n_pieces);
  completed.mass.resize(n_pieces);
  completed.cost.resize(n_pieces);
  std::size_t listed = 0, at = 0;
  for (std::size_t row = 0; row < n; ++row) {
    completed.row[row] = static_cast<std::int64_t>(row);
    if (listed < plan.row.size() && plan.row[listed] == completed.row[row]) {
      for (auto p = static_cast<std::size_t>(plan.piece_at[listed]); p < static_cast<std::size_t>(plan.piece_at[listed + 1]);
           ++p, ++at) {
        std::copy_n(plan.mask.data() + p * words, words, completed.mask.data() + at * words);
        completed.flipped[at] = plan.flipped[p];
        completed.mass[at] = plan.mass[p];
        completed.cost[at] = plan.cost[p];
      }
      ++listed;
    } else {
      for (std::size_t l = 0; l < features; ++l)
        if (moved[row * features + l]) set_bit(completed.mask.data() + at * words, static_cast<int>(l));
      completed.flipped[at] = flipped[row];
      completed.mass[at] = table.weights[row];
      completed.cost[at] = cost[row];
      ++at;
    }
    completed.piece_at[row + 1] = static_cast<std::int64_t>(at);
  }
  return completed;
}

PlanSums sum_plan(const MixedTable& table, const LiftedLayout& layout, const Plan& plan, const double* x, bool with_curvature,
                  int n_threads) {
  const PointTables point(table, layout, x), made_at(table, layout, plan.point.data());
  const RowBlocks blocks = curvature_blocks(table, layout);
  const auto length = static_cast<std::size_t>(layout.size) + 1;
  std::vector<PlanSums> parts(static_cast<std::size_t>(blocks.n_blocks));
  for_each_block(blocks, n_threads, [&](std::int64_t block) {
    PlanSums& part = parts[static_cast<std::size_t>(block)];
    part.gradient.assign(length, 0.0);
    if (with_curvature) part.curvature.assign(length * length, 0.0);
    OuterSum outer(part.curvature.data(), length,
                   table.entry_at || !with_curvature ? 0 : layout.first_numeric + table.n_numeric);
    RowView view(table, layout);
    std::vector<std::int32_t> slots(static_cast<std::size_t>(table.n_categorical));
    std::int64_t at = -1;
    double score = 0;
    // Without moves all pieces of a row have its own entries: one sum for the row will do.
    const bool one_part = table.n_moves() == 0;
    double slope_sum = 0, curvature_sum = 0;
    const auto add_row = [&] {
      if (at < 0) return;
      view.part().add_to(part.gradient.data(), slope_sum);
      if (with_curvature) outer.add(view.part(), nullptr, 0, curvature_sum);
      slope_sum = curvature_sum = 0;
    };
    for_each_plan_piece(table, layout, plan, made_at, blocks.begin(block), blocks.end(block),
                        [&](std::int64_t row, const std::uint64_t* mask, bool flipped, double piece_mass) {
                          if (piece_mass == 0) return;
                          if (row != at) {
                            if (one_part) add_row();
                            view.move_to(row);
                            score = row_score(table, layout, point, row);
                            at = row;
                          }
                          const double t = view.argument(point, score, mask, flipped);
                          const double slope = sigmoid(t);
                          part.conjugate += piece_mass * (softplus(t) - slope * t);
                          part.cost += piece_mass * view.cost(mask, flipped);
                          if (one_part) {
                            slope_sum -= view.target(flipped) * slope * piece_mass;
                            curvature_sum += piece_mass * slope * (1 - slope);
                            return;
                          }
                          view.place(mask);
                          for (int l = 0; l < table.n_categorical; ++l)
                            slots[static_cast<std::size_t>(l)] = view.slot(l, mask, flipped);
                          add_gradient(part.gradient.data(), view.part(), slots, -view.target(flipped) * slope * piece_mass);
                          if (with_curvature)
                            outer.add(view.part(), slots.data(), static_cast<int>(slots.size()),
                                      piece_mass * slope * (1 - slope));
                        });
    if (one_part) add_row();
    outer.flush();
  });
  PlanSums sums = std::move(parts[0]);
  for (std::size_t block = 1; block < parts.size(); ++block) {
    sums.conjugate += parts[block].conjugate;
    sums.cost += parts[block].cost;
    add_into(sums.gradient, parts[block].gradient);
    add_into(sums.curvature, parts[block].curvature);
  }
  return sums;
}

void write_plan(const MixedTable& table, const LiftedLayout& layout, const Plan& plan, const double* x, std::int64_t* row_out,
                std::uint8_t* moved, std::uint8_t* flipped_out, double* mass_out, double* slope) {
  const PointTables point(table, layout, x), made_at(table, layout, plan.point.data());
  RowView view(table, layout);
  std::int64_t k = 0;
  for_each_plan_piece(table, layout, plan, made_at, 0, table.n_rows,
                      [&](std::int64_t row, const std::uint64_t* mask, bool flipped, double piece_mass) {
                        view.move_to(row);
                        row_out[k] = row;
                        for (int l = 0; l < table.n_moves(); ++l) moved[k * table.n_moves() + l] = has_bit(mask, l);
                        flipped_out[k] = flipped;
                        mass_out[k] = piece_mass;
                        slope[k] = sigmoid(view.argument(point, row_score(table, layout, point, row), mask, flipped));
                        ++k;
                      });
}

}  // namespace surefoot
