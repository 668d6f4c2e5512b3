#include "surefoot/riskscore/fit/child_fit.hpp"

#include <limits>

#include "surefoot/core/dispatch.hpp"

namespace surefoot {
namespace {

constexpr int max_size = max_binary_columns + 1;
constexpr const ChildFitParameters& parameters = child_fit_parameters;

SUREFOOT_INLINE bool any(const PackBits& mask) { return (mask[0] | mask[1] | mask[2] | mask[3]) != 0; }

// sums[m] = sum over the cells that contain m.
SUREFOOT_INLINE void sum_supersets(Pack* sums, int n_columns) {
  const int n_cells = 1 << n_columns;
  for (int bit = 1; bit < n_cells; bit <<= 1)
    for (int block = 0; block < n_cells; block += 2 * bit)
      for (int m = block; m < block + bit; ++m) sums[m] += sums[m + bit];
}

// Solves (lower triangle of) A x = b in place; coordinates whose pivot has vanished stay where they are.
SUREFOOT_INLINE void solve_lanes(Pack (*A)[max_size], Pack* b, int n) {
  const Pack zero = {};
  Pack inverse[max_size];
  for (int i = 0; i < n; ++i) {
    const Pack diagonal = A[i][i];
    for (int j = 0; j < i; ++j) {
      Pack sum = A[i][j];
      for (int k = 0; k < j; ++k) sum -= A[i][k] * A[j][k];
      A[i][j] = sum;
    }
    // The factor is L D L^T: finished rows hold L, this one holds L D until here.
    Pack pivot = diagonal;
    for (int j = 0; j < i; ++j) {
      const Pack scaled = A[i][j] * inverse[j];
      pivot -= scaled * A[i][j];
      A[i][j] = scaled;
    }
    for (int j = 0; j < i; ++j) b[i] -= A[i][j] * b[j];
    const auto sound = pivot > parameters.relative_pivot_tolerance * diagonal + parameters.pivot_tolerance;
    inverse[i] = sound ? 1.0 / pivot : zero;
  }
  for (int i = 0; i < n; ++i) b[i] *= inverse[i];
  for (int i = n - 1; i >= 0; --i)
    for (int j = 0; j < i; ++j) b[j] -= A[i][j] * b[i];
}

}  // namespace

// Inclusion and exclusion gives the cells with the last column at 1, the others are what remains of the shared cells.
SUREFOOT_DISPATCH void expand_children(ChildBatch& batch, const double* cell_total, const double* cell_positive) {
  const int n = 1 << (batch.n_columns - 1);
  const Pack zero = {};
  Pack* total = batch.total + n;
  Pack* positive = batch.positive + n;
  for (int bit = 1; bit < n; bit <<= 1)
    for (int block = 0; block < n; block += 2 * bit)
      for (int m = block; m < block + bit; ++m) {
        total[m] -= total[m + bit];
        positive[m] -= positive[m + bit];
      }
  for (int m = 0; m < n; ++m) {
    // Rounding may leave a trace of negative weight in an empty cell, which would not be convex.
    Pack all = total[m] > zero ? total[m] : zero;
    all = all < zero + cell_total[m] ? all : zero + cell_total[m];
    const Pack most = all < zero + cell_positive[m] ? all : zero + cell_positive[m];
    Pack some = positive[m] > zero ? positive[m] : zero;
    some = some < most ? some : most;
    total[m] = all;
    positive[m] = some;
    batch.total[m] = cell_total[m] - all;
    const Pack rest = cell_positive[m] - some;
    batch.positive[m] = rest < batch.total[m] ? rest : batch.total[m];
  }
}

SUREFOOT_DISPATCH void fit_children(ChildBatch& batch, const int* live, int n_live, double threshold, double tolerance,
                                    int max_steps) {
  const int n = batch.n_columns, twin = 1 << (n - 1), n_cells = 1 << n;
  const Pack zero = {};
  fill(batch.bound, -std::numeric_limits<double>::infinity());
  for (int j = 0; j <= n; ++j) batch.bound_point[j] = batch.point[j];
  Pack score[max_binary_cells], residual[max_binary_cells], curvature[max_binary_cells];
  for (int step = 0;; ++step) {
    score[0] = batch.point[0];
    for (int j = 0; j < n; ++j)
      for (int m = 0; m < (1 << j); ++m) score[m + (1 << j)] = score[m] + batch.point[j + 1];
    for (int m = 0; m < n_cells; ++m) residual[m] = curvature[m] = zero;
    Pack loss = zero;
    for (int k = 0; k < 2 * n_live; ++k) {
      const int m = live[k >> 1] + (k & 1 ? twin : 0);
      Pack raised, slope;
      softplus_pack(score[m], raised, slope);
      loss += batch.total[m] * raised - batch.positive[m] * score[m];
      const Pack expected = batch.total[m] * slope;
      residual[m] = expected - batch.positive[m];
      curvature[m] = expected * (1.0 - slope);
    }
    sum_supersets(residual, n);
    sum_supersets(curvature, n);
    Pack gradient[max_size], bound = loss;
    for (int j = 0; j <= n; ++j) {
      const Pack g = residual[j ? 1 << (j - 1) : 0];
      gradient[j] = g;
      const Pack low = g * batch.lower[j], high = g * batch.upper[j];
      bound -= g * batch.point[j] - (low < high ? low : high);
    }
    batch.loss = loss;
    const auto better = bound > batch.bound;
    batch.bound = better ? bound : batch.bound;
    for (int j = 0; j <= n; ++j) batch.bound_point[j] = better ? batch.point[j] : batch.bound_point[j];
    const auto open = (batch.bound <= zero + threshold) & (loss - batch.bound > zero + tolerance);
    if (step == max_steps || !any(open)) return;
    Pack matrix[max_size][max_size], move[max_size];
    for (int j = 0; j <= n; ++j) {
      const Pack g = gradient[j];
      const auto held = ((batch.point[j] <= batch.lower[j] - iterate_margin) & (g > zero)) |
                        ((batch.point[j] >= batch.upper[j] + iterate_margin) & (g < zero));
      const int bit = j ? 1 << (j - 1) : 0;
      for (int i = 0; i < j; ++i) matrix[j][i] = held ? zero : curvature[bit | (i ? 1 << (i - 1) : 0)];
      matrix[j][j] = curvature[bit] * (1.0 + parameters.relative_regularisation) + parameters.regularisation;
      move[j] = held ? zero : -g;
      // A held coordinate keeps its own diagonal and loses its couplings, also those of the columns after it.
      residual[j] = held ? zero : zero + 1.0;
    }
    for (int j = 0; j <= n; ++j)
      for (int i = 0; i < j; ++i) matrix[j][i] *= residual[i];
    solve_lanes(matrix, move, n + 1);
    for (int j = 0; j <= n; ++j) {
      // Away from the minimum Newton's step can be wild; the bound is valid wherever it leads, so a plain cap will do.
      Pack delta = move[j] > zero + parameters.max_step ? zero + parameters.max_step : move[j];
      delta = delta < zero - parameters.max_step ? zero - parameters.max_step : delta;
      Pack next = batch.point[j] + delta;
      next = next < batch.lower[j] - iterate_margin ? batch.lower[j] - iterate_margin : next;
      batch.point[j] = next > batch.upper[j] + iterate_margin ? batch.upper[j] + iterate_margin : next;
    }
  }
}

}  // namespace surefoot
