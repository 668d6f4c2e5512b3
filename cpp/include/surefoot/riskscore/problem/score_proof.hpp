// A proof, as plain numbers, that no score card is better than a stated value: for whoever wants to check it without trusting a search.
// src/surefoot/riskscore/problem/score_proof.py says what the numbers mean and why they prove it.
#pragma once

#include <cstdint>
#include <vector>

namespace surefoot {

struct ScoreProof {
  double threshold = 0;  // on the objective
  int intercept_lower = 0, intercept_upper = 0;
  std::vector<std::int32_t> columns, twins, steps;
  std::vector<double> points;
  bool complete = false;
};

}  // namespace surefoot
