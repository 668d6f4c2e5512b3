#include "surefoot/score_cells.hpp"

#include "surefoot/dispatch.hpp"

namespace surefoot {

void ScoreCells::reset(int columns, std::size_t n_cells) {
  const std::size_t packs = (n_cells + lanes - 1) / lanes;
  n_columns = columns;
  n_packs = static_cast<int>(packs);
  values.assign(packs * static_cast<std::size_t>(columns), Pack{});
  total.assign(packs, Pack{});
  positive.assign(packs, Pack{});
}

SUREFOOT_DISPATCH void sum_cells(const ScoreCells& cells, const double* point, CellSums& sums) {
  const int n = cells.n_columns;
  const std::size_t packs = static_cast<std::size_t>(cells.n_packs);
  Pack loss = {}, gradient[max_coordinates] = {}, curvature[max_coordinates * (max_coordinates + 1) / 2] = {};
  for (std::size_t k = 0; k < packs; ++k) {
    Pack score;
    fill(score, point[0]);
    const Pack* value = cells.values.data() + k;
    Pack x[max_card_size];
    for (int j = 0; j < n; ++j) {
      x[j] = value[static_cast<std::size_t>(j) * packs];
      score += x[j] * point[j + 1];
    }
    Pack raised, slope;
    softplus_pack(score, raised, slope);
    const Pack weight = cells.total[k];
    loss += weight * raised - cells.positive[k] * score;
    const Pack residual = weight * slope - cells.positive[k];
    const Pack bend = weight * slope * (1.0 - slope);
    gradient[0] += residual;
    curvature[0] += bend;
    int at = 1;
    for (int j = 0; j < n; ++j) {
      gradient[j + 1] += residual * x[j];
      const Pack bent = bend * x[j];
      curvature[at++] += bent;
      for (int i = 0; i <= j; ++i) curvature[at++] += bent * x[i];
    }
  }
  const auto added = [](const Pack& p) { return (p[0] + p[1]) + (p[2] + p[3]); };
  sums.loss = added(loss);
  int at = 0;
  for (int j = 0; j <= n; ++j) {
    sums.gradient[j] = added(gradient[j]);
    for (int i = 0; i <= j; ++i) sums.curvature[j * max_coordinates + i] = added(curvature[at++]);
  }
}

}  // namespace surefoot
