#include "surefoot/robust/row_sums.hpp"

#include <algorithm>

#include "surefoot/robust/row_view.hpp"
#include "surefoot/robust/worst_case.hpp"

namespace surefoot {
namespace {

// Which moves every row makes in its worst case, and whether its label flips.
struct WorstMoves {
  std::vector<std::uint8_t> moved, flipped;

  WorstMoves(const MixedTable& table, const LiftedLayout& layout, const std::vector<double>& x, int n_threads)
      : moved(static_cast<std::size_t>(table.n_rows * table.n_moves())), flipped(static_cast<std::size_t>(table.n_rows)) {
    worst_case_rows(table, layout, x.data(), n_threads, nullptr, moved.data(), flipped.data(), nullptr);
  }
};

}  // namespace

RowModel TableSums::row_model(const std::vector<double>& x, const ModelRegion& region, const WorkingSet& working_set) const {
  return build_row_model(table_, layout_, x.data(), region, working_set, n_threads_);
}

double TableSums::value(const std::vector<double>& x) const {
  return worst_case_sum(table_, layout_, x.data(), n_threads_, nullptr);
}

PlanSums TableSums::plan_sums(const Plan& plan, const std::vector<double>& x, bool with_curvature) const {
  return sum_plan(table_, layout_, plan, x.data(), with_curvature, n_threads_);
}

WorkingSet TableSums::worst_pieces(const std::vector<double>& x, const std::vector<double>& before) const {
  const WorstMoves here(table_, layout_, x, n_threads_), there(table_, layout_, before, n_threads_);
  const auto words = static_cast<std::size_t>(table_.mask_words());
  WorkingSet worst;
  for (std::int64_t row = 0; row < table_.n_rows; ++row) {
    const auto first = static_cast<std::ptrdiff_t>(row * table_.n_moves());
    const auto moved = here.moved.begin() + first;
    const auto flipped = here.flipped[static_cast<std::size_t>(row)];
    if (flipped == there.flipped[static_cast<std::size_t>(row)] &&
        std::equal(moved, moved + table_.n_moves(), there.moved.begin() + first))
      continue;
    worst.row.push_back(row);
    worst.mask.resize(worst.mask.size() + words, 0);
    for (int l = 0; l < table_.n_moves(); ++l)
      if (moved[l]) set_bit(worst.mask.data() + worst.mask.size() - words, l);
    worst.flipped.push_back(flipped);
    worst.fraction.push_back(0.0);
  }
  return worst;
}

}  // namespace surefoot
