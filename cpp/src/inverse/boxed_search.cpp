#include "surefoot/inverse/boxed_search.hpp"

#include <algorithm>
#include <cmath>

namespace surefoot {

const BoxedDecision& BoxedSearch::search(const BoxedTask& task, double cutoff, const BoxedLimits& limits) {
  task_ = task, limits_ = limits, nodes_ = 0;
  decision_.found = false, decision_.value = cutoff, decision_.complete = true;
  decision_.point.assign(static_cast<std::size_t>(task.programme.n_unknowns), 0.0);
  for (int k = 0; k < task.n_terms && decision_.complete; ++k) {
    simplex_.begin(task.programme, task.lower, task.upper);
    simplex_.price(task.gain + static_cast<std::ptrdiff_t>(k) * task.programme.n_unknowns);
    decision_.complete = branch(task.constant[k]);
  }
  return decision_;
}

const BoxedProof& BoxedSearch::prove(const BoxedTask& task, double goal, const BoxedLimits& limits) {
  task_ = task, limits_ = limits, nodes_ = 0;
  proof_.column.clear(), proof_.at.clear(), proof_.multipliers.clear();
  proof_.complete = true;
  for (int k = 0; k < task.n_terms && proof_.complete; ++k) {
    simplex_.begin(task.programme, task.lower, task.upper);
    simplex_.price(task.gain + static_cast<std::ptrdiff_t>(k) * task.programme.n_unknowns);
    proof_.complete = divide(goal - task.constant[k]);
  }
  return proof_;
}

bool BoxedSearch::spent() {
  return ++nodes_ > limits_.max_nodes || (nodes_ % 16 == 1 && std::chrono::steady_clock::now() >= limits_.until);
}

// The whole unknown farthest from whole, -1 if all are whole.
int BoxedSearch::most_fractional() const {
  int found = -1;
  double farthest = parameters_.integrality_tolerance;
  for (int j = 0; j < task_.programme.n_unknowns; ++j) {
    const double away = std::abs(simplex_.point()[j] - std::nearbyint(simplex_.point()[j]));
    if (task_.whole[j] && away > farthest) farthest = away, found = j;
  }
  return found;
}

// Whether the part of the box that the simplex method is at was searched; false if it was cut short or failed.
bool BoxedSearch::branch(double constant) {
  if (spent()) return false;
  const BoxedStatus status = simplex_.solve();
  if (status == BoxedStatus::failed) return false;
  if (status == BoxedStatus::infeasible) return true;
  if (simplex_.bound(simplex_.multipliers()) + constant <= decision_.value + parameters_.value_tolerance) return true;
  const int column = most_fractional();
  if (column < 0) {
    double value = constant;
    std::vector<double> point = simplex_.point();
    const BoxedProgramme& p = task_.programme;
    for (int j = 0; j < p.n_unknowns; ++j)
      point[static_cast<std::size_t>(j)] =
          std::clamp(task_.whole[j] ? std::nearbyint(point[j]) : point[j], task_.lower[j], task_.upper[j]);
    value += simplex_.worth(point);
    if (value > decision_.value) decision_.value = value, decision_.point = std::move(point), decision_.found = true;
    return true;
  }
  const double here = simplex_.point()[column], low = simplex_.lower(column), high = simplex_.upper(column);
  const double at = std::floor(here);
  const bool upper_first = here - at > 0.5;
  for (int turn = 0; turn < 2; ++turn) {
    const bool upper = (turn == 0) == upper_first;
    simplex_.limit(column, upper ? at + 1 : low, upper ? high : at);
    const bool done = branch(constant);
    simplex_.limit(column, low, high);
    if (!done) return false;
  }
  return true;
}

// Appends the tree of the part of the box that the simplex method is at; false if there is none.
bool BoxedSearch::divide(double goal) {
  if (spent()) return false;
  const BoxedStatus status = simplex_.solve();
  if (status == BoxedStatus::failed) return false;
  const bool leaf = status == BoxedStatus::infeasible ? simplex_.refute(goal) : simplex_.bound(simplex_.multipliers()) <= goal;
  if (leaf) {
    proof_.column.push_back(-1);
    proof_.at.push_back(0.0);
    proof_.multipliers.insert(proof_.multipliers.end(), simplex_.multipliers().begin(), simplex_.multipliers().end());
    return true;
  }
  if (status == BoxedStatus::infeasible) return false;
  const int column = most_fractional();
  if (column < 0) return false;
  const double low = simplex_.lower(column), high = simplex_.upper(column), at = std::floor(simplex_.point()[column]);
  proof_.column.push_back(column);
  proof_.at.push_back(at);
  simplex_.limit(column, low, at);
  if (!divide(goal)) return false;
  simplex_.limit(column, at + 1, high);
  if (!divide(goal)) return false;
  simplex_.limit(column, low, high);
  return true;
}

}  // namespace surefoot
