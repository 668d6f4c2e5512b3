#include "surefoot/riskscore/search/node_pruning.hpp"

#include <algorithm>
#include <utility>

namespace surefoot {
namespace {

// Sums of the largest few of the numbers added so far.
class LargestSum {
 public:
  explicit LargestSum(int count) : count_(count) {}

  void add(double value) {
    if (n_ < count_)
      largest_[n_++] = value;
    else if (count_ > 0 && value > largest_[count_ - 1])
      largest_[count_ - 1] = value;
    else
      return;
    for (int k = n_ - 1; k > 0 && largest_[k] > largest_[k - 1]; --k) std::swap(largest_[k], largest_[k - 1]);
  }

  double sum(int n) const {
    double total = 0;
    for (int k = 0; k < std::min(n, n_); ++k) total += largest_[k];
    return total;
  }

  // Sum of the n largest without one number that was added.
  double sum_without(double value, int n) const {
    double total = 0;
    bool found = false;
    for (int k = 0; k < n_ && n > 0; ++k) {
      if (!found && largest_[k] == value) {
        found = true;
        continue;
      }
      total += largest_[k];
      --n;
    }
    return total;
  }

 private:
  int count_, n_ = 0;
  double largest_[max_coordinates + 1] = {};
};

}  // namespace

bool twin_in_prefix(const PrefixFit& node, const ColumnOrder& order, int e) {
  const int twin = order.twin[static_cast<std::size_t>(e)];
  return twin < 0 || std::find(node.columns, node.columns + node.depth, twin) != node.columns + node.depth;
}

void prune_candidates(const PrefixFit& node, const ColumnLimits& limits, const ColumnOrder& order, double threshold, int budget,
                      CandidateList& list, std::int32_t* marks) {
  LargestSum all(budget), later(budget - 1);
  const std::size_t n = list.columns.size();
  list.gain.resize(n);
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t e = static_cast<std::size_t>(list.columns[k]);
    const double g = list.gradient[e];
    list.gain[k] = -std::min(g * limits.lower[e], g * limits.upper[e]);
    all.add(std::max(list.gain[k], 0.0));
  }
  list.children.clear();
  list.child_bound.clear();
  std::size_t first = n;
  // From the last to the first, so that `later` holds what can still be added after a child.
  for (std::size_t k = n; k-- > 0;) {
    const int e = list.columns[k];
    const double gain = list.gain[k], optional = std::max(gain, 0.0);
    CandidateMark mark = CandidateMark::excluded;
    if (!(node.base - gain - all.sum_without(optional, budget - 1) > threshold)) {
      mark = CandidateMark::not_first;
      const double bound = node.base - gain - later.sum(budget - 1);
      if (!(bound > threshold)) {
        mark = twin_in_prefix(node, order, e) ? CandidateMark::child : CandidateMark::twin;
        if (mark == CandidateMark::child) {
          list.children.push_back(e);
          list.child_bound.push_back(bound);
        }
      }
      later.add(optional);
      list.columns[--first] = e;
    }
    if (marks) marks[k] = code(mark);
  }
  list.columns.erase(list.columns.begin(), list.columns.begin() + static_cast<std::ptrdiff_t>(first));
  std::reverse(list.children.begin(), list.children.end());
  std::reverse(list.child_bound.begin(), list.child_bound.end());
}

}  // namespace surefoot
