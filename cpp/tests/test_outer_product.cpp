// Sums of outer products against their definition.
#include <cmath>
#include <cstddef>
#include <vector>

#include "check.hpp"
#include "surefoot/outer_product.hpp"

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
