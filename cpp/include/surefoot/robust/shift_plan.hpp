// The shift plan behind a quadratic programme's multipliers (the adversary's distribution, the dual variable), and sums over
// it.
#pragma once

#include <cstdint>
#include <vector>

#include "surefoot/robust/row_model.hpp"

namespace surefoot {

// The pieces of the tied rows and their masses, which sum to the row's weight. Every other row is where it was worst at the
// point the plan was made; that is found again when it is needed, so a plan is as small as the ties are few. Hinged features
// are toggled in a nested order, those with the most mass first, which realises any hinge masses at all.
struct Plan {
  std::vector<double> point;
  std::vector<std::int64_t> row;  // ascending
  std::vector<std::int64_t> piece_at;
  std::vector<std::uint64_t> mask;  // per piece, as are all below
  std::vector<std::uint8_t> flipped;
  std::vector<double> mass;
  std::vector<double> cost;

  // The plan of the rows [begin, end), counted from begin.
  Plan of_rows(std::int64_t begin, std::int64_t end, std::size_t mask_words) const;
};

// The plan with a piece for every row, for as long as it is summed: sums over it need not find the worst cases of the others
// again.
Plan completed_plan(const MixedTable& table, const LiftedLayout& layout, const Plan& plan, int n_threads);

struct ShiftPlanParameters {
  // An interior point leaves a little mass everywhere. Pieces below this fraction of their row's weight would make plans long
  // and prove nothing; their mass goes to the other pieces of the row in proportion. Not tuned.
  double negligible_mass = 1e-11;
};

Plan make_plan(const MixedTable& table, const RowModel& model, const double* mass, const double* hinge_mass);

// Sums over a plan at a point x, whose envelope entries are taken as they are. With t_k the loss argument of piece k and
// q_k = sigmoid(t_k):
struct PlanSums {
  double conjugate = 0;           // sum mass_k (softplus(t_k) - q_k t_k), minus the conjugate of the loss at the slopes q_k
  double cost = 0;                // sum mass_k cost_k
  std::vector<double> gradient;   // sum mass_k q_k dt_k/dx
  std::vector<double> curvature;  // sum mass_k q_k (1 - q_k) dt_k/dx dt_k/dx^T, lower triangle; empty unless requested
};

PlanSums sum_plan(const MixedTable& table, const LiftedLayout& layout, const Plan& plan, const double* x, bool with_curvature,
                  int n_threads);

// The plan written out: one entry per piece, rows in order. Outputs hold n_rows - rows of the plan + its pieces entries.
void write_plan(const MixedTable& table, const LiftedLayout& layout, const Plan& plan, const double* x, std::int64_t* row,
                std::uint8_t* moved, std::uint8_t* flipped, double* piece_mass, double* slope);

}  // namespace surefoot
