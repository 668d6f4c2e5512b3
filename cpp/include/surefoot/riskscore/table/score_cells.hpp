// The distinct rows of a few columns, and the logistic loss of a score over them.
#pragma once

#include <cstddef>
#include <vector>

#include "surefoot/core/pack_vector.hpp"

namespace surefoot {

// A score card with more columns than this could not be added up by hand; fixed arrays are sized by it.
constexpr int max_card_size = 15;
constexpr int max_coordinates = max_card_size + 1;

// Cells in packs of four; cells that fill up the last pack weigh nothing. Coordinate 0 is the intercept, coordinate j + 1 the
// points of column j.
struct ScoreCells {
  int n_columns = 0;
  int n_packs = 0;
  std::size_t n_cells = 0;
  PackVector values;    // column by column, n_packs each
  PackVector total;     // weight of the rows in a cell
  PackVector positive;  // weight of those with label +1

  void reset(int columns, std::size_t cells);
  void set_weights(std::size_t cell, double all, double of_positive) {
    reinterpret_cast<double*>(total.data())[cell] = all;
    reinterpret_cast<double*>(positive.data())[cell] = of_positive;
  }
  void set_value(std::size_t cell, int column, double value) {
    reinterpret_cast<double*>(values.data() + static_cast<std::size_t>(column) * static_cast<std::size_t>(n_packs))[cell] =
        value;
  }
};

// loss = sum over cells of total log(1 + exp(s)) - positive s, which is the weighted log loss, with its derivatives.
struct CellSums {
  double loss;
  double gradient[max_coordinates];
  double curvature[max_coordinates * max_coordinates];  // lower triangle, rows max_coordinates apart
};

void sum_cells(const ScoreCells& cells, const double* point, CellSums& sums);

}  // namespace surefoot
