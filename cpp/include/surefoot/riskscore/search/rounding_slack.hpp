// Rounding errors of the search's lower bounds: how much a computed bound can exceed the value of a card it is meant to bound.
//
// A subtree, a support or a box of points is pruned when a computed bound, less the slack, exceeds the value of the best card,
// as IncumbentCard adds it up. The slack is at least the sum of all errors between the two, so no card of a smaller value is
// lost. With u = 2^-53, rows i of weight w_i (they sum to 1), x_i0 = 1, at most k columns in a support, and |points_j| <= P_j
// at every point a bound is worked out at (P_0 for the intercept; P_j includes the distance by which iterates may leave the
// box), let
//
//   a_i = sum_j P_j |x_ij|,     A1 = sum_i w_i a_i <= P_0 + sum_j P_j mean|x_j|,
//   A2 = sum_i w_i a_i^2 <= (P_0 + sum_j P_j rms(x_j))^2,
//
// with the k largest terms of each sum (the bound on A2 is Minkowski's inequality), and R = P_0 + the k largest P_j max|x_j|.
// To first order in u:
//
// 1. A score is k products and sums: off by (k + 2) u a_i. Its loss is computed to E u (1 + |s|), its slope to E u (E = 8;
//    lane_math.hpp is tested to 4), and the score's error enters the loss with slope at most 1, the slope with at most 1/4.
// 2. A sum of n terms added one after another is off by n u times the sum of their sizes. A row's terms in the loss are at most
//    w_i (1 + 2 a_i) large. So the loss of given cells is off by
//       u (n + E + 2 k + 10) (1 + 2 A1).
// 3. The tangent bound multiplies the slope along coordinate j by at most 2 P_j. With sum_j P_j |x_ij| = a_i this makes
//       u [2 (n + E + 3) A1 + (k + 2) / 2 A2].
// 4. Adding up the bound: k + 1 terms of at most 2 P_j |g_j| each, u (k + 6) (1 + 3 A1).
// 5. The value of a card itself: as 2., with a compensated sum over the merged rows, whose weights are compensated, too: n = 4.
// 6. Weights of cells. The tangent bound of a convex function with slightly wrong weights holds for that function; what counts
//    is how far it is from the right one.
//    Row groups: weights are running sums of n_rows merged rows, so each is off by n_rows
//    u relative to itself: n_rows u (1 + 4 A1), where 4 instead of 2 allows for slopes along further columns, which are summed
//    over rows instead of groups.
//    Bit counts: counts are whole, a set's weight is a sum over G segments, off by (G + 1) u
//    relative to itself, and inclusion and exclusion adds and subtracts the weights of all sets T of up to k columns. Each cell
//    draws on the sets that contain it, so all cells together draw on the sum over T of 2^|T| weight(T) <= 3^k; cutting off
//    below 0 and above the parent's cell, for weight and positive weight, at most multiplies by 8. The errors may sit in one
//    cell: 8 (G + 2 + k) 3^k u (1 + 4 R).
//    Slopes along further columns take 2^k terms whose sizes sum to 3^k: 3^k (G + E + k + 2^k + (k + 2) R / 4) u R.
//
// The sum of all these, with every constant rounded up and the whole doubled for terms of higher order in u and for weights
// that do not quite sum to 1, is what the functions return. n is n_rows / 4 + 4 for packs of row groups and 2^k for bit counts.
//
// Problems under shift get four times that, with 1 in place of |x_ij| for columns that can be flipped, plus 1e-13 (1 + R):
// - A shifted score takes up to k sums more, so it is off by (2 k + 2) u a_i instead of (k + 2) u a_i: twice the terms of 1.
// - Loss and slope of a row are mixed over its shifts in at most k + 1 steps of a + theta (b - a). Whatever rounding does to a
//   weight theta, the bound holds for any; the mixing itself is off by 4 u of the largest entry per step. So E grows by
//   4 (k + 1), which is less than 3 (n + 2 E + 5 k + 30): with twice the terms of 1, less than four times the whole.
// - Corners of the cubes that hold no rows add nothing, so sums have at most two terms per cell, one per label: n at most
//   doubles.
// - The plane also slopes along lambda, by h = radius - mean price. Its rounding, (n + 8 k + 32) u (radius + mean price), is
//   multiplied by the largest lambda. That is no multiple of the losses, so shifted_bound subtracts it itself.
// - The worst case of a card is found where two tangents along lambda meet to 1e-15 (1 + value), and values are below 1 + R.
//
// Problems of free scale get as much; P_j is then the largest coefficient, the largest 1 / multiplier times the largest points.
// - With points p fixed the score is t (sum of p_j x_ij) + sum of q_j x_ij: one product more, so again less than twice the
//   terms of 1. The slope along t is that of a column whose size, times t, is at most a_i, and there is one column fewer for
//   each point fixed: 3. and 4. hold as they are. Iterates stay in the hull of the coefficients.
// - A card's value is its loss at the multiplier that was found. It is never below the least over all multipliers, which is
//   what the bounds are about, so a search along the scale that stops early loses no better card.
// Problems under shift and of free scale need no more than that. A score that is shifted and scaled is off by (2 k + 3) u a_i,
// still less than twice the terms of 1; the slope along the scale is that of one column; and the slope along lambda of two
// mixed tangents, which should be 0, is off by (n + 8 k + 32) u times twice the radius, which fit_region.cpp subtracts.
#pragma once

#include <vector>

#include "surefoot/riskscore/problem/score_problem.hpp"
#include "surefoot/riskscore/table/row_partition.hpp"

namespace surefoot {

class RoundingSlack {
 public:
  RoundingSlack(const ScoreProblem& problem, const CodedTable& table);

  // For cells made of row groups, and intercepts within these limits.
  double of_rows(int intercept_low, int intercept_high) const;
  // For cells counted by bits, whose rows have `n_segments` different pairs of label and weight.
  double of_bits(int intercept_low, int intercept_high, std::size_t n_segments) const;
  // For the tangent bound of relaxed_bound.hpp at a point with any number of columns, minimised over cards of the problem.
  double of_point(double intercept, const std::vector<double>& point) const;

 private:
  struct ScoreSizes {
    double mean, square, most;  // A1, the bound on A2, R
  };
  ScoreSizes sizes(int intercept_low, int intercept_high) const;
  static double common(const ScoreSizes& sizes, double n_columns, double n_terms);

  double with_shifts(double plain, const ScoreSizes& sizes) const;

  int size_, intercept_lower_, intercept_upper_;
  double scale_;  // largest 1 / multiplier
  bool formed_;   // under shift, or of free scale
  double n_rows_;
  std::vector<double> mean_, root_, most_;         // the largest terms of A1, A2 and R, by rank
  std::vector<double> column_mean_, column_root_;  // mean and root mean square of |x|, by column
};

}  // namespace surefoot
