#include "surefoot/robust/row_sums.hpp"

#include <algorithm>

#include "surefoot/robust/row_view.hpp"
#include "surefoot/robust/worst_case.hpp"

namespace surefoot {
namespace {

// Which features of every row move in its worst case, and whether its label flips.
struct WorstMoves {
  std::vector<std::uint8_t> moved, flipped;

  WorstMoves(const MixedTable& table, const LiftedLayout& layout, const std::vector<double>& x, int n_threads)
      : moved(static_cast<std::size_t>(table.n_rows * table.n_categorical)), flipped(static_cast<std::size_t>(table.n_rows)) {
    worst_case_rows(table, layout, x.data(), n_threads, nullptr, moved.data(), flipped.data(), nullptr);
  }
};

}  // namespace

KeptPieces KeptPieces::of_plan(const Plan& plan, double least_share) {
  KeptPieces kept;
  const std::size_t words = plan.mass.empty() ? 1 : plan.mask.size() / plan.mass.size();
  for (std::size_t i = 0; i < plan.row.size(); ++i) {
    const auto begin = static_cast<std::size_t>(plan.piece_at[i]), end = static_cast<std::size_t>(plan.piece_at[i + 1]);
    double total = 0;
    for (auto p = begin; p < end; ++p) total += plan.mass[p];
    for (auto p = begin; p < end; ++p) {
      if (!(plan.mass[p] > least_share * total)) continue;
      kept.row.push_back(plan.row[i]);
      const auto mask = plan.mask.begin() + static_cast<std::ptrdiff_t>(p * words);
      kept.mask.insert(kept.mask.end(), mask, mask + static_cast<std::ptrdiff_t>(words));
      kept.flipped.push_back(plan.flipped[p]);
      kept.share.push_back(plan.mass[p] / total);
    }
  }
  return kept;
}

KeptPieces KeptPieces::joined(const KeptPieces& other) const {
  KeptPieces both;
  const std::size_t n = row.size(), m = other.row.size();
  const std::size_t words = n + m == 0 ? 1 : (mask.size() + other.mask.size()) / (n + m);
  const auto take = [&](const KeptPieces& from, std::size_t p) {
    both.row.push_back(from.row[p]);
    both.mask.insert(both.mask.end(), from.mask.begin() + static_cast<std::ptrdiff_t>(p * words),
                     from.mask.begin() + static_cast<std::ptrdiff_t>((p + 1) * words));
    both.flipped.push_back(from.flipped[p]);
    both.share.push_back(from.share[p]);
  };
  for (std::size_t a = 0, b = 0; a < n || b < m;) {
    if (a < n && (b == m || row[a] <= other.row[b]))
      take(*this, a++);
    else
      take(other, b++);
  }
  return both;
}

RowModel TableSums::row_model(const std::vector<double>& x, const ModelReach& reach, const KeptPieces& kept) const {
  return build_row_model(table_, layout_, x.data(), reach, kept.view(), n_threads_);
}

double TableSums::value(const std::vector<double>& x) const {
  return worst_case_sum(table_, layout_, x.data(), n_threads_, nullptr);
}

PlanSums TableSums::plan_sums(const Plan& plan, const std::vector<double>& x, bool with_curvature) const {
  return sum_plan(table_, layout_, plan, x.data(), with_curvature, n_threads_);
}

KeptPieces TableSums::worst_pieces(const std::vector<double>& x, const std::vector<double>& before) const {
  const WorstMoves here(table_, layout_, x, n_threads_), there(table_, layout_, before, n_threads_);
  const auto words = static_cast<std::size_t>(table_.mask_words());
  KeptPieces worst;
  for (std::int64_t row = 0; row < table_.n_rows; ++row) {
    const auto first = static_cast<std::ptrdiff_t>(row * table_.n_categorical);
    const auto mine = here.moved.begin() + first;
    const auto flipped = here.flipped[static_cast<std::size_t>(row)];
    if (flipped == there.flipped[static_cast<std::size_t>(row)] &&
        std::equal(mine, mine + table_.n_categorical, there.moved.begin() + first))
      continue;
    worst.row.push_back(row);
    worst.mask.resize(worst.mask.size() + words, 0);
    for (int l = 0; l < table_.n_categorical; ++l)
      if (mine[l]) set_bit(worst.mask.data() + worst.mask.size() - words, l);
    worst.flipped.push_back(flipped);
    worst.share.push_back(0.0);
  }
  return worst;
}

}  // namespace surefoot
