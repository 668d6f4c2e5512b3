#include "surefoot/riskscore/search/curvature_pruning.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "surefoot/core/dense_vector.hpp"
#include "surefoot/core/dispatch.hpp"
#include "surefoot/core/softplus.hpp"

namespace surefoot {
namespace {

constexpr const CurvatureParameters& parameters = curvature_parameters;
constexpr int max_base = max_binary_columns + 1;
constexpr double infinity = std::numeric_limits<double>::infinity();

int count_bits(int set) {
  int n = 0;
  for (; set; set &= set - 1) ++n;
  return n;
}

// Gauss-Jordan. Coordinates that depend on others are left out: then their rows and columns are 0.
void invert(double (*A)[max_base], double (*inverse)[max_base], int n) {
  double a[max_base][2 * max_base];
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      a[i][j] = A[i][j] + (i == j ? parameters.regularisation : 0);
      a[i][n + j] = i == j;
    }
  for (int p = 0; p < n; ++p) {
    if (!(a[p][p] > parameters.least_pivot)) {
      for (int j = 0; j < 2 * n; ++j) a[p][j] = 0;
      for (int i = 0; i < n; ++i) a[i][n + p] = 0;
      continue;
    }
    const double scale = 1 / a[p][p];
    for (int j = 0; j < 2 * n; ++j) a[p][j] *= scale;
    for (int i = 0; i < n; ++i) {
      if (i == p) continue;
      const double factor = a[i][p];
      for (int j = 0; j < 2 * n; ++j) a[i][j] -= factor * a[p][j];
    }
  }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) inverse[i][j] = a[i][n + j];
}

// What the bounds of all pairs of one column take.
struct PairTerms {
  double slope, own, forward, backward;  // of the column
  double epsilon, steepest, change, loss, rest, margin;
};

SUREFOOT_DISPATCH void bound_pairs(const PairTerms& t, const double* slope, const double* own, const double* forward,
                                   const double* backward, const double* mid, const double* wide, double* bound, int n) {
  const double most = std::max(t.forward, t.backward);
  for (int k = 0; k < n; ++k) {
    const double a = t.slope, b = slope[k], s = mid[k], w = wide[k];
    const double far = std::fabs(s) + w + t.epsilon;
    const double det = (t.own - t.epsilon) * (own[k] - t.epsilon) - far * far;
    const double first = b * s - a * own[k], second = a * s - b * t.own;
    const double first_open = std::fabs(b) * w + 3 * t.epsilon, second_open = std::fabs(a) * w + 3 * t.epsilon;
    const double gain = (2 * std::fabs(a * b) * w + 9 * t.epsilon - a * first - b * second) / det + t.rest;
    const double other = std::max(forward[k], backward[k]);
    const double x = t.change + (std::fabs(first) * (first > 0 ? t.forward : t.backward) + first_open * most +
                                 std::fabs(second) * (second > 0 ? forward[k] : backward[k]) + second_open * other) /
                                    det;
    const double value = t.loss - (0.5 + t.steepest * (x / 6 + x * x / 3)) * gain - t.margin;
    bound[k] = det > 0 && x <= parameters.most_change ? value : -infinity;
  }
}

}  // namespace

CurvaturePruning::CurvaturePruning(int n_columns) : n_(n_columns) {
  const std::size_t n = static_cast<std::size_t>(n_columns);
  for (auto* lists : {&shared_, &prediction_}) lists->assign(max_base, std::vector<double>(n + 1));
  for (auto* list : {&slope_, &left_, &forward_, &backward_, &mid_, &wide_, &bound_}) list->assign(n + 1, 0);
  for (auto* flags : {&unfit_, &dead_, &open_, &open_later_}) flags->assign(n + 1, 0);
}

bool CurvaturePruning::open(const BinaryTree::Node& node, const ColumnLimits& limits, const CandidateList& list) {
  const int depth = node.depth, base = depth + 1, n_cells = 1 << depth;
  epsilon_ = 32 * (n_cells + 8) * std::pow(3, depth) * 0x1p-53;
  loss_ = 0;
  most_risk_ = most_safety_ = 0;
  std::fill_n(own_, base, 0.0);
  for (int i = 0; i < base; ++i) std::fill_n(curvature_[i], base, 0.0);
  for (int m = 0; m < n_cells; ++m) {
    double score = node.point[0];
    for (int j = 0; j < depth; ++j)
      if (m >> j & 1) score += node.point[j + 1];
    if (std::fabs(score) > parameters.most_score) return false;
    const double risk = sigmoid(score), curvature = risk * (1 - risk);
    alternating_[m] = curvature;
    const double total = node.cell_total[static_cast<std::size_t>(m)];
    if (!(total > 0)) continue;
    most_risk_ = std::max(most_risk_, risk);
    most_safety_ = std::max(most_safety_, 1 - risk);
    loss_ += total * softplus(score) - node.cell_positive[static_cast<std::size_t>(m)] * score;
    const double residual = total * risk - node.cell_positive[static_cast<std::size_t>(m)];
    for (int i = 0; i < base; ++i) {
      if (i > 0 && !(m >> (i - 1) & 1)) continue;
      own_[i] += residual;
      for (int j = 0; j < base; ++j)
        if (j == 0 || m >> (j - 1) & 1) curvature_[i][j] += total * curvature;
    }
  }
  loss_ -= limits.slack;
  for (int bit = 1; bit < n_cells; bit <<= 1)
    for (int m = 0; m < n_cells; ++m)
      if (m & bit) alternating_[m] -= alternating_[m ^ bit];
  invert(curvature_, inverse_, base);
  double reach = 8 + std::max(std::fabs(limits.intercept_lower), std::fabs(limits.intercept_upper)) + std::fabs(node.point[0]);
  const auto size = [&limits](int f) {
    return std::max(std::fabs(limits.lower[static_cast<std::size_t>(f)]), std::fabs(limits.upper[static_cast<std::size_t>(f)]));
  };
  for (int j = 0; j < depth; ++j) reach += size(node.columns[j]) + std::fabs(node.point[j + 1]);
  double largest = 0;
  for (const int f : list.columns) largest = std::max(largest, size(f));
  margin_ = parameters.margin * (reach + 2 * largest);
  predict(node, list.columns.front(), list.columns.back() + 1);
  return true;
}

// Predictions of all positions of a range by the prefix, and what is left of their slopes and curvatures.
void CurvaturePruning::predict(const BinaryTree::Node& node, int begin, int end) {
  const int depth = node.depth, base = depth + 1, n_cells = 1 << depth, n = end - begin;
  for (int j = 0; j < base; ++j) {
    double* h = shared_[static_cast<std::size_t>(j)].data();
    std::fill(h + begin, h + end, 0.0);
    for (int m = 0; m < n_cells; ++m) {
      if (j > 0 && !(m >> (j - 1) & 1)) continue;
      const double factor = alternating_[m] + (j > 0 ? alternating_[m ^ (1 << (j - 1))] : 0);
      add_scaled(h + begin, node.rows[static_cast<std::size_t>(m)].total + begin, factor, n);
    }
  }
  double residual[max_base] = {};
  bool level = true;
  const auto solve = [&](const double* right, double* solution) {
    std::fill_n(solution, base, 0.0);
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < base; ++i) {
        residual[i] = right[i];
        for (int j = 0; j < base; ++j) residual[i] += curvature_[i][j] * solution[j];
      }
      for (int i = 0; i < base; ++i)
        for (int j = 0; j < base; ++j) solution[i] -= inverse_[i][j] * residual[j];
    }
    double size = 0;
    level = true;
    for (int i = 0; i < base; ++i) {
      double left = right[i];
      for (int j = 0; j < base; ++j) left += curvature_[i][j] * solution[j];
      level = level && std::fabs(left) <= parameters.least_level;
      size += std::fabs(solution[i]);
    }
    level = level && size <= parameters.most_prediction;
  };
  const auto ends = [&](const double* v, double& low, double& high) {
    low = infinity;
    high = -infinity;
    for (const int m : node.live) {
      double sum = v[0];
      for (int j = 0; j < depth; ++j)
        if (m >> j & 1) sum += v[j + 1];
      low = std::min(low, sum);
      high = std::max(high, sum);
    }
  };
  solve(own_, step_);
  const bool fitted = level;
  double low, high;
  ends(step_, low, high);
  const double risk = std::max(most_risk_, parameters.least_share), safety = std::max(most_safety_, parameters.least_share);
  change_ = std::max(risk * std::max(high, 0.0), safety * std::max(-low, 0.0));
  rest_ = 0;
  for (int j = 0; j < base; ++j) rest_ -= own_[j] * step_[j];
  for (int f = begin; f < end; ++f) {
    const std::size_t at = static_cast<std::size_t>(f);
    double h[max_base], v[max_base];
    for (int j = 0; j < base; ++j) h[j] = shared_[static_cast<std::size_t>(j)][at];
    solve(h, v);
    left_[at] = h[0];
    for (int j = 0; j < base; ++j) {
      prediction_[static_cast<std::size_t>(j)][at] = v[j];
      slope_[at] += h[j] * step_[j];
      left_[at] += h[j] * v[j];
    }
    ends(v, low, high);
    const double up = std::max(1 + high, 0.0), down = std::max(-low, 0.0);
    forward_[at] = std::max(risk * up, safety * down);
    backward_[at] = std::max(risk * down, safety * up);
    unfit_[at] = !(fitted && level && std::fabs(slope_[at]) <= parameters.most_slope);
  }
}

// mid +- wide: S_ef of a column and all others in a range.
void CurvaturePruning::find_pairs(const BinaryTree& tree, const BinaryTree::Node& node, int e, int begin, int end) {
  const int depth = node.depth, n_cells = 1 << depth, n = end - begin;
  std::fill(mid_.begin() + begin, mid_.begin() + end, 0.0);
  std::fill(wide_.begin() + begin, wide_.begin() + end, 0.0);
  for (int set = 0; set < n_cells; ++set) {
    const double factor = alternating_[set];
    if (count_bits(set) <= tabled_ - 2) {
      add_scaled(mid_.data() + begin, tree.pair_weights(node, set, e) + begin, factor, n);
      continue;
    }
    // Rows with a 1 in all of it are no more than those of any part.
    double* fewest = bound_.data();
    std::fill(fewest + begin, fewest + end, infinity);
    for (int part = 0; part < n_cells; ++part) {
      if ((part & set) != part || count_bits(part) != tabled_ - 2) continue;
      const double* weight = tree.pair_weights(node, part, e);
      for (int f = begin; f < end; ++f) fewest[f] = std::min(fewest[f], weight[f]);
    }
    for (int f = begin; f < end; ++f) {
      mid_[static_cast<std::size_t>(f)] += factor / 2 * fewest[f];
      wide_[static_cast<std::size_t>(f)] += std::fabs(factor) / 2 * fewest[f];
    }
  }
  for (int j = 0; j <= depth; ++j) {
    const double h = shared_[static_cast<std::size_t>(j)][static_cast<std::size_t>(e)];
    add_scaled(mid_.data() + begin, prediction_[static_cast<std::size_t>(j)].data() + begin, h, n);
  }
}

void CurvaturePruning::find_bounds(int e, int begin, int end) {
  const std::size_t at = static_cast<std::size_t>(e);
  const PairTerms terms{slope_[at], left_[at], forward_[at], backward_[at], epsilon_, std::max(most_risk_, most_safety_),
                        change_,    loss_,     rest_,        margin_};
  bound_pairs(terms, slope_.data() + begin, left_.data() + begin, forward_.data() + begin, backward_.data() + begin,
              mid_.data() + begin, wide_.data() + begin, bound_.data() + begin, end - begin);
}

bool CurvaturePruning::prune(const BinaryTree& tree, const BinaryTree::Node& node, const ColumnLimits& limits,
                             const ColumnOrder& order, double threshold, int budget, CandidateList& list, std::int32_t* marks) {
  if (budget > 2 || !tree.even() || list.columns.empty()) return false;
  tabled_ = tree.counted(parameters.most_counts);
  const std::size_t n = list.columns.size();
  // By slopes alone: no support with this column and the best other one.
  list.gain.resize(n);
  double best = 0, second = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t f = static_cast<std::size_t>(list.columns[k]);
    const double g = list.gradient[f], gain = -std::min(g * limits.lower[f], g * limits.upper[f]);
    list.gain[k] = gain;
    second = std::max(second, std::min(best, gain));
    best = std::max(best, gain);
  }
  bool any = false;
  for (std::size_t k = 0; k < n; ++k) {
    const double gain = list.gain[k], other = budget == 1 ? 0 : gain == best ? second : best;
    dead_[k] = node.base - gain - other > threshold;
    any = any || !dead_[k];
  }
  if (any) {
    for (std::size_t k = 0; k < n; ++k)
      slope_[static_cast<std::size_t>(list.columns[k])] = list.gradient[static_cast<std::size_t>(list.columns[k])];
    if (!open(node, limits, list)) return false;
  }
  // The column that is none: it stands behind the last.
  const std::size_t none = static_cast<std::size_t>(n_);
  slope_[none] = mid_[none] = wide_[none] = forward_[none] = backward_[none] = 0;
  left_[none] = 1;
  std::fill_n(open_.begin(), n, char{0});
  std::fill_n(open_later_.begin(), n, char{0});
  for (std::size_t k = 0; k < n; ++k) {
    if (dead_[k]) continue;
    const int e = list.columns[k];
    find_bounds(e, n_, n_ + 1);
    bool opens = unfit_[static_cast<std::size_t>(e)] || !(bound_[none] > threshold);
    if (budget > 1 && k + 1 < n) {
      const int begin = list.columns[k + 1], end = list.columns.back() + 1;
      find_pairs(tree, node, e, begin, end);
      find_bounds(e, begin, end);
      for (std::size_t other = k + 1; other < n; ++other) {
        const std::size_t f = static_cast<std::size_t>(list.columns[other]);
        if (dead_[other] || (!unfit_[static_cast<std::size_t>(e)] && !unfit_[f] && bound_[f] > threshold)) continue;
        open_[other] = 1;
        opens = true;
      }
    }
    open_later_[k] = opens;
    open_[k] = open_[k] || opens;
  }
  list.children.clear();
  list.child_bound.clear();
  std::size_t kept = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const int e = list.columns[k];
    CandidateMark mark = CandidateMark::excluded;
    if (open_[k]) {
      mark = CandidateMark::not_first;
      if (open_later_[k]) {
        mark = twin_in_prefix(node, order, e) ? CandidateMark::child : CandidateMark::twin;
        if (mark == CandidateMark::child) {
          list.children.push_back(e);
          const double other = budget == 1 ? 0 : list.gain[k] == best ? second : best;
          list.child_bound.push_back(node.base - list.gain[k] - other);
        }
      }
      list.columns[kept++] = e;
    }
    if (marks) marks[k] = code(mark);
  }
  list.columns.resize(kept);
  return true;
}

}  // namespace surefoot
