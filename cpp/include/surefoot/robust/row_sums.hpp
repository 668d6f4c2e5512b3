// The oracle of a solver: sums over all rows, wherever they are, and the rows that tie.
#pragma once

#include <cstdint>
#include <vector>

#include "surefoot/robust/row_model.hpp"
#include "surefoot/robust/shift_plan.hpp"

namespace surefoot {

class RowSums {
 public:
  virtual ~RowSums() = default;

  virtual RowModel row_model(const std::vector<double>& x, const ModelRegion& region, const WorkingSet& working_set) const = 0;
  virtual double value(const std::vector<double>& x) const = 0;  // weighted sum of the worst-case losses
  // The plan in the form that is summed fastest: with the pieces of the plan itself, and perhaps those of all other rows.
  virtual Plan completed_plan(const Plan& plan) const { return plan; }
  virtual PlanSums plan_sums(const Plan& plan, const std::vector<double>& x, bool with_curvature) const = 0;
  // The worst piece of every row whose worst piece is another one than at the point `before`.
  virtual WorkingSet worst_pieces(const std::vector<double>& x, const std::vector<double>& before) const = 0;
};

// Rows in memory.
class TableSums final : public RowSums {
 public:
  TableSums(const MixedTable& table, const LiftedLayout& layout, int n_threads)
      : table_(table), layout_(layout), n_threads_(n_threads) {}

  RowModel row_model(const std::vector<double>& x, const ModelRegion& region, const WorkingSet& working_set) const override;
  double value(const std::vector<double>& x) const override;
  Plan completed_plan(const Plan& plan) const override { return surefoot::completed_plan(table_, layout_, plan, n_threads_); }
  PlanSums plan_sums(const Plan& plan, const std::vector<double>& x, bool with_curvature) const override;
  WorkingSet worst_pieces(const std::vector<double>& x, const std::vector<double>& before) const override;

 private:
  const MixedTable& table_;
  const LiftedLayout& layout_;
  const int n_threads_;
};

}  // namespace surefoot
