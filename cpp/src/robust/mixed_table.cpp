#include "surefoot/robust/mixed_table.hpp"

#include <cmath>

namespace surefoot {

LiftedLayout::LiftedLayout(const MixedTable& table, bool fit_intercept, int n_extra) {
  constexpr std::int32_t fixed = -1;
  int next = 0;
  intercept = fit_intercept ? next++ : fixed;
  first_numeric = next;
  next += table.n_numeric;
  level.resize(static_cast<std::size_t>(table.n_levels()));
  for (int l = 0; l < table.n_categorical; ++l) {
    for (int c = table.level_offset[l]; c < table.level_offset[l + 1]; ++c)
      level[c] = c == table.level_offset[l] ? fixed : next++;
  }
  low.resize(static_cast<std::size_t>(table.n_categorical));
  high.resize(static_cast<std::size_t>(table.n_categorical));
  for (int l = 0; l < table.n_categorical; ++l) {
    const bool movable = table.level_offset[l + 1] - table.level_offset[l] > 1 && std::isfinite(table.move_price[l]);
    low[l] = movable ? next++ : fixed;
    high[l] = movable ? next++ : fixed;
  }
  price = next++;
  size = next + n_extra;
  if (intercept == fixed) intercept = size;
  for (auto* slots : {&level, &low, &high})
    for (auto& slot : *slots)
      if (slot == fixed) slot = size;
}

}  // namespace surefoot
