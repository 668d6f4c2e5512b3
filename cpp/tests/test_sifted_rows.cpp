// Sifted rows against all rows, piece by piece.
#include "check.hpp"
#include "random_step.hpp"
#include "surefoot/sifted_rows.hpp"

using namespace surefoot;

namespace {

std::vector<double> random_step(std::mt19937& draw, std::size_t stride, double scale) {
  std::normal_distribution<double> normal;
  std::vector<double> d(stride);
  for (std::size_t a = 0; a + 1 < stride; ++a) d[a] = scale * normal(draw);
  return d;
}

// With label flips, hinges and listed pieces.
Step some_rows(unsigned seed) { return Step(seed, 40, seed % 2 ? 2.0 : inf, 4.0, 1.5, 2.0, 1e-2, 1.0); }

}  // namespace

TEST(a_width_without_end_keeps_everything) {
  const Step at = some_rows(1);
  const SiftedRows sifted(at.model.tied, at.x.size(), inf);
  CHECK_EQUAL(sifted.asleep(), 0.0);
  CHECK_EQUAL(sifted.rows().n_pieces(), at.model.tied.n_pieces());
  CHECK_EQUAL(sifted.rows().n_hinges(), at.model.tied.n_hinges());
}

TEST(what_is_missed_is_what_the_rows_say_less_with_what_is_left) {
  std::mt19937 draw(7);
  for (unsigned seed = 0; seed < 6; ++seed) {
    const Step at = some_rows(seed);
    SiftedRows sifted(at.model.tied, at.x.size(), 0.01);
    CHECK(sifted.asleep() > 0.1);
    double most = 0;
    for (const double scale : {0.0, 1e-3, 0.1, 1.0}) {
      const auto d = random_step(draw, at.x.size(), 1.0);
      auto there = d;
      for (double& entry : there) entry *= scale;
      double excess = 0;
      for (std::int64_t i = 0; i < at.model.tied.size(); ++i) {
        const double all = row_at(at.model.tied, i, there), left = row_at(sifted.rows(), i, there);
        CHECK(left <= all + 1e-12);
        excess += at.model.tied.weight[i] * (all - left);
      }
      CHECK_NEAR(sifted.missed(d, scale).excess, excess, 1e-12);
      most = std::max(most, excess);
    }
    CHECK(most > 1e-3);
  }
}

TEST(what_has_been_woken_is_not_missed_there_again) {
  std::mt19937 draw(8);
  double missed = 0;
  for (unsigned seed = 0; seed < 6; ++seed) {
    const Step at = some_rows(seed);
    SiftedRows sifted(at.model.tied, at.x.size(), 0.01);
    const auto d = random_step(draw, at.x.size(), 1.0);
    missed += sifted.missed(d, 0.5).excess;
    sifted.wake(d, 0.5);
    CHECK_NEAR(sifted.missed(d, 0.5).excess, 0.0, 1e-12);
    CHECK_EQUAL(sifted.missed(d, 0.5).n_hinges, 0);
  }
  CHECK(missed > 0.01);
}

TEST(masses_return_to_their_pieces_and_hinges) {
  const Step at = some_rows(3);
  const SiftedRows sifted(at.model.tied, at.x.size(), 0.01);
  const TiedRows& left = sifted.rows();
  // Values tell pieces and hinges apart.
  const auto values = sifted.piece_masses(left.value), hinge_values = sifted.hinge_masses(left.hinge_value);
  std::int64_t kept = 0;
  for (std::int64_t k = 0; k < at.model.tied.n_pieces(); ++k) {
    CHECK(values[k] == 0 || values[k] == at.model.tied.value[k]);
    kept += values[k] != 0;
  }
  CHECK_EQUAL(kept, left.n_pieces());
  for (std::int64_t h = 0; h < at.model.tied.n_hinges(); ++h)
    CHECK(hinge_values[h] == 0 || hinge_values[h] == at.model.tied.hinge_value[h]);
}
