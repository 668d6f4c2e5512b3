#include "surefoot/robust/dual_bound.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "surefoot/core/cholesky.hpp"

namespace surefoot {
namespace {

using Numbers = std::vector<double>;

// Multipliers of "envelope beyond level" as fractions within each feature; the reference level where there are none.
Numbers level_mix(const LiftedSpace& space, const double* multiplier) {
  const auto& offset = space.prices.level_offset;
  Numbers mix(static_cast<std::size_t>(space.prices.n_levels()), 0.0);
  for (std::size_t k = 0; k < space.constrained_levels.size(); ++k)
    mix[static_cast<std::size_t>(space.constrained_levels[k])] = multiplier[k];
  for (int l = 0; l < space.prices.n_categorical; ++l) {
    double total = 0;
    for (auto c = offset[l]; c < offset[l + 1]; ++c) total += mix[c];
    if (total > 0)
      for (auto c = offset[l]; c < offset[l + 1]; ++c) mix[c] /= total;
    else
      mix[offset[l]] = 1.0;
  }
  return mix;
}

// Calls work(first, last, cheapest) with the pieces of every row of the plan that has any: multipliers that are not numbers
// leave a row none.
template <class Work>
void for_each_row(const Plan& plan, Work&& work) {
  for (std::size_t i = 0; i < plan.row.size(); ++i) {
    const auto first = static_cast<std::size_t>(plan.piece_at[i]), last = static_cast<std::size_t>(plan.piece_at[i + 1]);
    if (first == last) continue;
    const auto cost = plan.cost.begin();
    work(first, last, static_cast<std::size_t>(std::min_element(cost + plan.piece_at[i], cost + plan.piece_at[i + 1]) - cost));
  }
}

// The fraction of every piece that must go to its row's cheapest one for the plan to cost less by `excess`; below 0, the
// fraction that comes from there for the plan to cost more.
double transfer_fraction(const Plan& plan, double excess, double rounding) {
  double reducible = 0;
  for_each_row(plan, [&](std::size_t first, std::size_t last, std::size_t cheapest) {
    for (auto p = first; p < last; ++p) reducible += plan.mass[p] * (plan.cost[p] - plan.cost[cheapest]);
  });
  if (!(reducible > 0)) return 0.0;
  // A plan that costs too much has no bound at all, one that costs too little only a lower one.
  return excess > 0 ? std::min(1.0, (1.0 + rounding) * excess / reducible)
                    : std::max(-1.0, (1.0 - rounding) * excess / reducible);
}

void transfer(Plan& plan, double fraction) {
  for_each_row(plan, [&](std::size_t first, std::size_t last, std::size_t cheapest) {
    double others = 0;
    for (auto p = first; p < last; ++p)
      if (p != cheapest) others += plan.mass[p];
    // Nothing comes from where nothing is.
    const double moved = std::max(fraction * others, -plan.mass[cheapest]);
    if (moved == 0) return;
    for (auto p = first; p < last; ++p)
      if (p != cheapest) plan.mass[p] -= plan.mass[p] / others * moved;
    plan.mass[cheapest] += moved;
  });
}

// The gradient that numeric columns have at an optimum near a point: the budget that moves and flips leave of the radius is
// spent along the columns that hold the price (complementary slackness), and the others have none.
class NumericTarget {
 public:
  NumericTarget(const LiftedSpace& space, const double* x, const DualBoundParameters& parameters)
      : space_(space), price_(x[space.layout.price]), least_spent_(parameters.least_spent) {
    const double margin = parameters.binding_margin;
    const double held = space.least_price(x);
    binding_ = held > 0 && held >= (1.0 - margin) * price_;
    // Coefficients that are nearly the largest hold it together, and those that are nearly 0 are 0, where that makes a
    // difference.
    const double least = space.norm == NumericNorm::l2 ? 0.0 : space.norm == NumericNorm::l1 ? 1.0 - margin : margin;
    for (const auto j : space.priced) {
      const double value = x[space.layout.first_numeric + j], size = value / space.numeric_weight[j];
      value_.push_back(value);
      along_.push_back(binding_ && std::abs(size) >= least * held ? size / held : 0.0);
    }
  }

  // gradient -= target
  void subtract_from(double* gradient, double budget) const {
    double spent = 0;
    for (std::size_t k = 0; k < along_.size(); ++k)
      if (along_[k] != 0) spent += weight(k) * std::abs(gradient[space_.priced[k]]);
    const double factor = spent > least_spent_ * budget ? budget / spent : 1.0;
    for (std::size_t k = 0; k < along_.size(); ++k) {
      double& entry = gradient[space_.priced[k]];
      const double most = budget / weight(k);
      if (!binding_) continue;
      switch (space_.norm) {
        case NumericNorm::l1:
          entry -= along_[k] != 0 ? factor * entry : 0.0;
          break;
        case NumericNorm::l2:
          entry += most * along_[k];
          break;
        case NumericNorm::linf:
          entry -= along_[k] != 0 ? std::copysign(most, -along_[k]) : std::clamp(entry, -most, most);
          break;
      }
    }
  }

  bool binding() const { return binding_; }

  // What spending the budget better would gain.
  double unspent_budget(const double* gradient, double budget) const {
    double gain = price_ * budget;
    for (std::size_t k = 0; k < value_.size(); ++k) gain += value_[k] * gradient[space_.priced[k]];
    return std::max(0.0, gain);
  }

 private:
  double weight(std::size_t k) const { return space_.numeric_weight[space_.priced[k]]; }

  const LiftedSpace& space_;
  const double price_, least_spent_;
  bool binding_;           // whether numeric coefficients hold the price at all
  Numbers value_, along_;  // coefficients; their part in the price, 0 for those that have none
};

// The dual objective of a plan at a point: its sums in the coefficients, and the penalty of their residual.
class DualEvaluator {
 public:
  DualEvaluator(const LiftedSpace& space, const RowSums& rows, const DualBoundRequest& request,
                const DualBoundParameters& parameters, const double* x, DualBound& bound)
      : space_(space),
        rows_(rows),
        radius_(request.radius),
        limits_(request.limits),
        parameters_(parameters),
        target_(space, x, parameters),
        bound_(bound),
        completed_(rows.completed_plan(bound.plan)),
        n_(space.n_coefficients()) {
    const auto& layout = space.layout;
    for (int l = 0; l < space.prices.n_categorical; ++l)
      for (auto c = space.prices.level_offset[l]; c < space.prices.level_offset[l + 1]; ++c)
        if (layout.level[c] < layout.size && layout.low[l] < layout.size) mixed_.push_back({c, l});
  }

  struct Sums {
    double conjugate = 0, cost = 0;
    Numbers residual;    // gradient minus the target of the numeric columns
    double penalty = 0;  // residual penalty: what the residual costs at most, over all models at least as good as the incumbent
    double numeric_cost = 0;    // of the gradient of the numeric columns, out of the radius
    double unspent_budget = 0;  // gain from spending the rest of the budget on numeric columns
    double deficit() const { return penalty + unspent_budget; }
  };

  Sums at(const Numbers& coefficients, Numbers* curvature = nullptr) const {
    PlanSums lifted_sums = rows_.plan_sums(completed_, lifted(coefficients), curvature != nullptr);
    Sums sums{lifted_sums.conjugate, lifted_sums.cost, in_coefficients(lifted_sums.gradient), 0, 0, 0};
    if (curvature) *curvature = in_coefficients_twice(lifted_sums.curvature);
    const double budget = std::max(0.0, radius_ - sums.cost);
    sums.numeric_cost = space_.numeric_cost(sums.residual.data());
    double* const numeric = sums.residual.data() + first_numeric();
    sums.unspent_budget = target_.unspent_budget(numeric, budget);
    target_.subtract_from(numeric, budget);
    sums.penalty = penalty(coefficients, sums.residual, std::max(0.0, sums.numeric_cost - (radius_ - sums.cost)));
    return sums;
  }

  // The same plan at a cost that is less by `excess`, or more where that is below 0, if its rows allow.
  void reduce_cost(double excess) {
    const double fraction = transfer_fraction(bound_.plan, excess, parameters_.budget_rounding);
    transfer(bound_.plan, fraction);
    transfer(completed_, fraction);
  }

  bool numeric_binds() const { return target_.binding(); }

  // Newton's step for the residual; the lower triangle of the curvature is given.
  Numbers newton_step(const Numbers& curvature, double ridge, Numbers residual) const {
    const auto size = static_cast<std::size_t>(n_);
    double trace = 0;
    for (std::size_t a = 0; a < size; ++a) trace += curvature[a * (size + 1)];
    Numbers regularised = curvature;
    for (std::size_t a = 0; a < size; ++a) regularised[a * (size + 1)] += ridge * trace / std::max(n_, 1) + 1e-300;
    cholesky_factor(regularised.data(), n_, size, 0.0);
    cholesky_solve(regularised.data(), n_, size, residual.data());
    return residual;
  }

  // The lifted vector in which envelopes are mixed levels; its price is 0.
  Numbers lifted(const Numbers& coefficients) const {
    const auto& layout = space_.layout;
    Numbers x(static_cast<std::size_t>(layout.size) + 1, 0.0);
    std::copy_n(coefficients.begin(), n_, x.begin());
    for (const auto& [level, feature] : mixed_) {
      x[layout.low[feature]] += bound_.lowest[level] * x[layout.level[level]];
      x[layout.high[feature]] += bound_.highest[level] * x[layout.level[level]];
    }
    return x;
  }

 private:
  struct MixedLevel {
    std::int32_t level;
    int feature;
  };

  std::size_t first_numeric() const { return static_cast<std::size_t>(space_.layout.first_numeric); }

  // A lifted gradient in the coefficients: the transpose of `lifted`.
  Numbers in_coefficients(const Numbers& gradient) const {
    Numbers result(gradient.begin(), gradient.begin() + n_);
    fold(gradient.data(), result.data());
    return result;
  }

  void fold(const double* gradient, double* result) const {
    const auto& layout = space_.layout;
    for (const auto& [level, feature] : mixed_)
      result[layout.level[level]] +=
          bound_.lowest[level] * gradient[layout.low[feature]] + bound_.highest[level] * gradient[layout.high[feature]];
  }

  // A lifted matrix, of which the lower triangle is given, in the coefficients.
  Numbers in_coefficients_twice(Numbers& lower) const {
    const auto& layout = space_.layout;
    const auto length = static_cast<std::size_t>(layout.size) + 1, size = static_cast<std::size_t>(n_);
    for (std::size_t a = 0; a < length; ++a)
      for (std::size_t b = a + 1; b < length; ++b) lower[a * length + b] = lower[b * length + a];
    const auto add = [&](std::int32_t to, std::int32_t from, double fraction) {
      if (fraction == 0) return;
      for (std::size_t b = 0; b < length; ++b)
        lower[static_cast<std::size_t>(to) * length + b] += fraction * lower[static_cast<std::size_t>(from) * length + b];
    };
    for (const auto& [level, feature] : mixed_) {
      add(layout.level[level], layout.low[feature], bound_.lowest[level]);
      add(layout.level[level], layout.high[feature], bound_.highest[level]);
    }
    Numbers result(size * size);
    for (std::size_t a = 0; a < size; ++a) {
      std::copy_n(lower.begin() + static_cast<std::ptrdiff_t>(a * length), size,
                  result.begin() + static_cast<std::ptrdiff_t>(a * size));
      fold(lower.data() + a * length, result.data() + a * size);
    }
    return result;
  }

  double penalty(const Numbers& at, const Numbers& residual, double excess) const {
    // Where nothing bounds the coefficients a priori (no radius, infinite weights) this is a claim, not a proof: the certificate
    // proves such cases by curvature.
    double largest = 0;
    for (const double b : at) largest = std::max(largest, std::abs(b));
    const double assumed = parameters_.assumed_size * (1.0 + largest);
    const auto known = [&](double limit) { return std::isfinite(limit) ? limit : assumed; };
    double sum_of_penalties = known(limits_.price) * excess;
    // A ranged column has a limit of its own kind, below.
    std::vector<double> unlimited(space_.numeric_weight.size());
    for (std::size_t j = 0; j < unlimited.size(); ++j)
      if (!std::isfinite(space_.numeric_weight[j]) || radius_ == 0) unlimited[j] = 1;
    for (const auto& range : space_.prices.ranges)
      if (std::isfinite(limits_.levels)) unlimited[static_cast<std::size_t>(range.column)] = 0;
    for (std::size_t j = 0; j < unlimited.size(); ++j)
      if (unlimited[j] != 0) sum_of_penalties += assumed * std::abs(residual[first_numeric() + j]);
    if (first_numeric() > 0) sum_of_penalties += known(limits_.intercept) * std::abs(residual[0]);
    double most = 0, total = 0;
    for (int l = 0; l < space_.prices.n_categorical; ++l) {
      double sum = 0;
      for (auto c = space_.prices.level_offset[l]; c < space_.prices.level_offset[l + 1]; ++c)
        if (space_.layout.level[c] < space_.layout.size) sum += std::abs(residual[space_.layout.level[c]]);
      // What is not a number must not be forgotten.
      if (!(sum <= most)) most = sum;
      total += sum;
    }
    if (std::isfinite(limits_.levels))
      for (const auto& range : space_.prices.ranges) {
        const double size = std::abs(residual[first_numeric() + static_cast<std::size_t>(range.column)]);
        if (!(size / (range.high - range.low) <= most)) most = size / (range.high - range.low);
      }
    // The limit is on the sum over features of the largest coefficients, and over ranged columns of |beta_j| times the width of the
    // range; the assumed size is that of each coefficient alone.
    return sum_of_penalties + (std::isfinite(limits_.levels) ? limits_.levels * most : assumed * total);
  }

  const LiftedSpace& space_;
  const RowSums& rows_;
  const double radius_;
  const CoefficientLimits& limits_;
  const DualBoundParameters& parameters_;
  const NumericTarget target_;
  DualBound& bound_;
  Plan completed_;
  const int n_;
  std::vector<MixedLevel> mixed_;  // levels that feed back from a mix: not the reference, and of a feature that can move
};

double norm1(const Numbers& residual) {
  double sum = 0;
  for (const double r : residual) sum += std::abs(r);
  return sum;
}

}  // namespace

DualBound find_dual_bound(const LiftedSpace& space, const RowSums& rows, Plan plan, const double* pair_multiplier,
                          const double* x, const DualBoundRequest& request, const DualBoundParameters& parameters) {
  const double radius = request.radius, upper_bound = request.upper_bound, tolerance = request.tolerance;
  DualBound bound{std::move(plan),
                  level_mix(space, pair_multiplier),
                  level_mix(space, pair_multiplier + space.constrained_levels.size()),
                  {},
                  0};
  DualEvaluator evaluator(space, rows, request, parameters, x, bound);
  Numbers at(x, x + space.n_coefficients()), curvature;
  DualEvaluator::Sums sums = evaluator.at(at, &curvature);
  // A little of the radius that neither numeric columns nor moves and flips spend is the inexactness of the step's multipliers.
  const double over = sums.cost > radius ? sums.cost - radius : std::min(0.0, sums.cost + sums.numeric_cost - radius);
  const bool spend_rest = !evaluator.numeric_binds() && over > -parameters.spare_budget * radius &&
                          sums.unspent_budget > parameters.deficit_of_tolerance * tolerance * upper_bound;
  if (radius > 0 && (over > 0 || spend_rest)) {
    evaluator.reduce_cost(over);
    // A little mass has moved; the curvature is needed for a direction only, and stays as it was.
    sums = evaluator.at(at);
  }
  Numbers best = at;
  bound.value = sums.conjugate - sums.penalty;
  // Every point that was evaluated proves its own bound, so corrections can end after any of them.
  const auto over_time = [&] { return std::chrono::steady_clock::now() >= request.deadline; };
  for (int round = 0; round < parameters.max_corrections && (round == 0 || !over_time()); ++round) {
    Numbers next;
    DualEvaluator::Sums found;
    for (const double ridge : parameters.ridge) {
      next = evaluator.newton_step(curvature, ridge, sums.residual);
      for (std::size_t a = 0; a < at.size(); ++a) next[a] = at[a] - next[a];
      found = evaluator.at(next);
      if (found.conjugate - found.penalty > bound.value) {
        best = next;
        bound.value = found.conjugate - found.penalty;
      }
      if (norm1(found.residual) <= parameters.residual_reduction * norm1(sums.residual) || over_time()) break;
    }
    const double small = parameters.deficit_of_gap *
                         std::max(upper_bound - found.conjugate, parameters.deficit_of_tolerance * tolerance * upper_bound);
    if (found.deficit() <= small || found.deficit() >= parameters.deficit_stall * sums.deficit()) break;
    const bool slow = norm1(found.residual) > parameters.chord_reduction * norm1(sums.residual);
    at = std::move(next);
    sums = std::move(found);
    if (slow && !over_time()) evaluator.at(at, &curvature);
  }
  bound.point = evaluator.lifted(best);
  return bound;
}

}  // namespace surefoot
