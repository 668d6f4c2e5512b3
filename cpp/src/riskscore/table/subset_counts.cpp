#include "surefoot/riskscore/table/subset_counts.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "surefoot/core/bit_counts.hpp"
#include "surefoot/core/parallel.hpp"

namespace surefoot {
namespace {

// A segment takes a call of its own, so many distinct weights would eat up what bits save.
constexpr std::size_t max_segments = 64;

struct WeightedRow {
  double weight;
  bool positive;
  std::size_t row;
};

std::vector<WeightedRow> sorted_rows(const RawTable& table) {
  std::vector<WeightedRow> rows;
  for (std::size_t i = 0; i < table.n_rows; ++i)
    if (table.weights[i] > 0) rows.push_back({table.weights[i], table.labels[i] > 0, i});
  std::stable_sort(rows.begin(), rows.end(), [](const WeightedRow& a, const WeightedRow& b) {
    return std::pair(a.positive, a.weight) < std::pair(b.positive, b.weight);
  });
  return rows;
}

bool same_segment(const WeightedRow& a, const WeightedRow& b) { return a.positive == b.positive && a.weight == b.weight; }

double choose(int n, int k) {
  double result = 1;
  for (int i = 0; i < k; ++i) result = result * (n - i) / (i + 1);
  return n < k ? 0 : result;
}

}  // namespace

bool BitColumns::fits(const RawTable& table, const std::vector<int>& columns) {
  for (const int column : columns)
    for (std::size_t i = 0; i < table.n_rows; ++i)
      if (const double value = table.column(column)[i]; value != 0 && value != 1) return false;
  return count_segments(table) <= max_segments;
}

std::size_t BitColumns::count_segments(const RawTable& table) {
  const auto rows = sorted_rows(table);
  std::size_t n_segments = 0;
  for (std::size_t k = 0; k < rows.size(); ++k)
    if (k == 0 || !same_segment(rows[k - 1], rows[k])) ++n_segments;
  return n_segments;
}

BitColumns::BitColumns(const RawTable& table, const std::vector<int>& columns) {
  const auto rows = sorted_rows(table);
  std::vector<std::size_t> place(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (k == 0 || !same_segment(rows[k - 1], rows[k])) {
      // Segments begin at a multiple of four words, so that the widest loads never straddle two of them.
      n_words_ = (n_words_ + 3) / 4 * 4;
      segments_.push_back({n_words_, 0, 0, rows[k].weight, rows[k].positive});
      ++n_words_;
      place[k] = segments_.back().begin * 64;
    } else {
      place[k] = place[k - 1] + 1;
      n_words_ = place[k] / 64 + 1;
    }
    segments_.back().n_words = n_words_ - segments_.back().begin;
    ++segments_.back().n_rows;
  }
  n_words_ = (n_words_ + 3) / 4 * 4;
  for (auto& segment : segments_) segment.n_words = (segment.n_words + 3) / 4 * 4;
  columns_.assign(columns.size(), std::vector<std::uint64_t>(n_words_, 0));
  for (std::size_t j = 0; j < columns.size(); ++j) {
    const double* value = table.column(columns[j]);
    for (std::size_t k = 0; k < rows.size(); ++k)
      if (value[rows[k].row] != 0) columns_[j][place[k] / 64] |= std::uint64_t{1} << (place[k] % 64);
  }
}

void BitColumns::shared_weight(const std::uint64_t* a, const std::uint64_t* b, double& total, double& positive) const {
  double sum = 0, of_positive = 0;
  for (const Segment& segment : segments_) {
    const auto count = shared_bits(a + segment.begin, b + segment.begin, static_cast<std::int64_t>(segment.n_words));
    const double weight = static_cast<double>(count) * segment.weight;
    sum += weight;
    if (segment.positive) of_positive += weight;
  }
  total = sum;
  positive = of_positive;
}

bool BitColumns::one_weight_each() const {
  return segments_.size() < 2 || (segments_.size() == 2 && segments_[0].positive != segments_[1].positive);
}

void BitColumns::all_weight(double& total, double& positive) const {
  total = positive = 0;
  for (const Segment& segment : segments_) {
    const double weight = static_cast<double>(segment.n_rows) * segment.weight;
    total += weight;
    if (segment.positive) positive += weight;
  }
}

double SubsetCounts::size(int n_columns, int depth) {
  double numbers = 0;
  for (int k = 1; k <= depth; ++k) numbers += 2 * choose(n_columns, k);
  return numbers;
}

// Prefixes of one size in the order of their largest column, then of the next (the combinatorial number system).
std::size_t SubsetCounts::rank(const int* prefix, int size) const {
  std::size_t result = 0;
  for (int k = 0; k < size; ++k) {
    const std::size_t c = static_cast<std::size_t>(prefix[k]);
    result += k == 0 ? c : k == 1 ? c * (c - 1) / 2 : c * (c - 1) * (c - 2) / 6;
  }
  return result;
}

CountRow SubsetCounts::row(const int* prefix, int size) const {
  const std::size_t s = static_cast<std::size_t>(size);
  const std::size_t begin = offset_[s][rank(prefix, size)];
  const std::size_t first = size ? static_cast<std::size_t>(prefix[size - 1]) + 1 : 0;
  // begin >= first is arranged by the padding at the front of the arrays.
  return {total_[s].data() + begin - first, positive_[s].data() + begin - first};
}

SubsetCounts::SubsetCounts(const BitColumns& bits, int depth, int n_threads, const std::atomic<bool>& stop)
    : n_(bits.n_columns()), depth_(depth) {
  const std::size_t n = static_cast<std::size_t>(n_);
  offset_.resize(static_cast<std::size_t>(depth));
  total_.resize(offset_.size());
  positive_.resize(offset_.size());
  const std::vector<std::uint64_t> all(bits.n_words(), ~std::uint64_t{0});
  // Padding bits of a segment are 0 in every column, so `all` may have them set.
  for (std::size_t s = 0; s < offset_.size(); ++s) {
    const std::size_t n_prefixes = static_cast<std::size_t>(choose(n_, static_cast<int>(s)) + 0.5);
    offset_[s].resize(n_prefixes + 1);
    std::size_t at = n;
    std::vector<int> prefix(s);
    std::iota(prefix.begin(), prefix.end(), 0);
    std::vector<std::vector<int>> prefixes;
    for (std::size_t k = 0; k < n_prefixes; ++k) {
      offset_[s][k] = at;
      at += n - (s ? static_cast<std::size_t>(prefix.back()) + 1 : 0);
      prefixes.push_back(prefix);
      // Successor in colexicographic order.
      for (std::size_t i = 0; i < s; ++i) {
        if (i + 1 == s || prefix[i] + 1 < prefix[i + 1]) {
          ++prefix[i];
          for (std::size_t b = 0; b < i; ++b) prefix[b] = static_cast<int>(b);
          break;
        }
      }
    }
    total_[s].resize(at);
    positive_[s].resize(at);
    RowBlocks blocks(static_cast<std::int64_t>(n_prefixes));
    blocks.n_blocks = std::min<std::int64_t>(64, static_cast<std::int64_t>(std::max<std::size_t>(n_prefixes, 1)));
    for_each_block(blocks, n_threads, [&](std::int64_t block) {
      std::vector<std::uint64_t> set(bits.n_words());
      for (std::int64_t k = blocks.begin(block); k < blocks.end(block) && !stop; ++k) {
        const auto& columns = prefixes[static_cast<std::size_t>(k)];
        set = all;
        for (const int column : columns)
          for (std::size_t w = 0; w < set.size(); ++w) set[w] &= bits.column(column)[w];
        std::size_t out = offset_[s][static_cast<std::size_t>(k)];
        for (int f = columns.empty() ? 0 : columns.back() + 1; f < n_; ++f, ++out)
          bits.shared_weight(set.data(), bits.column(f), total_[s][out], positive_[s][out]);
      }
    });
  }
}

}  // namespace surefoot
