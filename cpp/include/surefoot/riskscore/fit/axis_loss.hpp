// The logistic loss along one coordinate: the line search of a coordinate descent over points.
#pragma once

#include <cstddef>
#include <cstdint>

namespace surefoot {

struct AxisLossParameters {
  // Rows at a time: their scores, columns and weights stay in the nearest cache while the steps pass over them. Not tuned.
  std::size_t block_rows = 512;
};
inline constexpr AxisLossParameters axis_loss_parameters{};

// Rows with their weights, and the weight of those with label +1.
struct WeightedRows {
  std::size_t n_rows;
  const double* total;
  const double* positive;
};

// losses[k] = sum_i total_i log(1 + exp(t)) - positive_i t,   t = score_i + steps[k] * column_i.
void axis_losses(const WeightedRows& rows, const double* score, const double* column, const double* steps, int n_steps,
                 double* losses);

// The same for whole scores, columns and steps: log(1 + exp(t)) is read from table[t - first].
void axis_table_losses(const WeightedRows& rows, const std::int32_t* score, const std::int32_t* column,
                       const std::int32_t* steps, int n_steps, const double* table, std::int32_t first, double* losses);

}  // namespace surefoot
