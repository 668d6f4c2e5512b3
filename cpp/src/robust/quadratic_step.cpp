#include "surefoot/robust/quadratic_step.hpp"

#include <algorithm>
#include <cmath>

#include "surefoot/core/cholesky.hpp"
#include "surefoot/robust/complementary_pair.hpp"
#include "surefoot/robust/row_elimination.hpp"
#include "surefoot/robust/sifted_rows.hpp"

namespace surefoot {
namespace {

// How exact a decrease must be, relative to itself, before the last steps: the next one is made at another point anyway.
constexpr double rough = 0.01;

class InteriorPoint {
 public:
  InteriorPoint(const RowModel& model, const TiedRows& tied, int size, const double* linear, const double* damping,
                const StepConstraints& constraints, int n_threads)
      : model_(model),
        size_(size),
        stride_(static_cast<std::size_t>(size) + 1),
        linear_(linear),
        damping_(damping),
        constraints_(constraints.shared),
        wide_(constraints.wide),
        tied_(tied, stride_, n_threads),
        cone_(constraints.norm),
        shared_(constraints_.size()),
        wide_pair_(wide_.slot.empty() ? 0 : 1),
        d_(stride_),
        step_d_(stride_),
        dual_residual_(stride_),
        system_(stride_ * stride_) {
    start();
  }

  // Up to the tolerance, or to a hundredth of a decrease that is larger than `final_decrease`.
  QuadraticStep run(double tolerance, int max_iterations, double final_decrease) {
    QuadraticStep result;
    double total_share = tied_.total_share();
    for_each_pair([&](const ComplementaryPair& pair) { total_share += pair.share; });
    if (cone_.present()) total_share += cone_.share();
    double best_merit = INFINITY;
    int since_best = 0;
    // Numbers too large for double precision have no merit at all; then this is what remains.
    keep();
    for (int iteration = 0; iteration < max_iterations; ++iteration) {
      residuals();
      result.iterations = iteration;
      const double complementarity = pair_products_ + cone_products();
      const double merit = complementarity + dual_error_ + primal_error_;
      const double enough = decrease_ > final_decrease ? std::max(tolerance, rough * decrease_) : tolerance;
      if (complementarity <= enough && dual_error_ <= enough && primal_error_ <= enough) {
        result.converged = true;
        break;
      }
      // Rounding has won once nothing improves for many steps, or all that was gained is being lost again.
      if (merit < 0.9 * best_merit) {
        best_merit = merit;
        since_best = 0;
        keep();
      } else if (++since_best > 15 || (since_best > 5 && best_merit < 1e-6 && merit > 1e3 * best_merit)) {
        break;
      }
      assemble();
      const StepRoom affine = direction({Aim::Kind::affine});
      const double reach = length_of(affine, 1.0);
      double after = pair_products_ + reach * (affine.first + reach * affine.second);
      if (cone_.present()) after += cone_.product_sum_after(reach);
      const double ratio = complementarity > 0 ? std::clamp(after / complementarity, 0.0, 1.0) : 0.0;
      const double target = total_share > 0 ? ratio * ratio * ratio * complementarity / total_share : 0.0;
      move(recentred(length_of(direction({Aim::Kind::corrected, target}), 0.99), target));
    }
    if (!result.converged) restore();
    finish(result);
    return result;
  }

 private:
  // Those that are not the tied rows'.
  template <class Visit>
  void for_each_pair(Visit&& visit) {
    for (auto* group : {&shared_, &wide_pair_})
      for (ComplementaryPair& pair : *group) visit(pair);
  }

  double cone_products() const { return cone_.present() ? cone_.product_sum() : 0.0; }

  void start() {
    constexpr double lift = 0.1;
    tied_.start(lift);
    double pull = 0;
    for (int a = 0; a < size_; ++a) pull = std::max(pull, std::fabs(linear_[a]));
    const double share = std::max(pull, 1e-6) / static_cast<double>(shared_.size() + 1);
    for (std::size_t c = 0; c < shared_.size(); ++c) shared_[c].slack = constraints_[c].slack;
    for (ComplementaryPair& pair : wide_pair_) pair.slack = wide_.slack;
    for_each_pair([&](ComplementaryPair& pair) {
      pair.share = share;
      pair.slack = std::max(pair.slack, lift);
      pair.multiplier = share * lift / pair.slack;
    });
    if (cone_.present()) cone_.start(lift, share);
    residuals();
    assemble();
    direction({Aim::Kind::affine});
    for (int a = 0; a < size_; ++a) d_[a] += step_d_[a];
    tied_.jump(lift);
    for_each_pair([&](ComplementaryPair& pair) { pair.jump(lift); });
    if (cone_.present()) cone_.jump(lift);
  }

  double constraint_image(const SharedConstraint& c, const std::vector<double>& v) const {
    return c.first_coef * v[c.first] + c.second_coef * v[c.second];
  }

  double miss(std::size_t c) const { return constraint_image(constraints_[c], d_) - constraints_[c].slack + shared_[c].slack; }

  void add_constraint(const SharedConstraint& c, double force, std::vector<double>& out) const {
    out[c.first] += c.first_coef * force;
    out[c.second] += c.second_coef * force;
  }

  void apply_curvature(const std::vector<double>& v, std::vector<double>& out) const {
    for (int a = 0; a < size_; ++a) {
      const double* line = model_.curvature.data() + static_cast<std::size_t>(a) * stride_;
      double sum = (line[a] + damping_[a]) * v[a];
      for (int b = 0; b < a; ++b) {
        sum += line[b] * v[b];
        out[b] += line[b] * v[a];
      }
      out[a] += sum;
    }
  }

  double wide_image(const std::vector<double>& v) const {
    double sum = 0;
    for (std::size_t k = 0; k < wide_.slot.size(); ++k) sum += wide_.coef[k] * v[wide_.slot[k]];
    return sum;
  }

  void add_wide(double force, std::vector<double>& out) const {
    for (std::size_t k = 0; k < wide_.slot.size(); ++k) out[wide_.slot[k]] += wide_.coef[k] * force;
  }

  void residuals() {
    for_each_pair([](ComplementaryPair& pair) { pair.refresh(); });
    if (cone_.present()) cone_.refresh(d_);
    std::copy(linear_, linear_ + stride_, dual_residual_.begin());
    apply_curvature(d_, dual_residual_);
    double change = 0;
    for (int a = 0; a < size_; ++a) change += 0.5 * (linear_[a] + dual_residual_[a]) * d_[a];
    decrease_ = -(change + tied_.change());
    tied_.add_pull(d_, dual_residual_);
    for (std::size_t c = 0; c < shared_.size(); ++c) add_constraint(constraints_[c], shared_[c].multiplier, dual_residual_);
    for (const ComplementaryPair& pair : wide_pair_) add_wide(pair.multiplier, dual_residual_);
    if (cone_.present()) cone_.add_multiplier(dual_residual_);
    dual_residual_[size_] = 0;
    dual_error_ = 0;
    for (const double g : dual_residual_) dual_error_ = std::max(dual_error_, std::fabs(g));
    pair_products_ = tied_.product_sum();
    for_each_pair([&](const ComplementaryPair& pair) { pair_products_ += pair.slack * pair.multiplier; });
    primal_error_ = tied_.error();
    if (cone_.present()) primal_error_ = std::max(primal_error_, cone_.error());
    for (std::size_t c = 0; c < shared_.size(); ++c) {
      // Relative to the numbers that are subtracted: a long step leaves rounding of its own size.
      const double size = 1.0 + std::fabs(constraint_image(constraints_[c], d_)) + constraints_[c].slack;
      primal_error_ = std::max(primal_error_, std::fabs(miss(c)) / size);
    }
    for (const ComplementaryPair& pair : wide_pair_) {
      const double image = wide_image(d_);
      wide_miss_ = image - wide_.slack + pair.slack;
      primal_error_ = std::max(primal_error_, std::fabs(wide_miss_) / (1.0 + std::fabs(image) + wide_.slack));
    }
  }

  // The matrix H + tied rows + shared constraints, factored.
  void assemble() {
    std::copy(model_.curvature.begin(), model_.curvature.end(), system_.begin());
    tied_.add_system(system_);
    for (int a = 0; a < size_; ++a) system_[static_cast<std::size_t>(a) * stride_ + a] += damping_[a];
    for (std::size_t c = 0; c < shared_.size(); ++c) {
      const auto& con = constraints_[c];
      const double weight = shared_[c].ratio();
      const auto [low, high] = std::minmax(con.first, con.second);
      system_[static_cast<std::size_t>(con.first) * stride_ + con.first] += weight * con.first_coef * con.first_coef;
      system_[static_cast<std::size_t>(con.second) * stride_ + con.second] += weight * con.second_coef * con.second_coef;
      system_[static_cast<std::size_t>(high) * stride_ + low] += weight * con.first_coef * con.second_coef;
    }
    for (const ComplementaryPair& pair : wide_pair_)
      for (std::size_t a = 0; a < wide_.slot.size(); ++a)
        for (std::size_t b = 0; b <= a; ++b) {
          const auto [low, high] = std::minmax(wide_.slot[a], wide_.slot[b]);
          system_[static_cast<std::size_t>(high) * stride_ + low] += pair.ratio() * wide_.coef[a] * wide_.coef[b];
        }
    if (cone_.present()) cone_.add_system(system_, stride_);
    cholesky_factor(system_.data(), size_, stride_, 1e-14);
  }

  // The Newton direction for the products aimed at.
  StepRoom direction(const Aim& aim) {
    for_each_pair([&](ComplementaryPair& pair) { pair.aim(aim); });
    if (cone_.present() && aim.kind == Aim::Kind::affine) cone_.aim(0.0, 0.0);
    if (cone_.present() && aim.kind == Aim::Kind::corrected) cone_.aim(1.0, aim.target);
    for (std::size_t a = 0; a < stride_; ++a) step_d_[a] = -dual_residual_[a];
    tied_.add_forces(aim, step_d_);
    for (std::size_t c = 0; c < shared_.size(); ++c) {
      const ComplementaryPair& pair = shared_[c];
      add_constraint(constraints_[c], pair.product * pair.inverse_slack - pair.ratio() * miss(c), step_d_);
    }
    for (const ComplementaryPair& pair : wide_pair_)
      add_wide(pair.product * pair.inverse_slack - pair.ratio() * wide_miss_, step_d_);
    if (cone_.present()) cone_.add_force(step_d_);
    cholesky_solve(system_.data(), size_, stride_, step_d_.data());
    step_d_[size_] = 0;
    // No step is longer than this; asking for less room than there is saves divisions.
    StepRoom room{2.0};
    tied_.follow(step_d_, room);
    for (std::size_t c = 0; c < shared_.size(); ++c)
      shared_[c].slack_step = -constraint_image(constraints_[c], step_d_) - miss(c);
    for (ComplementaryPair& pair : wide_pair_) pair.slack_step = -wide_image(step_d_) - wide_miss_;
    for_each_pair([&](ComplementaryPair& pair) {
      pair.follow_slack();
      pair.add_to(room);
    });
    if (cone_.present()) cone_.follow(step_d_);
    return room;
  }

  // At most 1, and at most this fraction of the way to the boundary.
  double length_of(const StepRoom& room, double fraction) const {
    double length = std::min(room.length, 1.0 / fraction);
    if (cone_.present()) cone_.shorten(length);
    return fraction * length;
  }

  // A direction costs far less than a factorisation: up to three more of them, each aimed to let the step be longer, pay.
  double recentred(double length, double target) {
    for (int attempt = 0; attempt < 3 && length < 0.9; ++attempt) {
      const double longer = length_of(direction({Aim::Kind::recentred, target, std::min(1.0, length + 0.3)}), 0.99);
      if (longer < length) {
        direction({Aim::Kind::restored});
        break;
      }
      const bool worth_more = longer > length + 0.03;
      length = longer;
      if (!worth_more) break;
    }
    return length;
  }

  void move(double length) {
    for (int a = 0; a < size_; ++a) d_[a] += length * step_d_[a];
    tied_.move(length);
    for_each_pair([&](ComplementaryPair& pair) { pair.move(length); });
    if (cone_.present()) cone_.move(length);
  }

  void keep() {
    kept_d_ = d_;
    kept_shared_ = shared_;
    tied_.keep();
  }

  void restore() {
    d_ = kept_d_;
    shared_ = kept_shared_;
    tied_.restore();
  }

  void finish(QuadraticStep& result) {
    double change = tied_.finish(d_, result.mass, result.hinge_mass);
    std::vector<double> curved(stride_, 0.0);
    apply_curvature(d_, curved);
    for (int a = 0; a < size_; ++a) change += (linear_[a] + 0.5 * curved[a]) * d_[a];
    result.decrease = -change;
    result.step = d_;
    result.multiplier.resize(shared_.size());
    for (std::size_t c = 0; c < shared_.size(); ++c) result.multiplier[c] = shared_[c].multiplier;
  }

  const RowModel& model_;
  int size_;
  std::size_t stride_;
  const double* linear_;
  const double* damping_;
  const std::vector<SharedConstraint>& constraints_;
  const WideConstraint& wide_;
  TiedBarrier tied_;
  NormCone cone_;
  std::vector<ComplementaryPair> shared_, wide_pair_;  // of the latter one or none
  std::vector<ComplementaryPair> kept_shared_;
  std::vector<double> d_, kept_d_, step_d_, dual_residual_, system_;
  double decrease_ = 0;  // of the model, from 0 to d, as far as the misses are 0
  double pair_products_ = 0, dual_error_ = 0, primal_error_ = 0, wide_miss_ = 0;
};

// Models with fewer hinges are solved sooner than sifted, and so is one of which most hinges are awake.
constexpr std::int64_t fewest_hinges = 2000;
constexpr double least_asleep = 0.2;
// A round that only finds out what else is awake need not be exact: it stops at so many times the tolerance first.
constexpr double loose = 100.0;
// A step may leave this part of its fall to what it did not see.
constexpr double spared = 0.1;
// So many hinges may join in any round.
constexpr std::int64_t few_hinges = 1000;
constexpr int most_rounds = 20;

// Whether a step misses more than it may of what was left out; then that joins. Otherwise the step pays for what it misses.
bool wake_missed(SiftedRows& sifted, QuadraticStep& result, double tolerance) {
  SiftedRows::Missed missed = sifted.missed(result.step, 1.0);
  if (missed.excess <= std::max(tolerance, spared * result.decrease)) {
    result.decrease -= missed.excess;
    return false;
  }
  // A step that runs far into what was left out wakes most of it, and would have ended long before: look closer by.
  double scale = 1.0;
  const std::int64_t most = std::max(few_hinges, sifted.rows().n_hinges());
  while (missed.n_hinges > most && scale > 1e-3) {
    missed = sifted.missed(result.step, 0.5 * scale);
    if (missed.excess <= tolerance) break;
    scale *= 0.5;
  }
  sifted.wake(result.step, scale);
  return true;
}

}  // namespace

QuadraticStep solve_quadratic_step(const RowModel& model, int size, const double* linear, const double* damping,
                                   const StepConstraints& constraints, const StepOptions& options) {
  const auto begin = [&](const TiedRows& tied, const double* rest) {
    return InteriorPoint(model, tied, size, rest, damping, constraints, options.n_threads);
  };
  if (model.tied.n_hinges() >= fewest_hinges) {
    SiftedRows sifted(model.tied, linear, static_cast<std::size_t>(size) + 1, options.near);
    for (int round = 0; round < most_rounds && sifted.asleep() >= least_asleep; ++round) {
      InteriorPoint point = begin(sifted.rows(), sifted.linear().data());
      QuadraticStep result = point.run(loose * options.tolerance, options.max_iterations, options.final_decrease);
      if (wake_missed(sifted, result, loose * options.tolerance)) continue;
      result = point.run(options.tolerance, options.max_iterations, options.final_decrease);
      if (wake_missed(sifted, result, options.tolerance)) continue;
      result.mass = sifted.piece_masses(result.mass);
      result.hinge_mass = sifted.hinge_masses(result.hinge_mass);
      return result;
    }
  }
  return begin(model.tied, linear).run(options.tolerance, options.max_iterations, options.final_decrease);
}

}  // namespace surefoot
