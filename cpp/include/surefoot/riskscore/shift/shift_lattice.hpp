// The worst-case loss of a score over all shifts of the rows of a few columns: dynamic programming over flips, exact or
// smoothed.
//
// Rows that agree in the columns that cannot be flipped form a group. Within a group a row is a corner of a cube: one bit for
// each column that can be flipped and one, the last, for its label. Prices of flips add up, so the worst case of all corners at
// once is found bit by bit: with v the losses of the corners, for every bit b with price c,
//   v[i] <- max(v[i], v[i ^ b] - lambda c).
// That is exact for any prices, and costs bits * corners instead of a search per corner.
//
// The maximum is smoothed for Newton's method, max(a, b) ~ mu log(exp(a / mu) + exp(b / mu)) (Nesterov, Smooth minimization of
// non-smooth functions, Mathematical Programming, 2005), whose gradient makes every row a softmax mixture of its shifts. For a
// fixed mixture the loss is a mean of logistic losses minus lambda times their prices: convex in points and lambda, and never
// above the worst case. Its tangent planes bound the worst case from below whatever the smoothing.
#pragma once

#include <cmath>
#include <vector>

#include "surefoot/riskscore/table/score_cells.hpp"

namespace surefoot {

struct LatticeParameters {
  // Relative to the smoothing: branches of less weight are left out of the Hessian, where they change no step. Not tuned.
  double min_branch_weight = 1e-9;
  // Tangents in a minimisation along lambda or along the scale; it ends long before. Not tuned.
  int max_tangents = 200;
  // Relative to 1 + the value: distance of the two tangents' meeting from the best value at which it is the minimum.
  // rounding_slack.hpp accounts for it.
  double meeting_gap = 1e-15;
  // Distance from the minimum, relative to 1 + lambda, at which its two tangents are surely told apart, and the part of
  // their values, relative to 1 + these, by which rounding may have moved the place where they meet. Not tuned.
  double side_distance = 1e-9, side_rounding = 1e-14;
};
inline constexpr LatticeParameters lattice_parameters{};

// A card may use so many columns that can be flipped, however many there are in the table; the label is one bit more.
constexpr int max_flips = max_card_size;
constexpr int max_shifted_coordinates = max_coordinates + 1;

// Coordinates: intercept, columns, and lambda last.
struct ShiftedSums {
  double smooth;   // smoothed worst case, an upper bound of `mixture`
  double mixture;  // loss with the mixture fixed as it is here: its tangent plane has the gradient below
  double gradient[max_shifted_coordinates];
  double curvature[max_shifted_coordinates * max_shifted_coordinates];  // of `smooth`; lower triangle
};

// Prices of a support's columns, in the order of its cells.
struct ShiftPrices {
  double radius, label_price;
  double price[max_card_size];
  bool flips[max_card_size];

  bool moves(int column) const { return !flips[column] && std::isfinite(price[column]); }
};

class ShiftLattice {
 public:
  void build(const ScoreCells& cells, const ShiftPrices& prices);

  int n_columns() const { return n_columns_; }
  const ShiftPrices& prices() const { return prices_; }
  // No sum over the rows has more terms that are not 0: cells, each with two labels.
  double n_terms() const { return 2.0 * static_cast<double>(corner_.size()); }

  // At point[0 .. n_columns] and lambda = point[n_columns + 1].
  void sum(const double* point, double smoothing, ShiftedSums& sums);
  // Mean slope of the loss along the score of a cell's rows with label +1 and -1, at the point and smoothing of the last `sum`.
  void slopes(double* if_positive, double* if_negative) const;
  // lambda * radius + worst case, exactly, and its slope along lambda (that of the cheapest worst case, hence the largest).
  double worst(const double* point, double& slope);
  // Minimum of `worst` over lambda in [low, high], with a bound from below that holds wherever the iteration stops. Along
  // lambda the function is piecewise linear: the tangents at two points with slopes of opposite signs meet at or below the
  // minimum.
  double least_worst(double* point, double low, double high, double& bound);
  // The same, and how fast the bound changes as the point is stretched: the minimum for s times the point, and lambda in [s
  // low, high], is at least bound + (s - 1) stretch for every s > 0. Both tangents are planes in lambda and s below the loss;
  // mixed such that they are level along lambda they are a line in s. Where lambda is at its low end, that end moves with s.
  double least_worst(double* point, double low, double high, double& bound, double& stretch);
  // Lambdas just below and above that of the last minimum, where no shifts are tied and the tangents, mixed, give its bound.
  double low_side() const { return low_side_; }
  double high_side() const { return high_side_; }

 private:
  // A tangent plane of the worst case, at a given point and lambda: its value there and its slopes along lambda and, if wanted,
  // along a factor that stretches the point.
  struct Tangent {
    double lambda, value, slope, stretch;
  };
  template <bool stretched>
  Tangent tangent(const double* point);
  template <bool stretched>
  double least(double* point, double low, double high, double& bound, double& stretch);
  void open_group(std::size_t group, const double* point);
  void smooth_maxima(double lambda, double smoothing);
  void add_group(std::size_t group, double smoothing, ShiftedSums& sums);

  ShiftPrices prices_;
  ScoreCells cells_;                               // where nothing can be flipped: the plain sums do then
  int n_columns_ = 0, n_flips_ = 0, n_steps_ = 0;  // steps: bits whose flips have a price
  int flip_[max_card_size], stay_[max_card_size], n_stay_ = 0;
  std::size_t corners_ = 2, n_groups_ = 0;
  double low_side_ = 0, high_side_ = 0;
  double step_price_[max_flips + 1];
  std::size_t step_bit_[max_flips + 1];
  std::vector<double> mass_;         // by group and corner
  std::vector<double> stay_value_;   // by group and column that stays
  std::vector<std::size_t> corner_;  // of each cell with label -1; label +1 is corners_ / 2 further
  std::vector<double> mean_slope_;   // by group and corner: of the mixture

  // Scratch of one group. By corner: score, derivatives, price of the worst shift, slope along a stretch, weight of the rows.
  // Layer by layer (before the first step, after it, ...): values; records of mean slopes along the score and each flip, mean
  // price, and mean value less its price. Step by step: softmax weight of the flipped branch, and what flipping adds to a
  // record.
  std::vector<double> score_, slope_, loss_curvature_, cost_, stretch_, flow_, value_, weight_;
  PackVector records_, extra_, curvature_;
  std::size_t packs_ = 1;  // of a record
};

}  // namespace surefoot
