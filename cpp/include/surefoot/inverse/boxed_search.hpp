// Branch and bound over small dense programmes with some whole unknowns, and proofs that nothing exceeds a value.
//
//   max over terms k and x of   gain_k . x + constant_k   subject to   low <= rows x <= high,  lower <= x <= upper,
//                                                                      marked x_j whole
//
// Node: the relaxation by `BoxedSimplex`. It is a leaf if it is infeasible, or if its bound by weak duality does not exceed what
// is to be exceeded: the incumbent, or in a proof a given value. Otherwise it is split at the whole unknown farthest from whole,
// the part that the relaxation is nearer to first in a search, the lower part first in a proof.
// Termination: every node is a leaf; nodes run out; the clock does; or the arithmetic fails, which the result says.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "surefoot/inverse/boxed_simplex.hpp"

namespace surefoot {

struct BoxedTask {
  BoxedProgramme programme;
  const double* lower;
  const double* upper;
  const std::uint8_t* whole;
  int n_terms;
  const double* gain;      // n_terms x n_unknowns
  const double* constant;  // n_terms
};

struct BoxedLimits {
  std::int64_t max_nodes;
  std::chrono::steady_clock::time_point until;
};

struct BoxedSearchParameters {
  // An unknown this near to a whole number is taken for it.
  double integrality_tolerance = 1e-9;
  // A node is a leaf unless its bound exceeds the incumbent by this.
  double value_tolerance = 1e-10;
};

struct BoxedDecision {
  bool complete = false;  // whether the search ended by itself
  bool found = false;     // whether something exceeds the cutoff
  double value = 0;       // of the incumbent, or the cutoff
  std::vector<double> point;
};

// Nodes in preorder, term after term: the unknown that is split, and where; -1 for a leaf.
struct BoxedProof {
  bool complete = false;
  std::vector<std::int32_t> column;
  std::vector<double> at;
  std::vector<double> multipliers;  // leaves x n_rows
};

class BoxedSearch {
 public:
  // The largest value above a cutoff. The result is valid until the next call.
  const BoxedDecision& search(const BoxedTask& task, double cutoff, const BoxedLimits& limits);
  // Trees that show that nothing exceeds `goal`.
  const BoxedProof& prove(const BoxedTask& task, double goal, const BoxedLimits& limits);

 private:
  bool branch(double constant);
  bool divide(double goal);
  int most_fractional() const;
  bool spent();

  BoxedTask task_{};
  BoxedLimits limits_{};
  BoxedSearchParameters parameters_{};
  std::int64_t nodes_ = 0;
  BoxedSimplex simplex_;
  BoxedDecision decision_;
  BoxedProof proof_;
};

}  // namespace surefoot
