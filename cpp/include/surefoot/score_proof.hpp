// A proof, as plain numbers, that no score card is better than a stated value: for whoever wants to check it without trusting a search.
//
// The proof is a walk. `columns` lists the columns that may have points, in some order. A node is a prefix P of columns and a list C of
// columns to add, at first none and all; it covers the supports P + A, A a part of C with 1 to max_size - |P| columns. It holds a point for
// P. At that point (loss, less its tangent over the box of P: base; gain_j of column j: see support_walker.hpp)
//   - columns of C that are not among `kept` are in no good support P + A: base - gain_e - (the largest other gains) > threshold;
//   - kept columns that are not among `children` are not the first kept column, in the order of C, of any good support;
//   - for every child e there follow the cards of the support P + e and, where there is room and there are kept columns after e, the
//     node of P + e with those as its list.
// The cards of a support are a box of points, cut in two at a coordinate until each part has a tangent bound above the threshold, is a
// single card, or holds no card at all.
//
// Numbers, in the order of the walk:
//   walk    : the cards of the empty support, the node of the empty prefix
//   node    : n_kept, kept columns, n_children, children | the point; then for every child its cards and, where it has one, its node
//   cards   : 0 | the point of a bound,   1, coordinate, v | cards with that coordinate up to v, cards from v + 1 on,
//             2 (a single card),   3 (no card: a column's points can only be 0),   4 (the rules do not admit the support)
// with whole numbers before the bar in `steps` and real ones after it in `points`.
#pragma once

#include <cstdint>
#include <vector>

namespace surefoot {

struct ScoreProof {
  double threshold = 0;  // on the objective
  std::vector<std::int32_t> columns, steps;
  std::vector<double> points;
  bool complete = false;
};

}  // namespace surefoot
