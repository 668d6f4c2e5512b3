// What all rows share: tight envelopes, the three norms, and the terms of a step.
#include <cmath>
#include <vector>

#include "check.hpp"
#include "drawn_space.hpp"
#include "surefoot/robust/row_model.hpp"

using namespace surefoot;

namespace {

DrawnTable drawn() { return {7, 30, 2, {3, 2}, 1.0, 0.8, 0.4}; }

}  // namespace

TEST(tightening_sets_envelopes_to_the_extreme_levels_and_the_price_to_what_the_norm_needs) {
  const DrawnTable at = drawn();
  LiftedSpace space = space_of(at, 2.0);
  std::vector<double> x = at.x;
  x[1] = 3.0;
  x[2] = -4.0;
  for (int l = 0; l < 2; ++l) x[at.layout.low[l]] = x[at.layout.high[l]] = 77.0;
  x[at.layout.price] = -1.0;
  x[at.layout.size] = 5.0;
  std::vector<double> tight = x;
  space.tighten(tight.data());
  for (int l = 0; l < 2; ++l) {
    double low = 0, high = 0;
    for (auto c = at.table.level_offset[l] + 1; c < at.table.level_offset[l + 1]; ++c) {
      low = std::min(low, x[at.layout.level[c]]);
      high = std::max(high, x[at.layout.level[c]]);
    }
    CHECK_EQUAL(tight[at.layout.low[l]], low);
    CHECK_EQUAL(tight[at.layout.high[l]], high);
  }
  CHECK_EQUAL(tight[at.layout.size], 0.0);
  CHECK_NEAR(tight[at.layout.price], 2.0, 1e-15);
  tight[at.layout.price] = 9.0;
  space.tighten(tight.data());
  CHECK_EQUAL(tight[at.layout.price], 9.0);
}

TEST(coefficients_need_the_dual_norm_and_gradients_cost_the_norm) {
  const DrawnTable at = drawn();
  LiftedSpace space = space_of(at, 2.0);
  std::vector<double> x(at.x.size(), 0.0);
  x[1] = 3.0;
  x[2] = -4.0;
  CHECK_NEAR(space.least_price(x.data()), 2.0, 1e-15);
  CHECK_NEAR(space.numeric_cost(x.data()), 14.0, 1e-14);
  space.norm = NumericNorm::l2;
  CHECK_NEAR(space.least_price(x.data()), 2.5, 1e-15);
  CHECK_NEAR(space.numeric_cost(x.data()), 10.0, 1e-14);
  space.norm = NumericNorm::linf;
  CHECK_NEAR(space.least_price(x.data()), 3.5, 1e-15);
  CHECK_NEAR(space.numeric_cost(x.data()), 8.0, 1e-14);
  // Squares of these would overflow.
  x[1] = 3e200;
  x[2] = 4e200;
  space.norm = NumericNorm::l2;
  CHECK_NEAR(space.least_price(x.data()) / 2.5e200, 1.0, 1e-15);
}

TEST(constraints_are_seen_from_the_point) {
  const DrawnTable at = drawn();
  const LiftedSpace space = space_of(at, 2.0);
  const QpConstraints here = space.constraints_at(at.x.data());
  for (std::size_t c = 0; c < here.pairs.size(); ++c) {
    const PairConstraint& pair = here.pairs[c];
    CHECK_NEAR(pair.slack, -(pair.first_coef * at.x[pair.first] + pair.second_coef * at.x[pair.second]), 1e-15);
  }
}

TEST(regularisation_holds_coordinates_without_curvature_as_if_they_had_a_typical_one) {
  const DrawnTable at = drawn();
  const LiftedSpace space = space_of(at, 2.0);
  const RowModel model = build_row_model(at.table, at.layout, at.x.data(), {0.1, 0.0}, {}, 1);
  const QpTerms terms = qp_terms(model, space, 0.25, 1e-2);
  const std::size_t length = model.gradient.size();
  double typical = 0;
  for (int a = 0; a < space.n_coefficients(); ++a) typical += model.curvature[static_cast<std::size_t>(a) * (length + 1)];
  typical /= space.n_coefficients();
  const auto price = static_cast<std::size_t>(at.layout.price);
  CHECK_NEAR(terms.linear[price], model.gradient[price] + 0.25, 1e-15);
  for (std::size_t a = 0; a + 1 < length; ++a) {
    CHECK_NEAR(terms.regularisation[a], 1e-2 * std::max(model.curvature[a * (length + 1)], typical), 1e-16);
    if (a != price) CHECK_EQUAL(terms.linear[a], model.gradient[a]);
  }
}

TEST(what_is_not_a_number_stays_so_in_the_envelopes) {
  const DrawnTable at = drawn();
  const LiftedSpace space = space_of(at, 2.0);
  for (const int level : {1, 2}) {
    std::vector<double> x = at.x;
    x[at.layout.level[level]] = std::nan("");
    space.tighten(x.data());
    CHECK(std::isnan(x[at.layout.low[0]]) && std::isnan(x[at.layout.high[0]]));
    CHECK(!std::isnan(x[at.layout.low[1]]));
  }
}
