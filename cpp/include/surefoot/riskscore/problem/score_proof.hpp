// A proof log of a branch and bound over supports: plain numbers that let a checker repeat every pruning without trusting the
// search. src/surefoot/riskscore/problem/score_proof.py says what the numbers mean and why they cover every card.
#pragma once

#include <cstdint>
#include <vector>

namespace surefoot {

// What a proof says of a candidate column of a node. Python has the same names and values; a test compares them.
enum class CandidateMark : std::int32_t {
  excluded = 0,   // in no improving support of the subtree
  not_first = 1,  // stays a candidate, but is not the first added column of any improving support
  child = 2,      // branched on
  twin = 3,       // stays a candidate; supports that begin with it are covered by those with its twin
};

// What a proof says of a box of whole points on one support.
enum class BoxCode : std::int32_t {
  bounded = 0,       // a tangent plane is above the threshold everywhere in it
  branched = 1,      // split in two at a coordinate and a value
  single_card = 2,   // holds one card
  empty = 3,         // holds no card with points in every column of the support
  not_admitted = 4,  // the rules do not admit the support
  by_node = 5,       // the tangent plane of the node of the same support is above the threshold everywhere in it
  levelled = 6,      // holds one card, whose loss under shift lies above a level mixture of four tangent planes
};

constexpr std::int32_t code(CandidateMark mark) { return static_cast<std::int32_t>(mark); }
constexpr std::int32_t code(BoxCode box) { return static_cast<std::int32_t>(box); }

struct ScoreProof {
  double threshold = 0;  // on the objective: no card is better
  int intercept_lower = 0, intercept_upper = 0;
  std::vector<std::int32_t> columns, twins, steps;
  std::vector<double> points;
  bool complete = false;
};

}  // namespace surefoot
