// Factor and solve against the residual of the original matrix, in exact-size and strided storage.
#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include "check.hpp"
#include "surefoot/core/cholesky.hpp"

namespace {

constexpr double untouched = 12345.0;

struct Matrix {
  int size;
  std::size_t stride;
  std::vector<double> entries;

  Matrix(int n, std::size_t line) : size(n), stride(line), entries(static_cast<std::size_t>(n) * line, untouched) {}

  double& at(int i, int j) { return entries[static_cast<std::size_t>(i) * stride + static_cast<std::size_t>(j)]; }
  double symmetric(int i, int j) const {
    const int low = std::min(i, j), high = std::max(i, j);
    return entries[static_cast<std::size_t>(high) * stride + static_cast<std::size_t>(low)];
  }
};

// B B^T + ridge, only its lower triangle filled.
Matrix positive_definite(int size, std::size_t stride, double ridge, int rank, std::mt19937& draw) {
  std::normal_distribution<double> normal;
  std::vector<std::vector<double>> factor(static_cast<std::size_t>(size), std::vector<double>(static_cast<std::size_t>(rank)));
  for (auto& line : factor)
    for (double& value : line) value = normal(draw);
  Matrix matrix(size, stride);
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j <= i; ++j) {
      double sum = i == j ? ridge : 0.0;
      for (int k = 0; k < rank; ++k) sum += factor[i][k] * factor[j][k];
      matrix.at(i, j) = sum;
    }
  }
  return matrix;
}

std::vector<double> random_vector(int size, std::mt19937& draw) {
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<std::size_t>(size));
  for (double& value : values) value = normal(draw);
  return values;
}

}  // namespace

TEST(solving_with_the_factor_leaves_no_residual) {
  std::mt19937 draw(1);
  for (const int size : {1, 2, 3, 7, 8, 9, 16, 33, 80}) {
    for (const std::size_t padding : {0u, 3u}) {
      const Matrix matrix = positive_definite(size, static_cast<std::size_t>(size) + padding, 0.5, size, draw);
      const auto b = random_vector(size, draw);
      Matrix factor = matrix;
      auto x = b;
      surefoot::cholesky_factor(factor.entries.data(), size, factor.stride, 1e-14);
      surefoot::cholesky_solve(factor.entries.data(), size, factor.stride, x.data());
      for (int i = 0; i < size; ++i) {
        double image = 0;
        for (int j = 0; j < size; ++j) image += matrix.symmetric(i, j) * x[static_cast<std::size_t>(j)];
        CHECK_NEAR(image, b[static_cast<std::size_t>(i)], 1e-10 * (1.0 + size));
      }
    }
  }
}

TEST(factor_times_its_transpose_is_the_matrix) {
  std::mt19937 draw(2);
  const Matrix matrix = positive_definite(20, 20, 1.0, 20, draw);
  Matrix factor = matrix;
  surefoot::cholesky_factor(factor.entries.data(), 20, factor.stride, 1e-14);
  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j <= i; ++j) {
      double sum = 0;
      for (int k = 0; k <= j; ++k) sum += factor.at(i, k) * factor.at(j, k);
      CHECK_NEAR(sum, matrix.symmetric(i, j), 1e-11);
    }
  }
}

TEST(upper_triangle_and_padding_are_left_alone) {
  std::mt19937 draw(3);
  Matrix factor = positive_definite(11, 15, 1.0, 11, draw);
  surefoot::cholesky_factor(factor.entries.data(), 11, factor.stride, 1e-14);
  for (int i = 0; i < 11; ++i)
    for (int j = i + 1; j < 15; ++j) CHECK_EQUAL(factor.at(i, j), untouched);
}

TEST(a_coordinate_without_a_pivot_does_not_move_and_the_others_are_solved) {
  // The third coordinate repeats the second, so its pivot is 0 (or rounding).
  Matrix matrix(3, 3);
  matrix.at(0, 0) = 4.0;
  matrix.at(1, 0) = matrix.at(2, 0) = 1.0;
  matrix.at(1, 1) = matrix.at(2, 1) = matrix.at(2, 2) = 3.0;
  std::vector<double> x{1.0, 2.0, 2.0};
  surefoot::cholesky_factor(matrix.entries.data(), 3, 3, 1e-12);
  surefoot::cholesky_solve(matrix.entries.data(), 3, 3, x.data());
  CHECK_NEAR(x[2], 0.0, 1e-100);
  CHECK_NEAR(4.0 * x[0] + x[1], 1.0, 1e-12);
  CHECK_NEAR(x[0] + 3.0 * x[1], 2.0, 1e-12);
}

TEST(a_zero_row_gives_a_zero_step_and_no_nan) {
  Matrix matrix(2, 2);
  matrix.at(0, 0) = 0.0;
  matrix.at(1, 0) = 0.0;
  matrix.at(1, 1) = 2.0;
  std::vector<double> x{5.0, 4.0};
  surefoot::cholesky_factor(matrix.entries.data(), 2, 2, 1e-12);
  surefoot::cholesky_solve(matrix.entries.data(), 2, 2, x.data());
  CHECK_NEAR(x[0], 0.0, 1e-100);
  CHECK_NEAR(x[1], 2.0, 1e-12);
}
