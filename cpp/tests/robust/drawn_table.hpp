// A random table that owns its arrays, its layout, and a point with tight envelopes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "surefoot/robust/mixed_table.hpp"

namespace surefoot {

struct DrawnTable {
  std::vector<double> numeric, labels, weights, x;
  std::vector<std::int32_t> codes;
  MixedTable table;
  LiftedLayout layout;

  DrawnTable(unsigned seed, std::int64_t rows, int n_numeric, const std::vector<int>& levels, double flip_price, double size,
             double price)
      : DrawnTable(std::mt19937(seed), rows, n_numeric, levels, flip_price, size, price) {}
  DrawnTable(const DrawnTable&) = delete;

 private:
  DrawnTable(std::mt19937 draw, std::int64_t rows, int n_numeric, const std::vector<int>& levels, double flip_price,
             double size, double price)
      : table(fill(draw, rows, n_numeric, levels, flip_price)), layout(table, true) {
    std::normal_distribution<double> normal;
    x.resize(static_cast<std::size_t>(layout.size) + 1);
    for (int a = 0; a < layout.size; ++a) x[a] = size * normal(draw);
    x[layout.price] = price;
    x[layout.size] = 0.0;
    for (int l = 0; l < table.n_categorical; ++l) {
      if (layout.low[l] == layout.size) continue;
      double low = 0, high = 0;
      for (int c = table.level_offset[l]; c < table.level_offset[l + 1]; ++c) {
        low = std::min(low, x[layout.level[c]]);
        high = std::max(high, x[layout.level[c]]);
      }
      x[layout.low[l]] = low;
      x[layout.high[l]] = high;
    }
  }

  MixedTable fill(std::mt19937& draw, std::int64_t rows, int n_numeric, const std::vector<int>& levels, double flip_price) {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(0.3, 1.7);
    MixedTable made;
    made.n_rows = rows;
    made.n_numeric = n_numeric;
    made.n_categorical = static_cast<int>(levels.size());
    made.flip_price = flip_price;
    made.level_offset.push_back(0);
    for (const int count : levels) {
      made.level_offset.push_back(made.level_offset.back() + count);
      made.move_price.push_back(uniform(draw));
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      for (int j = 0; j < n_numeric; ++j) numeric.push_back(normal(draw));
      for (const int count : levels) codes.push_back(static_cast<std::int32_t>(draw() % static_cast<unsigned>(count)));
      labels.push_back(draw() % 2 ? 1.0 : -1.0);
      weights.push_back(uniform(draw) / static_cast<double>(rows));
    }
    made.numeric = numeric.data();
    made.codes = codes.data();
    made.labels = labels.data();
    made.weights = weights.data();
    return made;
  }
};

}  // namespace surefoot
