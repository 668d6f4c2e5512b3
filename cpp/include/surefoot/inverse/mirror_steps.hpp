// Steps of stochastic approximate mirror descent for observed 0/1 decisions, many in one call: Algorithm 1 of Zattoni
// Scroccaro, Atasoy and Mohajerin Esfahani (2024).
//
// One step draws a batch of examples and maximises <theta, phi_i - M x> + d_i(x) over the decisions x of each, to optimality or
// within a limit of nodes. With g the mean of phi_i - M x plus a subgradient of kappa R and eta the step length,
//
//   Euclidean        theta' = theta - eta g, clipped to [lower, upper]
//   exponentiated    log w' = log w -+ eta g, scaled down if the sum of w exceeds the radius; theta = w+ - w-
//
// Termination: the steps requested were made, or a search that must be complete ran out of nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "surefoot/inverse/binary_search.hpp"

namespace surefoot {

// Examples with rows in terms of flips from `start`; the distance is constant - tilt . x + table[number of flips].
struct BinaryExamples {
  int count, n_unknowns, n_rows, n_features;
  const double* rows;           // count x n_rows x n_unknowns
  const double* right;          // count x n_rows
  const double* row_tolerance;  // count x n_rows
  const double* start;          // count x n_unknowns
  const double* tilt;           // count x n_unknowns
  const double* constant;       // count
  const double* table;          // count x (n_unknowns + 1)
  const double* features;       // n_features x n_unknowns
  const double* own;            // count x n_features: phi_i
};

enum class StepRule : std::int8_t { adaptive, normalized, sqrt, strong, constant };

// What is minimised, over which set, and by which steps.
struct MirrorOptions {
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

struct MirrorParameters {
  // The least logarithm of a weight of exponentiated steps, relative to the largest: exp(-600) is still a normal number, so
  // that no weight becomes 0 for ever.
  double least_log = -600.0;
};

struct MirrorState {
  std::vector<double> iterate;  // theta, or logarithms of w+ and, of signed entries, w-
  std::vector<double> mean;     // average of the points theta
  double mass;                  // sum of their weights
  double sum_squares;           // of the dual norms of all subgradients
  std::int64_t steps;
};

// How forward problems are solved.
struct ForwardLimits {
  std::int64_t max_nodes;
  bool complete;  // whether a search that runs out of nodes ends the steps
};

// What is carried from call to call, one row per example: warm starts of the searches, and the flips found last (-1 at first),
// which are feasible even if the next search is not complete.
struct ForwardMemory {
  double* multipliers;     // count x n_rows
  std::int8_t* decisions;  // count x n_unknowns
};

// Makes `n_steps` steps with `batch` examples each (`drawn`, step after step) and returns how many were made. `flips` receives
// the decisions, one row of n_unknowns per example drawn; -1 where nothing better than the response, of value 0, was found.
// `objectives` receives kappa R plus the mean loss of the batch at the point before every step, as the searches have it.
std::int64_t mirror_steps(const BinaryExamples& examples, const MirrorOptions& options, const ForwardLimits& limits,
                          MirrorState& state, ForwardMemory memory, const std::int64_t* drawn, std::int64_t n_steps,
                          std::int64_t batch, std::int8_t* flips, double* objectives, const MirrorParameters& parameters = {});

}  // namespace surefoot
