// What a solver may ask of the rows, wherever they are: sums over all of them, and the rows that tie.
#pragma once

#include <cstdint>
#include <vector>

#include "surefoot/robust/row_model.hpp"
#include "surefoot/robust/shift_plan.hpp"

namespace surefoot {

// Pieces that a model must contain, in the order of their rows, with the share of its row's mass that each held.
struct KeptPieces {
  std::vector<std::int64_t> row;
  std::vector<std::uint64_t> mask;  // mask_words per piece
  std::vector<std::uint8_t> flipped;
  std::vector<double> share;

  // Those of a plan that hold more than such a share.
  static KeptPieces of_plan(const Plan& plan, double least_share);
  // Both, in the order of their rows, these before the others'.
  KeptPieces joined(const KeptPieces& other) const;

  RememberedPieces view() const { return {row, mask, flipped, share}; }
};

class RowSums {
 public:
  virtual ~RowSums() = default;

  virtual RowModel row_model(const std::vector<double>& x, const ModelReach& reach, const KeptPieces& kept) const = 0;
  virtual double value(const std::vector<double>& x) const = 0;  // weighted sum of the worst-case losses
  // The plan as it is summed fastest: it has the pieces of the plan itself, and perhaps those of all other rows.
  virtual Plan summed_plan(const Plan& plan) const { return plan; }
  virtual PlanSums plan_sums(const Plan& plan, const std::vector<double>& x, bool with_curvature) const = 0;
  // The worst piece of every row whose worst piece is another one than at the point `before`.
  virtual KeptPieces worst_pieces(const std::vector<double>& x, const std::vector<double>& before) const = 0;
};

// Rows in memory.
class TableSums final : public RowSums {
 public:
  TableSums(const MixedTable& table, const LiftedLayout& layout, int n_threads)
      : table_(table), layout_(layout), n_threads_(n_threads) {}

  RowModel row_model(const std::vector<double>& x, const ModelReach& reach, const KeptPieces& kept) const override;
  double value(const std::vector<double>& x) const override;
  Plan summed_plan(const Plan& plan) const override { return whole_plan(table_, layout_, plan, n_threads_); }
  PlanSums plan_sums(const Plan& plan, const std::vector<double>& x, bool with_curvature) const override;
  KeptPieces worst_pieces(const std::vector<double>& x, const std::vector<double>& before) const override;

 private:
  const MixedTable& table_;
  const LiftedLayout& layout_;
  const int n_threads_;
};

}  // namespace surefoot
