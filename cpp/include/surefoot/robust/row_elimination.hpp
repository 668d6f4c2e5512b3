// Row elimination: the block of the KKT system that belongs to the tied rows, reduced to the coordinates of the step.
//
// Constraints of the quadratic programme (qp_interior_point.hpp), with epigraph variables r_i per row and rise_h per hinge:
//   value_k + gradient_k . d + sum over its hinges of rise_h <= r_i     for every piece k of row i,      multiplier mass_k
//   rise_h >= 0,   rise_h >= value_h + gradient_h . d                   for every hinge h of a piece,
// and weight_i r_i in the objective. Newton's equations are solved by block elimination, from the inside out:
//   hinges    with A = z / s of "rise >= 0" and Y = z / s of "rise >= value": pivot A + Y. Its elimination adds Y / (A + Y) of
//             the hinge's gradient h to that of its piece, 1 / (A + Y) to the pivot of the piece, and A Y / (A + Y) h h^T to the
//             Schur complement
//   pieces    pivot s / z + sum of 1 / (A + Y); D is its inverse
//   rows      pivot sum_k D_k. Its elimination leaves sum_k D_k (g_k - mean)(g_k - mean)^T, mean = sum_k D_k g_k / sum_k D_k
// so the Schur complement has the size of d, however many rows tie.
//
// Tables with many hinges take longer to read than to compute with, so each direction passes over the rows twice: once for the
// right-hand side, once to recover the steps of r, slacks and multipliers from the step of d.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "surefoot/core/parallel.hpp"
#include "surefoot/robust/complementary_pair.hpp"
#include "surefoot/robust/outer_product.hpp"
#include "surefoot/robust/row_model.hpp"

namespace surefoot {

class RowElimination {
 public:
  // `stride` is the length of a step d and of the lines of the system's matrix.
  RowElimination(const TiedRows& tied, std::size_t stride, int n_threads);

  // An interior point with all slacks at least `margin`, and Mehrotra's initial one: a full step along the direction at hand,
  // pushed into the interior. `hinge_weight` is the centrality weight of a hinge relative to its piece's.
  void start(double margin, double hinge_weight);
  void take_initial_step(double margin);

  // dual_residual += gradients times multipliers; stores the primal residuals at d for the directions to come.
  void update_residuals(const std::vector<double>& d, std::vector<double>& dual_residual);
  double complementarity() const { return complementarity_; }
  double feasibility_error() const {
    return feasibility_error_;
  }  // primal and inner dual residuals, weighted by their partners
  double objective_change() const;  // of sum_i weight_i r_i, from d = 0 to the iterate
  double total_centrality_weight() const;

  // lower += Schur complement of the rows, lower triangle.
  void add_schur_complement(std::vector<double>& lower);

  // A Newton direction: the rows' part of the reduced right-hand side, then, given the step of d, all other steps and how far
  // they go.
  void add_right_hand_side(const CentralityTarget& target, std::vector<double>& rhs);
  void recover_step(const std::vector<double>& step, StepLength& length);
  void advance(double length);

  // The multipliers of the best iterate.
  void save_best();
  void restore_best();

  // Masses of pieces and hinges in the multipliers (those of a row sum to its weight), and the change of the rows' part of the
  // model from 0 to d.
  double masses(const std::vector<double>& d, std::vector<double>& mass, std::vector<double>& hinge_mass);

 private:
  struct Piece : ComplementaryPair {
    double inverse_pivot = 0;  // D
    double fixed_step = 0;     // the part of the multiplier's step that does not depend on the step of d
    double primal_residual = 0, image = 0;
  };
  struct Hinge {
    ComplementaryPair rise, excess;  // of "rise >= 0" and "rise >= value + gradient . d"
    double primal_residual = 0, rhs = 0, inverse_pivot = 0;
  };
  // Partial sums and scratch of one block of rows.
  struct Block {
    std::vector<double> vector, matrix, scratch;
    double complementarity = 0, feasibility_error = 0;
    StepLength step_length;
  };

  std::int64_t n_varied(std::int64_t i) const { return tied_.varied_at[i + 1] - tied_.varied_at[i]; }
  const std::int32_t* slots(std::int64_t i) const { return tied_.varied_slot.data() + tied_.varied_at[i]; }
  double common_image(std::int64_t i, const std::vector<double>& v) const;
  double hinge_image(std::int64_t h, const double* varied) const {
    return tied_.hinge_price_coef[h] * varied[0] +
           tied_.hinge_level_coef[h] * (varied[tied_.hinge_level[h]] - varied[tied_.hinge_envelope[h]]);
  }
  void add_hinge(std::int64_t h, double scale, double* varied) const {
    varied[0] += scale * tied_.hinge_price_coef[h];
    varied[tied_.hinge_level[h]] += scale * tied_.hinge_level_coef[h];
    varied[tied_.hinge_envelope[h]] -= scale * tied_.hinge_level_coef[h];
  }
  void scatter(std::int64_t i, double common, const double* varied, std::vector<double>& out) const;
  const double* gather(std::int64_t i, const std::vector<double>& v, Block& block) const;
  template <class Work>
  void for_each_row(Work&& work);
  void add_vectors(std::vector<double>& out) const;

  void residual_row(std::int64_t i, const std::vector<double>& d, Block& block);
  void add_cross(std::vector<double>& M, const RowPart& part, std::int32_t slot, double scale) const;
  void schur_row(std::int64_t i, Block& block, OuterSum& outer);
  void rhs_row(std::int64_t i, const CentralityTarget& target, Block& block);
  void recover_row(std::int64_t i, const std::vector<double>& step, Block& block);

  const TiedRows& tied_;
  std::size_t stride_;
  int n_threads_;
  RowBlocks blocks_;
  std::vector<Block> parts_;
  std::vector<double> r_, r_step_, row_pivot_, row_rhs_;
  std::vector<Piece> pieces_;
  std::vector<Hinge> hinges_;
  std::vector<double> reduced_;  // varied entries of the piece gradients after the hinges are eliminated
  std::vector<double> best_mass_, best_hinge_mass_;
  double complementarity_ = 0, feasibility_error_ = 0;
  double value_at_zero_ = 0;  // sum of weight_i r_i where d = 0
};

}  // namespace surefoot
