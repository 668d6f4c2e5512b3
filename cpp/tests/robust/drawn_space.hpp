// The lifted space of a drawn table, with the constraints of the norm l1.
#pragma once

#include <algorithm>

#include "drawn_table.hpp"
#include "surefoot/robust/lifted_space.hpp"

namespace surefoot {

inline LiftedSpace space_of(const DrawnTable& at, double gamma) {
  LiftedSpace space{at.table, at.layout, {}, NumericNorm::l1, {}, {}, {}};
  space.prices.n_rows = 0;
  const auto& layout = at.layout;
  for (int l = 0; l < at.table.n_categorical; ++l)
    for (auto c = at.table.level_offset[l]; c < at.table.level_offset[l + 1]; ++c)
      if (layout.low[l] < layout.size) space.constrained_levels.push_back(c);
  const auto feature_of = [&](std::int32_t c) {
    return static_cast<int>(std::upper_bound(at.table.level_offset.begin(), at.table.level_offset.end(), c) -
                            at.table.level_offset.begin()) -
           1;
  };
  auto& pairs = space.constraints.pairs;
  for (const auto c : space.constrained_levels) pairs.push_back({layout.low[feature_of(c)], layout.level[c], 1, -1, 0});
  for (const auto c : space.constrained_levels) pairs.push_back({layout.level[c], layout.high[feature_of(c)], 1, -1, 0});
  for (int j = 0; j < at.table.n_numeric; ++j) {
    space.numeric_weight.push_back(gamma);
    space.priced.push_back(j);
    for (const double sign : {1.0, -1.0}) pairs.push_back({layout.first_numeric + j, layout.price, sign / gamma, -1, 0});
  }
  pairs.push_back({layout.price, layout.size, -1, 0, 0});
  space.constraints.cone.price = layout.price;
  return space;
}

}  // namespace surefoot
