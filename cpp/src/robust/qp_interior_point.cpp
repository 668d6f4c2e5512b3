#include "surefoot/robust/qp_interior_point.hpp"

#include <algorithm>
#include <cmath>

#include "surefoot/core/sparse_cholesky.hpp"
#include "surefoot/robust/complementary_pair.hpp"
#include "surefoot/robust/row_elimination.hpp"

namespace surefoot {
namespace {

using Direction = CentralityTarget::Direction;

class InteriorPoint {
 public:
  InteriorPoint(const RowModel& model, const TiedRows& tied, int size, const double* linear, const double* regularisation,
                const QpConstraints& constraints, const QpOptions& options)
      : model_(model),
        size_(size),
        stride_(static_cast<std::size_t>(size) + 1),
        linear_(linear),
        regularisation_(regularisation),
        pair_constraints_(constraints.pairs),
        sum_constraint_(constraints.sum),
        parameters_(options.interior_point),
        rows_(tied, stride_, options.n_threads),
        cone_(constraints.cone),
        pairs_(pair_constraints_.size()),
        sum_(sum_constraint_.slot.empty() ? 0 : 1),
        d_(stride_),
        step_(stride_),
        dual_residual_(stride_),
        kkt_(stride_ * stride_) {
    find_initial_point();
  }

  // Up to the tolerance; a predicted decrease above `final_decrease` need only be right to a fraction of itself.
  QpSolution run(double tolerance, const QpOptions& options) {
    const double final_decrease = options.final_decrease;
    QpSolution solution;
    double total_weight = rows_.total_centrality_weight();
    for_each_pair([&](const ComplementaryPair& pair) { total_weight += pair.centrality_weight; });
    if (cone_.present()) total_weight += cone_.centrality_weight();
    double best_merit = INFINITY;
    int since_best = 0;
    // Numbers too large for double precision have no merit at all; then this is what remains.
    save_best();
    for (int iteration = 0; iteration < options.max_iterations; ++iteration) {
      update_residuals();
      solution.iterations = iteration;
      const double complementarity = pair_complementarity_ + cone_complementarity();
      if (has_converged(complementarity, tolerance, final_decrease)) {
        solution.converged = true;
        break;
      }
      if (iteration > 0 && std::chrono::steady_clock::now() >= options.deadline) break;
      const double merit = complementarity + dual_error_ + primal_error_;
      if (merit < parameters_.merit_improvement * best_merit) {
        best_merit = merit;
        since_best = 0;
        save_best();
      } else if (++since_best > parameters_.max_stalled_iterations ||
                 (since_best > parameters_.max_diverging_iterations && best_merit < parameters_.small_merit &&
                  merit > parameters_.divergence_factor * best_merit)) {
        break;
      }
      factor_kkt();
      const double mu = centring(solve_direction({Direction::affine}), complementarity, total_weight);
      const StepLength combined = solve_direction({Direction::combined, mu});
      advance(correct_centrality(step_length(combined, parameters_.boundary_fraction), mu));
    }
    if (!solution.converged) restore_best();
    write(solution);
    return solution;
  }

 private:
  bool has_converged(double complementarity, double tolerance, double final_decrease) const {
    const double needed = predicted_decrease_ > final_decrease
                              ? std::max(tolerance, parameters_.inexact_fraction * predicted_decrease_)
                              : tolerance;
    return complementarity <= needed && dual_error_ <= needed && primal_error_ <= needed;
  }

  // sigma mu, with Mehrotra's sigma: the cubed ratio of the complementarity after the longest affine step.
  double centring(const StepLength& affine, double complementarity, double total_weight) const {
    const double length = step_length(affine, 1.0);
    double after = pair_complementarity_ + length * (affine.linear + length * affine.quadratic);
    if (cone_.present()) after += cone_.complementarity_after(length);
    const double ratio = complementarity > 0 ? std::clamp(after / complementarity, 0.0, 1.0) : 0.0;
    return total_weight > 0 ? ratio * ratio * ratio * complementarity / total_weight : 0.0;
  }

  // Pairs of the constraints that are not the tied rows'.
  template <class Work>
  void for_each_pair(Work&& work) {
    for (auto* group : {&pairs_, &sum_})
      for (ComplementaryPair& pair : *group) work(pair);
  }

  double cone_complementarity() const { return cone_.present() ? cone_.complementarity() : 0.0; }

  void find_initial_point() {
    const double margin = parameters_.initial_margin;
    rows_.start(margin, parameters_.hinge_centrality);
    double largest = 0;
    for (int a = 0; a < size_; ++a) largest = std::max(largest, std::fabs(linear_[a]));
    const double weight = std::max(largest, parameters_.least_centrality) / static_cast<double>(pairs_.size() + 1);
    for (std::size_t c = 0; c < pairs_.size(); ++c) pairs_[c].slack = pair_constraints_[c].slack;
    for (ComplementaryPair& pair : sum_) pair.slack = sum_constraint_.slack;
    for_each_pair([&](ComplementaryPair& pair) {
      pair.centrality_weight = weight;
      pair.slack = std::max(pair.slack, margin);
      pair.multiplier = weight * margin / pair.slack;
    });
    if (cone_.present()) cone_.start(margin, weight);
    update_residuals();
    factor_kkt();
    solve_direction({Direction::affine});
    for (int a = 0; a < size_; ++a) d_[a] += step_[a];
    rows_.take_initial_step(margin);
    for_each_pair([&](ComplementaryPair& pair) { pair.take_initial_step(margin); });
    if (cone_.present()) cone_.take_initial_step(margin, parameters_.cone_interior);
  }

  double pair_image(const PairConstraint& c, const std::vector<double>& v) const {
    return c.first_coef * v[c.first] + c.second_coef * v[c.second];
  }

  double pair_residual(std::size_t c) const {
    return pair_image(pair_constraints_[c], d_) - pair_constraints_[c].slack + pairs_[c].slack;
  }

  void add_pair(const PairConstraint& c, double scale, std::vector<double>& out) const {
    out[c.first] += c.first_coef * scale;
    out[c.second] += c.second_coef * scale;
  }

  // out += (H + R) v
  void apply_hessian(const std::vector<double>& v, std::vector<double>& out) const {
    for (int a = 0; a < size_; ++a) {
      const double* line = model_.curvature.data() + static_cast<std::size_t>(a) * stride_;
      double sum = (line[a] + regularisation_[a]) * v[a];
      for (int b = 0; b < a; ++b) {
        sum += line[b] * v[b];
        out[b] += line[b] * v[a];
      }
      out[a] += sum;
    }
  }

  double sum_image(const std::vector<double>& v) const {
    double sum = 0;
    for (std::size_t k = 0; k < sum_constraint_.slot.size(); ++k) sum += sum_constraint_.coef[k] * v[sum_constraint_.slot[k]];
    return sum;
  }

  void add_sum(double scale, std::vector<double>& out) const {
    for (std::size_t k = 0; k < sum_constraint_.slot.size(); ++k)
      out[sum_constraint_.slot[k]] += sum_constraint_.coef[k] * scale;
  }

  // Dual residual, primal residuals, complementarity and predicted decrease at the iterate.
  void update_residuals() {
    for_each_pair([](ComplementaryPair& pair) { pair.update_scaling(); });
    if (cone_.present()) cone_.update_scaling(d_);
    std::copy(linear_, linear_ + stride_, dual_residual_.begin());
    apply_hessian(d_, dual_residual_);
    double change = 0;
    for (int a = 0; a < size_; ++a) change += 0.5 * (linear_[a] + dual_residual_[a]) * d_[a];
    predicted_decrease_ = -(change + rows_.objective_change());
    rows_.update_residuals(d_, dual_residual_);
    for (std::size_t c = 0; c < pairs_.size(); ++c) add_pair(pair_constraints_[c], pairs_[c].multiplier, dual_residual_);
    for (const ComplementaryPair& pair : sum_) add_sum(pair.multiplier, dual_residual_);
    if (cone_.present()) cone_.subtract_multiplier(dual_residual_);
    dual_residual_[size_] = 0;
    dual_error_ = 0;
    for (const double g : dual_residual_) dual_error_ = std::max(dual_error_, std::fabs(g));
    pair_complementarity_ = rows_.complementarity();
    for_each_pair([&](const ComplementaryPair& pair) { pair_complementarity_ += pair.slack * pair.multiplier; });
    primal_error_ = rows_.feasibility_error();
    if (cone_.present()) primal_error_ = std::max(primal_error_, cone_.primal_error());
    for (std::size_t c = 0; c < pairs_.size(); ++c) {
      // Relative to the numbers that are subtracted: a long step leaves rounding of its own size.
      const double size = 1.0 + std::fabs(pair_image(pair_constraints_[c], d_)) + pair_constraints_[c].slack;
      primal_error_ = std::max(primal_error_, std::fabs(pair_residual(c)) / size);
    }
    for (const ComplementaryPair& pair : sum_) {
      const double image = sum_image(d_);
      sum_residual_ = image - sum_constraint_.slack + pair.slack;
      primal_error_ = std::max(primal_error_, std::fabs(sum_residual_) / (1.0 + std::fabs(image) + sum_constraint_.slack));
    }
  }

  // The reduced KKT matrix: H + R + Schur complements of all constraints, factored.
  void factor_kkt() {
    std::copy(model_.curvature.begin(), model_.curvature.end(), kkt_.begin());
    rows_.add_schur_complement(kkt_);
    for (int a = 0; a < size_; ++a) kkt_[static_cast<std::size_t>(a) * stride_ + a] += regularisation_[a];
    for (std::size_t c = 0; c < pairs_.size(); ++c) {
      const auto& con = pair_constraints_[c];
      const double scaling = pairs_[c].scaling();
      const auto [low, high] = std::minmax(con.first, con.second);
      kkt_[static_cast<std::size_t>(con.first) * stride_ + con.first] += scaling * con.first_coef * con.first_coef;
      kkt_[static_cast<std::size_t>(con.second) * stride_ + con.second] += scaling * con.second_coef * con.second_coef;
      kkt_[static_cast<std::size_t>(high) * stride_ + low] += scaling * con.first_coef * con.second_coef;
    }
    const auto& sum = sum_constraint_;
    for (const ComplementaryPair& pair : sum_)
      for (std::size_t a = 0; a < sum.slot.size(); ++a)
        for (std::size_t b = 0; b <= a; ++b) {
          const auto [low, high] = std::minmax(sum.slot[a], sum.slot[b]);
          kkt_[static_cast<std::size_t>(high) * stride_ + low] += pair.scaling() * sum.coef[a] * sum.coef[b];
        }
    if (cone_.present()) cone_.add_schur_complement(kkt_, stride_);
    factor_.factor(kkt_.data(), size_, stride_, parameters_.pivot_floor);
  }

  // The Newton direction for a target: right-hand side, back substitution, recovery of all steps.
  StepLength solve_direction(const CentralityTarget& target) {
    for_each_pair([&](ComplementaryPair& pair) { pair.set_residual(target); });
    if (cone_.present() && target.direction == Direction::affine) cone_.set_residual(0.0, 0.0);
    if (cone_.present() && target.direction == Direction::combined) cone_.set_residual(1.0, target.mu);
    for (std::size_t a = 0; a < stride_; ++a) step_[a] = -dual_residual_[a];
    rows_.add_right_hand_side(target, step_);
    for (std::size_t c = 0; c < pairs_.size(); ++c) {
      const ComplementaryPair& pair = pairs_[c];
      add_pair(pair_constraints_[c], pair.residual * pair.inverse_slack - pair.scaling() * pair_residual(c), step_);
    }
    for (const ComplementaryPair& pair : sum_)
      add_sum(pair.residual * pair.inverse_slack - pair.scaling() * sum_residual_, step_);
    if (cone_.present()) cone_.add_right_hand_side(step_);
    factor_.solve(kkt_.data(), step_.data());
    step_[size_] = 0;
    // No step is longer than 2: limits beyond it need no division.
    StepLength length{2.0};
    rows_.recover_step(step_, length);
    for (std::size_t c = 0; c < pairs_.size(); ++c)
      pairs_[c].slack_step = -pair_image(pair_constraints_[c], step_) - pair_residual(c);
    for (ComplementaryPair& pair : sum_) pair.slack_step = -sum_image(step_) - sum_residual_;
    for_each_pair([&](ComplementaryPair& pair) {
      pair.recover_multiplier_step();
      pair.limit(length);
    });
    if (cone_.present()) cone_.recover_step(step_);
    return length;
  }

  // At most 1, and at most this fraction of the way to the boundary.
  double step_length(const StepLength& direction, double fraction) const {
    double length = std::min(direction.length, 1.0 / fraction);
    if (cone_.present()) cone_.limit(length);
    return fraction * length;
  }

  // Gondzio's correctors: a direction costs much less than a factorisation, so a few more are solved while the step grows.
  double correct_centrality(double length, double mu) {
    for (int corrector = 0; corrector < parameters_.max_correctors && length < parameters_.corrector_threshold; ++corrector) {
      const double aspired = std::min(1.0, length + parameters_.corrector_extension);
      const double longer = step_length(solve_direction({Direction::corrector, mu, aspired, parameters_.neighbourhood}),
                                        parameters_.boundary_fraction);
      if (longer < length) {
        solve_direction({Direction::restored});
        break;
      }
      const bool try_again = longer > length + parameters_.corrector_gain;
      length = longer;
      if (!try_again) break;
    }
    return length;
  }

  void advance(double length) {
    for (int a = 0; a < size_; ++a) d_[a] += length * step_[a];
    rows_.advance(length);
    for_each_pair([&](ComplementaryPair& pair) { pair.advance(length); });
    if (cone_.present()) cone_.advance(length);
  }

  void save_best() {
    best_d_ = d_;
    best_pairs_ = pairs_;
    rows_.save_best();
  }

  void restore_best() {
    d_ = best_d_;
    pairs_ = best_pairs_;
    rows_.restore_best();
  }

  void write(QpSolution& solution) {
    double change = rows_.masses(d_, solution.mass, solution.hinge_mass);
    std::vector<double> curved(stride_, 0.0);
    apply_hessian(d_, curved);
    for (int a = 0; a < size_; ++a) change += (linear_[a] + 0.5 * curved[a]) * d_[a];
    solution.predicted_decrease = -change;
    solution.step = d_;
    solution.pair_multiplier.resize(pairs_.size());
    for (std::size_t c = 0; c < pairs_.size(); ++c) solution.pair_multiplier[c] = pairs_[c].multiplier;
  }

  const RowModel& model_;
  int size_;
  std::size_t stride_;
  const double* linear_;
  const double* regularisation_;
  const std::vector<PairConstraint>& pair_constraints_;
  const SumConstraint& sum_constraint_;
  const InteriorPointParameters& parameters_;
  RowElimination rows_;
  SparseCholesky factor_;
  SecondOrderCone cone_;
  std::vector<ComplementaryPair> pairs_, sum_;  // of the latter one or none
  std::vector<ComplementaryPair> best_pairs_;
  std::vector<double> d_, best_d_, step_, dual_residual_, kkt_;
  double predicted_decrease_ = 0;  // of the model, from 0 to d, as far as the primal residuals are 0
  double pair_complementarity_ = 0, dual_error_ = 0, primal_error_ = 0, sum_residual_ = 0;
};

// Activates what a step violates of the inactive pieces and hinges, if that is too much; whether it was. Otherwise the
// predicted decrease is reduced by the violation.
bool activate_violated(ActiveRows& active, QpSolution& solution, double tolerance, const ActiveRowsParameters& parameters) {
  ActiveRows::Violation violation = active.violation(solution.step, 1.0);
  if (violation.excess <= std::max(tolerance, parameters.violation_fraction * solution.predicted_decrease)) {
    solution.predicted_decrease -= violation.excess;
    return false;
  }
  // A long step violates most of what is inactive, and a right one would have ended long before: look nearer.
  double scale = 1.0;
  const std::int64_t most = std::max(parameters.free_hinges, active.rows().n_hinges());
  while (violation.n_hinges > most && scale > parameters.least_scale) {
    violation = active.violation(solution.step, 0.5 * scale);
    if (violation.excess <= tolerance) break;
    scale *= 0.5;
  }
  active.activate(solution.step, scale);
  return true;
}

}  // namespace

QpSolution solve_qp(const RowModel& model, int size, const double* linear, const double* regularisation,
                    const QpConstraints& constraints, const QpOptions& options) {
  const auto over = [&](const TiedRows& tied, const double* other) {
    return InteriorPoint(model, tied, size, other, regularisation, constraints, options);
  };
  const ActiveRowsParameters& parameters = options.active_rows;
  if (model.tied.n_hinges() >= parameters.least_hinges) {
    const auto begin = [&](double width) { return ActiveRows(model.tied, linear, static_cast<std::size_t>(size) + 1, width); };
    ActiveRows wide = begin(options.active_width);
    const bool crowded = static_cast<double>(wide.rows().n_hinges()) > parameters.crowded * size;
    ActiveRows active = crowded ? begin(parameters.crowded_width * options.active_width) : std::move(wide);
    // A round that only finds out what else is active need not be exact.
    const double loose = parameters.loose_factor * options.tolerance;
    for (int round = 0; round < parameters.max_rounds && active.inactive_fraction() >= parameters.least_inactive; ++round) {
      InteriorPoint point = over(active.rows(), active.linear().data());
      QpSolution solution = point.run(loose, options);
      if (activate_violated(active, solution, loose, parameters)) continue;
      solution = point.run(options.tolerance, options);
      if (activate_violated(active, solution, options.tolerance, parameters)) continue;
      solution.mass = active.piece_masses(solution.mass);
      solution.hinge_mass = active.hinge_masses(solution.hinge_mass);
      return solution;
    }
  }
  return over(model.tied, linear).run(options.tolerance, options);
}

}  // namespace surefoot
