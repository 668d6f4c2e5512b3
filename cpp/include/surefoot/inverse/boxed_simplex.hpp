// Small dense linear programmes over a box by the dual simplex method.
//
//   max gain . x   subject to   low <= rows x <= high,   lower <= x <= upper,   all bounds of x finite.
//
// The dictionary writes basic quantities (unknowns, and activities a = rows x) as combinations of nonbasic ones. Since every
// unknown has both bounds, putting each at the better one makes the first dictionary dual feasible, and a change of bounds leaves
// any dictionary so: there is no first phase, and a node of branch and bound goes on from where the last one ended.
//
// One step takes the basic quantity that violates its bounds most and exchanges it for the nonbasic one of least ratio of
// reduced gain to entry; after many steps both are the first by number (Bland's rule), which ends circles. Termination: nothing is violated (optimal); a violated quantity cannot be mended (infeasible, and its
// row of the dictionary says why); or too many steps (failed).
//
// Bounds are not taken from the dictionary: `bound` recomputes weak duality from the programme and the multipliers,
//
//   gain . x  <=  sum_r max(y_r low_r, y_r high_r) + sum_j max(g_j lower_j, g_j upper_j),   g = gain - rows' y.
#pragma once

#include <vector>

namespace surefoot {

struct BoxedProgramme {
  int n_unknowns;
  int n_rows;
  const double* rows;  // n_rows x n_unknowns; largest entries near 1
  const double* low;   // n_rows
  const double* high;
};

struct BoxedSimplexParameters {
  // By how much a bound may be violated, per unit of 1 + |bound|.
  double feasibility_tolerance = 1e-10;
  // Entries of the dictionary that are smaller are taken for 0.
  double pivot_tolerance = 1e-11;
  // Reduced gains up to this are taken for 0, per unit of 1 + the largest gain.
  double gain_tolerance = 1e-12;
  // Steps of one solve, per row and unknown: far more than the few that such programmes take. Not tuned.
  int steps_per_quantity = 20;
  // Steps, per row and unknown, after which quantities are chosen so that none can return for ever. Not tuned.
  int steps_before_care = 2;
};

enum class BoxedStatus { optimal, infeasible, failed };

class BoxedSimplex {
 public:
  // A programme and its box; `gain` and the box are set by `price` and `limit`.
  void begin(const BoxedProgramme& programme, const double* lower, const double* upper);
  // Another objective: the dictionary starts afresh.
  void price(const double* gain);
  void limit(int column, double lower, double upper) { lower_[column] = lower, upper_[column] = upper; }
  double lower(int column) const { return lower_[column]; }
  double upper(int column) const { return upper_[column]; }
  BoxedStatus solve();

  const std::vector<double>& point() const { return point_; }
  const std::vector<double>& multipliers() const { return multipliers_; }
  // gain . x.
  double worth(const std::vector<double>& point) const;
  // What no point of the box that meets the rows exceeds; never below what rounding leaves of it.
  double bound(const std::vector<double>& multipliers) const;
  // After `infeasible`: multipliers whose bound is `goal` at most, or false if rounding stands in the way.
  bool refute(double goal);

 private:
  double& entry(int row, int column) { return table_[static_cast<std::size_t>(row) * n_ + column]; }
  double entry(int row, int column) const { return table_[static_cast<std::size_t>(row) * n_ + column]; }
  double least(int quantity) const { return quantity < n_ ? lower_[quantity] : p_.low[quantity - n_]; }
  double most(int quantity) const { return quantity < n_ ? upper_[quantity] : p_.high[quantity - n_]; }
  double resting(int column);
  void exchange(int row, int column);
  void read();

  BoxedProgramme p_{};
  BoxedSimplexParameters parameters_{};
  int n_ = 0, m_ = 0;
  double gain_scale_ = 1;
  // Quantities are numbered: unknowns first, then activities.
  std::vector<int> basic_, nonbasic_;
  std::vector<char> above_;  // whether nonbasic quantities rest at their upper bounds
  std::vector<double> table_, reduced_, gain_, lower_, upper_, at_, value_, point_, multipliers_, ray_;
  int broken_ = -1;
  bool short_ = false;  // whether the broken quantity is below its bounds
};

}  // namespace surefoot
