// A Wasserstein ball around the rows of a score card's table: what may shift, and at what price.
#pragma once

#include <cstdint>
#include <vector>

namespace surefoot {

// The robust loss of a card with score s, for rows with weights w_i:
//   min over lambda >= 0 of   lambda radius + sum_i w_i r_i(lambda),   |points_j| <= price_j lambda for columns that may move,
//   r_i(lambda) = max over flips of   softplus(-y' s(x')) - lambda cost,
//   cost = sum of the prices of the flipped columns + label_price [y' != y_i].
// It is the largest mean loss under any shift of the rows whose mean price is at most the radius.
struct ShiftTerm {
  double radius = 0;          // 0: rows stay as they are
  double label_price = 0;     // infinite: labels stay
  std::vector<double> price;  // by column; infinite: the column stays
  std::vector<std::uint8_t>
      flips;  // by column: 1 if its 0/1 values may be flipped, 0 if its values may move at `price` per unit

  bool active() const { return radius > 0; }
};

// Price of a unit of shift and smoothing of the maximum: at a point they fix the softmax weights of the shifts of every row.
struct ShiftMixture {
  double lambda, smoothing;
};

}  // namespace surefoot
