// The tied rows inside an interior point: slack and multiplier of every piece and hinge, eliminated row by row.
//
//   value_k + gradient_k . d + sum over its hinges of rise_h <= r_i     for every piece k of row i,
//   rise_h >= 0,   rise_h >= value_h + gradient_h . d                   for every hinge h of a piece,
//
// with weight_i r_i in the objective. Eliminating a hinge with A = multiplier / slack of "rise >= 0" and Y that of "rise >= change"
// adds Y / (A + Y) of its gradient to its piece's, softens the piece by 1 / (A + Y), and leaves A Y / (A + Y) times its gradient's own
// square. Eliminating r_i then subtracts the weighted mean of the row's pieces from each.
//
// Tables with many hinges take far longer to read than to compute with, so everything a direction needs of a row is done in one
// visit: one for the forces on the step, one for what follows from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "surefoot/core/parallel.hpp"
#include "surefoot/robust/complementary_pair.hpp"
#include "surefoot/robust/outer_product.hpp"
#include "surefoot/robust/row_model.hpp"

namespace surefoot {

class TiedBarrier {
 public:
  // `stride` is the length of a step d and of the lines of the system's matrix.
  TiedBarrier(const TiedRows& tied, std::size_t stride, int n_threads);

  // A first interior point, and the one after a full step along the direction at hand.
  void start(double lift);
  void jump(double lift);

  // gradient += the pull of the multipliers; the constraints' misses at d are kept for the directions to come.
  void add_pull(const std::vector<double>& d, std::vector<double>& gradient);
  double product_sum() const { return product_sum_; }
  double error() const { return error_; }
  double change() const;  // of the rows' part of the model, as the bounds r on them say
  double total_share() const;

  // lower += what eliminating all rows leaves, lower triangle.
  void add_system(std::vector<double>& lower);

  // The Newton direction: rhs += forces, for the products aimed at; then everything that follows from the step d takes.
  void add_forces(const Aim& aim, std::vector<double>& rhs);
  void follow(const std::vector<double>& step, StepRoom& room);
  void move(double length);

  // The multipliers worth coming back to.
  void keep();
  void restore();

  // Masses of pieces and hinges in the multipliers (those of a row sum to its weight), and the change of the rows' part of the model
  // from 0 to d.
  double finish(const std::vector<double>& d, std::vector<double>& mass, std::vector<double>& hinge_mass);

 private:
  struct Piece : ComplementaryPair {
    double weight = 0;  // 1 / softness
    double drift = 0, miss = 0, image = 0;
  };
  struct Hinge {
    ComplementaryPair rise, gap;
    double miss = 0, pull = 0, soft = 0;
  };
  // What one block of rows sums and scribbles on.
  struct Block {
    std::vector<double> vector, matrix, scratch;
    double product_sum = 0, error = 0;
    StepRoom room;
  };

  std::int64_t n_varied(std::int64_t i) const { return tied_.varied_at[i + 1] - tied_.varied_at[i]; }
  const std::int32_t* slots(std::int64_t i) const { return tied_.varied_slot.data() + tied_.varied_at[i]; }
  double common_image(std::int64_t i, const std::vector<double>& v) const;
  double hinge_image(std::int64_t h, const double* varied) const {
    return tied_.hinge_price_coef[h] * varied[0] +
           tied_.hinge_level_coef[h] * (varied[tied_.hinge_level[h]] - varied[tied_.hinge_envelope[h]]);
  }
  void add_hinge(std::int64_t h, double force, double* varied) const {
    varied[0] += force * tied_.hinge_price_coef[h];
    varied[tied_.hinge_level[h]] += force * tied_.hinge_level_coef[h];
    varied[tied_.hinge_envelope[h]] -= force * tied_.hinge_level_coef[h];
  }
  void scatter(std::int64_t i, double common, const double* varied, std::vector<double>& out) const;
  const double* gather(std::int64_t i, const std::vector<double>& v, Block& block) const;
  template <class Visit>
  void visit_rows(Visit&& visit);
  void add_vectors(std::vector<double>& out) const;

  void pull_row(std::int64_t i, const std::vector<double>& d, Block& block);
  void system_row(std::int64_t i, Block& block, OuterSum& outer);
  void force_row(std::int64_t i, const Aim& aim, Block& block);
  void follow_row(std::int64_t i, const std::vector<double>& step, Block& block);

  const TiedRows& tied_;
  std::size_t stride_;
  int n_threads_;
  RowBlocks blocks_;
  std::vector<Block> parts_;
  std::vector<double> r_, r_step_, row_weight_, row_pull_;
  std::vector<Piece> pieces_;
  std::vector<Hinge> hinges_;
  std::vector<double> effective_;  // varied entries of the pieces with their hinges' parts added
  std::vector<double> kept_mass_, kept_hinge_mass_;
  double product_sum_ = 0, error_ = 0;
  double before_ = 0;  // the rows' part of the model at 0
};

}  // namespace surefoot
