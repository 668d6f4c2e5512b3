#include "surefoot/quadratic_step.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "surefoot/cholesky.hpp"
#include "surefoot/outer_product.hpp"
#include "surefoot/parallel.hpp"

namespace surefoot {
namespace {

// Shortest multiple of (ds, dz) that hits the boundary of s, z > 0.
void shorten(double value, double change, double& length) {
  if (change < 0) length = std::min(length, -value / change);
}

class InteriorPoint {
 public:
  InteriorPoint(const RowModel& model, int size, const double* linear, const double* damping,
                const std::vector<SharedConstraint>& constraints, int n_threads)
      : model_(model),
        tied_(model.tied),
        size_(size),
        stride_(static_cast<std::size_t>(size) + 1),
        linear_(linear),
        damping_(damping),
        constraints_(constraints),
        n_threads_(n_threads),
        blocks_(std::max<std::int64_t>(tied_.size(), 1)),
        d_(stride_),
        step_d_(stride_),
        dual_residual_(stride_),
        rhs_(stride_),
        system_(stride_ * stride_) {
    const auto pieces = static_cast<std::size_t>(tied_.n_pieces());
    for (auto* v : {&s_, &z_, &share_, &ds_, &dz_, &h_, &product_, &image_}) v->resize(pieces);
    const auto rows = static_cast<std::size_t>(tied_.size());
    for (auto* v : {&r_, &dr_, &row_sum_, &row_pull_}) v->resize(rows);
    for (auto* v : {&t_, &y_, &dt_, &dy_, &hc_, &product_c_}) v->resize(constraints.size());
    start();
  }

  QuadraticStep run(double tolerance, int max_iterations) {
    QuadraticStep result;
    const double total_share = std::accumulate(share_.begin(), share_.end(), 0.0) + share_c_ * static_cast<double>(t_.size());
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
      // Rounding has won once nothing improves for several steps.
      if (merit < 0.9 * best_merit) {
        best_merit = merit;
        since_best = 0;
      } else if (++since_best > 15) {
        break;
      }
      assemble();
      set_products(0.0, 0.0);
      direction();
      const double affine = step_length(1.0);
      double after = 0;
      for (std::size_t k = 0; k < s_.size(); ++k) after += (s_[k] + affine * ds_[k]) * (z_[k] + affine * dz_[k]);
      for (std::size_t c = 0; c < t_.size(); ++c) after += (t_[c] + affine * dt_[c]) * (y_[c] + affine * dy_[c]);
      const double ratio = complementarity_ > 0 ? std::clamp(after / complementarity_, 0.0, 1.0) : 0.0;
      const double target = total_share > 0 ? ratio * ratio * ratio * complementarity_ / total_share : 0.0;
      set_products(1.0, target);
      direction();
      move(step_length(0.99));
    }
    finish(result);
    return result;
  }

 private:
  // The path follows s_k z_k = mu share_k, with the share a piece has of its row's weight: a row of a million weighs a millionth,
  // and a common mu would keep its multipliers far from their natural size for most of the solve.
  void start() {
    constexpr double lift = 0.1;
    for (std::int64_t i = 0; i < tied_.size(); ++i) {
      const auto first = tied_.piece_at[i], last = tied_.piece_at[i + 1];
      r_[i] = *std::max_element(tied_.value.begin() + first, tied_.value.begin() + last) + lift;
      for (auto k = first; k < last; ++k) {
        s_[k] = r_[i] - tied_.value[k];
        z_[k] = share_[k] = tied_.weight[i] / static_cast<double>(last - first);
      }
    }
    double pull = 0;
    for (int a = 0; a < size_; ++a) pull = std::max(pull, std::fabs(linear_[a]));
    share_c_ = std::max(pull, 1e-6) / static_cast<double>(t_.size() + 1);
    for (std::size_t c = 0; c < t_.size(); ++c) {
      t_[c] = std::max(constraints_[c].slack, lift);
      y_[c] = share_c_ * lift / t_[c];
    }
    // One full step towards the solution shows which multipliers will be large; nothing starts smaller than it was.
    residuals();
    assemble();
    set_products(0.0, 0.0);
    direction();
    for (int a = 0; a < size_; ++a) d_[a] += step_d_[a];
    for (std::size_t i = 0; i < r_.size(); ++i) r_[i] += dr_[i];
    for (std::size_t k = 0; k < s_.size(); ++k) {
      s_[k] = std::max(std::fabs(s_[k] + ds_[k]), lift);
      z_[k] = std::max(std::fabs(z_[k] + dz_[k]), share_[k]);
    }
    for (std::size_t c = 0; c < t_.size(); ++c) {
      t_[c] = std::max(std::fabs(t_[c] + dt_[c]), lift);
      y_[c] = std::max(std::fabs(y_[c] + dy_[c]), share_c_);
    }
  }

  // Complementarity the next direction should remove: all of it but target, corrected for the last direction's own product.
  void set_products(double correction, double target) {
    for (std::size_t k = 0; k < s_.size(); ++k) product_[k] = s_[k] * z_[k] + correction * ds_[k] * dz_[k] - target * share_[k];
    for (std::size_t c = 0; c < t_.size(); ++c) product_c_[c] = t_[c] * y_[c] + correction * dt_[c] * dy_[c] - target * share_c_;
  }

  // image_k = gradient_k . v for every piece
  void apply(const std::vector<double>& v, std::vector<double>& image) const {
    for_each_block(blocks_, n_threads_, [&](std::int64_t block) {
      for (auto i = blocks_.begin(block); i < std::min(blocks_.end(block), tied_.size()); ++i) {
        double common = 0;
        const double* dense = tied_.dense.data() + i * model_.n_dense;
        for (int a = 0; a < model_.n_dense; ++a) common += dense[a] * v[a];
        for (auto e = tied_.shared_at[i]; e < tied_.shared_at[i + 1]; ++e) common += v[tied_.shared_slot[e]];
        const auto first_slot = tied_.varied_at[i], n_varied = tied_.varied_at[i + 1] - first_slot;
        const double* entry = tied_.varied.data() + tied_.entry_at[i];
        for (auto k = tied_.piece_at[i]; k < tied_.piece_at[i + 1]; ++k) {
          double sum = tied_.coef[k] * common;
          for (std::int64_t e = 0; e < n_varied; ++e) sum += *entry++ * v[tied_.varied_slot[first_slot + e]];
          image[k] = sum;
        }
      }
    });
  }

  // out += sum over pieces of scale_k gradient_k
  void apply_transposed(const std::vector<double>& scale, std::vector<double>& out) const {
    std::vector<std::vector<double>> parts(static_cast<std::size_t>(blocks_.n_blocks));
    for_each_block(blocks_, n_threads_, [&](std::int64_t block) {
      auto& part = parts[block];
      part.assign(stride_, 0.0);
      for (auto i = blocks_.begin(block); i < std::min(blocks_.end(block), tied_.size()); ++i) {
        double common = 0;
        const auto first_slot = tied_.varied_at[i], n_varied = tied_.varied_at[i + 1] - first_slot;
        const double* entry = tied_.varied.data() + tied_.entry_at[i];
        for (auto k = tied_.piece_at[i]; k < tied_.piece_at[i + 1]; ++k) {
          common += scale[k] * tied_.coef[k];
          for (std::int64_t e = 0; e < n_varied; ++e) part[tied_.varied_slot[first_slot + e]] += scale[k] * *entry++;
        }
        const double* dense = tied_.dense.data() + i * model_.n_dense;
        for (int a = 0; a < model_.n_dense; ++a) part[a] += common * dense[a];
        for (auto e = tied_.shared_at[i]; e < tied_.shared_at[i + 1]; ++e) part[tied_.shared_slot[e]] += common;
      }
    });
    for (const auto& part : parts)
      for (std::size_t a = 0; a < part.size(); ++a) out[a] += part[a];
  }

  double constraint_image(const SharedConstraint& c, const std::vector<double>& v) const {
    return c.first_coef * v[c.first] + c.second_coef * v[c.second];
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

  void residuals() {
    std::copy(linear_, linear_ + stride_, dual_residual_.begin());
    apply_curvature(d_, dual_residual_);
    apply_transposed(z_, dual_residual_);
    for (std::size_t c = 0; c < t_.size(); ++c) {
      dual_residual_[constraints_[c].first] += constraints_[c].first_coef * y_[c];
      dual_residual_[constraints_[c].second] += constraints_[c].second_coef * y_[c];
    }
    dual_residual_[size_] = 0;
    dual_error_ = 0;
    for (const double g : dual_residual_) dual_error_ = std::max(dual_error_, std::fabs(g));
    apply(d_, image_);
    primal_error_ = 0;
    complementarity_ = 0;
    for (std::int64_t i = 0; i < tied_.size(); ++i)
      for (auto k = tied_.piece_at[i]; k < tied_.piece_at[i + 1]; ++k) {
        primal_error_ += z_[k] * std::fabs(tied_.value[k] + image_[k] - r_[i] + s_[k]);
        complementarity_ += s_[k] * z_[k];
      }
    for (std::size_t c = 0; c < t_.size(); ++c) {
      primal_error_ = std::max(primal_error_, std::fabs(constraint_image(constraints_[c], d_) - constraints_[c].slack + t_[c]));
      complementarity_ += t_[c] * y_[c];
    }
  }

  // The matrix H + sum_i sum_k D_k (gradient_k - mean_i)(gradient_k - mean_i)^T + shared constraints, factored. Subtracting the
  // D-weighted mean of a row is what eliminating r_i amounts to.
  void assemble() {
    std::vector<std::vector<double>> parts(static_cast<std::size_t>(blocks_.n_blocks));
    for_each_block(blocks_, n_threads_, [&](std::int64_t block) {
      auto& part = parts[block];
      part.assign(stride_ * stride_, 0.0);
      std::vector<double> mean, cross, centred;
      for (auto i = blocks_.begin(block); i < std::min(blocks_.end(block), tied_.size()); ++i) add_row(i, part, mean, cross, centred);
    });
    std::copy(model_.curvature.begin(), model_.curvature.end(), system_.begin());
    for (const auto& part : parts)
      for (std::size_t a = 0; a < part.size(); ++a) system_[a] += part[a];
    for (int a = 0; a < size_; ++a) system_[static_cast<std::size_t>(a) * stride_ + a] += damping_[a];
    for (std::size_t c = 0; c < t_.size(); ++c) {
      const auto& con = constraints_[c];
      const double weight = y_[c] / t_[c];
      const auto [low, high] = std::minmax(con.first, con.second);
      system_[static_cast<std::size_t>(con.first) * stride_ + con.first] += weight * con.first_coef * con.first_coef;
      system_[static_cast<std::size_t>(con.second) * stride_ + con.second] += weight * con.second_coef * con.second_coef;
      system_[static_cast<std::size_t>(high) * stride_ + low] += weight * con.first_coef * con.second_coef;
    }
    cholesky_factor(system_.data(), size_, stride_, 1e-14);
  }

  void add_row(std::int64_t i, std::vector<double>& M, std::vector<double>& mean, std::vector<double>& cross,
               std::vector<double>& centred) {
    const auto first = tied_.piece_at[i], last = tied_.piece_at[i + 1];
    const auto n_varied = static_cast<std::size_t>(tied_.varied_at[i + 1] - tied_.varied_at[i]);
    const std::int32_t* varied_slot = tied_.varied_slot.data() + tied_.varied_at[i];
    const double* varied = tied_.varied.data() + tied_.entry_at[i];
    mean.assign(n_varied, 0.0);
    cross.assign(n_varied, 0.0);
    double total = 0, coef_mean = 0;
    for (auto k = first; k < last; ++k) {
      const double D = z_[k] / s_[k];
      total += D;
      coef_mean += D * tied_.coef[k];
      for (std::size_t e = 0; e < n_varied; ++e) mean[e] += D * varied[static_cast<std::size_t>(k - first) * n_varied + e];
    }
    row_sum_[i] = total;
    coef_mean /= total;
    for (double& value : mean) value /= total;
    double spread = 0;
    centred.assign(n_varied * (n_varied + 1), 0.0);
    double* const block = centred.data() + n_varied;
    for (auto k = first; k < last; ++k) {
      const double D = z_[k] / s_[k];
      const double coef = tied_.coef[k] - coef_mean;
      spread += D * coef * coef;
      for (std::size_t e = 0; e < n_varied; ++e) centred[e] = varied[static_cast<std::size_t>(k - first) * n_varied + e] - mean[e];
      for (std::size_t e = 0; e < n_varied; ++e) {
        const double scaled = D * centred[e];
        cross[e] += coef * scaled;
        for (std::size_t f = 0; f <= e; ++f) block[e * n_varied + f] += scaled * centred[f];
      }
    }
    for (std::size_t e = 0; e < n_varied; ++e)
      for (std::size_t f = 0; f <= e; ++f) {
        const auto [low, high] = std::minmax(varied_slot[e], varied_slot[f]);
        M[static_cast<std::size_t>(high) * stride_ + low] += block[e * n_varied + f];
      }
    const double* dense = tied_.dense.data() + i * model_.n_dense;
    const std::int32_t* shared = tied_.shared_slot.data() + tied_.shared_at[i];
    const int n_shared = static_cast<int>(tied_.shared_at[i + 1] - tied_.shared_at[i]);
    add_outer(M.data(), stride_, dense, model_.n_dense, shared, n_shared, spread);
    for (std::size_t e = 0; e < n_varied; ++e) {
      double* line = M.data() + static_cast<std::size_t>(varied_slot[e]) * stride_;
      for (int a = 0; a < model_.n_dense; ++a) line[a] += cross[e] * dense[a];
      for (int q = 0; q < n_shared; ++q) {
        const auto [low, high] = std::minmax(varied_slot[e], shared[q]);
        M[static_cast<std::size_t>(high) * stride_ + low] += cross[e];
      }
    }
  }

  // Newton direction for the complementarity targets in product_ and product_c_.
  void direction() {
    for (std::size_t a = 0; a < stride_; ++a) rhs_[a] = -dual_residual_[a];
    for (std::int64_t i = 0; i < tied_.size(); ++i) {
      const auto first = tied_.piece_at[i], last = tied_.piece_at[i + 1];
      double sum_h = 0, mass = 0;
      for (auto k = first; k < last; ++k) {
        const double gap = tied_.value[k] + image_[k] - r_[i] + s_[k];
        h_[k] = (z_[k] * gap - product_[k]) / s_[k];
        sum_h += h_[k];
        mass += z_[k];
      }
      row_pull_[i] = (sum_h - (tied_.weight[i] - mass)) / row_sum_[i];
      for (auto k = first; k < last; ++k) dz_[k] = z_[k] / s_[k] * row_pull_[i] - h_[k];
    }
    apply_transposed(dz_, rhs_);
    for (std::size_t c = 0; c < t_.size(); ++c) {
      const auto& con = constraints_[c];
      const double gap = constraint_image(con, d_) - con.slack + t_[c];
      hc_[c] = (y_[c] * gap - product_c_[c]) / t_[c];
      rhs_[con.first] -= con.first_coef * hc_[c];
      rhs_[con.second] -= con.second_coef * hc_[c];
    }
    step_d_ = rhs_;
    cholesky_solve(system_.data(), size_, stride_, step_d_.data());
    step_d_[size_] = 0;
    apply(step_d_, ds_);  // ds_ holds gradient_k . step until the loop below turns it into the slack's change
    for (std::int64_t i = 0; i < tied_.size(); ++i) {
      const auto first = tied_.piece_at[i], last = tied_.piece_at[i + 1];
      double pull = 0;
      for (auto k = first; k < last; ++k) pull += z_[k] / s_[k] * ds_[k];
      dr_[i] = row_pull_[i] + pull / row_sum_[i];
      for (auto k = first; k < last; ++k) {
        const double gap = tied_.value[k] + image_[k] - r_[i] + s_[k];
        dz_[k] = h_[k] + z_[k] / s_[k] * (ds_[k] - dr_[i]);
        ds_[k] = dr_[i] - ds_[k] - gap;
      }
    }
    for (std::size_t c = 0; c < t_.size(); ++c) {
      const double image = constraint_image(constraints_[c], step_d_);
      const double gap = constraint_image(constraints_[c], d_) - constraints_[c].slack + t_[c];
      dy_[c] = hc_[c] + y_[c] / t_[c] * image;
      dt_[c] = -image - gap;
    }
  }

  double step_length(double fraction) const {
    double length = 1.0 / fraction;
    for (std::size_t k = 0; k < s_.size(); ++k) {
      shorten(s_[k], ds_[k], length);
      shorten(z_[k], dz_[k], length);
    }
    for (std::size_t c = 0; c < t_.size(); ++c) {
      shorten(t_[c], dt_[c], length);
      shorten(y_[c], dy_[c], length);
    }
    return fraction * length;
  }

  void move(double length) {
    for (int a = 0; a < size_; ++a) d_[a] += length * step_d_[a];
    for (std::size_t i = 0; i < r_.size(); ++i) r_[i] += length * dr_[i];
    for (std::size_t k = 0; k < s_.size(); ++k) {
      s_[k] += length * ds_[k];
      z_[k] += length * dz_[k];
    }
    for (std::size_t c = 0; c < t_.size(); ++c) {
      t_[c] += length * dt_[c];
      y_[c] += length * dy_[c];
    }
  }

  void finish(QuadraticStep& result) {
    apply(d_, image_);
    double change = 0;
    for (std::int64_t i = 0; i < tied_.size(); ++i) {
      const auto first = tied_.piece_at[i], last = tied_.piece_at[i + 1];
      double before = -INFINITY, after = -INFINITY, mass = 0;
      for (auto k = first; k < last; ++k) {
        before = std::max(before, tied_.value[k]);
        after = std::max(after, tied_.value[k] + image_[k]);
        mass += z_[k];
      }
      change += tied_.weight[i] * (after - before);
      for (auto k = first; k < last; ++k) z_[k] *= tied_.weight[i] / mass;
    }
    std::vector<double> curved(stride_, 0.0);
    apply_curvature(d_, curved);
    for (int a = 0; a < size_; ++a) change += (linear_[a] + 0.5 * curved[a]) * d_[a];
    result.decrease = -change;
    result.step = std::move(d_);
    result.mass = std::move(z_);
    result.multiplier = std::move(y_);
  }

  const RowModel& model_;
  const TiedRows& tied_;
  int size_;
  std::size_t stride_;
  const double* linear_;
  const double* damping_;
  const std::vector<SharedConstraint>& constraints_;
  int n_threads_;
  RowBlocks blocks_;
  std::vector<double> d_, step_d_, dual_residual_, rhs_, system_;
  double share_c_ = 0;
  std::vector<double> s_, z_, share_, ds_, dz_, h_, product_, image_;  // per piece
  std::vector<double> r_, dr_, row_sum_, row_pull_;            // per tied row
  std::vector<double> t_, y_, dt_, dy_, hc_, product_c_;       // per shared constraint
  double complementarity_ = 0, dual_error_ = 0, primal_error_ = 0;
};

}  // namespace

QuadraticStep solve_quadratic_step(const RowModel& model, int size, const double* linear, const double* damping,
                                   const std::vector<SharedConstraint>& constraints, double tolerance, int max_iterations,
                                   int n_threads) {
  return InteriorPoint(model, size, linear, damping, constraints, n_threads).run(tolerance, max_iterations);
}

}  // namespace surefoot
