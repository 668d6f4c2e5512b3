#include "surefoot/robust/dual_bound.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "surefoot/core/cholesky.hpp"

namespace surefoot {
namespace {

using Numbers = std::vector<double>;

// Rows far on the right side have slopes that fall by a factor of e with each correction.
constexpr int most_corrections = 20;
// Directions that only crumbs of mass can see have next to no curvature, and Newton's step along them goes astray; a correction
// that does not shrink the residual is tried again with more of a ridge.
constexpr double ridges[] = {1e-10, 1e-6, 1e-2};
// A correction that leaves less than this of the residual shows that the curvature is still right.
constexpr double chord = 0.1;
// So near the price, relative to it, numeric coefficients may be what holds it.
constexpr double touching = 1e-3;
// Columns that spend less than this of what they could are far from where they would be corrected to.
constexpr double least_spent = 0.5;
// What is left of the radius is spent on moves if it is no more than this part of it: then only the step's accuracy left it.
constexpr double crumbs = 1e-2;
// Coefficients that nothing bounds are taken to be within so many times those at hand.
constexpr double reach_factor = 10.0;

// Multipliers of "envelope beyond level" as shares within each feature; the reference level where there are none.
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

// Calls visit(first, last, cheapest) with the pieces of every row of the plan that has any: multipliers that are not numbers leave
// a row none.
template <class Visit>
void for_each_row(const Plan& plan, Visit&& visit) {
  for (std::size_t i = 0; i < plan.row.size(); ++i) {
    const auto first = static_cast<std::size_t>(plan.piece_at[i]), last = static_cast<std::size_t>(plan.piece_at[i + 1]);
    if (first == last) continue;
    const auto cost = plan.cost.begin();
    visit(first, last, static_cast<std::size_t>(std::min_element(cost + plan.piece_at[i], cost + plan.piece_at[i + 1]) - cost));
  }
}

// The share of every piece that must go to its row's cheapest one for the plan to cost less by `excess`; below 0, the share that
// comes from there for the plan to cost more.
double spared_share(const Plan& plan, double excess) {
  double saving = 0;
  for_each_row(plan, [&](std::size_t first, std::size_t last, std::size_t cheapest) {
    for (auto p = first; p < last; ++p) saving += plan.mass[p] * (plan.cost[p] - plan.cost[cheapest]);
  });
  if (!(saving > 0)) return 0.0;
  // A plan that costs too much has no bound at all, one that costs too little only a lower one.
  return excess > 0 ? std::min(1.0, 1.000001 * excess / saving) : std::max(-1.0, 0.999999 * excess / saving);
}

void spare(Plan& plan, double share) {
  for_each_row(plan, [&](std::size_t first, std::size_t last, std::size_t cheapest) {
    double others = 0;
    for (auto p = first; p < last; ++p)
      if (p != cheapest) others += plan.mass[p];
    // Nothing comes from where nothing is.
    const double moved = std::max(share * others, -plan.mass[cheapest]);
    if (moved == 0) return;
    for (auto p = first; p < last; ++p)
      if (p != cheapest) plan.mass[p] -= plan.mass[p] / others * moved;
    plan.mass[cheapest] += moved;
  });
}

// The gradient that numeric columns have at an optimum near a point: what moves and flips leave of the radius is spent along the
// columns that hold the price, and the others, whose moves would not pay, have none.
class NumericAim {
 public:
  NumericAim(const LiftedSpace& space, const double* x) : space_(space), price_(x[space.layout.price]) {
    const double held = space.least_price(x);
    binding_ = held > 0 && held >= (1.0 - touching) * price_;
    // Coefficients that are nearly the largest share it, and those that are nearly 0 are 0, where that makes a difference.
    const double least = space.norm == NumericNorm::l2 ? 0.0 : space.norm == NumericNorm::l1 ? 1.0 - touching : touching;
    for (const auto j : space.priced) {
      const double value = x[space.layout.first_numeric + j], size = value / space.numeric_weight[j];
      value_.push_back(value);
      along_.push_back(binding_ && std::abs(size) >= least * held ? size / held : 0.0);
    }
  }

  // What a gradient has beyond the aim, column by column.
  void subtract_from(double* gradient, double budget) const {
    double spent = 0;
    for (std::size_t k = 0; k < along_.size(); ++k)
      if (along_[k] != 0) spent += weight(k) * std::abs(gradient[space_.priced[k]]);
    const double factor = spent > least_spent * budget ? budget / spent : 1.0;
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

  // What is left to gain from spending the budget better.
  double unspent(const double* gradient, double budget) const {
    double gain = price_ * budget;
    for (std::size_t k = 0; k < value_.size(); ++k) gain += value_[k] * gradient[space_.priced[k]];
    return std::max(0.0, gain);
  }

 private:
  double weight(std::size_t k) const { return space_.numeric_weight[space_.priced[k]]; }

  const LiftedSpace& space_;
  const double price_;
  bool binding_;           // whether numeric coefficients hold the price at all
  Numbers value_, along_;  // coefficients; their part in the price, 0 for those that have none
};

// The sums of a plan in the coefficients, and what their residual costs.
class Prover {
 public:
  Prover(const LiftedSpace& space, const RowSums& rows, double radius, const CoefficientLimits& limits, const double* x,
         ProvenPlan& proof)
      : space_(space),
        rows_(rows),
        radius_(radius),
        limits_(limits),
        aim_(space, x),
        proof_(proof),
        summed_(rows.summed_plan(proof.plan)),
        n_(space.n_coefficients()) {
    const auto& layout = space.layout;
    for (int l = 0; l < space.prices.n_categorical; ++l)
      for (auto c = space.prices.level_offset[l]; c < space.prices.level_offset[l + 1]; ++c)
        if (layout.level[c] < layout.size && layout.low[l] < layout.size) mixed_.push_back({c, l});
  }

  struct Sums {
    double conjugate, cost;
    Numbers residual;  // what the gradient has beyond what numeric columns should carry
    double payment;    // at most, over all models at least as good as the one at hand
    double carried;    // by numeric columns
    double unspent;    // the worth of what numeric columns might carry and do not
    double lost() const { return payment + unspent; }
  };

  Sums at(const Numbers& coefficients, Numbers* curvature = nullptr) const {
    PlanSums told = rows_.plan_sums(summed_, lifted(coefficients), curvature != nullptr);
    Sums sums{told.conjugate, told.cost, in_coefficients(told.gradient), 0, 0, 0};
    if (curvature) *curvature = in_coefficients_twice(told.curvature);
    const double budget = std::max(0.0, radius_ - sums.cost);
    sums.carried = space_.spent_on(sums.residual.data());
    double* const numeric = sums.residual.data() + first_numeric();
    sums.unspent = aim_.unspent(numeric, budget);
    aim_.subtract_from(numeric, budget);
    sums.payment = payment(coefficients, sums.residual, std::max(0.0, sums.carried - (radius_ - sums.cost)));
    return sums;
  }

  // The same plan at a cost that is less by `excess`, or more where that is below 0, if its rows allow.
  void spend_less(double excess) {
    const double share = spared_share(proof_.plan, excess);
    spare(proof_.plan, share);
    spare(summed_, share);
  }

  bool numeric_spends() const { return aim_.binding(); }

  // Newton's step for the residual; the curvature's lower triangle is given.
  Numbers correction(const Numbers& curvature, double ridge, Numbers residual) const {
    const auto size = static_cast<std::size_t>(n_);
    double trace = 0;
    for (std::size_t a = 0; a < size; ++a) trace += curvature[a * (size + 1)];
    Numbers damped = curvature;
    for (std::size_t a = 0; a < size; ++a) damped[a * (size + 1)] += ridge * trace / std::max(n_, 1) + 1e-300;
    cholesky_factor(damped.data(), n_, size, 0.0);
    cholesky_solve(damped.data(), n_, size, residual.data());
    return residual;
  }

  // The lifted vector in which envelopes are mixed levels; its price is 0.
  Numbers lifted(const Numbers& coefficients) const {
    const auto& layout = space_.layout;
    Numbers x(static_cast<std::size_t>(layout.size) + 1, 0.0);
    std::copy_n(coefficients.begin(), n_, x.begin());
    for (const auto& [level, feature] : mixed_) {
      x[layout.low[feature]] += proof_.lowest[level] * x[layout.level[level]];
      x[layout.high[feature]] += proof_.highest[level] * x[layout.level[level]];
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
          proof_.lowest[level] * gradient[layout.low[feature]] + proof_.highest[level] * gradient[layout.high[feature]];
  }

  // A lifted matrix, of which the lower triangle is given, in the coefficients.
  Numbers in_coefficients_twice(Numbers& lower) const {
    const auto& layout = space_.layout;
    const auto length = static_cast<std::size_t>(layout.size) + 1, size = static_cast<std::size_t>(n_);
    for (std::size_t a = 0; a < length; ++a)
      for (std::size_t b = a + 1; b < length; ++b) lower[a * length + b] = lower[b * length + a];
    const auto add = [&](std::int32_t to, std::int32_t from, double share) {
      if (share == 0) return;
      for (std::size_t b = 0; b < length; ++b)
        lower[static_cast<std::size_t>(to) * length + b] += share * lower[static_cast<std::size_t>(from) * length + b];
    };
    for (const auto& [level, feature] : mixed_) {
      add(layout.level[level], layout.low[feature], proof_.lowest[level]);
      add(layout.level[level], layout.high[feature], proof_.highest[level]);
    }
    Numbers result(size * size);
    for (std::size_t a = 0; a < size; ++a) {
      std::copy_n(lower.begin() + static_cast<std::ptrdiff_t>(a * length), size,
                  result.begin() + static_cast<std::ptrdiff_t>(a * size));
      fold(lower.data() + a * length, result.data() + a * size);
    }
    return result;
  }

  double payment(const Numbers& at, const Numbers& residual, double excess) const {
    // Where nothing bounds the coefficients a priori (no radius, infinite weights) this is a claim, not a proof: certificates/
    // proves such cases by curvature.
    double largest = 0;
    for (const double b : at) largest = std::max(largest, std::abs(b));
    const double reach = reach_factor * (1.0 + largest);
    const auto known = [&](double limit) { return std::isfinite(limit) ? limit : reach; };
    double paid = known(limits_.price) * excess;
    for (std::size_t j = 0; j < space_.numeric_weight.size(); ++j)
      if (!std::isfinite(space_.numeric_weight[j]) || radius_ == 0) paid += reach * std::abs(residual[first_numeric() + j]);
    if (first_numeric() > 0) paid += known(limits_.intercept) * std::abs(residual[0]);
    double most = 0, total = 0;
    for (int l = 0; l < space_.prices.n_categorical; ++l) {
      double sum = 0;
      for (auto c = space_.prices.level_offset[l]; c < space_.prices.level_offset[l + 1]; ++c)
        if (space_.layout.level[c] < space_.layout.size) sum += std::abs(residual[space_.layout.level[c]]);
      // What is not a number must not be forgotten.
      if (!(sum <= most)) most = sum;
      total += sum;
    }
    // The limit is on the sum over features of the largest coefficients; reach is on each coefficient alone.
    return paid + (std::isfinite(limits_.levels) ? limits_.levels * most : reach * total);
  }

  const LiftedSpace& space_;
  const RowSums& rows_;
  const double radius_;
  const CoefficientLimits& limits_;
  const NumericAim aim_;
  ProvenPlan& proof_;
  Plan summed_;
  const int n_;
  std::vector<MixedLevel> mixed_;  // levels that feed back from a mix: not the reference, and of a feature that can move
};

double size_of(const Numbers& residual) {
  double sum = 0;
  for (const double r : residual) sum += std::abs(r);
  return sum;
}

}  // namespace

ProvenPlan prove_plan(const LiftedSpace& space, const RowSums& rows, Plan plan, const double* multiplier, const double* x,
                      double radius, const CoefficientLimits& limits, double upper_bound, double tolerance) {
  ProvenPlan proof{
      std::move(plan), level_mix(space, multiplier), level_mix(space, multiplier + space.constrained_levels.size()), {}, 0};
  Prover prover(space, rows, radius, limits, x, proof);
  Numbers at(x, x + space.n_coefficients()), curvature;
  Prover::Sums sums = prover.at(at, &curvature);
  // A little that neither numeric columns nor moves and flips spend is what the step's multipliers are not exact by.
  const double over = sums.cost > radius ? sums.cost - radius : std::min(0.0, sums.cost + sums.carried - radius);
  const bool worth_spending =
      !prover.numeric_spends() && over > -crumbs * radius && sums.unspent > 0.1 * tolerance * upper_bound;
  if (radius > 0 && (over > 0 || worth_spending)) {
    prover.spend_less(over);
    // A little mass has moved; the curvature is needed for a direction only, and stays as it was.
    sums = prover.at(at);
  }
  Numbers best = at;
  proof.value = sums.conjugate - sums.payment;
  for (int round = 0; round < most_corrections; ++round) {
    Numbers corrected;
    Prover::Sums found;
    for (const double ridge : ridges) {
      corrected = prover.correction(curvature, ridge, sums.residual);
      for (std::size_t a = 0; a < at.size(); ++a) corrected[a] = at[a] - corrected[a];
      found = prover.at(corrected);
      if (found.conjugate - found.payment > proof.value) {
        best = corrected;
        proof.value = found.conjugate - found.payment;
      }
      if (size_of(found.residual) <= 0.5 * size_of(sums.residual)) break;
    }
    // Once masses and mixes, not the slopes, hold the bound back, only another step can raise it.
    const double enough = 0.1 * std::max(upper_bound - found.conjugate, 0.1 * tolerance * upper_bound);
    if (found.lost() <= enough || found.lost() >= 0.7 * sums.lost()) break;
    const bool slow = size_of(found.residual) > chord * size_of(sums.residual);
    at = std::move(corrected);
    sums = std::move(found);
    if (slow) prover.at(at, &curvature);
  }
  proof.point = prover.lifted(best);
  return proof;
}

}  // namespace surefoot
