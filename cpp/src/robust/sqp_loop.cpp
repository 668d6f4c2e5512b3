#include "surefoot/robust/sqp_loop.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace surefoot {
namespace {

// After so many short steps the model asks for tangents that are right this far away, unless there are too many cells to hinge.
constexpr int most_short_steps = 3;
constexpr double far_tangents = 1.0;
constexpr std::int64_t most_tangent_cells = 20'000;
// A table with fewer rows for each level has levels that hardly any row holds; there a gap so many times the fall of a step, at
// the optimum or not, lacks those tangents.
constexpr int thin_rows = 4;
constexpr double unseen = 3.0;
// Most ties that a model lists stay broken as they are: a step is first sought among those this near, relative to its width.
constexpr double awake = 0.05;
// Steps of the interior point on one model; it takes 10 to 30.
constexpr int model_steps = 100;
// At the optimum objectives differ by their rounding, while the end of a last, quadratically convergent step is still closer.
constexpr double rounding = 1e-14;
// A step's model misses the objective by the order after its own, about this much of decrease^1.5 relative to the objective; the
// bound that its multipliers prove misses by some times what was seen at the step's end.
constexpr double usual_miss = 0.35, miss_factor = 2.0;
// Shares of a row's mass from which on a piece is remembered, after a step that held what it promised and after one that did not.
constexpr double held_share = 1e-3, missed_share = 1e-4;

}  // namespace

Descent::Descent(const LiftedSpace& space, const DescentTerms& terms, std::vector<double> start, double value)
    : x(std::move(start)),
      objective(value),
      tie_width(terms.near ? 0.07 : 0.1),
      damping(terms.near ? 1e-4 : 0.1),
      expected((terms.near ? 1e-4 : 0.1) * value),
      space_(space),
      terms_(terms),
      // A walk along a path of a thin table has met those levels before: a single short step calls for far tangents.
      short_steps_(terms.near && thin() ? most_short_steps - 1 : 0) {}

bool Descent::thin() const { return terms_.n_rows < thin_rows * static_cast<std::int64_t>(space_.prices.n_levels()); }

bool Descent::optimal() const { return objective - lower_bound <= terms_.tolerance * std::abs(objective); }

// The largest decrease of a step that may end the descent.
double Descent::last_decrease() const {
  return std::max(std::pow(terms_.tolerance / usual_miss, 2.0 / 3.0), terms_.tolerance) * objective;
}

// A proof takes a third of a step and more, and before the last steps it proves little: what the step's end misses of its promise
// tells. After a step that has nothing left to gain, whether the proof succeeds is all there is to learn.
bool Descent::worth_proving(const RobustStep& step) const {
  const double enough = terms_.tolerance * objective, missed = step.objective - (objective - step.step.decrease);
  return terms_.proofs &&
         (step.step.decrease <= enough || (step.step.decrease <= last_decrease() && miss_factor * std::abs(missed) <= enough));
}

ModelReach Descent::reach() const {
  const bool far = short_steps_ >= most_short_steps && terms_.n_rows * space_.prices.n_categorical <= most_tangent_cells;
  return {tie_width, 0.2 * expected, far ? far_tangents : 0.0};
}

bool Descent::advance(const RowSums& rows) {
  const double accuracy = std::max(0.01 * terms_.tolerance * objective, 1e-3 * expected);
  // How far the first step from a neighbour's answer falls is not known before; only what may be the last must be exact.
  const double final = terms_.near ? last_decrease() : std::numeric_limits<double>::infinity();
  const StepOptions options{accuracy, model_steps, awake * tie_width, terms_.n_threads, final};
  RobustStep step = take_step(space_, rows, x, kept, {terms_.radius, reach(), damping, options});
  const double decrease = step.step.decrease;
  if (worth_proving(step)) {
    prove(rows, step);
    if (optimal()) {
      remember(rows, step.plan, nullptr);
      accept(step.end, step.objective, rounding * objective);
      return true;
    }
    if (objective - lower_bound > unseen * decrease && thin()) short_steps_ = most_short_steps;
  }
  double length = 1.0;
  LiftedPoint found{step.end, step.objective};
  while (!(found.objective <= objective - 0.1 * length * decrease || length < 1e-3)) {
    length *= 0.5;
    found = point_at(space_, rows, terms_.radius, x, length, step.step.step);
  }
  if (length == 1.0 && objective - found.objective > decrease) {
    // Goes on past the step's end while that pays: the loss of a row driven far out falls faster than a parabola.
    for (double farther = 2.0;; farther *= 2.0) {
      LiftedPoint next = point_at(space_, rows, terms_.radius, x, farther, step.step.step);
      if (!(next.objective < found.objective)) break;
      found = std::move(next);
    }
  }
  remember(rows, step.plan, length < 1.0 ? &step.end : nullptr);
  // Half of what was promised says that the model is right; a short step says that it reaches too far.
  if (length == 1.0 && objective - found.objective >= 0.5 * decrease) {
    damping = std::max(0.1 * damping, 1e-10);
  } else if (length < 0.5) {
    damping = std::min(3.0 * damping, 1e6);
    ++short_steps_;
  }
  const double wanted = std::sqrt(std::max(decrease, 0.0));
  tie_width = std::min(1.0, length == 1.0 ? std::max(wanted, 1e-7) : std::max(2.0 * tie_width, wanted));
  expected = std::max(decrease, 0.0);
  last_ = std::move(step);
  return accept(found.x, found.objective);
}

void Descent::prove_last(const RowSums& rows) {
  if (last_) prove(rows, *last_);
}

void Descent::prove(const RowSums& rows, const RobustStep& step) {
  const auto scaled = [&](double limit) { return std::isfinite(limit) ? limit * objective : limit; };
  const CoefficientLimits limits{scaled(terms_.limits.price), scaled(terms_.limits.intercept), scaled(terms_.limits.levels)};
  ProvenPlan proof = prove_plan(space_, rows, step.plan, step.step.multiplier.data(), step.end.data(), terms_.radius, limits,
                                std::min(objective, step.objective), terms_.tolerance);
  if (bound && !(proof.value > lower_bound)) return;
  lower_bound = std::max(lower_bound, proof.value);
  bound = std::move(proof);
}

void Descent::remember(const RowSums& rows, const Plan& plan, const std::vector<double>* missed) {
  if (missed)
    kept = KeptPieces::of_plan(plan, missed_share).joined(rows.worst_pieces(*missed, x));
  else
    kept = KeptPieces::of_plan(plan, held_share);
}

// Moves to the point if it is better, or no worse than the slack; returns whether it is better.
bool Descent::accept(std::vector<double>& point, double value, double slack) {
  const bool better = value < objective;
  if (value < objective + slack) {
    x = std::move(point);
    objective = value;
  }
  return better;
}

}  // namespace surefoot
