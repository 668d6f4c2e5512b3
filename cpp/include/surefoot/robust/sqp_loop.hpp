// Sequential quadratic programming on a finite maximum; the method is described in src/surefoot/robust/sqp/sqp_loop.py.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "surefoot/robust/dual_bound.hpp"
#include "surefoot/robust/sqp_step.hpp"

namespace surefoot {

// What does not change while a descent goes on.
struct DescentTerms {
  double radius;
  double tolerance;          // of the gap, relative
  CoefficientLimits limits;  // at an objective of 1, to which they are proportional
  bool near;                 // whether it starts near an optimum: little is left to gain
  bool proofs;               // without them it is a search for a start, and never calls itself optimal
  std::int64_t n_rows;
  int n_threads;
};

class Descent {
 public:
  Descent(const LiftedSpace& space, const DescentTerms& terms, std::vector<double> x, double objective);

  // One step; whether the objective fell.
  bool advance(const RowSums& rows);

  // The bound of the last step, which may not have been worth asking for.
  void prove_last(const RowSums& rows);

  // Keeps the pieces of a plan that hold mass; after a step that fell short, all it had and the worst ones where it ended.
  void remember(const RowSums& rows, const Plan& plan, const std::vector<double>* missed);

  ModelReach reach() const;
  bool optimal() const;
  const DescentTerms& terms() const { return terms_; }

  std::vector<double> x;
  double objective;
  double lower_bound = 0;
  std::optional<ProvenPlan> bound;
  KeptPieces kept;   // what the next model must contain
  double tie_width;  // how far below a row's worst piece others are listed
  double damping;    // as a share of the curvature
  double expected;   // how far the last step's model fell

 private:
  bool thin() const;
  double last_decrease() const;
  bool worth_proving(const RobustStep& step) const;
  void prove(const RowSums& rows, const RobustStep& step);
  bool accept(std::vector<double>& point, double value, double slack = 0);

  const LiftedSpace& space_;
  const DescentTerms terms_;
  int short_steps_;
  std::optional<RobustStep> last_;
};

}  // namespace surefoot
