// Factors of matrices with many nearly empty lines against the dense factor.
#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include "check.hpp"
#include "surefoot/core/cholesky.hpp"
#include "surefoot/core/sparse_cholesky.hpp"

namespace {

constexpr double floor_of_pivots = 1e-14;

struct Matrix {
  int size;
  std::size_t stride;
  std::vector<double> entries;

  Matrix(int n, std::size_t line) : size(n), stride(line), entries(static_cast<std::size_t>(n) * line) {}

  double& at(int i, int j) {
    return entries[static_cast<std::size_t>(std::max(i, j)) * stride + static_cast<std::size_t>(std::min(i, j))];
  }

  // Adds weight times the square of the vector that is 1 at some coordinates.
  void add_row(const std::vector<int>& coordinates, double weight) {
    for (std::size_t k = 0; k < coordinates.size(); ++k)
      for (std::size_t l = 0; l <= k; ++l) at(coordinates[k], coordinates[l]) += weight;
  }
};

// Like the Hessian of rows with one level of each of three columns, and a few coordinates that all rows share.
Matrix hessian_of_levels(int levels, int rows, int shared, std::size_t padding, std::mt19937& draw) {
  const int size = 3 * levels + shared;
  Matrix matrix(size, static_cast<std::size_t>(size) + padding);
  std::uniform_int_distribution<int> level(0, levels - 1);
  std::uniform_real_distribution<double> weight(0.1, 1.0);
  for (int i = 0; i < rows; ++i) {
    std::vector<int> coordinates;
    for (int q = 0; q < shared; ++q) coordinates.push_back(q * 3 * levels / std::max(shared, 1));
    for (int column = 0; column < 3; ++column) coordinates.push_back(shared + column * levels + level(draw));
    std::sort(coordinates.begin(), coordinates.end());
    coordinates.erase(std::unique(coordinates.begin(), coordinates.end()), coordinates.end());
    matrix.add_row(coordinates, weight(draw));
  }
  for (int i = 0; i < size; ++i) matrix.at(i, i) += 0.1;
  return matrix;
}

std::vector<double> random_vector(int size, std::mt19937& draw) {
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<std::size_t>(size));
  for (double& value : values) value = normal(draw);
  return values;
}

std::vector<double> dense_solution(Matrix matrix, std::vector<double> b) {
  surefoot::cholesky_factor(matrix.entries.data(), matrix.size, matrix.stride, floor_of_pivots);
  surefoot::cholesky_solve(matrix.entries.data(), matrix.size, matrix.stride, b.data());
  return b;
}

std::vector<double> sparse_solution(surefoot::SparseCholesky& factor, Matrix matrix, std::vector<double> b) {
  factor.factor(matrix.entries.data(), matrix.size, matrix.stride, floor_of_pivots);
  factor.solve(matrix.entries.data(), b.data());
  return b;
}

void check_same(const std::vector<double>& found, const std::vector<double>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK_NEAR(found[i], expected[i], 1e-9 * (1.0 + std::abs(expected[i])));
}

}  // namespace

TEST(solutions_are_those_of_the_dense_factor) {
  std::mt19937 draw(1);
  for (const int levels : {20, 90, 150}) {
    for (const std::size_t padding : {0u, 1u}) {
      const Matrix matrix = hessian_of_levels(levels, 3 * levels, 5, padding, draw);
      const auto b = random_vector(matrix.size, draw);
      surefoot::SparseCholesky factor;
      check_same(sparse_solution(factor, matrix, b), dense_solution(matrix, b));
      if (levels > 80) CHECK(factor.n_dense() < matrix.size / 2);
    }
  }
}

TEST(entries_that_appear_later_are_not_overlooked) {
  std::mt19937 draw(2);
  Matrix matrix = hessian_of_levels(100, 250, 4, 1, draw);
  const auto b = random_vector(matrix.size, draw);
  surefoot::SparseCholesky factor;
  for (int round = 0; round < 3; ++round) {
    check_same(sparse_solution(factor, matrix, b), dense_solution(matrix, b));
    for (int k = 0; k < 40; ++k) {
      std::uniform_int_distribution<int> any(0, matrix.size - 1);
      const int i = any(draw), j = any(draw);
      if (i != j) matrix.add_row({std::min(i, j), std::max(i, j)}, 0.3);
    }
  }
  // Another size, and a full matrix, in the same object.
  const Matrix other = hessian_of_levels(95, 200, 4, 1, draw);
  const auto c = random_vector(other.size, draw);
  check_same(sparse_solution(factor, other, c), dense_solution(other, c));
  Matrix full = other;
  for (int i = 0; i < full.size; ++i)
    for (int j = 0; j <= i; ++j) full.at(i, j) += i == j ? 400.0 : 0.5;
  check_same(sparse_solution(factor, full, c), dense_solution(full, c));
}

TEST(coordinates_without_a_pivot_do_not_move_and_the_others_are_solved) {
  std::mt19937 draw(3);
  Matrix matrix = hessian_of_levels(100, 250, 4, 1, draw);
  // One that nothing touches, and two that are always together.
  for (int j = 0; j < matrix.size; ++j) matrix.at(150, j) = matrix.at(200, j) = matrix.at(201, j) = 0;
  matrix.add_row({200, 201}, 1.0);
  auto b = random_vector(matrix.size, draw);
  b[200] = b[201] = 0.5;
  surefoot::SparseCholesky factor;
  const auto found = sparse_solution(factor, matrix, b);
  CHECK_NEAR(found[150], 0.0, 1e-100);
  CHECK_NEAR(found[200] + found[201], 0.5, 1e-12);
  for (int i = 0; i < matrix.size; ++i) {
    if (i == 150 || i == 200 || i == 201) continue;
    double image = 0;
    for (int j = 0; j < matrix.size; ++j) image += matrix.at(i, j) * found[static_cast<std::size_t>(j)];
    CHECK_NEAR(image, b[static_cast<std::size_t>(i)], 1e-9);
  }
}
