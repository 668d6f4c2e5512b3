#include "surefoot/riskscore/shift/shift_lattice.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "surefoot/core/dispatch.hpp"

namespace surefoot {
namespace {

// Softplus is a straight line to 4e-18 beyond this, either way.
constexpr double straight_from = 40;

double entry(const PackVector& packs, std::size_t at) { return packs[at / lanes][static_cast<int>(at % lanes)]; }

double value_of(const ScoreCells& cells, int column, std::size_t cell) {
  return entry(cells.values, static_cast<std::size_t>(column) * static_cast<std::size_t>(cells.n_packs) * lanes + cell);
}

// value[k] = log(1 + exp(t[k])), slope[k] = its derivative; n is a multiple of four.
SUREFOOT_DISPATCH void softplus_all(const double* t, std::size_t n, double* value, double* slope) {
  for (std::size_t k = 0; k < n; k += lanes) {
    Pack argument, raised, steep;
    __builtin_memcpy(&argument, t + k, sizeof argument);
    softplus_pack(argument, raised, steep);
    __builtin_memcpy(value + k, &raised, sizeof raised);
    __builtin_memcpy(slope + k, &steep, sizeof steep);
  }
}

// The same where it need not be exact, and most arguments are on the straight parts.
SUREFOOT_DISPATCH void softplus_saturated(const double* t, std::size_t n, double* value, double* slope) {
  const Pack zero = {}, one = zero + 1.0;
  for (std::size_t k = 0; k < n; k += lanes) {
    Pack argument, raised, steep;
    __builtin_memcpy(&argument, t + k, sizeof argument);
    const auto bent = (argument > zero - straight_from) & (argument < zero + straight_from);
    if (bent[0] | bent[1] | bent[2] | bent[3]) {
      softplus_pack(argument, raised, steep);
    } else {
      raised = argument > zero ? argument : zero;
      steep = argument > zero ? one : zero;
    }
    __builtin_memcpy(value + k, &raised, sizeof raised);
    __builtin_memcpy(slope + k, &steep, sizeof steep);
  }
}

// A step of the worst case for all corners: records of the next layer are those of this one, mixed with the flipped ones plus
// `extra`.
SUREFOOT_DISPATCH void mix(const Pack* records, const double* weight, std::size_t bit, std::size_t n, const Pack* extra,
                           std::size_t packs, Pack* out) {
  for (std::size_t i = 0; i < n; ++i) {
    const Pack* own = records + i * packs;
    const Pack* other = records + (i ^ bit) * packs;
    for (std::size_t k = 0; k < packs; ++k) out[i * packs + k] = own[k] + weight[i] * (other[k] + extra[k] - own[k]);
  }
}

// C[a] += factor vector[a] vector, for the first n entries a.
SUREFOOT_INLINE void add_outer(const Pack* vector, double factor, std::size_t n, std::size_t packs, Pack* C) {
  const auto* entry = reinterpret_cast<const double*>(vector);
  for (std::size_t a = 0; a < n; ++a) {
    const double scaled = factor * entry[a];
    for (std::size_t k = 0; k < packs; ++k) C[a * packs + k] += scaled * vector[k];
  }
}

// What the mixture of a step adds to the curvature; flow[i] is the weight of the rows at corner i.
SUREFOOT_DISPATCH void add_spread(const Pack* records, const double* weight, const double* flow, std::size_t bit, std::size_t n,
                                  const Pack* extra, std::size_t packs, std::size_t entries, double smoothing, Pack* C) {
  Pack difference[(max_flips + 3 + lanes - 1) / lanes];
  for (std::size_t i = 0; i < n; ++i) {
    const double spread = flow[i] * weight[i] * (1 - weight[i]);
    if (!(spread > lattice_parameters.min_branch_weight * smoothing)) continue;
    const Pack* own = records + i * packs;
    const Pack* other = records + (i ^ bit) * packs;
    for (std::size_t k = 0; k < packs; ++k) difference[k] = other[k] + extra[k] - own[k];
    add_outer(difference, spread / smoothing, entries, packs, C);
  }
}

std::size_t padded(std::size_t n) { return (n + lanes - 1) / lanes * lanes; }

}  // namespace

void ShiftLattice::build(const ScoreCells& cells, const ShiftPrices& prices) {
  const std::size_t n_cells = cells.n_cells;
  prices_ = prices;
  n_columns_ = cells.n_columns;
  n_flips_ = n_stay_ = n_steps_ = 0;
  for (int j = 0; j < n_columns_; ++j) {
    if (!(prices.flips[j] && std::isfinite(prices.price[j]))) {
      stay_[n_stay_++] = j;
      continue;
    }
    step_bit_[n_steps_] = std::size_t{1} << n_flips_;
    step_price_[n_steps_++] = prices.price[j];
    flip_[n_flips_++] = j;
  }
  const std::size_t labels = std::size_t{1} << n_flips_;
  corners_ = 2 * labels;
  if (std::isfinite(prices.label_price)) {
    step_bit_[n_steps_] = labels;
    step_price_[n_steps_++] = prices.label_price;
  }
  corner_.resize(n_cells);
  if (n_steps_ == 0) cells_ = cells;
  std::vector<std::size_t> order(n_cells);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto before = [&](std::size_t a, std::size_t b) {
    for (int k = 0; k < n_stay_; ++k) {
      const double first = value_of(cells, stay_[k], a), second = value_of(cells, stay_[k], b);
      if (first != second) return first < second;
    }
    return false;
  };
  if (n_stay_ > 0) std::stable_sort(order.begin(), order.end(), before);
  mass_.clear();
  stay_value_.clear();
  n_groups_ = 0;
  for (std::size_t k = 0; k < n_cells; ++k) {
    const std::size_t cell = order[k];
    if (k == 0 || before(order[k - 1], cell)) {
      ++n_groups_;
      mass_.resize(n_groups_ * corners_, 0.0);
      for (int s = 0; s < n_stay_; ++s) stay_value_.push_back(value_of(cells, stay_[s], cell));
    }
    std::size_t at = (n_groups_ - 1) * corners_;
    for (int f = 0; f < n_flips_; ++f)
      if (value_of(cells, flip_[f], cell) != 0) at += std::size_t{1} << f;
    corner_[cell] = at;
    const double total = entry(cells.total, cell), positive = entry(cells.positive, cell);
    mass_[at] += std::max(total - positive, 0.0);
    mass_[at + labels] += positive;
  }
  const std::size_t width = padded(corners_), layers = static_cast<std::size_t>(n_steps_) + 1;
  for (auto* scratch : {&score_, &slope_, &loss_curvature_, &flow_}) scratch->assign(width, 0.0);
  for (auto* scratch : {&value_, &weight_}) scratch->assign(width * layers, 0.0);
  for (auto* scratch : {&cost_, &stretch_}) scratch->assign(width, 0.0);
  packs_ = padded(static_cast<std::size_t>(n_flips_) + 3) / lanes;
  records_.assign(packs_ * corners_ * layers, Pack{});
  extra_.assign(packs_ * layers, Pack{});
  curvature_.assign(packs_ * (static_cast<std::size_t>(n_flips_) + 2), Pack{});
  mean_slope_.assign(mass_.size(), 0.0);
}

// Scores, losses and derivatives of the corners of a group, into the first layer. Corners with label -1 come first.
void ShiftLattice::open_group(std::size_t group, const double* point) {
  double base = point[0];
  for (int s = 0; s < n_stay_; ++s)
    base += point[stay_[s] + 1] * stay_value_[group * static_cast<std::size_t>(n_stay_) + static_cast<std::size_t>(s)];
  const std::size_t labels = corners_ / 2;
  score_[0] = base;
  for (int f = 0; f < n_flips_; ++f)
    for (std::size_t m = 0, bit = std::size_t{1} << f; m < bit; ++m) score_[m + bit] = score_[m] + point[flip_[f] + 1];
  for (std::size_t m = 0; m < labels; ++m) score_[m + labels] = -score_[m];
  softplus_all(score_.data(), padded(corners_), value_.data(), slope_.data());
  for (std::size_t i = 0; i < corners_; ++i) {
    loss_curvature_[i] = slope_[i] * (1 - slope_[i]);
    if (i >= labels) slope_[i] = -slope_[i];
  }
}

void ShiftLattice::smooth_maxima(double lambda, double smoothing) {
  const std::size_t width = padded(corners_), stride = packs_ * lanes, flips = static_cast<std::size_t>(n_flips_);
  auto* first = reinterpret_cast<double*>(records_.data());
  for (std::size_t i = 0; i < corners_; ++i) {
    double* record = first + i * stride;
    record[0] = slope_[i];
    for (std::size_t f = 0; f < flips; ++f) record[f + 1] = i >> f & 1 ? slope_[i] : 0.0;
    record[flips + 1] = 0;
    record[flips + 2] = value_[i];
  }
  for (std::size_t step = 0; step < static_cast<std::size_t>(n_steps_); ++step) {
    const std::size_t bit = step_bit_[step];
    const double price = lambda * step_price_[step];
    const double* v = value_.data() + step * width;
    double* next = value_.data() + (step + 1) * width;
    double* weight = weight_.data() + step * width;
    for (std::size_t i = 0; i < corners_; ++i) score_[i] = (v[i ^ bit] - price - v[i]) / smoothing;
    softplus_saturated(score_.data(), width, next, weight);
    for (std::size_t i = 0; i < corners_; ++i) next[i] = v[i] + smoothing * next[i];
    auto* extra = reinterpret_cast<double*>(extra_.data() + step * packs_);
    extra[flips + 1] = step_price_[step];
    extra[flips + 2] = -price;
    mix(records_.data() + step * corners_ * packs_, weight, bit, corners_, extra_.data() + step * packs_, packs_,
        records_.data() + (step + 1) * corners_ * packs_);
  }
}

// By the law of total covariance the curvature of the smoothed maximum is that of the shifted losses plus, for every step and
// corner, theta (1 - theta) / smoothing, theta the softmax weight, times the outer product of the difference between the
// records of its two branches.
void ShiftLattice::add_group(std::size_t group, double smoothing, ShiftedSums& sums) {
  const std::size_t width = padded(corners_), stride = packs_ * lanes, labels = corners_ / 2;
  const std::size_t last = static_cast<std::size_t>(n_steps_), flips = static_cast<std::size_t>(n_flips_);
  const double* mass = mass_.data() + group * corners_;
  const auto* final_records = reinterpret_cast<const double*>(records_.data() + last * corners_ * packs_);
  double mean[max_flips + 3] = {};
  for (std::size_t i = 0; i < corners_; ++i) {
    mean_slope_[group * corners_ + i] = final_records[i * stride];
    flow_[i] = mass[i];
    if (mass[i] == 0) continue;
    sums.smooth += mass[i] * value_[last * width + i];
    for (std::size_t a = 0; a < flips + 3; ++a) mean[a] += mass[i] * final_records[i * stride + a];
  }
  sums.mixture += mean[flips + 2];
  std::fill(curvature_.begin(), curvature_.end(), Pack{});
  for (std::size_t step = last; step-- > 0;) {
    const std::size_t bit = step_bit_[step];
    const double* weight = weight_.data() + step * width;
    add_spread(records_.data() + step * corners_ * packs_, weight, flow_.data(), bit, corners_, extra_.data() + step * packs_,
               packs_, flips + 2, smoothing, curvature_.data());
    // Rows are divided by the mixture: from here on, `flow` is the weight that arrives at a corner by the remaining steps.
    for (std::size_t block = 0; block < corners_; block += 2 * bit)
      for (std::size_t i = block; i < block + bit; ++i) {
        const double low = flow_[i], high = flow_[i + bit];
        flow_[i] = low * (1 - weight[i]) + high * weight[i + bit];
        flow_[i + bit] = high * (1 - weight[i + bit]) + low * weight[i];
      }
  }
  alignas(pack_alignment) Pack corner[(max_flips + 3 + lanes - 1) / lanes] = {};
  for (std::size_t m = 0; m < labels; ++m) {
    const double weight = (flow_[m] + flow_[m + labels]) * loss_curvature_[m];
    if (!(weight > 0)) continue;
    auto* entries = reinterpret_cast<double*>(corner);
    entries[0] = 1;
    for (std::size_t f = 0; f < flips; ++f) entries[f + 1] = static_cast<double>(m >> f & 1);
    add_outer(corner, weight, flips + 1, packs_, curvature_.data());
  }
  // From (score, flips, price) to the coordinates of the problem: columns that stay move with the score, lambda is minus the
  // price.
  const int n = n_columns_ + 2;
  std::size_t source[max_shifted_coordinates];
  double scale[max_shifted_coordinates];
  source[0] = 0;
  scale[0] = 1;
  for (int k = 0; k < n_stay_; ++k) {
    source[stay_[k] + 1] = 0;
    scale[stay_[k] + 1] = stay_value_[group * static_cast<std::size_t>(n_stay_) + static_cast<std::size_t>(k)];
  }
  for (int f = 0; f < n_flips_; ++f) {
    source[flip_[f] + 1] = static_cast<std::size_t>(f + 1);
    scale[flip_[f] + 1] = 1;
  }
  source[n - 1] = flips + 1;
  scale[n - 1] = -1;
  const auto* compact = reinterpret_cast<const double*>(curvature_.data());
  for (int a = 0; a < n; ++a) {
    sums.gradient[a] += scale[a] * mean[source[a]];
    for (int b = 0; b <= a; ++b)
      sums.curvature[a * max_shifted_coordinates + b] += scale[a] * scale[b] * compact[source[a] * stride + source[b]];
  }
}

void ShiftLattice::sum(const double* point, double smoothing, ShiftedSums& sums) {
  const int n = n_columns_ + 2;
  const double lambda = point[n - 1];
  std::fill_n(sums.gradient, n, 0.0);
  std::fill(std::begin(sums.curvature), std::end(sums.curvature), 0.0);
  sums.smooth = sums.mixture = 0;
  if (n_steps_ == 0) {
    CellSums plain;
    sum_cells(cells_, point, plain);
    sums.smooth = sums.mixture = plain.loss;
    std::copy_n(plain.gradient, n - 1, sums.gradient);
    for (int a = 0; a < n - 1; ++a)
      std::copy_n(plain.curvature + a * max_coordinates, a + 1, sums.curvature + a * max_shifted_coordinates);
    for (std::size_t group = 0; group < n_groups_; ++group) {
      open_group(group, point);
      std::copy_n(slope_.begin(), corners_, mean_slope_.begin() + static_cast<std::ptrdiff_t>(group * corners_));
    }
  } else {
    for (std::size_t group = 0; group < n_groups_; ++group) {
      open_group(group, point);
      smooth_maxima(lambda, smoothing);
      add_group(group, smoothing, sums);
    }
  }
  sums.smooth += lambda * prices_.radius;
  sums.mixture += lambda * prices_.radius;
  sums.gradient[n - 1] += prices_.radius;
}

void ShiftLattice::slopes(double* if_positive, double* if_negative) const {
  for (std::size_t cell = 0; cell < corner_.size(); ++cell) {
    if_negative[cell] = mean_slope_[corner_[cell]];
    if_positive[cell] = mean_slope_[corner_[cell] + corners_ / 2];
  }
}

}  // namespace surefoot
