// Active rows against all rows, piece by piece.
#include "check.hpp"
#include "random_qp.hpp"
#include "surefoot/robust/active_rows.hpp"

using namespace surefoot;

namespace {

std::vector<double> random_step(std::mt19937& draw, std::size_t stride, double scale) {
  std::normal_distribution<double> normal;
  std::vector<double> d(stride);
  for (std::size_t a = 0; a + 1 < stride; ++a) d[a] = scale * normal(draw);
  return d;
}

// How much a linear term and tied rows rise from 0 to d.
double rise(const TiedRows& tied, const std::vector<double>& linear, const std::vector<double>& d) {
  double sum = std::inner_product(d.begin(), d.end(), linear.begin(), 0.0);
  const std::vector<double> nowhere(d.size());
  for (std::int64_t i = 0; i < tied.size(); ++i) sum += tied.weight[i] * (row_at(tied, i, d) - row_at(tied, i, nowhere));
  return sum;
}

// With label flips, hinges and listed pieces.
RandomQp some_rows(unsigned seed) { return RandomQp(seed, 40, seed % 2 ? 2.0 : inf, 4.0, 1.5, 2.0, 1e-2, 1.0); }

}  // namespace

TEST(a_width_without_end_keeps_everything) {
  const RandomQp at = some_rows(1);
  const ActiveRows active(at.model.tied, at.linear.data(), at.x.size(), inf);
  CHECK_EQUAL(active.inactive_fraction(), 0.0);
  CHECK_EQUAL(active.rows().n_hinges(), at.model.tied.n_hinges());
  const auto masses = active.piece_masses(std::vector<double>(static_cast<std::size_t>(active.rows().n_pieces()), 1.0));
  for (const double mass : masses) CHECK(mass > 0);
}

TEST(the_violation_is_what_the_active_part_lacks_of_the_rows) {
  std::mt19937 draw(7);
  for (unsigned seed = 0; seed < 6; ++seed) {
    const RandomQp at = some_rows(seed);
    ActiveRows active(at.model.tied, at.linear.data(), at.x.size(), 0.01);
    CHECK(active.inactive_fraction() > 0.1);
    double most = 0;
    for (const double scale : {0.0, 1e-3, 0.1, 1.0}) {
      const auto d = random_step(draw, at.x.size(), 1.0);
      auto there = d;
      for (double& entry : there) entry *= scale;
      const double excess = rise(at.model.tied, at.linear, there) - rise(active.rows(), active.linear(), there);
      CHECK_NEAR(active.violation(d, scale).excess, excess, 1e-12);
      most = std::max(most, excess);
    }
    CHECK(most > 1e-3);
  }
}

TEST(what_has_been_activated_is_not_violated_there_again) {
  std::mt19937 draw(8);
  double violated = 0;
  for (unsigned seed = 0; seed < 6; ++seed) {
    const RandomQp at = some_rows(seed);
    ActiveRows active(at.model.tied, at.linear.data(), at.x.size(), 0.01);
    const auto d = random_step(draw, at.x.size(), 1.0);
    violated += active.violation(d, 0.5).excess;
    active.activate(d, 0.5);
    CHECK_NEAR(active.violation(d, 0.5).excess, 0.0, 1e-12);
    CHECK_EQUAL(active.violation(d, 0.5).n_hinges, 0);
  }
  CHECK(violated > 0.01);
}

TEST(masses_return_to_their_pieces_and_hinges) {
  const RandomQp at = some_rows(3);
  const ActiveRows active(at.model.tied, at.linear.data(), at.x.size(), 0.01);
  const TiedRows& left = active.rows();
  // Values tell pieces and hinges apart.
  const auto values = active.piece_masses(left.value), hinge_values = active.hinge_masses(left.hinge_value);
  std::int64_t found = 0, linear = 0;
  for (std::int64_t i = 0; i < at.model.tied.size(); ++i)
    for (auto k = at.model.tied.piece_at[i]; k < at.model.tied.piece_at[i + 1]; ++k) {
      found += values[k] == at.model.tied.value[k];
      linear += values[k] == at.model.tied.weight[i];
      CHECK(values[k] == 0 || values[k] == at.model.tied.value[k] || values[k] == at.model.tied.weight[i]);
    }
  CHECK_EQUAL(found, left.n_pieces());
  CHECK_EQUAL(linear + left.size(), at.model.tied.size());
  for (std::int64_t h = 0; h < at.model.tied.n_hinges(); ++h)
    CHECK(hinge_values[h] == 0 || hinge_values[h] == at.model.tied.hinge_value[h]);
}
