#include "surefoot/riskscore/table/score_cells.hpp"

#include "surefoot/core/dispatch.hpp"

namespace surefoot {

void ScoreCells::reset(int columns, std::size_t cells) {
  const std::size_t packs = (cells + lanes - 1) / lanes;
  n_cells = cells;
  n_columns = columns;
  n_packs = static_cast<int>(packs);
  values.assign(packs * static_cast<std::size_t>(columns), Pack{});
  total.assign(packs, Pack{});
  positive.assign(packs, Pack{});
}

namespace {

// Packs whose scores, residuals and bends are kept at hand between the two passes over them.
constexpr std::size_t block_packs = 32;

SUREFOOT_INLINE double added(const Pack& p) { return (p[0] + p[1]) + (p[2] + p[3]); }

// first += a . b and second += a . c over n packs, as four running sums: one would wait for its own last addition.
SUREFOOT_INLINE void add_dots(const Pack* a, const Pack* b, const Pack* c, std::size_t n, Pack& first, Pack& second) {
  Pack even = {}, odd = {}, even_second = {}, odd_second = {};
  std::size_t k = 0;
  for (; k + 2 <= n; k += 2) {
    even += a[k] * b[k];
    even_second += a[k] * c[k];
    odd += a[k + 1] * b[k + 1];
    odd_second += a[k + 1] * c[k + 1];
  }
  if (k < n) {
    even += a[k] * b[k];
    even_second += a[k] * c[k];
  }
  first += even + odd;
  second += even_second + odd_second;
}

}  // namespace

SUREFOOT_DISPATCH void sum_cells(const ScoreCells& cells, const double* point, CellSums& sums) {
  const int n = cells.n_columns;
  const std::size_t packs = static_cast<std::size_t>(cells.n_packs);
  Pack loss = {}, gradient[max_coordinates + 1] = {}, curvature[max_coordinates][max_coordinates + 1] = {};
  Pack residual[block_packs], bend[block_packs], bent[block_packs], one[block_packs];
  for (Pack& pack : one) fill(pack, 1);
  for (std::size_t begin = 0; begin < packs; begin += block_packs) {
    const std::size_t count = packs - begin < block_packs ? packs - begin : block_packs;
    const Pack* x[max_coordinates];
    x[0] = one;
    for (int j = 0; j < n; ++j) x[j + 1] = cells.values.data() + static_cast<std::size_t>(j) * packs + begin;
    for (std::size_t k = 0; k < count; ++k) {
      Pack score;
      fill(score, point[0]);
      for (int j = 1; j <= n; ++j) score += x[j][k] * point[j];
      Pack raised, slope;
      softplus_pack(score, raised, slope);
      const Pack weight = cells.total[begin + k], positive = cells.positive[begin + k];
      loss += weight * raised - positive * score;
      residual[k] = weight * slope - positive;
      bend[k] = weight * slope * (1.0 - slope);
    }
    for (int j = 0; j <= n; ++j) {
      for (std::size_t k = 0; k < count; ++k) bent[k] = bend[k] * x[j][k];
      // Two columns at a time; the entry after the diagonal takes what an odd number leaves over.
      for (int i = 0; i <= j; i += 2) add_dots(bent, x[i], x[i < j ? i + 1 : i], count, curvature[j][i], curvature[j][i + 1]);
    }
    for (int j = 0; j <= n; j += 2) add_dots(residual, x[j], x[j < n ? j + 1 : j], count, gradient[j], gradient[j + 1]);
  }
  sums.loss = added(loss);
  for (int j = 0; j <= n; ++j) {
    sums.gradient[j] = added(gradient[j]);
    for (int i = 0; i <= j; ++i) sums.curvature[j * max_coordinates + i] = added(curvature[j][i]);
  }
}

}  // namespace surefoot
