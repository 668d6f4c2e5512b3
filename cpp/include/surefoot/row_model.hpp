// Row sums of the robust loss around a point: value, gradient, curvature, and the rows whose worst case is (nearly) tied.
//
// This is all a solver ever learns about the rows. Sums over parts of a table add up, and tied rows concatenate, so the rows may
// as well live elsewhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "surefoot/mixed_table.hpp"

namespace surefoot {

// Shifts a caller wants to see in the model again, sorted by row, with the share of the row's mass they held.
struct RememberedPieces {
  std::span<const std::int64_t> row;
  std::span<const std::uint64_t> mask;  // mask_words per piece
  std::span<const std::uint8_t> flipped;
  std::span<const double> share;
};

// Rows whose worst case is not one smooth piece. The gradient of piece k of a row, in lifted coordinates, is
//   coef_k * (dense part, 1 at the shared slots) + (varied_k at the varied slots),
// where the first varied slot is always the price. Features whose slot is the same in every piece of the row are shared.
//
// Hinges. Where the loss is nearly straight (a row far on the wrong side), features decide one by one whether to move, and every
// subset of the undecided ones is nearly tied: too many pieces to list. A piece stands for all of them if it carries one hinge per
// undecided feature,  max(0, change of the tangent at the piece when the feature changes its mind),  added to its value.
struct TiedRows {
  std::vector<std::int64_t> row;
  std::vector<double> weight;
  std::vector<double> dense;            // n_dense per row
  std::vector<std::int64_t> shared_at;  // start of each row's shared slots, and the end
  std::vector<std::int32_t> shared_slot;
  std::vector<std::int64_t> varied_at;
  std::vector<std::int32_t> varied_slot;
  std::vector<std::int64_t> piece_at;
  std::vector<std::int64_t> entry_at;  // start of each row's (pieces x varied slots) block in `varied`
  std::vector<double> varied;
  std::vector<double> value;  // per piece, as are all below
  std::vector<double> coef;
  std::vector<std::uint64_t> mask;
  std::vector<std::uint8_t> flipped;
  std::vector<std::int64_t> hinge_at;       // start of each piece's hinges, and the end
  std::vector<std::int32_t> hinge_feature;  // per hinge, as are all below
  std::vector<double> hinge_value;          // at most 0 for a row's best piece, which is where it wants to be
  std::vector<std::int32_t> hinge_level;    // where its level's slot is among the row's varied slots
  std::vector<std::int32_t> hinge_envelope;
  std::vector<double> hinge_price_coef;
  std::vector<double> hinge_level_coef;  // the envelope's is its negative

  std::int64_t size() const { return static_cast<std::int64_t>(row.size()); }
  std::int64_t n_pieces() const { return static_cast<std::int64_t>(value.size()); }
  std::int64_t n_hinges() const { return static_cast<std::int64_t>(hinge_value.size()); }
};

struct RowModel {
  int n_dense = 0;                // intercept (if any) and numeric columns
  double value = 0;               // weighted sum of the worst-case losses, all rows
  std::vector<double> gradient;   // rows with one piece only
  std::vector<double> curvature;  // all rows; lower triangle, (size + 1) x (size + 1)
  TiedRows tied;
  std::vector<std::uint64_t> mask;  // the single piece of every row that has one
  std::vector<std::uint8_t> flipped;
};

RowModel build_row_model(const MixedTable& table, const LiftedLayout& layout, const double* x, double tie_width,
                         double precision, const RememberedPieces& remembered, int n_threads);

// An adversary's plan: the pieces of every row that is not simply its single one, and their masses, which sum to the row's weight.
// Undecided features change their minds in a nested order, those with the most mass first, which realises any masses at all.
struct Plan {
  std::vector<std::int64_t> row;  // ascending
  std::vector<std::int64_t> piece_at;
  std::vector<std::uint64_t> mask;  // per piece, as are all below
  std::vector<std::uint8_t> flipped;
  std::vector<double> mass;
  std::vector<double> cost;
};

Plan make_plan(const MixedTable& table, const RowModel& model, const double* mass, const double* hinge_mass);

// Sums over a plan at a point x, whose envelope entries are taken as they are. With t_k the loss argument of piece k and
// q_k = sigmoid(t_k):
struct PlanSums {
  double conjugate = 0;           // sum mass_k (softplus(t_k) - q_k t_k), minus the conjugate of the loss at the slopes q_k
  double cost = 0;                // sum mass_k cost_k
  std::vector<double> gradient;   // sum mass_k q_k dt_k/dx
  std::vector<double> curvature;  // sum mass_k q_k (1 - q_k) dt_k/dx dt_k/dx^T, lower triangle; empty unless asked for
};

PlanSums sum_plan(const MixedTable& table, const LiftedLayout& layout, const RowModel& model, const Plan& plan, const double* x,
                  bool with_curvature, int n_threads);

// The plan written out: one entry per piece, rows in order. Outputs hold n_rows - rows of the plan + its pieces entries.
void write_plan(const MixedTable& table, const LiftedLayout& layout, const RowModel& model, const Plan& plan, const double* x,
                std::int64_t* row, std::uint8_t* moved, std::uint8_t* flipped, double* piece_mass, double* slope);

}  // namespace surefoot
