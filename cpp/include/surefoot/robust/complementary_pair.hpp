// Slack s and multiplier z of one linear inequality inside a primal-dual interior point.
//
// The weighted central path is s z = mu w: w is the centrality weight of the inequality, mu falls to 0. A direction solves
//   z ds + s dz = -residual,
// and the residual says what the direction is for:
//   affine (predictor)      s z
//   combined (corrector)    s z + ds dz of the affine direction - sigma mu w                        (Mehrotra 1992)
//   centrality corrector    the residual before, changed where s z would leave the neighbourhood    (Gondzio 1996)
#pragma once

#include <algorithm>
#include <cmath>

namespace surefoot {

// What a direction is to make of the complementarity products s z.
struct CentralityTarget {
  enum class Direction { affine, combined, corrector, restored };  // the last: as before the last corrector
  Direction direction;
  double mu = 0;              // sigma mu: the products aimed at are this times the centrality weights
  double length = 0;          // corrector: of the step at whose end products are looked at
  double neighbourhood = 10;  // corrector: products may be this factor away from their target
};

// The largest step length that keeps slacks and multipliers nonnegative, and the complementarity along the direction:
//   sum of (s + t ds)(z + t dz) = sum of s z + t linear + t^2 quadratic.
struct StepLength {
  double length = INFINITY;
  double linear = 0, quadratic = 0;

  void merge(const StepLength& other) {
    length = std::min(length, other.length);
    linear += other.linear;
    quadratic += other.quadratic;
  }
};

struct ComplementaryPair {
  double slack = 0, multiplier = 0;
  double slack_step = 0, multiplier_step = 0;
  double residual = 0;           // of the complementarity condition, as the next direction sees it
  double previous_residual = 0;  // before the last centrality corrector
  double centrality_weight = 0;
  double inverse_slack = 0;  // 1 / slack as of the last update_scaling(): directions are many, divisions slow

  void update_scaling() { inverse_slack = 1.0 / slack; }
  double scaling() const { return multiplier * inverse_slack; }  // z / s, the pair's diagonal entry in the KKT system

  void set_residual(const CentralityTarget& target) {
    switch (target.direction) {
      case CentralityTarget::Direction::affine:
        residual = slack * multiplier;
        break;
      case CentralityTarget::Direction::combined:
        residual = slack * multiplier + slack_step * multiplier_step - target.mu * centrality_weight;
        break;
      case CentralityTarget::Direction::corrector: {
        const double after = (slack + target.length * slack_step) * (multiplier + target.length * multiplier_step);
        const double low = target.mu * centrality_weight / target.neighbourhood;
        const double high = target.mu * centrality_weight * target.neighbourhood;
        previous_residual = residual;
        if (after < low) residual -= low - after;
        if (after > high) residual += std::min(after - high, high);
        break;
      }
      case CentralityTarget::Direction::restored:
        residual = previous_residual;
        break;
    }
  }

  void recover_multiplier_step() { multiplier_step = -(residual + multiplier * slack_step) * inverse_slack; }

  void limit(StepLength& step) const {
    if (slack + step.length * slack_step < 0) step.length = -slack / slack_step;
    if (multiplier + step.length * multiplier_step < 0) step.length = -multiplier / multiplier_step;
    step.linear += slack * multiplier_step + multiplier * slack_step;
    step.quadratic += slack_step * multiplier_step;
  }

  void advance(double length) {
    slack += length * slack_step;
    multiplier += length * multiplier_step;
  }

  // Mehrotra's initial point: one full affine step shows which sides will be large; both are then pushed into the interior.
  void take_initial_step(double least_slack) {
    slack = std::max(std::fabs(slack + slack_step), least_slack);
    multiplier = std::max(std::fabs(multiplier + multiplier_step), centrality_weight);
  }
};

}  // namespace surefoot
