#include "surefoot/riskscore/search/rounding_slack.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "surefoot/riskscore/fit/child_fit.hpp"

namespace surefoot {
namespace {

constexpr double unit = 0x1p-53;
constexpr double loss_error = 8;  // E of the header
// Relative to 1 + R: bounds what is left between the two tangents along lambda that meet below a worst case, 1e-15 (1 + value).
constexpr double tangent_gap = 1e-13;

// The largest `count` entries.
std::vector<double> largest(std::vector<double> values, std::size_t count) {
  std::sort(values.begin(), values.end(), std::greater<>());
  if (values.size() > count) values.resize(count);
  return values;
}

double sum(const std::vector<double>& values) {
  double total = 0;
  for (const double value : values) total += value;
  return total;
}

}  // namespace

RoundingSlack::RoundingSlack(const ScoreProblem& problem, const CodedTable& table)
    : size_(problem.max_size),
      intercept_lower_(problem.intercept_lower),
      intercept_upper_(problem.intercept_upper),
      scale_(problem.scale.high),
      formed_(problem.shift.active() || problem.scale.free()),
      n_rows_(static_cast<double>(table.n_rows())) {
  for (int j = 0; j < table.n_columns(); ++j) {
    const auto& value = table.value[static_cast<std::size_t>(j)];
    double mean = 0, square = 0, most = 0;
    // What can be flipped may be 1 in any row.
    const bool flips = problem.shift.active() && problem.shift.flips[static_cast<std::size_t>(j)] != 0;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const double size = flips ? 1.0 : std::fabs(value[i]);
      mean += table.total[i] * size;
      square += table.total[i] * size * size;
      most = std::max(most, size);
    }
    const double points =
        problem.scale.high * std::max(std::abs(problem.lowest(j)), std::abs(problem.highest(j))) + iterate_margin;
    column_mean_.push_back(mean);
    column_root_.push_back(std::sqrt(square));
    mean_.push_back(points * mean);
    root_.push_back(points * std::sqrt(square));
    most_.push_back(points * most);
  }
  const std::size_t size = static_cast<std::size_t>(size_);
  mean_ = largest(std::move(mean_), size);
  root_ = largest(std::move(root_), size);
  most_ = largest(std::move(most_), size);
}

RoundingSlack::ScoreSizes RoundingSlack::sizes(int intercept_low, int intercept_high) const {
  const double intercept = scale_ * std::max(std::abs(intercept_low), std::abs(intercept_high)) + iterate_margin;
  const double root = intercept + sum(root_);
  return {intercept + sum(mean_), root * root, intercept + sum(most_)};
}

// Points 1 to 5 of the header.
double RoundingSlack::common(const ScoreSizes& sizes, double n_columns, double n_terms) {
  const double k = n_columns;
  return 2 * unit * ((1 + 4 * sizes.mean) * (n_terms + 2 * loss_error + 5 * k + 30) + (k + 2) * sizes.square);
}

double RoundingSlack::with_shifts(double plain, const ScoreSizes& sizes) const {
  return formed_ ? 4 * plain + tangent_gap * (1 + sizes.most) : plain;
}

double RoundingSlack::of_rows(int intercept_low, int intercept_high) const {
  const ScoreSizes r = sizes(intercept_low, intercept_high);
  return with_shifts(common(r, size_, n_rows_ + n_rows_ / 4 + 4), r);
}

// Points 1 to 4 with the columns of both the point and the card: a_i gets a term for each.
double RoundingSlack::of_point(double intercept, const std::vector<double>& point) const {
  ScoreSizes r = sizes(intercept_lower_, intercept_upper_);
  double root = std::sqrt(r.square) + std::fabs(intercept), n_columns = size_;
  r.mean += std::fabs(intercept);
  for (std::size_t j = 0; j < point.size(); ++j) {
    if (point[j] == 0) continue;
    ++n_columns;
    r.mean += std::fabs(point[j]) * column_mean_[j];
    root += std::fabs(point[j]) * column_root_[j];
  }
  r.square = root * root;
  return common(r, n_columns, 2 * n_rows_ + n_columns);
}

double RoundingSlack::of_bits(int intercept_low, int intercept_high, std::size_t n_segments) const {
  const ScoreSizes r = sizes(intercept_low, intercept_high);
  const double k = size_, cells = std::pow(2.0, k), sets = std::pow(3.0, k), segments = static_cast<double>(n_segments);
  const double weights = 8 * (segments + 2 + k) * (1 + 4 * r.most);
  const double slopes = (segments + loss_error + k + cells + (k + 2) * r.most / 4) * r.most;
  return with_shifts(common(r, k, cells) + 2 * unit * sets * (weights + slopes), r);
}

}  // namespace surefoot
