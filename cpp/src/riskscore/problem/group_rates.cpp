#include "surefoot/riskscore/problem/group_rates.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <tuple>

namespace surefoot {
namespace {

double risk_of(double score) { return 1.0 / (1.0 + std::exp(-score)); }

}  // namespace

GroupRates::GroupRates(const FairRule& rule, const RawTable& table, const int* columns, int n)
    : n_(n), n_groups_(rule.n_groups), most_(rule.most), threshold_(rule.threshold), observed_(rule.observed) {
  const auto width = static_cast<std::size_t>(n);
  bool binary = n < 16;
  for (int j = 0; j < n && binary; ++j) {
    const double* column = table.column(columns[j]);
    binary = std::all_of(column, column + table.n_rows, [](double value) { return value == 0 || value == 1; });
  }
  const auto add = [&](std::size_t row, double share) {
    for (int j = 0; j < n; ++j) values_.push_back(table.column(columns[j])[row]);
    group_.push_back(rule.group[row]);
    share_.push_back(share);
  };
  if (binary) {
    // A number for every set of answers in every group.
    const std::size_t n_sets = std::size_t{1} << width;
    std::vector<double> share(n_sets * static_cast<std::size_t>(n_groups_), 0);
    std::vector<std::size_t> example(share.size());
    for (std::size_t i = 0; i < table.n_rows; ++i) {
      if (rule.group[i] < 0) continue;
      auto at = static_cast<std::size_t>(rule.group[i]);
      for (int j = 0; j < n; ++j) at = 2 * at + (table.column(columns[j])[i] != 0);
      share[at] += rule.share[i];
      example[at] = i;
    }
    for (std::size_t at = 0; at < share.size(); ++at)
      if (share[at] > 0) add(example[at], share[at]);
    return;
  }
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < table.n_rows; ++i)
    if (rule.group[i] >= 0) rows.push_back(i);
  const auto compare = [&](std::size_t a, std::size_t b) {
    if (rule.group[a] != rule.group[b]) return rule.group[a] < rule.group[b] ? -1 : 1;
    for (int j = 0; j < n; ++j) {
      const double x = table.column(columns[j])[a], y = table.column(columns[j])[b];
      if (x != y) return x < y ? -1 : 1;
    }
    return 0;
  };
  std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) { return compare(a, b) < 0; });
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (k > 0 && compare(rows[k - 1], rows[k]) == 0)
      share_.back() += rule.share[rows[k]];
    else
      add(rows[k], rule.share[rows[k]]);
  }
}

bool GroupRates::feasible(const double* lower, const double* upper) const {
  std::vector<double> least(static_cast<std::size_t>(n_groups_), 0), most = least;
  for (std::size_t k = 0; k < group_.size(); ++k) {
    double low = lower[0], high = upper[0];
    const double* value = values_.data() + k * static_cast<std::size_t>(n_);
    for (int j = 0; j < n_; ++j) {
      const double a = value[j] * lower[j + 1], b = value[j] * upper[j + 1];
      low += std::min(a, b);
      high += std::max(a, b);
    }
    const auto g = static_cast<std::size_t>(group_[k]);
    if (!observed_.empty()) {
      least[g] += share_[k] * risk_of(low);
      most[g] += share_[k] * risk_of(high);
      continue;
    }
    if (low >= threshold_) least[g] += share_[k];
    if (high >= threshold_) most[g] += share_[k];
  }
  for (std::size_t g = 0; g < observed_.size(); ++g) {
    least[g] -= observed_[g];
    most[g] -= observed_[g];
  }
  if (n_groups_ == 0) return true;
  return *std::max_element(least.begin(), least.end()) - *std::min_element(most.begin(), most.end()) <= most_;
}

}  // namespace surefoot
