// Sums of outer products against their definition.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "surefoot/robust/outer_product.hpp"

using surefoot::OuterSum;

// More rows than are gathered at a time, and widths that do not fill a tile; the upper triangle stays as it was.
TEST(sums_of_dense_rows_are_right) {
  for (int n = 1; n <= 21; ++n) {
    const int stride = n + 2, n_rows = 2 * OuterSum::gathered + 3;
    std::vector<double> M(static_cast<std::size_t>(stride * stride), 0.25), row(static_cast<std::size_t>(n));
    std::vector<double> expected = M;
    OuterSum outer(M.data(), static_cast<std::size_t>(stride), n);
    for (int r = 0; r < n_rows; ++r) {
      for (int a = 0; a < n; ++a) row[static_cast<std::size_t>(a)] = std::sin(1.0 + 7 * r + 3 * a);
      const double scale = 0.1 + r % 5;
      outer.add({row.data(), nullptr, n}, nullptr, 0, scale);
      for (int a = 0; a < n; ++a)
        for (int b = 0; b <= a; ++b)
          expected[static_cast<std::size_t>(a * stride + b)] +=
              scale * row[static_cast<std::size_t>(a)] * row[static_cast<std::size_t>(b)];
    }
    outer.flush();
    for (std::size_t k = 0; k < M.size(); ++k) CHECK(std::fabs(M[k] - expected[k]) <= 1e-12);
  }
}

TEST(units_join_the_dense_part_except_in_the_last_line) {
  constexpr std::size_t stride = 8;
  std::vector<double> M(stride * stride, 0.0);
  OuterSum outer(M.data(), stride, 2);
  const double row[] = {0.5, -2.0};
  const std::int32_t slots[] = {7, 3, 7, 5};  // not sorted; 7 is the last line, which nobody reads
  outer.add({row, nullptr, 2}, slots, 4, 3.0);
  outer.flush();
  const double v[stride] = {0.5, -2.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0};
  for (std::size_t a = 0; a < stride; ++a)
    for (std::size_t b = 0; b < stride; ++b) CHECK_NEAR(M[a * stride + b], b <= a ? 3.0 * v[a] * v[b] : 0.0, 1e-15);
}
