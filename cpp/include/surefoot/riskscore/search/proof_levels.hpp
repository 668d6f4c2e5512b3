// The numbers of a ScoreProof while it is written: the walk is depth first, the proof is level by level.
//
// What a depth-first walk meets of one level it meets in the order of that level, so a list for each level is all it takes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "surefoot/riskscore/problem/score_proof.hpp"

namespace surefoot {

// Price of a unit of shift and smoothing, which give the adversary's shares at a point.
struct ProofShares {
  double lambda, smoothing;
};

class ProofLevels {
 public:
  enum Mark : std::int32_t { left_out = 0, not_first = 1, child = 2, twin = 3 };
  enum Box : std::int32_t { bounded = 0, cut = 1, single_card = 2, no_card = 3, not_admitted = 4 };

  ProofLevels(int max_size, std::size_t most_numbers)
      : most_(most_numbers), nodes_(static_cast<std::size_t>(max_size)), cards_(static_cast<std::size_t>(max_size) + 1) {}

  bool full() const { return count_ > most_; }

  // Marks of the candidates of a node, to be filled in before the next call.
  std::int32_t* add_marks(int depth, std::size_t n) {
    auto& marks = nodes_[static_cast<std::size_t>(depth)].steps;
    marks.resize(marks.size() + n);
    count_ += n;
    return marks.data() + (marks.size() - n);
  }
  void add_node(int depth, const double* point) { add_point(nodes_[static_cast<std::size_t>(depth)], point, depth + 1); }
  void add_node_shares(int depth, ProofShares shares) { add_shares(nodes_[static_cast<std::size_t>(depth)], shares); }

  void add_box(int size, std::size_t round, Box kind) {
    round_of(size, round).steps.push_back(kind);
    ++count_;
  }
  void add_bound(int size, std::size_t round, const double* point) {
    add_box(size, round, bounded);
    add_point(round_of(size, round), point, size + 1);
  }
  void add_bound_shares(int size, std::size_t round, ProofShares shares) { add_shares(round_of(size, round), shares); }
  void add_cut(int size, std::size_t round, int coordinate, int value) {
    add_box(size, round, cut);
    auto& cuts = round_of(size, round).cuts;
    cuts.insert(cuts.end(), {coordinate, value});
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
    std::vector<std::int32_t> steps, cuts;
    std::vector<double> points;
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
  void add_shares(Part& part, ProofShares shares) {
    part.points.insert(part.points.end(), {shares.lambda, shares.smoothing});
    count_ += 2;
  }
  static void join(Part& part, ScoreProof& proof) {
    for (const auto* whole : {&part.steps, &part.cuts}) proof.steps.insert(proof.steps.end(), whole->begin(), whole->end());
    proof.points.insert(proof.points.end(), part.points.begin(), part.points.end());
    part = {};
  }

  std::size_t most_, count_ = 0;
  std::vector<Part> nodes_;               // by depth
  std::vector<std::vector<Part>> cards_;  // by size of the support and number of cuts
};

}  // namespace surefoot
