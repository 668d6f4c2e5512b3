#include "surefoot/robust/second_order_cone.hpp"

#include <algorithm>
#include <cmath>

namespace surefoot {
namespace {

using Vector = std::vector<double>;

double tail_norm(const Vector& u) {
  double sum = 0;
  for (std::size_t k = 1; k < u.size(); ++k) sum += u[k] * u[k];
  return std::sqrt(sum);
}

double dot(const Vector& u, const Vector& v) {
  double sum = 0;
  for (std::size_t k = 0; k < u.size(); ++k) sum += u[k] * v[k];
  return sum;
}

// u0^2 - ||u||^2 without cancellation.
double determinant(const Vector& u) {
  const double tail = tail_norm(u);
  return (u[0] - tail) * (u[0] + tail);
}

Vector jordan(const Vector& a, const Vector& b) {
  Vector product(a.size());
  product[0] = dot(a, b);
  for (std::size_t k = 1; k < a.size(); ++k) product[k] = a[0] * b[k] + b[0] * a[k];
  return product;
}

// Jordan division: the x with a o x = b.
Vector jordan_divide(const Vector& a, const Vector& b) {
  double cross = 0;
  for (std::size_t k = 1; k < a.size(); ++k) cross += a[k] * b[k];
  Vector x(a.size());
  x[0] = (a[0] * b[0] - cross) / determinant(a);
  for (std::size_t k = 1; k < a.size(); ++k) x[k] = (b[k] - x[0] * a[k]) / a[0];
  return x;
}

// Shortens length so that u + length * step stays in the cone: the first root of a quadratic.
void stay_inside(const Vector& u, const Vector& step, double& length) {
  double cross = u[0] * step[0], square = step[0] * step[0];
  for (std::size_t k = 1; k < u.size(); ++k) {
    cross -= u[k] * step[k];
    square -= step[k] * step[k];
  }
  const double start = determinant(u);
  if (step[0] < 0 && u[0] + length * step[0] < 0) length = -u[0] / step[0];
  const double discriminant = cross * cross - square * start;
  if (discriminant < 0) return;
  const double root = std::sqrt(discriminant);
  // start + 2 cross t + square t^2 = 0, written so that nothing cancels.
  const double q = -(cross + std::copysign(root, cross));
  for (const double t : {q != 0 ? start / q : INFINITY, square != 0 ? q / square : INFINITY})
    if (t > 0 && t < length) length = t;
}

}  // namespace

SecondOrderCone::SecondOrderCone(const ConeConstraint& constraint) : constraint_(constraint) {
  if (!present()) return;
  for (auto* v : {&slack_, &multiplier_, &slack_step_, &multiplier_step_, &primal_residual_, &w_, &lambda_, &scaled_residual_})
    v->assign(size(), 0.0);
}

Vector SecondOrderCone::image(const Vector& v) const {
  Vector u(size());
  u[0] = v[constraint_.price];
  for (std::size_t k = 1; k < u.size(); ++k) u[k] = constraint_.scale[k - 1] * v[constraint_.slot[k - 1]];
  return u;
}

void SecondOrderCone::scatter(const Vector& u, double sign, Vector& out) const {
  out[constraint_.price] += sign * u[0];
  for (std::size_t k = 1; k < u.size(); ++k) out[constraint_.slot[k - 1]] += sign * constraint_.scale[k - 1] * u[k];
}

void SecondOrderCone::start(double margin, double centrality_weight) {
  centrality_weight_ = centrality_weight;
  slack_[0] = constraint_.price_value;
  std::copy(constraint_.value.begin(), constraint_.value.end(), slack_.begin() + 1);
  slack_[0] = std::max(slack_[0], tail_norm(slack_) + margin);
  std::fill(multiplier_.begin(), multiplier_.end(), 0.0);
  multiplier_[0] = centrality_weight;
}

void SecondOrderCone::take_initial_step(double margin, double factor) {
  for (std::size_t k = 0; k < size(); ++k) {
    slack_[k] += slack_step_[k];
    multiplier_[k] += multiplier_step_[k];
  }
  slack_[0] = std::max(std::fabs(slack_[0]), factor * tail_norm(slack_) + margin);
  multiplier_[0] = std::max(std::fabs(multiplier_[0]), factor * tail_norm(multiplier_) + centrality_weight_);
}

void SecondOrderCone::update_scaling(const Vector& d) {
  const Vector moved = image(d);
  primal_residual_[0] = slack_[0] - constraint_.price_value - moved[0];
  for (std::size_t k = 1; k < size(); ++k) primal_residual_[k] = slack_[k] - constraint_.value[k - 1] - moved[k];
  const double slack_size = std::sqrt(determinant(slack_)), multiplier_size = std::sqrt(determinant(multiplier_));
  eta_ = std::sqrt(slack_size / multiplier_size);
  const double gamma = std::sqrt(0.5 * (1.0 + dot(slack_, multiplier_) / (slack_size * multiplier_size)));
  w_[0] = (slack_[0] / slack_size + multiplier_[0] / multiplier_size) / (2.0 * gamma);
  for (std::size_t k = 1; k < size(); ++k) w_[k] = (slack_[k] / slack_size - multiplier_[k] / multiplier_size) / (2.0 * gamma);
  lambda_ = scaled(multiplier_);
}

Vector SecondOrderCone::scaled(const Vector& u) const {
  double tail = 0;
  for (std::size_t k = 1; k < u.size(); ++k) tail += w_[k] * u[k];
  Vector out(u.size());
  out[0] = eta_ * (w_[0] * u[0] + tail);
  for (std::size_t k = 1; k < u.size(); ++k) out[k] = eta_ * (u[k] + w_[k] * (u[0] + tail / (1.0 + w_[0])));
  return out;
}

Vector SecondOrderCone::unscaled(const Vector& u) const {
  double tail = 0;
  for (std::size_t k = 1; k < u.size(); ++k) tail += w_[k] * u[k];
  Vector out(u.size());
  out[0] = (w_[0] * u[0] - tail) / eta_;
  for (std::size_t k = 1; k < u.size(); ++k) out[k] = (u[k] + w_[k] * (tail / (1.0 + w_[0]) - u[0])) / eta_;
  return out;
}

double SecondOrderCone::primal_error() const {
  double largest = 0, size = 1.0;
  for (std::size_t k = 0; k < primal_residual_.size(); ++k) {
    largest = std::max(largest, std::fabs(primal_residual_[k]));
    size = std::max(size, std::fabs(slack_[k]));
  }
  return largest / size;
}

double SecondOrderCone::complementarity() const { return dot(slack_, multiplier_); }

double SecondOrderCone::complementarity_after(double length) const {
  double sum = 0;
  for (std::size_t k = 0; k < size(); ++k)
    sum += (slack_[k] + length * slack_step_[k]) * (multiplier_[k] + length * multiplier_step_[k]);
  return sum;
}

void SecondOrderCone::subtract_multiplier(Vector& gradient) const { scatter(multiplier_, -1.0, gradient); }

// W^-2 = (2 v v^T - J) / eta^2 with v = (w0, -w) and J = diag(1, -1, ..., -1).
void SecondOrderCone::add_schur_complement(Vector& lower, std::size_t stride) const {
  const double inverse = 1.0 / (eta_ * eta_);
  const auto entry = [&](std::size_t a, std::size_t b) {
    const double va = a == 0 ? w_[0] : -w_[a], vb = b == 0 ? w_[0] : -w_[b];
    return inverse * (2.0 * va * vb - (a == b ? (a == 0 ? 1.0 : -1.0) : 0.0));
  };
  const auto slot = [&](std::size_t a) { return a == 0 ? constraint_.price : constraint_.slot[a - 1]; };
  const auto scale = [&](std::size_t a) { return a == 0 ? 1.0 : constraint_.scale[a - 1]; };
  for (std::size_t a = 0; a < size(); ++a)
    for (std::size_t b = 0; b <= a; ++b) {
      const std::int32_t low = std::min(slot(a), slot(b)), high = std::max(slot(a), slot(b));
      lower[static_cast<std::size_t>(high) * stride + static_cast<std::size_t>(low)] += scale(a) * scale(b) * entry(a, b);
    }
}

void SecondOrderCone::set_residual(double correction, double mu) {
  Vector residual = jordan(lambda_, lambda_);
  if (correction != 0) {
    const Vector second = jordan(unscaled(slack_step_), scaled(multiplier_step_));
    for (std::size_t k = 0; k < size(); ++k) residual[k] += correction * second[k];
  }
  residual[0] -= mu * centrality_weight_;
  scaled_residual_ = jordan_divide(lambda_, residual);
}

// With ds = B step - p and dz = -W^-1 q - W^-2 ds (p: primal residual, q = lambda \ residual):
//   (H + B^T W^-2 B) step = -dual residual - B^T (W^-1 q - W^-2 p).
void SecondOrderCone::add_right_hand_side(Vector& rhs) const {
  Vector rhs_part = unscaled(scaled_residual_);
  const Vector back = unscaled(unscaled(primal_residual_));
  for (std::size_t k = 0; k < size(); ++k) rhs_part[k] -= back[k];
  scatter(rhs_part, -1.0, rhs);
}

void SecondOrderCone::recover_step(const Vector& step) {
  slack_step_ = image(step);
  for (std::size_t k = 0; k < size(); ++k) slack_step_[k] -= primal_residual_[k];
  const Vector fixed = unscaled(scaled_residual_), scaled_step = unscaled(unscaled(slack_step_));
  for (std::size_t k = 0; k < size(); ++k) multiplier_step_[k] = -fixed[k] - scaled_step[k];
}

void SecondOrderCone::limit(double& length) const {
  stay_inside(slack_, slack_step_, length);
  stay_inside(multiplier_, multiplier_step_, length);
}

void SecondOrderCone::advance(double length) {
  for (std::size_t k = 0; k < size(); ++k) {
    slack_[k] += length * slack_step_[k];
    multiplier_[k] += length * multiplier_step_[k];
  }
}

}  // namespace surefoot
