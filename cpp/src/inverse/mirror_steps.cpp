#include "surefoot/inverse/mirror_steps.hpp"

#include <algorithm>
#include <cmath>

namespace surefoot {
namespace {

// Weights keep this much below the largest, so that none is lost for ever to rounding.
constexpr double least_log = -600.0;

class Walk {
 public:
  Walk(const FlipExamples& examples, const MirrorRules& rules, MirrorState& at)
      : e_(examples),
        r_(rules),
        at_(at),
        p_(static_cast<std::size_t>(examples.n_features)),
        n_(static_cast<std::size_t>(examples.n_unknowns)) {
    theta_.resize(p_);
    slope_.resize(p_);
    gain_.resize(n_);
    cost_.resize(n_);
    for (std::size_t j = 0; j < p_; ++j)
      if (r_.exponentiated && r_.signs[j]) signed_.push_back(j);
    read_point();
  }

  bool step(const std::int64_t* drawn, std::int64_t batch, std::int64_t max_nodes, bool complete, double* prices,
            std::int8_t* decided, std::int8_t* flips) {
    std::fill(slope_.begin(), slope_.end(), 0.0);
    for (std::size_t k = 0; k < n_; ++k) {
      cost_[k] = 0;
      for (std::size_t j = 0; j < p_; ++j) cost_[k] += theta_[j] * e_.features[j * n_ + k];
    }
    for (std::int64_t b = 0; b < batch; ++b)
      if (!add_slope(static_cast<std::size_t>(drawn[b]), max_nodes, complete, prices, decided, flips + b * e_.n_unknowns))
        return false;
    for (std::size_t j = 0; j < p_; ++j) {
      const double away = theta_[j] - r_.center[j];
      const double sign = away > 0 ? 1.0 : (away < 0 ? -1.0 : 0.0);
      slope_[j] = slope_[j] / static_cast<double>(batch) + r_.kappa * (r_.squares ? away : sign);
    }
    ++at_.steps;
    const double weight = r_.linear_average ? static_cast<double>(at_.steps) : 1.0;
    at_.mass += weight;
    for (std::size_t j = 0; j < p_; ++j) at_.mean[j] += (theta_[j] - at_.mean[j]) * (weight / at_.mass);
    const double size = step_size();
    if (size > 0) {
      move(size);
      read_point();
    }
    return true;
  }

 private:
  bool add_slope(std::size_t i, std::int64_t max_nodes, bool complete, double* prices, std::int8_t* decided,
                 std::int8_t* flips) {
    const std::size_t m = static_cast<std::size_t>(e_.n_rows);
    const double *start = e_.start + i * n_, *tilt = e_.tilt + i * n_, *own = e_.own + i * p_;
    double value = e_.constant[i];
    for (std::size_t j = 0; j < p_; ++j) value += theta_[j] * own[j];
    for (std::size_t k = 0; k < n_; ++k) {
      const double cost = cost_[k] + tilt[k];
      value -= cost * start[k];
      gain_[k] = cost * (2.0 * start[k] - 1.0);
    }
    // The response is a decision of value 0, and so is what was decided last of its own: only what is better is looked for.
    const double* table = e_.table + i * (n_ + 1);
    std::int8_t* last = decided + i * n_;
    double floor = -value;
    bool known = last[0] >= 0;
    if (known) {
      double again = 0;
      int count = 0;
      for (std::size_t k = 0; k < n_; ++k)
        if (last[k]) again += gain_[k], ++count;
      again += table[count];
      known = again > floor;
      floor = std::max(floor, again);
    }
    const FlipAnswer& found =
        search_.search({e_.n_unknowns, e_.n_rows, e_.rows + i * m * n_, e_.room + i * m, gain_.data(), table}, e_.slack + i * m,
                       floor, max_nodes, prices + i * m);
    if (complete && !found.complete) return false;
    if (found.found)
      for (std::size_t k = 0; k < n_; ++k) last[k] = static_cast<std::int8_t>(found.flips[k]);
    else if (!known) {
      std::fill_n(flips, n_, std::int8_t{-1});
      return true;
    }
    std::copy_n(last, n_, flips);
    for (std::size_t j = 0; j < p_; ++j) slope_[j] += own[j];
    for (std::size_t k = 0; k < n_; ++k) {
      if ((start[k] > 0.5) == (last[k] != 0)) continue;
      for (std::size_t j = 0; j < p_; ++j) slope_[j] -= e_.features[j * n_ + k];
    }
    return true;
  }

  double step_size() {
    const double t = static_cast<double>(at_.steps);
    if (r_.rule == StepRule::strong) return 2.0 / (r_.convexity * (t + 1));
    if (r_.rule == StepRule::constant) return r_.scale;
    if (r_.rule == StepRule::sqrt) return r_.scale / std::sqrt(t);
    double length = 0;
    for (const double entry : slope_) length = r_.exponentiated ? std::max(length, std::abs(entry)) : length + entry * entry;
    if (!r_.exponentiated) length = std::sqrt(length);
    at_.squares += length * length;
    // A subgradient of zero says that this point cannot be improved by what was sampled: stay.
    if (length == 0) return 0;
    return r_.scale / (r_.rule == StepRule::adaptive ? std::sqrt(at_.squares) : length * std::sqrt(t));
  }

  void move(double size) {
    std::vector<double>& state = at_.state;
    if (!r_.exponentiated) {
      for (std::size_t j = 0; j < p_; ++j) state[j] = std::clamp(state[j] - size * slope_[j], r_.lower[j], r_.upper[j]);
      return;
    }
    for (std::size_t j = 0; j < p_; ++j) state[j] -= size * slope_[j];
    for (std::size_t k = 0; k < signed_.size(); ++k) state[p_ + k] += size * slope_[signed_[k]];
    const double top = *std::max_element(state.begin(), state.end());
    double sum = 0;
    for (double& entry : state) {
      entry = std::max(entry, top + least_log);
      sum += std::exp(entry - top);
    }
    const double total = top + std::log(sum);
    if (!r_.fixed_total && total <= r_.log_radius) return;
    for (double& entry : state) entry += r_.log_radius - total;
  }

  void read_point() {
    const std::vector<double>& state = at_.state;
    for (std::size_t j = 0; j < p_; ++j) theta_[j] = r_.exponentiated ? std::exp(state[j]) : state[j];
    for (std::size_t k = 0; k < signed_.size(); ++k) theta_[signed_[k]] -= std::exp(state[p_ + k]);
  }

  const FlipExamples& e_;
  const MirrorRules& r_;
  MirrorState& at_;
  std::size_t p_, n_;
  std::vector<double> theta_, slope_, gain_, cost_;
  std::vector<std::size_t> signed_;
  FlipSearch search_;
};

}  // namespace

std::int64_t walk(const FlipExamples& examples, const MirrorRules& rules, MirrorState& at, const std::int64_t* drawn,
                  std::int64_t n_steps, std::int64_t batch, std::int64_t max_nodes, bool complete, double* prices,
                  std::int8_t* decided, std::int8_t* flips) {
  Walk steps(examples, rules, at);
  for (std::int64_t t = 0; t < n_steps; ++t)
    if (!steps.step(drawn + t * batch, batch, max_nodes, complete, prices, decided, flips + t * batch * examples.n_unknowns))
      return t;
  return n_steps;
}

}  // namespace surefoot
