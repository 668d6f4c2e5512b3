#include "surefoot/robust/working_set.hpp"

#include <algorithm>

#include "surefoot/robust/shift_plan.hpp"

namespace surefoot {

WorkingSet WorkingSet::of_plan(const Plan& plan, double least_fraction) {
  WorkingSet pieces;
  const std::size_t words = plan.mass.empty() ? 1 : plan.mask.size() / plan.mass.size();
  for (std::size_t i = 0; i < plan.row.size(); ++i) {
    const auto begin = static_cast<std::size_t>(plan.piece_at[i]), end = static_cast<std::size_t>(plan.piece_at[i + 1]);
    double total = 0;
    for (auto p = begin; p < end; ++p) total += plan.mass[p];
    for (auto p = begin; p < end; ++p) {
      if (!(plan.mass[p] > least_fraction * total)) continue;
      pieces.row.push_back(plan.row[i]);
      const auto mask = plan.mask.begin() + static_cast<std::ptrdiff_t>(p * words);
      pieces.mask.insert(pieces.mask.end(), mask, mask + static_cast<std::ptrdiff_t>(words));
      pieces.flipped.push_back(plan.flipped[p]);
      pieces.fraction.push_back(plan.mass[p] / total);
    }
  }
  return pieces;
}

void WorkingSet::append(const WorkingSet& from, std::size_t p) {
  const auto words = static_cast<std::ptrdiff_t>(from.mask_words());
  const auto first = from.mask.begin() + static_cast<std::ptrdiff_t>(p) * words;
  row.push_back(from.row[p]);
  mask.insert(mask.end(), first, first + words);
  flipped.push_back(from.flipped[p]);
  fraction.push_back(from.fraction[p]);
}

WorkingSet WorkingSet::joined(const WorkingSet& other) const {
  WorkingSet both;
  const std::size_t n = row.size(), m = other.row.size();
  for (std::size_t a = 0, b = 0; a < n || b < m;) {
    if (a < n && (b == m || row[a] <= other.row[b]))
      both.append(*this, a++);
    else
      both.append(other, b++);
  }
  return both;
}

WorkingSet WorkingSet::of_rows(std::int64_t begin, std::int64_t end) const {
  WorkingSet part;
  auto p = static_cast<std::size_t>(std::lower_bound(row.begin(), row.end(), begin) - row.begin());
  for (; p < row.size() && row[p] < end; ++p) part.append(*this, p);
  return part.shifted(-begin);
}

WorkingSet WorkingSet::shifted(std::int64_t first_row) const {
  WorkingSet moved = *this;
  for (auto& r : moved.row) r += first_row;
  return moved;
}

}  // namespace surefoot
