// One second-order cone constraint inside an interior point:  || (scale_j x_j)_j ||_2 <= x_price.
//
// slack s = (x_price, scale_j x_j) and multiplier z both live in the cone K = {(u0, u) : ||u|| <= u0}. With Jordan's product
// a o b = (a.b, a0 b + b0 a) the central path is s o z = mu share e. Nesterov and Todd's scaling is the symmetric W with
// W z = W^-1 s =: lambda; in its coordinates slack and multiplier are the same vector, and a direction solves
//   lambda o (W^-1 ds + W dz) = -product.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace surefoot {

struct NormConstraint {
  std::int32_t price = 0;
  double price_value = 0;            // x_price where the step starts
  std::vector<std::int32_t> slot;    // empty: no constraint
  std::vector<double> scale, value;  // value = scale_j x_j where the step starts
};

class NormCone {
 public:
  explicit NormCone(const NormConstraint& constraint);

  bool present() const { return !constraint_.slot.empty(); }
  double share() const { return share_; }

  // A first interior pair, and the one after a full step, pulled back into the cone.
  void start(double lift, double share);
  void jump(double lift);

  // Scaling at the current pair, and how far slack is from what the step d says.
  void refresh(const std::vector<double>& d);
  double error() const;  // relative size of that miss
  double product_sum() const;
  double product_sum_after(double length) const;

  void add_multiplier(std::vector<double>& gradient) const;               // gradient -= B^T z
  void add_system(std::vector<double>& lower, std::size_t stride) const;  // lower += B^T W^-2 B
  void aim(double correction, double target);
  void add_force(std::vector<double>& rhs) const;  // the right-hand side of the eliminated system
  void follow(const std::vector<double>& step);
  void shorten(double& length) const;
  void move(double length);

 private:
  using Vector = std::vector<double>;
  std::size_t size() const { return constraint_.slot.size() + 1; }
  Vector image(const Vector& v) const;  // B v
  void scatter(const Vector& u, double sign, Vector& out) const;
  Vector scaled(const Vector& u) const;    // W u
  Vector unscaled(const Vector& u) const;  // W^-1 u

  const NormConstraint& constraint_;
  double share_ = 0;
  Vector slack_, multiplier_, slack_step_, multiplier_step_, miss_;
  double eta_ = 1;
  Vector w_;        // W = eta (w0, w^T; w, I + w w^T / (1 + w0))
  Vector lambda_;   // W z = W^-1 s
  Vector divided_;  // lambda \ product: the x with lambda o x = product
};

}  // namespace surefoot
