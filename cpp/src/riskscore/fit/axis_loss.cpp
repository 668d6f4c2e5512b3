#include "surefoot/riskscore/fit/axis_loss.hpp"

#include "surefoot/core/dispatch.hpp"
#include "surefoot/core/lane_math.hpp"

namespace surefoot {
namespace {

SUREFOOT_INLINE void load(const double* from, Pack& pack) { __builtin_memcpy(&pack, from, sizeof pack); }

constexpr std::size_t block_rows = axis_loss_parameters.block_rows;

}  // namespace

SUREFOOT_DISPATCH void axis_losses(const WeightedRows& rows, const double* score, const double* column, const double* steps,
                                   int n_steps, double* losses) {
  for (int k = 0; k < n_steps; ++k) losses[k] = 0;
  for (std::size_t begin = 0; begin < rows.n_rows; begin += block_rows) {
    const std::size_t end = rows.n_rows - begin < block_rows ? rows.n_rows : begin + block_rows;
    for (int k = 0; k < n_steps; ++k) {
      Pack sum = {};
      std::size_t i = begin;
      for (; i + lanes <= end; i += lanes) {
        Pack t, x, total, positive, value, slope;
        load(score + i, t);
        load(column + i, x);
        load(rows.total + i, total);
        load(rows.positive + i, positive);
        t += steps[k] * x;
        softplus_pack(t, value, slope);
        sum += total * value - positive * t;
      }
      if (i < end) {
        Pack t = {}, x = {}, total = {}, positive = {}, value, slope;
        for (int r = 0; i + static_cast<std::size_t>(r) < end; ++r) {
          t[r] = score[i + static_cast<std::size_t>(r)];
          x[r] = column[i + static_cast<std::size_t>(r)];
          total[r] = rows.total[i + static_cast<std::size_t>(r)];
          positive[r] = rows.positive[i + static_cast<std::size_t>(r)];
        }
        t += steps[k] * x;
        softplus_pack(t, value, slope);
        sum += total * value - positive * t;
      }
      losses[k] += (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
  }
}

SUREFOOT_DISPATCH void axis_table_losses(const WeightedRows& rows, const std::int32_t* score, const std::int32_t* column,
                                         const std::int32_t* steps, int n_steps, const double* table, std::int32_t first,
                                         double* losses) {
  for (int k = 0; k < n_steps; ++k) {
    const std::int32_t step = steps[k];
    double sums[4] = {};
    std::size_t i = 0;
    for (; i + 4 <= rows.n_rows; i += 4)
      for (std::size_t r = 0; r < 4; ++r) {
        const std::int32_t t = score[i + r] + step * column[i + r];
        sums[r] += rows.total[i + r] * table[t - first] - rows.positive[i + r] * t;
      }
    for (; i < rows.n_rows; ++i) {
      const std::int32_t t = score[i] + step * column[i];
      sums[0] += rows.total[i] * table[t - first] - rows.positive[i] * t;
    }
    losses[k] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
}

}  // namespace surefoot
