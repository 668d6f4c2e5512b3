// Steps of mirror descent for costs behind observed 0/1 decisions, many at a time.
//
// A step draws examples, finds for each a decision x that maximises <theta, phi_i - M x> + d_i(x) (exactly, or as well as a number
// of nodes allows), and moves theta against the mean of the slopes phi_i - M x plus that of the regulariser:
//
//   Euclidean        theta' = theta - size slope, clipped to [lower, upper]
//   exponentiated    log w' = log w -+ size slope, scaled down if the sum of w exceeds the radius; theta = w+ - w-
#pragma once

#include <cstdint>
#include <vector>

#include "surefoot/inverse/binary_search.hpp"

namespace surefoot {

// Examples with rows in terms of flips from `start`; the distance is constant - tilt . x + table[number of flips].
struct FlipExamples {
  int count, n_unknowns, n_rows, n_features;
  const double* rows;      // count x n_rows x n_unknowns
  const double* room;      // count x n_rows
  const double* slack;     // count x n_rows
  const double* start;     // count x n_unknowns
  const double* tilt;      // count x n_unknowns
  const double* constant;  // count
  const double* table;     // count x (n_unknowns + 1)
  const double* features;  // n_features x n_unknowns
  const double* own;       // count x n_features: phi_i
};

enum class StepRule : std::int8_t { adaptive, normalized, sqrt, strong, constant };

struct MirrorRules {
  bool exponentiated;
  bool fixed_total;     // the sum of w is always the radius
  double log_radius;    // of exponentiated steps
  const double* lower;  // of Euclidean steps
  const double* upper;
  const std::int8_t* signs;  // which entries of theta may be negative, for exponentiated steps
  StepRule rule;
  double scale;
  double convexity;     // of "strong"
  bool linear_average;  // weights 1, 2, 3, ... instead of 1, 1, 1, ...
  double kappa;
  bool squares;  // R = 1/2 ||theta - center||^2, or the l1 norm
  const double* center;
};

struct MirrorState {
  std::vector<double> state;  // theta, or logarithms of w+ and, of signed entries, w-
  std::vector<double> mean;
  double mass, squares;
  std::int64_t steps;
};

// Walks `n_steps` steps with `batch` examples each (`drawn`, step after step) and returns how many were made: fewer if a search
// that had to be complete (`complete`) ran out of nodes. `flips` receives what was decided, one row of n_unknowns per example
// drawn; a response itself, whose value is 0, stands in for what was not found (-1). `prices` (count x n_rows) are the
// multipliers of the searches and `decided` (count x n_unknowns, -1 at first) the flips found last, kept from call to call: where
// a search is not completed, the decision of last time is still one.
std::int64_t walk(const FlipExamples& examples, const MirrorRules& rules, MirrorState& at, const std::int64_t* drawn,
                  std::int64_t n_steps, std::int64_t batch, std::int64_t max_nodes, bool complete, double* prices,
                  std::int8_t* decided, std::int8_t* flips);

}  // namespace surefoot
