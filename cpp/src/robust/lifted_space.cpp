#include "surefoot/robust/lifted_space.hpp"

#include <algorithm>
#include <cmath>

namespace surefoot {
namespace {

// What is not a number stays one, whichever of the two it is.
double lower(double a, double b) { return std::isnan(a) || a < b ? a : b; }
double higher(double a, double b) { return std::isnan(a) || a > b ? a : b; }

// The norm of n numbers that are not negative. Relative to the largest no square overflows, and those that underflow do not count.
template <class Size>
double norm_of(NumericNorm norm, std::size_t n, Size&& size) {
  double largest = 0, sum = 0;
  for (std::size_t j = 0; j < n; ++j) largest = higher(largest, size(j));
  if (norm == NumericNorm::linf || largest == 0 || !std::isfinite(largest)) return largest;
  for (std::size_t j = 0; j < n; ++j) sum += norm == NumericNorm::l1 ? size(j) : (size(j) / largest) * (size(j) / largest);
  return norm == NumericNorm::l1 ? sum : largest * std::sqrt(sum);
}

NumericNorm dual(NumericNorm norm) {
  if (norm == NumericNorm::l2) return norm;
  return norm == NumericNorm::l1 ? NumericNorm::linf : NumericNorm::l1;
}

}  // namespace

int LiftedSpace::n_coefficients() const {
  const auto free = std::count_if(layout.level.begin(), layout.level.end(), [&](int slot) { return slot < layout.size; });
  return layout.first_numeric + static_cast<int>(numeric_weight.size()) + static_cast<int>(free);
}

void LiftedSpace::tighten(double* x) const {
  x[layout.size] = 0;
  for (int l = 0; l < prices.n_categorical; ++l) {
    double low = x[layout.level[prices.level_offset[l]]], high = low;
    for (auto c = prices.level_offset[l] + 1; c < prices.level_offset[l + 1]; ++c) {
      low = lower(low, x[layout.level[c]]);
      high = higher(high, x[layout.level[c]]);
    }
    x[layout.low[l]] = low;
    x[layout.high[l]] = high;
    x[layout.size] = 0;
  }
  if (norm == NumericNorm::linf)
    for (std::size_t k = 0; k < priced.size(); ++k)
      x[static_cast<std::size_t>(layout.price) + 1 + k] = std::abs(x[layout.first_numeric + priced[k]]);
  x[layout.price] = std::max({x[layout.price], least_price(x), 0.0});
}

double LiftedSpace::least_price(const double* x) const {
  return norm_of(dual(norm), numeric_weight.size(),
                 [&](std::size_t j) { return std::abs(x[layout.first_numeric + static_cast<int>(j)]) / numeric_weight[j]; });
}

double LiftedSpace::numeric_cost(const double* gradient) const {
  return norm_of(norm, priced.size(), [&](std::size_t k) {
    return numeric_weight[priced[k]] * std::abs(gradient[layout.first_numeric + priced[k]]);
  });
}

QpConstraints LiftedSpace::constraints_at(const double* x) const {
  QpConstraints here = constraints;
  for (auto& pair : here.pairs) pair.slack = -(pair.first_coef * x[pair.first] + pair.second_coef * x[pair.second]);
  here.sum.slack = 0;
  for (std::size_t k = 0; k < here.sum.slot.size(); ++k) here.sum.slack -= here.sum.coef[k] * x[here.sum.slot[k]];
  here.cone.price_value = x[here.cone.price];
  for (std::size_t k = 0; k < here.cone.slot.size(); ++k) here.cone.value[k] = here.cone.scale[k] * x[here.cone.slot[k]];
  return here;
}

QpTerms qp_terms(const RowModel& model, const LiftedSpace& space, double radius, double regularisation) {
  const std::size_t length = model.gradient.size();
  const int n = space.n_coefficients();
  QpTerms terms{model.gradient, std::vector<double>(length)};
  terms.linear[static_cast<std::size_t>(space.layout.price)] += radius;
  terms.linear[static_cast<std::size_t>(space.layout.size)] = 0;
  const auto curvature = [&](std::size_t a) { return model.curvature[a * (length + 1)]; };
  double typical = 0;
  for (int a = 0; a < n; ++a) typical += curvature(static_cast<std::size_t>(a));
  typical = n > 0 ? typical / n : 1.0;
  for (std::size_t a = 0; a < length; ++a) terms.regularisation[a] = regularisation * std::max(curvature(a), typical);
  return terms;
}

}  // namespace surefoot
