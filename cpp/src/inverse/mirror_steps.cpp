#include "surefoot/inverse/mirror_steps.hpp"

#include <algorithm>
#include <cmath>

namespace surefoot {
namespace {

class MirrorStepper {
 public:
  MirrorStepper(const BinaryExamples& examples, const MirrorOptions& options, const ForwardLimits& limits, MirrorState& state,
                ForwardMemory memory, const MirrorParameters& parameters)
      : examples_(examples),
        options_(options),
        limits_(limits),
        state_(state),
        memory_(memory),
        parameters_(parameters),
        p_(static_cast<std::size_t>(examples.n_features)),
        n_(static_cast<std::size_t>(examples.n_unknowns)) {
    theta_.resize(p_);
    gradient_.resize(p_);
    gain_.resize(n_);
    cost_.resize(n_);
    for (std::size_t j = 0; j < p_; ++j)
      if (options_.exponentiated && options_.signs[j]) signed_.push_back(j);
    read_point();
  }

  // Whether the step was made; `flips` receives the decisions of the batch, `objective` kappa R plus their mean loss.
  bool step(const std::int64_t* drawn, std::int64_t batch, std::int8_t* flips, double& objective) {
    losses_ = 0;
    std::fill(gradient_.begin(), gradient_.end(), 0.0);
    for (std::size_t k = 0; k < n_; ++k) {
      cost_[k] = 0;
      for (std::size_t j = 0; j < p_; ++j) cost_[k] += theta_[j] * examples_.features[j * n_ + k];
    }
    for (std::int64_t b = 0; b < batch; ++b)
      if (!add_gradient(static_cast<std::size_t>(drawn[b]), flips + b * examples_.n_unknowns)) return false;
    double regularizer = 0;
    for (std::size_t j = 0; j < p_; ++j) {
      const double away = theta_[j] - options_.center[j];
      const double sign = away > 0 ? 1.0 : (away < 0 ? -1.0 : 0.0);
      regularizer += options_.squares ? 0.5 * away * away : std::abs(away);
      gradient_[j] = gradient_[j] / static_cast<double>(batch) + options_.kappa * (options_.squares ? away : sign);
    }
    objective = options_.kappa * regularizer + losses_ / static_cast<double>(batch);
    ++state_.steps;
    const double weight = options_.linear_average ? static_cast<double>(state_.steps) : 1.0;
    state_.mass += weight;
    for (std::size_t j = 0; j < p_; ++j) state_.mean[j] += (theta_[j] - state_.mean[j]) * (weight / state_.mass);
    const double length = step_length();
    if (length > 0) {
      move(length);
      read_point();
    }
    return true;
  }

 private:
  // Adds the subgradient of one example's loss; false if its search had to be complete and was not.
  bool add_gradient(std::size_t i, std::int8_t* flips) {
    const std::size_t m = static_cast<std::size_t>(examples_.n_rows);
    const double *start = examples_.start + i * n_, *tilt = examples_.tilt + i * n_, *own = examples_.own + i * p_;
    double value = examples_.constant[i];
    for (std::size_t j = 0; j < p_; ++j) value += theta_[j] * own[j];
    for (std::size_t k = 0; k < n_; ++k) {
      const double cost = cost_[k] + tilt[k];
      value -= cost * start[k];
      gain_[k] = cost * (2.0 * start[k] - 1.0);
    }
    // The response, of value 0, and the decision of the last search are feasible: the better one is the cutoff.
    const double* table = examples_.table + i * (n_ + 1);
    std::int8_t* last = memory_.decisions + i * n_;
    double cutoff = -value;
    bool known = last[0] >= 0;
    if (known) {
      double again = 0;
      int count = 0;
      for (std::size_t k = 0; k < n_; ++k)
        if (last[k]) again += gain_[k], ++count;
      again += table[count];
      known = again > cutoff;
      cutoff = std::max(cutoff, again);
    }
    const BinaryProgram program{examples_.n_unknowns,
                                examples_.n_rows,
                                examples_.rows + i * m * n_,
                                examples_.right + i * m,
                                examples_.row_tolerance + i * m,
                                gain_.data(),
                                table};
    const BinarySearchResult& found = search_.search(program, {cutoff, limits_.max_nodes}, memory_.multipliers + i * m);
    if (limits_.complete && !found.complete) return false;
    losses_ += value + found.value;
    if (found.found)
      for (std::size_t k = 0; k < n_; ++k) last[k] = static_cast<std::int8_t>(found.flips[k]);
    else if (!known) {
      std::fill_n(flips, n_, std::int8_t{-1});
      return true;
    }
    std::copy_n(last, n_, flips);
    for (std::size_t j = 0; j < p_; ++j) gradient_[j] += own[j];
    for (std::size_t k = 0; k < n_; ++k) {
      if ((start[k] > 0.5) == (last[k] != 0)) continue;
      for (std::size_t j = 0; j < p_; ++j) gradient_[j] -= examples_.features[j * n_ + k];
    }
    return true;
  }

  double step_length() {
    const double t = static_cast<double>(state_.steps);
    if (options_.rule == StepRule::strong) return 2.0 / (options_.convexity * (t + 1));
    if (options_.rule == StepRule::constant) return options_.scale;
    if (options_.rule == StepRule::sqrt) return options_.scale / std::sqrt(t);
    double norm = 0;  // the dual norm of the map
    for (const double entry : gradient_) norm = options_.exponentiated ? std::max(norm, std::abs(entry)) : norm + entry * entry;
    if (!options_.exponentiated) norm = std::sqrt(norm);
    state_.sum_squares += norm * norm;
    // A subgradient of zero says that this point cannot be improved by what was sampled: stay.
    if (norm == 0) return 0;
    return options_.scale / (options_.rule == StepRule::adaptive ? std::sqrt(state_.sum_squares) : norm * std::sqrt(t));
  }

  void move(double length) {
    std::vector<double>& iterate = state_.iterate;
    if (!options_.exponentiated) {
      for (std::size_t j = 0; j < p_; ++j)
        iterate[j] = std::clamp(iterate[j] - length * gradient_[j], options_.lower[j], options_.upper[j]);
      return;
    }
    for (std::size_t j = 0; j < p_; ++j) iterate[j] -= length * gradient_[j];
    for (std::size_t k = 0; k < signed_.size(); ++k) iterate[p_ + k] += length * gradient_[signed_[k]];
    const double largest = *std::max_element(iterate.begin(), iterate.end());
    double sum = 0;
    for (double& entry : iterate) {
      entry = std::max(entry, largest + parameters_.least_log);
      sum += std::exp(entry - largest);
    }
    const double total = largest + std::log(sum);
    if (!options_.fixed_total && total <= options_.log_radius) return;
    for (double& entry : iterate) entry += options_.log_radius - total;
  }

  void read_point() {
    const std::vector<double>& iterate = state_.iterate;
    for (std::size_t j = 0; j < p_; ++j) theta_[j] = options_.exponentiated ? std::exp(iterate[j]) : iterate[j];
    for (std::size_t k = 0; k < signed_.size(); ++k) theta_[signed_[k]] -= std::exp(iterate[p_ + k]);
  }

  const BinaryExamples& examples_;
  const MirrorOptions& options_;
  const ForwardLimits& limits_;
  MirrorState& state_;
  ForwardMemory memory_;
  const MirrorParameters& parameters_;
  std::size_t p_, n_;
  double losses_ = 0;
  std::vector<double> theta_, gradient_, gain_, cost_;
  std::vector<std::size_t> signed_;
  BinarySearch search_;
};

}  // namespace

std::int64_t mirror_steps(const BinaryExamples& examples, const MirrorOptions& options, const ForwardLimits& limits,
                          MirrorState& state, ForwardMemory memory, const std::int64_t* drawn, std::int64_t n_steps,
                          std::int64_t batch, std::int8_t* flips, double* objectives, const MirrorParameters& parameters) {
  MirrorStepper stepper(examples, options, limits, state, memory, parameters);
  for (std::int64_t t = 0; t < n_steps; ++t)
    if (!stepper.step(drawn + t * batch, batch, flips + t * batch * examples.n_unknowns, objectives[t])) return t;
  return n_steps;
}

}  // namespace surefoot
