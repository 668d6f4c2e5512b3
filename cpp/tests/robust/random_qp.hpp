// A random row model with its quadratic programme solved, and what its tied rows say at any d, written plainly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "surefoot/robust/qp_interior_point.hpp"

namespace surefoot {

constexpr double inf = std::numeric_limits<double>::infinity();

// gradient += scale * gradient of piece k of tied row i
inline void add_piece(const TiedRows& tied, std::vector<double>& gradient, std::int64_t i, std::int64_t k, double scale) {
  tied.part(i).add_to(gradient.data(), scale * tied.coef[k]);
  for (auto s = tied.shared_at[i]; s < tied.shared_at[i + 1]; ++s) gradient[tied.shared_slot[s]] += scale * tied.coef[k];
  const auto n_varied = tied.varied_at[i + 1] - tied.varied_at[i];
  for (std::int64_t v = 0; v < n_varied; ++v)
    gradient[tied.varied_slot[tied.varied_at[i] + v]] +=
        scale * tied.varied[tied.entry_at[i] + (k - tied.piece_at[i]) * n_varied + v];
}

inline void add_hinge(const TiedRows& tied, std::vector<double>& gradient, std::int64_t i, std::int64_t h, double scale) {
  const std::int32_t* slot = tied.varied_slot.data() + tied.varied_at[i];
  gradient[slot[0]] += scale * tied.hinge_price_coef[h];
  gradient[slot[tied.hinge_level[h]]] += scale * tied.hinge_level_coef[h];
  gradient[slot[tied.hinge_envelope[h]]] -= scale * tied.hinge_level_coef[h];
}

inline double hinge_at(const TiedRows& tied, std::int64_t i, std::int64_t h, const std::vector<double>& d) {
  std::vector<double> gradient(d.size());
  add_hinge(tied, gradient, i, h, 1.0);
  return std::inner_product(gradient.begin(), gradient.end(), d.begin(), tied.hinge_value[h]);
}

// What a piece says at d: value + gradient . d + its hinges.
inline double piece_at(const TiedRows& tied, std::int64_t i, std::int64_t k, const std::vector<double>& d) {
  std::vector<double> gradient(d.size());
  add_piece(tied, gradient, i, k, 1.0);
  double sum = std::inner_product(gradient.begin(), gradient.end(), d.begin(), tied.value[k]);
  for (auto h = tied.hinge_at[k]; h < tied.hinge_at[k + 1]; ++h) sum += std::max(0.0, hinge_at(tied, i, h, d));
  return sum;
}

inline double row_at(const TiedRows& tied, std::int64_t i, const std::vector<double>& d) {
  double best = -inf;
  for (auto k = tied.piece_at[i]; k < tied.piece_at[i + 1]; ++k) best = std::max(best, piece_at(tied, i, k, d));
  return best;
}

// A small random problem, its row model at a random point, and the constraints every solver shares.
struct RandomQp {
  std::vector<double> numeric, labels, weights, x, linear, regularisation;
  std::vector<std::int32_t> codes;
  MixedTable table;
  std::vector<PairConstraint> constraints;
  RowModel model;
  int size = 0;
  QpSolution solved;

  RandomQp(unsigned seed, std::int64_t rows, double flip_price, double scale, double price, double active_width,
           double precision, double regularised = 1e-3, double tolerance = 1e-9, int n_threads = 1) {
    std::mt19937 draw(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(0.3, 1.7);
    const std::vector<int> levels{3, 2, 4};
    table.n_rows = rows;
    table.n_numeric = 2;
    table.n_categorical = 3;
    table.flip_price = flip_price;
    table.level_offset = {0, 3, 5, 9};
    for (int l = 0; l < 3; ++l) table.move_price.push_back(uniform(draw));
    for (std::int64_t row = 0; row < rows; ++row) {
      for (int j = 0; j < 2; ++j) numeric.push_back(normal(draw));
      for (const int count : levels) codes.push_back(static_cast<std::int32_t>(draw() % static_cast<unsigned>(count)));
      labels.push_back(draw() % 2 ? 1.0 : -1.0);
      weights.push_back(1.0 / static_cast<double>(rows));
    }
    table.numeric = numeric.data();
    table.codes = codes.data();
    table.labels = labels.data();
    table.weights = weights.data();
    const LiftedLayout layout(table, true);
    size = layout.size;
    x.assign(static_cast<std::size_t>(size) + 1, 0.0);
    for (int a = 0; a < size; ++a) x[a] = scale * normal(draw);
    x[layout.price] = price;
    for (int l = 0; l < 3; ++l) {
      double low = 0, high = 0;
      for (int c = table.level_offset[l]; c < table.level_offset[l + 1]; ++c) {
        low = std::min(low, x[layout.level[c]]);
        high = std::max(high, x[layout.level[c]]);
      }
      x[layout.low[l]] = low;
      x[layout.high[l]] = high;
      for (int c = table.level_offset[l]; c < table.level_offset[l + 1]; ++c) {
        add_constraint(layout.low[l], 1.0, layout.level[c], -1.0);
        add_constraint(layout.level[c], 1.0, layout.high[l], -1.0);
      }
    }
    for (int j = 0; j < 2; ++j) {
      // Within the price, as every point of a solve is.
      x[layout.first_numeric + j] = std::clamp(x[layout.first_numeric + j], -price, price);
      add_constraint(layout.first_numeric + j, 1.0, layout.price, -1.0);
      add_constraint(layout.first_numeric + j, -1.0, layout.price, -1.0);
    }
    add_constraint(layout.price, -1.0, size, 0.0);
    model = build_row_model(table, layout, x.data(), {active_width, precision}, {}, n_threads);
    linear = model.gradient;
    linear[layout.price] += 0.05;
    linear[size] = 0.0;
    regularisation.assign(static_cast<std::size_t>(size) + 1, regularised);
    solved = solve({tolerance, 200, inf, n_threads});
  }
  RandomQp(const RandomQp&) = delete;

  QpSolution solve(const QpOptions& options) const {
    return solve_qp(model, size, linear.data(), regularisation.data(), {constraints, {}, {}}, options);
  }

  void add_constraint(std::int32_t first, double first_coef, std::int32_t second, double second_coef) {
    constraints.push_back({first, second, first_coef, second_coef, -(first_coef * x[first] + second_coef * x[second])});
  }

  // (H + regularisation) d
  std::vector<double> curved(const std::vector<double>& d) const {
    const auto stride = static_cast<std::size_t>(size) + 1;
    std::vector<double> image(stride);
    for (int a = 0; a < size; ++a) {
      image[a] += regularisation[a] * d[a];
      for (int b = 0; b < size; ++b)
        image[a] +=
            model.curvature[static_cast<std::size_t>(std::max(a, b)) * stride + static_cast<std::size_t>(std::min(a, b))] *
            d[b];
    }
    return image;
  }

  double value(const std::vector<double>& d) const {
    const auto image = curved(d);
    double sum = 0;
    for (int a = 0; a < size; ++a) sum += (linear[a] + 0.5 * image[a]) * d[a];
    for (std::int64_t i = 0; i < model.tied.size(); ++i) sum += model.tied.weight[i] * row_at(model.tied, i, d);
    return sum;
  }
};

}  // namespace surefoot
