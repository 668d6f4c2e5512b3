// Small random tables for score cards.
#pragma once

#include <random>
#include <vector>

#include "surefoot/riskscore/search/support_search.hpp"

namespace surefoot {

constexpr int most_points = 2, most_intercept = 4;

struct Drawn {
  int n_columns;
  std::vector<double> values, labels, weights;

  ScoreProblem problem(int max_size, double penalty) const {
    return {{values.data(), labels.size(), n_columns, labels.data(), weights.data()},
            std::vector<int>(n_columns, -most_points),
            std::vector<int>(n_columns, most_points),
            -most_intercept,
            most_intercept,
            max_size,
            penalty,
            {}};
  }
};

// Columns of 0 and 1, or of -1 to 2; the last column repeats the first, or mirrors it.
inline Drawn draw(unsigned seed, bool binary, int n_columns) {
  std::mt19937 random(seed);
  Drawn drawn{n_columns, {}, {}, {}};
  const std::size_t n = 20 + random() % 40, drawn_columns = static_cast<std::size_t>(n_columns) - 1;
  for (std::size_t k = 0; k < n * drawn_columns; ++k)
    drawn.values.push_back(binary ? random() % 2 : static_cast<double>(random() % 4) - 1);
  for (std::size_t i = 0; i < n; ++i) drawn.values.push_back(seed % 2 ? drawn.values[i] : 1 - drawn.values[i]);
  for (std::size_t i = 0; i < n; ++i) {
    drawn.labels.push_back(drawn.values[i] + static_cast<double>(random() % 3) > 1.5 ? 1 : -1);
    drawn.weights.push_back(1.0 / static_cast<double>(n));
  }
  return drawn;
}

}  // namespace surefoot
