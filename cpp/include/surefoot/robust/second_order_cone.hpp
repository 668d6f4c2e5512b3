// One second-order cone constraint inside a primal-dual interior point:  || (scale_j x_j)_j ||_2 <= x_price.
//
// Slack s = B (x + d) = (x_price, scale_j x_j) and multiplier z both live in the cone K = {(u0, u) : ||u|| <= u0}. With the
// Jordan product a o b = (a.b, a0 b + b0 a) the weighted central path is s o z = mu w e. The Nesterov-Todd scaling is the
// symmetric W with W z = W^-1 s =: lambda. A direction solves
//   lambda o (W^-1 ds + W dz) = -residual,      residual = lambda o lambda + (W^-1 ds_a) o (W dz_a) - sigma mu w e,
// with the affine direction (ds_a, dz_a) in Mehrotra's second-order term. Eliminating s and z leaves B^T W^-2 B in the KKT
// system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace surefoot {

struct ConeConstraint {
  std::int32_t price = 0;
  double price_value = 0;            // x_price where the step starts
  std::vector<std::int32_t> slot;    // empty: no constraint
  std::vector<double> scale, value;  // value = scale_j x_j where the step starts
};

class SecondOrderCone {
 public:
  explicit SecondOrderCone(const ConeConstraint& constraint);

  bool present() const { return !constraint_.slot.empty(); }
  double centrality_weight() const { return centrality_weight_; }

  // An interior pair, and Mehrotra's initial one: a full affine step, then apexes at least `factor` times the norm of the rest.
  void start(double margin, double centrality_weight);
  void take_initial_step(double margin, double factor);

  // The scaling W at the current pair, and the primal residual s - B (x + d).
  void update_scaling(const std::vector<double>& d);
  double primal_error() const;  // largest entry of the primal residual, relative to the slack
  double complementarity() const;
  double complementarity_after(double length) const;

  void subtract_multiplier(std::vector<double>& dual_residual) const;               // dual_residual -= B^T z
  void add_schur_complement(std::vector<double>& lower, std::size_t stride) const;  // lower += B^T W^-2 B
  // correction: 0 for the affine direction, 1 for the combined one; mu: sigma mu.
  void set_residual(double correction, double mu);
  void add_right_hand_side(std::vector<double>& rhs) const;  // of the reduced KKT system
  void recover_step(const std::vector<double>& step);
  void limit(double& length) const;
  void advance(double length);

 private:
  using Vector = std::vector<double>;
  std::size_t size() const { return constraint_.slot.size() + 1; }
  Vector image(const Vector& v) const;  // B v
  void scatter(const Vector& u, double sign, Vector& out) const;
  Vector scaled(const Vector& u) const;    // W u
  Vector unscaled(const Vector& u) const;  // W^-1 u

  const ConeConstraint& constraint_;
  double centrality_weight_ = 0;
  Vector slack_, multiplier_, slack_step_, multiplier_step_, primal_residual_;
  double eta_ = 1;
  Vector w_;                // W = eta (w0, w^T; w, I + w w^T / (1 + w0))
  Vector lambda_;           // W z = W^-1 s
  Vector scaled_residual_;  // lambda \ residual: the x with lambda o x = residual
};

}  // namespace surefoot
