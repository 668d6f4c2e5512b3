#include "surefoot/robust/sqp_loop.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace surefoot {

SqpLoop::SqpLoop(const LiftedSpace& space, const SqpOptions& options, std::vector<double> start, double value)
    : x(std::move(start)),
      objective(value),
      active_width(options.warm_start ? options.parameters.warm_active_width : options.parameters.cold_active_width),
      regularisation(options.warm_start ? options.parameters.warm_regularisation : options.parameters.cold_regularisation),
      predicted_decrease((options.warm_start ? options.parameters.warm_decrease : options.parameters.cold_decrease) * value),
      space_(space),
      options_(options),
      qp_gap_fraction_(options.parameters.qp_gap_fraction) {}

bool SqpLoop::optimal() const { return objective - lower_bound <= options_.tolerance * std::abs(objective); }

// The largest predicted decrease of a step that may be the last: the error of its model, of the order after its own, is then
// below the gap to be reached.
double SqpLoop::final_decrease() const {
  const double error = options_.tolerance / options_.parameters.prediction_constant;
  return std::max(std::pow(error, 2.0 / 3.0), options_.tolerance) * objective;
}

// A dual bound takes a third of a step and more, and before the last steps it is weak: the prediction error at the trial point
// tells. After a step that has nothing left to gain, whether the bound closes the gap is all there is to learn.
bool SqpLoop::bound_is_promising(const SqpStep& step) const {
  const double gap = options_.tolerance * objective;
  const double prediction_error = step.trial.objective - (objective - step.qp.predicted_decrease);
  return options_.dual_bounds &&
         (step.qp.predicted_decrease <= gap || (step.qp.predicted_decrease <= final_decrease() &&
                                                options_.parameters.bound_error_factor * std::abs(prediction_error) <= gap));
}

ModelRegion SqpLoop::region() const {
  const SqpParameters& p = options_.parameters;
  const bool cuts = short_steps_ >= p.max_short_steps && options_.n_rows * space_.prices.n_moves() <= p.max_cut_cells;
  return {active_width, p.hinge_precision * predicted_decrease, cuts ? p.cut_radius : 0.0};
}

bool SqpLoop::advance(const RowSums& rows) {
  const SqpParameters& p = options_.parameters;
  const double qp_tolerance =
      std::max(qp_gap_fraction_ * options_.tolerance * objective, p.qp_decrease_fraction * predicted_decrease);
  // The first decrease from a neighbour's optimum is not known before; only what may be the last step must be exact.
  const double exact_below = options_.warm_start ? final_decrease() : std::numeric_limits<double>::infinity();
  const QpOptions qp{qp_tolerance,       p.qp_max_iterations, p.qp_active_width * active_width,
                     options_.n_threads, exact_below,         deadline,
                     p.interior_point,   p.active_rows};
  SqpStep step = solve_step(space_, rows, x, working_set, {options_.radius, region(), regularisation, qp});
  const double predicted = step.qp.predicted_decrease;
  if (bound_is_promising(step)) {
    update_bound(rows, step);
    if (optimal()) {
      update_working_set(rows, step.plan, nullptr);
      accept(step.trial, p.objective_rounding * objective);
      return true;
    }
    refine_programme(predicted);
  }

  double length = 1.0;
  TrialPoint found = step.trial;
  while (!(found.objective <= objective - p.sufficient_decrease * length * predicted || length < p.min_step_length)) {
    length *= p.backtracking;
    found = trial_point(space_, rows, options_.radius, x, length, step.qp.step);
  }
  if (length == 1.0 && objective - found.objective > predicted) {
    // The loss of a row that is driven out falls faster than a parabola.
    for (double longer = p.expansion;; longer *= p.expansion) {
      TrialPoint next = trial_point(space_, rows, options_.radius, x, longer, step.qp.step);
      if (!(next.objective < found.objective)) break;
      found = std::move(next);
    }
  }

  update_working_set(rows, step.plan, length < 1.0 ? &step.trial.x : nullptr);
  const double actual = objective - found.objective;
  if (length == 1.0 && actual >= p.good_ratio * predicted) {
    regularisation = std::max(p.regularisation_decrease * regularisation, p.min_regularisation);
  } else if (length < p.short_length) {
    regularisation = std::min(p.regularisation_increase * regularisation, p.max_regularisation);
    ++short_steps_;
  }
  predicted_decrease = std::max(predicted, 0.0);
  const double moved = std::sqrt(predicted_decrease);
  active_width = std::min(p.max_active_width,
                          length == 1.0 ? std::max(moved, p.min_active_width) : std::max(p.width_growth * active_width, moved));
  last_step_ = std::move(step);
  return accept(found);
}

// What an inexact programme leaves of the gradient costs a bound as many times as much as coefficients may be large, hundreds of
// times where levels are rare or the radius is small. Once a step has nothing left to gain, that may be all that is missing.
void SqpLoop::refine_programme(double predicted) {
  const SqpParameters& p = options_.parameters;
  if (predicted > options_.tolerance * objective) return;
  const double least = std::min(p.least_qp_gap_fraction, qp_gap_fraction_);
  qp_gap_fraction_ = std::max(p.qp_refinement * qp_gap_fraction_, least);
}

void SqpLoop::bound_last_step(const RowSums& rows) {
  if (last_step_) update_bound(rows, *last_step_);
}

void SqpLoop::update_bound(const RowSums& rows, const SqpStep& step) {
  const auto scaled = [&](double limit) { return std::isfinite(limit) ? limit * objective : limit; };
  const CoefficientLimits limits{scaled(options_.limits.price), scaled(options_.limits.intercept),
                                 scaled(options_.limits.levels)};
  const DualBoundRequest request{options_.radius, limits, std::min(objective, step.trial.objective), options_.tolerance,
                                 deadline};
  DualBound found = find_dual_bound(space_, rows, step.plan, step.qp.pair_multiplier.data(), step.trial.x.data(), request,
                                    options_.parameters.dual_bound);
  if (bound && !(found.value > lower_bound)) return;
  lower_bound = std::max(lower_bound, found.value);
  bound = std::move(found);
}

void SqpLoop::update_working_set(const RowSums& rows, const Plan& plan, const std::vector<double>* failed) {
  if (failed)
    working_set = WorkingSet::of_plan(plan, options_.parameters.failed_fraction).joined(rows.worst_pieces(*failed, x));
  else
    working_set = WorkingSet::of_plan(plan, options_.parameters.working_fraction);
}

// Moves to the point if it is better, or no worse than the slack; returns whether it is better.
bool SqpLoop::accept(TrialPoint& point, double slack) {
  const bool better = point.objective < objective;
  if (point.objective < objective + slack) {
    x = std::move(point.x);
    objective = point.objective;
  }
  return better;
}

}  // namespace surefoot
