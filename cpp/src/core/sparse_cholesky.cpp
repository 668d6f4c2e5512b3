#include "surefoot/core/sparse_cholesky.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "surefoot/core/cholesky.hpp"

namespace surefoot {
namespace {

constexpr SparseCholeskyParameters parameters{};
// What a pivot becomes that fixes its coordinate at 0, as in cholesky_factor.
constexpr double fixing_pivot = 1e150;

// One line of bits per coordinate.
class Lines {
 public:
  explicit Lines(int size) : words_(static_cast<std::size_t>(size + 63) / 64), bits_(words_ * static_cast<std::size_t>(size)) {}

  std::size_t words() const { return words_; }
  std::uint64_t* line(int i) { return bits_.data() + static_cast<std::size_t>(i) * words_; }
  void set(int i, int j) { line(i)[j / 64] |= std::uint64_t{1} << (j % 64); }
  void clear(int i, int j) { line(i)[j / 64] &= ~(std::uint64_t{1} << (j % 64)); }
  int count(int i) {
    int sum = 0;
    for (std::size_t w = 0; w < words_; ++w) sum += std::popcount(line(i)[w]);
    return sum;
  }
  template <class Work>
  void for_each(int i, Work&& work) {
    for (std::size_t w = 0; w < words_; ++w)
      for (std::uint64_t left = line(i)[w]; left; left &= left - 1) work(static_cast<int>(64 * w) + std::countr_zero(left));
  }
  std::vector<std::uint64_t>& bits() { return bits_; }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

}  // namespace

// Whether every entry lies where the order of elimination expects one.
bool SparseCholesky::fits(const double* A) const {
  const std::size_t words = static_cast<std::size_t>(size_ + 63) / 64;
  for (int i = 0; i < size_; ++i) {
    const double* line = A + static_cast<std::size_t>(i) * stride_;
    const std::uint64_t* known = pattern_.data() + static_cast<std::size_t>(i) * words;
    for (int j = 0; j < i; ++j)
      if (line[j] != 0 && !(known[j / 64] >> (j % 64) & 1)) return false;
  }
  return true;
}

void SparseCholesky::order(const double* A) {
  Lines graph(size_);
  const bool again = pattern_.size() == graph.bits().size();
  for (int i = 0; i < size_; ++i)
    for (int j = 0; j < i; ++j) {
      const bool known = again && (pattern_[static_cast<std::size_t>(i) * graph.words() + j / 64] >> (j % 64) & 1);
      if (!known && A[static_cast<std::size_t>(i) * stride_ + j] == 0) continue;
      graph.set(i, j);
      graph.set(j, i);
    }
  pattern_ = graph.bits();
  std::vector<int> degree(static_cast<std::size_t>(size_)), left(static_cast<std::size_t>(size_));
  for (int i = 0; i < size_; ++i) {
    degree[i] = graph.count(i);
    left[i] = i;
  }
  eliminated_.clear();
  neighbours_.clear();
  neighbours_at_.assign(1, 0);
  while (!left.empty()) {
    const auto next = std::min_element(left.begin(), left.end(), [&](int a, int b) { return degree[a] < degree[b]; });
    const int v = *next;
    if (degree[v] > parameters.most_neighbours * static_cast<double>(left.size())) break;
    left.erase(next);
    eliminated_.push_back(v);
    graph.for_each(v, [&](int a) { neighbours_.push_back(a); });
    for (auto e = neighbours_at_.back(); e < neighbours_.size(); ++e) {
      const int a = neighbours_[e];
      for (std::size_t w = 0; w < graph.words(); ++w) graph.line(a)[w] |= graph.line(v)[w];
      graph.clear(a, a);
      graph.clear(a, v);
      degree[a] = graph.count(a);
    }
    neighbours_at_.push_back(neighbours_.size());
  }
  core_ = left;
  dense_ = static_cast<double>(core_.size()) > parameters.most_left * size_;
}

void SparseCholesky::eliminate(double* A, double floor) {
  const auto entry = [&](int i, int j) -> double& {
    const auto [low, high] = std::minmax(i, j);
    return A[static_cast<std::size_t>(high) * stride_ + static_cast<std::size_t>(low)];
  };
  for (std::size_t k = 0; k < eliminated_.size(); ++k) {
    const int v = eliminated_[k];
    const double pivot = entry(v, v);
    pivots_[k] = pivot > floor * diagonal_[v] && pivot > 0 ? std::sqrt(pivot) : fixing_pivot;
    const auto first = neighbours_at_[k], last = neighbours_at_[k + 1];
    for (auto e = first; e < last; ++e) {
      const int a = neighbours_[e];
      const double factor = entries_[e] = entry(a, v) / pivots_[k];
      double* line = A + static_cast<std::size_t>(a) * stride_;
      for (auto f = first; f <= e; ++f) line[neighbours_[f]] -= factor * entries_[f];
    }
  }
}

void SparseCholesky::factor(double* A, int size, std::size_t stride, double floor) {
  if (size < parameters.least_size) {
    size_ = size;
    stride_ = stride;
    dense_ = true;
    return cholesky_factor(A, size, stride, floor);
  }
  if (size != size_ || stride != stride_ || (!dense_ && !fits(A))) {
    if (size != size_) pattern_.clear();
    size_ = size;
    stride_ = stride;
    order(A);
  }
  if (dense_) return cholesky_factor(A, size, stride, floor);
  diagonal_.resize(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) diagonal_[i] = A[static_cast<std::size_t>(i) * (stride + 1)];
  pivots_.resize(eliminated_.size());
  entries_.resize(neighbours_.size());
  eliminate(A, floor);
  const std::size_t n = core_.size();
  rest_.resize(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    const double* line = A + static_cast<std::size_t>(core_[i]) * stride;
    for (std::size_t j = 0; j <= i; ++j) rest_[i * n + j] = line[core_[j]];
    // Its original diagonal says what is next to nothing: what elimination left of it may itself be rounding.
    if (!(rest_[i * n + i] > floor * diagonal_[core_[i]])) rest_[i * n + i] = 0;
  }
  cholesky_factor(rest_.data(), static_cast<int>(n), n, floor);
}

void SparseCholesky::solve(const double* A, double* b) const {
  if (dense_) return cholesky_solve(A, size_, stride_, b);
  for (std::size_t k = 0; k < eliminated_.size(); ++k) {
    const double value = b[eliminated_[k]] /= pivots_[k];
    for (auto e = neighbours_at_[k]; e < neighbours_at_[k + 1]; ++e) b[neighbours_[e]] -= entries_[e] * value;
  }
  const std::size_t n = core_.size();
  right_.resize(n);
  for (std::size_t i = 0; i < n; ++i) right_[i] = b[core_[i]];
  cholesky_solve(rest_.data(), static_cast<int>(n), n, right_.data());
  for (std::size_t i = 0; i < n; ++i) b[core_[i]] = right_[i];
  for (std::size_t k = eliminated_.size(); k-- > 0;) {
    double value = b[eliminated_[k]];
    for (auto e = neighbours_at_[k]; e < neighbours_at_[k + 1]; ++e) value -= entries_[e] * b[neighbours_[e]];
    b[eliminated_[k]] = value / pivots_[k];
  }
}

}  // namespace surefoot
