#include "surefoot/quadratic_step.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "surefoot/cholesky.hpp"
#include "surefoot/complementary_pair.hpp"
#include "surefoot/outer_product.hpp"
#include "surefoot/parallel.hpp"

namespace surefoot {
namespace {

class InteriorPoint {
 public:
  InteriorPoint(const RowModel& model, int size, const double* linear, const double* damping,
                const StepConstraints& constraints, int n_threads)
      : model_(model),
        tied_(model.tied),
        size_(size),
        stride_(static_cast<std::size_t>(size) + 1),
        linear_(linear),
        damping_(damping),
        constraints_(constraints.shared),
        wide_(constraints.wide),
        cone_(constraints.norm),
        n_threads_(n_threads),
        blocks_(tied_.size(), static_cast<std::int64_t>(tied_.varied.size()) + 8 * tied_.n_hinges(), stride_ * stride_),
        step_d_(stride_),
        dual_residual_(stride_),
        rhs_(stride_),
        system_(stride_ * stride_) {
    vector_parts_.resize(static_cast<std::size_t>(blocks_.n_blocks));
    matrix_parts_.resize(vector_parts_.size());
    d_.resize(stride_);
    r_.resize(static_cast<std::size_t>(tied_.size()));
    pieces_.resize(static_cast<std::size_t>(tied_.n_pieces()));
    rise_.resize(static_cast<std::size_t>(tied_.n_hinges()));
    gap_.resize(rise_.size());
    shared_.resize(constraints_.size());
    wide_pair_.resize(wide_.slot.empty() ? 0 : 1);
    for (auto* v : {&weight_, &force_, &drift_, &image_, &miss_}) v->resize(pieces_.size());
    for (auto* v : {&hinge_image_, &hinge_miss_, &hinge_force_, &hinge_balance_, &hinge_pull_, &hinge_soft_})
      v->resize(rise_.size());
    for (auto* v : {&r_step_, &row_weight_, &row_pull_}) v->resize(static_cast<std::size_t>(tied_.size()));
    effective_ = tied_.varied;
    start();
  }

  QuadraticStep run(double tolerance, int max_iterations) {
    QuadraticStep result;
    double total_share = 0;
    for_each_pair([&](const ComplementaryPair& pair) { total_share += pair.share; });
    if (cone_.present()) total_share += cone_.share();
    double best_merit = INFINITY;
    int since_best = 0;
    for (int iteration = 0; iteration < max_iterations; ++iteration) {
      residuals();
      result.iterations = iteration;
      const double merit = complementarity_ + dual_error_ + primal_error_;
      if (complementarity_ <= tolerance && dual_error_ <= tolerance && primal_error_ <= tolerance) {
        result.converged = true;
        break;
      }
      // Rounding has won once nothing improves for many steps, or all that was gained is being lost again.
      if (merit < 0.9 * best_merit) {
        best_merit = merit;
        since_best = 0;
        best_ = current_;
      } else if (++since_best > 15 || (since_best > 5 && best_merit < 1e-6 && merit > 1e3 * best_merit)) {
        break;
      }
      assemble();
      aim(0.0, 0.0);
      direction();
      const double affine = step_length(1.0);
      double after = 0;
      for_each_pair([&](const ComplementaryPair& pair) { after += pair.product_after(affine); });
      if (cone_.present()) after += cone_.product_sum_after(affine);
      const double ratio = complementarity_ > 0 ? std::clamp(after / complementarity_, 0.0, 1.0) : 0.0;
      const double target = total_share > 0 ? ratio * ratio * ratio * complementarity_ / total_share : 0.0;
      aim(1.0, target);
      direction();
      move(recentred(step_length(0.99), target));
    }
    if (!result.converged) current_ = best_;
    finish(result);
    return result;
  }

 private:
  // Everything that moves.
  struct Iterate {
    std::vector<double> d, r;
    std::vector<ComplementaryPair> pieces;     // value + ... <= r of the row
    std::vector<ComplementaryPair> rise, gap;  // per hinge: rise >= 0, rise >= change
    std::vector<ComplementaryPair> shared;
    std::vector<ComplementaryPair> wide;  // one or none
  };

  template <class Visit>
  void for_each_pair(Visit&& visit) {
    for (auto* group : {&pieces_, &rise_, &gap_, &shared_, &wide_pair_})
      for (ComplementaryPair& pair : *group) visit(pair);
  }

  // The path follows slack * multiplier = mu * share, with the share a piece has of its row's weight: a row of a million weighs a
  // millionth, and a common mu would keep its multipliers far from their natural size for most of the solve.
  void start() {
    constexpr double lift = 0.1;
    for (std::int64_t i = 0; i < tied_.size(); ++i) {
      const auto first = tied_.piece_at[i], last = tied_.piece_at[i + 1];
      r_[i] = -INFINITY;
      for (auto k = first; k < last; ++k) {
        double value = tied_.value[k];
        for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) {
          rise_[h].slack = lift + std::max(0.0, tied_.hinge_value[h]);
          gap_[h].slack = rise_[h].slack - tied_.hinge_value[h];
          value += rise_[h].slack;
        }
        r_[i] = std::max(r_[i], value + lift);
        image_[k] = value;
      }
      for (auto k = first; k < last; ++k) {
        ComplementaryPair& piece = pieces_[k];
        piece.slack = r_[i] - image_[k];
        piece.multiplier = piece.share = tied_.weight[i] / static_cast<double>(last - first);
        for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h)
          for (ComplementaryPair* side : {&rise_[h], &gap_[h]}) side->multiplier = side->share = 0.5 * piece.share;
      }
    }
    double pull = 0;
    for (int a = 0; a < size_; ++a) pull = std::max(pull, std::fabs(linear_[a]));
    const double share = std::max(pull, 1e-6) / static_cast<double>(shared_.size() + 1);
    for (ComplementaryPair& pair : wide_pair_) {
      pair.share = share;
      pair.slack = std::max(wide_.slack, lift);
      pair.multiplier = share * lift / pair.slack;
    }
    if (cone_.present()) cone_.start(lift, share);
    for (std::size_t c = 0; c < shared_.size(); ++c) {
      shared_[c].share = share;
      shared_[c].slack = std::max(constraints_[c].slack, lift);
      shared_[c].multiplier = share * lift / shared_[c].slack;
    }
    residuals();
    assemble();
    aim(0.0, 0.0);
    direction();
    for (int a = 0; a < size_; ++a) d_[a] += step_d_[a];
    for (std::size_t i = 0; i < r_.size(); ++i) r_[i] += r_step_[i];
    for_each_pair([](ComplementaryPair& pair) { pair.jump(lift); });
    if (cone_.present()) cone_.jump(lift);
  }

  double hinge_slope(std::int64_t i, std::int64_t h, const std::vector<double>& v) const {
    const std::int32_t* slot = tied_.varied_slot.data() + tied_.varied_at[i];
    return tied_.hinge_price_coef[h] * v[slot[0]] +
           tied_.hinge_level_coef[h] * (v[slot[tied_.hinge_level[h]]] - v[slot[tied_.hinge_envelope[h]]]);
  }

  template <class Visit>
  void for_each_row(Visit&& visit) {
    for_each_block(blocks_, n_threads_, [&](std::int64_t block) {
      for (auto i = blocks_.begin(block); i < blocks_.end(block); ++i) visit(i);
    });
  }

  // out += what visit(i, part) adds to a vector for every tied row i.
  template <class Visit>
  void sum_rows(std::vector<double>& out, Visit&& visit) {
    for_each_block(blocks_, n_threads_, [&](std::int64_t block) {
      auto& part = vector_parts_[block];
      part.assign(stride_, 0.0);
      for (auto i = blocks_.begin(block); i < blocks_.end(block); ++i) visit(i, part);
    });
    for (const auto& part : vector_parts_)
      for (std::size_t a = 0; a < part.size(); ++a) out[a] += part[a];
  }

  // image_k = gradient_k . v for every piece of a row, with the given entries at the varied slots, and the same for its hinges.
  void apply(std::int64_t i, const std::vector<double>& varied, const std::vector<double>& v) {
    double common = tied_.part(i).dot(v.data());
    for (auto e = tied_.shared_at[i]; e < tied_.shared_at[i + 1]; ++e) common += v[tied_.shared_slot[e]];
    const auto first_slot = tied_.varied_at[i], n_varied = tied_.varied_at[i + 1] - first_slot;
    const double* entry = varied.data() + tied_.entry_at[i];
    for (auto k = tied_.piece_at[i]; k < tied_.piece_at[i + 1]; ++k) {
      double sum = tied_.coef[k] * common;
      for (std::int64_t e = 0; e < n_varied; ++e) sum += *entry++ * v[tied_.varied_slot[first_slot + e]];
      image_[k] = sum;
      for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) hinge_image_[h] = hinge_slope(i, h, v);
    }
  }

  // out += sum over a row's pieces of force_k gradient_k, with the given entries at the varied slots, + sum over its hinges of
  // hinge_force_h gradient_h.
  void apply_transposed(std::int64_t i, const std::vector<double>& varied, std::vector<double>& out) const {
    double common = 0;
    const std::int32_t* slot = tied_.varied_slot.data() + tied_.varied_at[i];
    const auto n_varied = tied_.varied_at[i + 1] - tied_.varied_at[i];
    const double* entry = varied.data() + tied_.entry_at[i];
    for (auto k = tied_.piece_at[i]; k < tied_.piece_at[i + 1]; ++k) {
      common += force_[k] * tied_.coef[k];
      for (std::int64_t e = 0; e < n_varied; ++e) out[slot[e]] += force_[k] * *entry++;
      for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) {
        out[slot[0]] += hinge_force_[h] * tied_.hinge_price_coef[h];
        out[slot[tied_.hinge_level[h]]] += hinge_force_[h] * tied_.hinge_level_coef[h];
        out[slot[tied_.hinge_envelope[h]]] -= hinge_force_[h] * tied_.hinge_level_coef[h];
      }
    }
    tied_.part(i).add_to(out.data(), common);
    for (auto e = tied_.shared_at[i]; e < tied_.shared_at[i + 1]; ++e) out[tied_.shared_slot[e]] += common;
  }

  double constraint_image(const SharedConstraint& c, const std::vector<double>& v) const {
    return c.first_coef * v[c.first] + c.second_coef * v[c.second];
  }

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

  void aim(double correction, double target) {
    for_each_pair([&](ComplementaryPair& pair) { pair.aim(correction, target); });
    if (cone_.present()) cone_.aim(correction, target);
  }

  void residuals() {
    for_each_pair([](ComplementaryPair& pair) { pair.refresh(); });
    if (cone_.present()) cone_.refresh(d_);
    for (std::size_t k = 0; k < pieces_.size(); ++k) force_[k] = pieces_[k].multiplier;
    for (std::size_t h = 0; h < gap_.size(); ++h) hinge_force_[h] = gap_[h].multiplier;
    std::copy(linear_, linear_ + stride_, dual_residual_.begin());
    apply_curvature(d_, dual_residual_);
    sum_rows(dual_residual_, [&](std::int64_t i, std::vector<double>& part) {
      apply_transposed(i, tied_.varied, part);
      apply(i, tied_.varied, d_);
    });
    for (std::size_t c = 0; c < shared_.size(); ++c) add_constraint(constraints_[c], shared_[c].multiplier, dual_residual_);
    for (const ComplementaryPair& pair : wide_pair_) add_wide(pair.multiplier, dual_residual_);
    if (cone_.present()) cone_.add_multiplier(dual_residual_);
    dual_residual_[size_] = 0;
    dual_error_ = 0;
    for (const double g : dual_residual_) dual_error_ = std::max(dual_error_, std::fabs(g));
    primal_error_ = 0;
    complementarity_ = 0;
    for_each_pair([&](const ComplementaryPair& pair) { complementarity_ += pair.slack * pair.multiplier; });
    if (cone_.present()) {
      complementarity_ += cone_.product_sum();
      primal_error_ = cone_.error();
    }
    for (std::int64_t i = 0; i < tied_.size(); ++i)
      for (auto k = tied_.piece_at[i]; k < tied_.piece_at[i + 1]; ++k) {
        miss_[k] = tied_.value[k] + image_[k] - r_[i] + pieces_[k].slack;
        for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) {
          miss_[k] += rise_[h].slack;
          hinge_miss_[h] = tied_.hinge_value[h] + hinge_image_[h] - rise_[h].slack + gap_[h].slack;
          hinge_balance_[h] = pieces_[k].multiplier - rise_[h].multiplier - gap_[h].multiplier;
          primal_error_ += pieces_[k].multiplier * std::fabs(hinge_miss_[h]) + std::fabs(hinge_balance_[h]) * rise_[h].slack;
        }
        primal_error_ += pieces_[k].multiplier * std::fabs(miss_[k]);
      }
    for (std::size_t c = 0; c < shared_.size(); ++c) {
      // Relative to the numbers that are subtracted: a long step leaves rounding of its own size.
      const double image = constraint_image(constraints_[c], d_);
      const double miss = image - constraints_[c].slack + shared_[c].slack;
      primal_error_ = std::max(primal_error_, std::fabs(miss) / (1.0 + std::fabs(image) + constraints_[c].slack));
    }
    for (const ComplementaryPair& pair : wide_pair_) {
      const double image = wide_image(d_);
      wide_miss_ = image - wide_.slack + pair.slack;
      primal_error_ = std::max(primal_error_, std::fabs(wide_miss_) / (1.0 + std::fabs(image) + wide_.slack));
    }
  }

  // The matrix H + sum_i sum_k D_k (g_k - mean_i)(g_k - mean_i)^T + hinges + shared constraints, factored. Subtracting the D-weighted
  // mean of a row is what eliminating r_i amounts to. Eliminating a hinge with A = multiplier / slack of "rise >= 0" and Y that of
  // "rise >= change" adds Y / (A + Y) of its gradient to its piece's, softens the piece by 1 / (A + Y), and leaves A Y / (A + Y) times
  // its gradient's own square.
  void assemble() {
    for_each_block(blocks_, n_threads_, [&](std::int64_t block) {
      auto& part = matrix_parts_[block];
      part.assign(stride_ * stride_, 0.0);
      std::vector<double> scratch;
      OuterSum outer(part.data(), stride_, tied_.part_slot.empty() && tied_.size() ? tied_.part(0).count : 0);
      for (auto i = blocks_.begin(block); i < blocks_.end(block); ++i) add_row(i, part, outer, scratch);
      outer.flush();
    });
    std::copy(model_.curvature.begin(), model_.curvature.end(), system_.begin());
    for (const auto& part : matrix_parts_)
      for (std::size_t a = 0; a < part.size(); ++a) system_[a] += part[a];
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

  void add_row(std::int64_t i, std::vector<double>& M, OuterSum& outer, std::vector<double>& scratch) {
    const auto first = tied_.piece_at[i], last = tied_.piece_at[i + 1];
    const auto n_varied = static_cast<std::size_t>(tied_.varied_at[i + 1] - tied_.varied_at[i]);
    const std::int32_t* slot = tied_.varied_slot.data() + tied_.varied_at[i];
    double* effective = effective_.data() + tied_.entry_at[i];
    scratch.assign(n_varied * (n_varied + 3), 0.0);
    double* const mean = scratch.data();
    double* const cross = mean + n_varied;
    double* const centred = cross + n_varied;
    double* const block = centred + n_varied;
    double total = 0, coef_mean = 0;
    for (auto k = first; k < last; ++k) {
      double* mine = effective + static_cast<std::size_t>(k - first) * n_varied;
      double softness = 1.0 / pieces_[k].ratio();
      if (tied_.hinge_at[k] < tied_.hinge_at[k + 1])
        std::copy_n(tied_.varied.data() + (mine - effective_.data()), n_varied, mine);
      for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) {
        const double A = rise_[h].ratio(), Y = gap_[h].ratio();
        const double soft = hinge_soft_[h] = 1.0 / (A + Y);
        const double taken = Y * soft, own = A * taken;
        const std::size_t level = tied_.hinge_level[h], envelope = tied_.hinge_envelope[h];
        const double price_coef = tied_.hinge_price_coef[h], level_coef = tied_.hinge_level_coef[h];
        softness += soft;
        mine[0] += taken * price_coef;
        mine[level] += taken * level_coef;
        mine[envelope] -= taken * level_coef;
        block[0] += own * price_coef * price_coef;
        block[level * n_varied] += own * price_coef * level_coef;
        block[envelope * n_varied] -= own * price_coef * level_coef;
        block[level * n_varied + level] += own * level_coef * level_coef;
        block[envelope * n_varied + envelope] += own * level_coef * level_coef;
        block[envelope * n_varied + level] -= own * level_coef * level_coef;
      }
      const double D = weight_[k] = 1.0 / softness;
      total += D;
      coef_mean += D * tied_.coef[k];
      for (std::size_t e = 0; e < n_varied; ++e) mean[e] += D * mine[e];
    }
    row_weight_[i] = total;
    coef_mean /= total;
    for (std::size_t e = 0; e < n_varied; ++e) mean[e] /= total;
    double spread = 0;
    if (last - first > 1) {
      for (auto k = first; k < last; ++k) {
        const double D = weight_[k];
        const double coef = tied_.coef[k] - coef_mean;
        const double* mine = effective + static_cast<std::size_t>(k - first) * n_varied;
        spread += D * coef * coef;
        for (std::size_t e = 0; e < n_varied; ++e) centred[e] = mine[e] - mean[e];
        for (std::size_t e = 0; e < n_varied; ++e) cross[e] += D * coef * centred[e];
        add_square(block, centred, static_cast<int>(n_varied), D);
      }
    }
    for (std::size_t e = 0; e < n_varied; ++e)
      for (std::size_t f = 0; f <= e; ++f) {
        const auto [low, high] = std::minmax(slot[e], slot[f]);
        M[static_cast<std::size_t>(high) * stride_ + low] += block[e * n_varied + f];
      }
    if (spread == 0) return;
    const RowPart part = tied_.part(i);
    const std::int32_t* shared = tied_.shared_slot.data() + tied_.shared_at[i];
    const int n_shared = static_cast<int>(tied_.shared_at[i + 1] - tied_.shared_at[i]);
    outer.add(part, shared, n_shared, spread);
    for (std::size_t e = 0; e < n_varied; ++e) {
      part.add_to(M.data() + static_cast<std::size_t>(slot[e]) * stride_, cross[e]);
      for (int q = 0; q < n_shared; ++q) {
        const auto [low, high] = std::minmax(slot[e], shared[q]);
        M[static_cast<std::size_t>(high) * stride_ + low] += cross[e];
      }
    }
  }

  // Newton direction for the products the pairs aim at. A piece's multiplier changes by
  //   D (g . step - r_step) + drift,   and a hinge's by   (A Y / (A + Y)) h . step + (Y / (A + Y)) (piece's change) + own drift.
  void direction() {
    for (std::size_t a = 0; a < stride_; ++a) rhs_[a] = -dual_residual_[a];
    sum_rows(rhs_, [&](std::int64_t i, std::vector<double>& part) {
      aim_forces(i);
      apply_transposed(i, effective_, part);
    });
    for (std::size_t c = 0; c < shared_.size(); ++c) {
      const double miss = constraint_image(constraints_[c], d_) - constraints_[c].slack + shared_[c].slack;
      add_constraint(constraints_[c], shared_[c].product * shared_[c].inverse_slack - shared_[c].ratio() * miss, rhs_);
    }
    for (const ComplementaryPair& pair : wide_pair_)
      add_wide(pair.product * pair.inverse_slack - pair.ratio() * wide_miss_, rhs_);
    if (cone_.present()) cone_.add_force(rhs_);
    step_d_ = rhs_;
    cholesky_solve(system_.data(), size_, stride_, step_d_.data());
    step_d_[size_] = 0;
    for_each_row([&](std::int64_t i) {
      apply(i, effective_, step_d_);
      follow_step(i);
    });
    for (std::size_t c = 0; c < shared_.size(); ++c) {
      const double miss = constraint_image(constraints_[c], d_) - constraints_[c].slack + shared_[c].slack;
      shared_[c].slack_step = -constraint_image(constraints_[c], step_d_) - miss;
      shared_[c].follow_slack();
    }
    for (ComplementaryPair& pair : wide_pair_) {
      pair.slack_step = -wide_image(step_d_) - wide_miss_;
      pair.follow_slack();
    }
    if (cone_.present()) cone_.follow(step_d_);
  }

  // The forces of a row's pieces and hinges on the step.
  void aim_forces(std::int64_t i) {
    const auto first = tied_.piece_at[i], last = tied_.piece_at[i + 1];
    double drift_sum = 0, mass = 0;
    for (auto k = first; k < last; ++k) {
      const ComplementaryPair& piece = pieces_[k];
      double drift = miss_[k] - piece.product / piece.multiplier;
      for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) {
        // rise's step = (Y h . step - (piece's multiplier step) + pull) / (A + Y); the rest of gap's is its own drift.
        const double Y = gap_[h].ratio(), own = Y * hinge_miss_[h] - gap_[h].product * gap_[h].inverse_slack;
        const double pull = own - hinge_balance_[h] - rise_[h].product * rise_[h].inverse_slack;
        hinge_pull_[h] = pull;
        hinge_force_[h] = Y * hinge_soft_[h] * pull - own;
        drift += hinge_soft_[h] * pull;
      }
      drift_[k] = weight_[k] * drift;
      drift_sum += drift_[k];
      mass += piece.multiplier;
    }
    row_pull_[i] = (drift_sum - (tied_.weight[i] - mass)) / row_weight_[i];
    for (auto k = first; k < last; ++k) force_[k] = weight_[k] * row_pull_[i] - drift_[k];
  }

  // The steps of a row's pieces and hinges, from the images of the step.
  void follow_step(std::int64_t i) {
    const auto first = tied_.piece_at[i], last = tied_.piece_at[i + 1];
    double pull = 0;
    for (auto k = first; k < last; ++k) pull += weight_[k] * image_[k];
    r_step_[i] = row_pull_[i] + pull / row_weight_[i];
    for (auto k = first; k < last; ++k) {
      ComplementaryPair& piece = pieces_[k];
      piece.multiplier_step = drift_[k] + weight_[k] * (image_[k] - r_step_[i]);
      piece.slack_step = -(piece.product + piece.slack * piece.multiplier_step) / piece.multiplier;
      for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) {
        ComplementaryPair &rise = rise_[h], &gap = gap_[h];
        rise.slack_step = (gap.ratio() * hinge_image_[h] - piece.multiplier_step + hinge_pull_[h]) * hinge_soft_[h];
        rise.follow_slack();
        gap.slack_step = rise.slack_step - hinge_image_[h] - hinge_miss_[h];
        gap.follow_slack();
      }
    }
  }

  // A direction costs far less than a factorisation: up to three more of them, each aimed to let the step be longer, pay.
  double recentred(double length, double target) {
    for (int attempt = 0; attempt < 3 && length < 0.9; ++attempt) {
      for_each_pair([&](ComplementaryPair& pair) {
        pair.earlier_product = pair.product;
        pair.recentre(std::min(1.0, length + 0.3), target);
      });
      direction();
      const double longer = step_length(0.99);
      if (longer < length) {
        for_each_pair([](ComplementaryPair& pair) { pair.product = pair.earlier_product; });
        direction();
        break;
      }
      const bool worth_more = longer > length + 0.03;
      length = longer;
      if (!worth_more) break;
    }
    return length;
  }

  double step_length(double fraction) {
    double length = 1.0 / fraction;
    for_each_pair([&](const ComplementaryPair& pair) { pair.shorten(length); });
    if (cone_.present()) cone_.shorten(length);
    return fraction * length;
  }

  void move(double length) {
    for (int a = 0; a < size_; ++a) d_[a] += length * step_d_[a];
    for (std::size_t i = 0; i < r_.size(); ++i) r_[i] += length * r_step_[i];
    for_each_pair([&](ComplementaryPair& pair) { pair.move(length); });
    if (cone_.present()) cone_.move(length);
  }

  void finish(QuadraticStep& result) {
    for_each_row([&](std::int64_t i) { apply(i, tied_.varied, d_); });
    double change = 0;
    result.mass.resize(pieces_.size());
    result.hinge_mass.resize(gap_.size());
    for (std::int64_t i = 0; i < tied_.size(); ++i) {
      const auto first = tied_.piece_at[i], last = tied_.piece_at[i + 1];
      double before = -INFINITY, after = -INFINITY, mass = 0;
      for (auto k = first; k < last; ++k) {
        double now = tied_.value[k], then = now + image_[k];
        for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) {
          now += std::max(0.0, tied_.hinge_value[h]);
          then += std::max(0.0, tied_.hinge_value[h] + hinge_image_[h]);
        }
        before = std::max(before, now);
        after = std::max(after, then);
        mass += pieces_[k].multiplier;
      }
      change += tied_.weight[i] * (after - before);
      const double scale = tied_.weight[i] / mass;
      for (auto k = first; k < last; ++k) {
        result.mass[k] = scale * pieces_[k].multiplier;
        for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h)
          result.hinge_mass[h] = std::min(scale * gap_[h].multiplier, result.mass[k]);
      }
    }
    std::vector<double> curved(stride_, 0.0);
    apply_curvature(d_, curved);
    for (int a = 0; a < size_; ++a) change += (linear_[a] + 0.5 * curved[a]) * d_[a];
    result.decrease = -change;
    result.step = d_;
    result.multiplier.resize(shared_.size());
    for (std::size_t c = 0; c < shared_.size(); ++c) result.multiplier[c] = shared_[c].multiplier;
  }

  const RowModel& model_;
  const TiedRows& tied_;
  int size_;
  std::size_t stride_;
  const double* linear_;
  const double* damping_;
  const std::vector<SharedConstraint>& constraints_;
  const WideConstraint& wide_;
  NormCone cone_;
  int n_threads_;
  RowBlocks blocks_;
  Iterate current_, best_;
  std::vector<double>&d_ = current_.d, &r_ = current_.r;
  std::vector<ComplementaryPair>&wide_pair_ = current_.wide, &pieces_ = current_.pieces, &rise_ = current_.rise,
  &gap_ = current_.gap, &shared_ = current_.shared;
  std::vector<double> step_d_, dual_residual_, rhs_, system_;
  std::vector<std::vector<double>> vector_parts_, matrix_parts_;  // partial sums of each block, allocated once per solve
  std::vector<double> effective_;                                 // varied entries of the pieces with their hinges' parts added
  std::vector<double> weight_, force_, drift_, image_, miss_;     // per piece
  std::vector<double> hinge_image_, hinge_miss_, hinge_force_, hinge_balance_, hinge_pull_, hinge_soft_;
  std::vector<double> r_step_, row_weight_, row_pull_;  // per tied row
  double complementarity_ = 0, dual_error_ = 0, primal_error_ = 0, wide_miss_ = 0;
};

}  // namespace

QuadraticStep solve_quadratic_step(const RowModel& model, int size, const double* linear, const double* damping,
                                   const StepConstraints& constraints, double tolerance, int max_iterations, int n_threads) {
  return InteriorPoint(model, size, linear, damping, constraints, n_threads).run(tolerance, max_iterations);
}

}  // namespace surefoot
