// The numbers of a ScoreProof while it is written: the traversal is depth first, the proof is breadth first.
//
// What a depth-first traversal meets of one level it meets in the order of that level, so a list for each level is all it
// takes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "surefoot/riskscore/problem/score_proof.hpp"
#include "surefoot/riskscore/shift/shift_term.hpp"

namespace surefoot {

class ProofLevels {
 public:
  ProofLevels(int max_size, std::size_t max_numbers)
      : max_numbers_(max_numbers), nodes_(static_cast<std::size_t>(max_size)), cards_(static_cast<std::size_t>(max_size) + 1) {}

  bool full() const { return count_ > max_numbers_; }

  // Marks of the candidates of a node, to be filled in before the next call.
  std::int32_t* add_marks(int depth, std::size_t n) {
    auto& marks = nodes_[static_cast<std::size_t>(depth)].steps;
    marks.resize(marks.size() + n);
    count_ += n;
    return marks.data() + (marks.size() - n);
  }
  // The point at which a node's tangent plane prunes its candidates.
  void add_node(int depth, const double* point) { add_point(nodes_[static_cast<std::size_t>(depth)], point, depth + 1); }
  void add_node_mixture(int depth, ShiftMixture mixture) { add_mixture(nodes_[static_cast<std::size_t>(depth)], mixture); }

  // Boxes of a support of `size` columns after `round` branchings.
  void add_box(int size, std::size_t round, BoxCode box) {
    round_of(size, round).steps.push_back(code(box));
    ++count_;
  }
  void add_bound(int size, std::size_t round, const double* point) {
    add_box(size, round, BoxCode::bounded);
    add_point(round_of(size, round), point, size + 1);
  }
  void add_bound_mixture(int size, std::size_t round, ShiftMixture mixture) { add_mixture(round_of(size, round), mixture); }
  // One of the planes that bound a single card under shift; they stand behind the points of the other boxes.
  void add_side(int size, std::size_t round, const double* point, ShiftMixture mixture) {
    auto& sides = round_of(size, round).sides;
    sides.insert(sides.end(), point, point + size + 1);
    sides.insert(sides.end(), {mixture.lambda, mixture.smoothing});
    count_ += static_cast<std::size_t>(size) + 3;
  }
  void add_branching(int size, std::size_t round, int coordinate, int value) {
    add_box(size, round, BoxCode::branched);
    auto& branchings = round_of(size, round).branchings;
    branchings.insert(branchings.end(), {coordinate, value});
    count_ += 2;
  }

  ScoreProof join() {
    ScoreProof proof;
    for (std::size_t size = 0; size < cards_.size(); ++size) {
      if (size > 0) join(nodes_[size - 1], proof);
      for (Part& round : cards_[size]) join(round, proof);
    }
    return proof;
  }

 private:
  struct Part {
    std::vector<std::int32_t> steps, branchings;
    std::vector<double> points, sides;
  };

  Part& round_of(int size, std::size_t round) {
    auto& rounds = cards_[static_cast<std::size_t>(size)];
    if (rounds.size() <= round) rounds.resize(round + 1);
    return rounds[round];
  }
  void add_point(Part& part, const double* point, int n) {
    part.points.insert(part.points.end(), point, point + n);
    count_ += static_cast<std::size_t>(n);
  }
  void add_mixture(Part& part, ShiftMixture mixture) {
    part.points.insert(part.points.end(), {mixture.lambda, mixture.smoothing});
    count_ += 2;
  }
  static void join(Part& part, ScoreProof& proof) {
    for (const auto* whole : {&part.steps, &part.branchings})
      proof.steps.insert(proof.steps.end(), whole->begin(), whole->end());
    for (const auto* real : {&part.points, &part.sides}) proof.points.insert(proof.points.end(), real->begin(), real->end());
    part = {};
  }

  std::size_t max_numbers_, count_ = 0;
  std::vector<Part> nodes_;               // by depth
  std::vector<std::vector<Part>> cards_;  // by size of the support and number of branchings
};

}  // namespace surefoot
