#include "surefoot/riskscore/table/coded_table.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <numeric>

#include "surefoot/core/compensated_sum.hpp"
#include "surefoot/core/parallel.hpp"

namespace surefoot {
namespace {

// Rows between two looks at the clock, and rows that are packed while they are in the cache.
constexpr std::size_t block_rows = 1 << 13;
// Rows of a part: their words and their table fit into the cache.
constexpr std::size_t part_rows = 1 << 14;

using Stopped = std::function<bool()>;

// The distinct values in ascending order. Most columns have a handful, which a scan finds faster than sorting.
std::vector<double> distinct_values(const double* column, std::size_t n) {
  std::vector<double> distinct;
  double last = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!distinct.empty() && column[i] == last) continue;
    last = column[i];
    const auto at = std::lower_bound(distinct.begin(), distinct.end(), last);
    if (at != distinct.end() && *at == last) continue;
    if (distinct.size() == ColumnCodes::most_narrow) {
      distinct.assign(column, column + n);
      std::sort(distinct.begin(), distinct.end());
      distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
      break;
    }
    distinct.insert(at, last);
  }
  return distinct;
}

// Codes of a column whose values are whole numbers, the largest at most 255 above the smallest; false if they are not.
bool code_whole(const double* column, std::size_t n, ColumnCodes& codes) {
  const auto [least, most] = std::minmax_element(column, column + std::min(n, block_rows));
  double low = *least, high = *most;
  // Sums of whole numbers below 2^53 are exact.
  for (std::size_t i = 0; i < n; ++i) {
    low = std::min(low, column[i]);
    high = std::max(high, column[i]);
  }
  if (!(std::fabs(low) < 0x1p52) || low != std::rint(low) || !(high - low < ColumnCodes::most_narrow)) return false;
  bool seen[ColumnCodes::most_narrow] = {};
  codes.narrow.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const int step = static_cast<int>(column[i] - low);
    if (low + step != column[i]) return false;
    seen[step] = true;
    codes.narrow[i] = static_cast<std::uint8_t>(step);
  }
  std::uint8_t code[ColumnCodes::most_narrow];
  codes.n_codes = 0;
  for (std::uint32_t step = 0; step < ColumnCodes::most_narrow; ++step) {
    code[step] = static_cast<std::uint8_t>(codes.n_codes);
    if (!seen[step]) continue;
    ++codes.n_codes;
    codes.values.push_back(low + step);
  }
  if (codes.n_codes <= high - low)
    for (std::uint8_t& step : codes.narrow) step = code[step];
  return true;
}

void code_column(const double* column, std::size_t n, ColumnCodes& codes, const Stopped& stopped) {
  if (n == 0 || code_whole(column, n, codes)) return;
  const std::vector<double> distinct = distinct_values(column, n);
  codes.n_codes = static_cast<std::uint32_t>(distinct.size());
  const bool narrow = codes.n_codes <= ColumnCodes::most_narrow;
  if (narrow) codes.values = distinct;
  codes.narrow.resize(narrow ? n : 0);
  codes.wide.resize(narrow ? 0 : n);
  for (std::size_t begin = 0; begin < n && !stopped(); begin += block_rows)
    for (std::size_t i = begin; i < std::min(n, begin + block_rows); ++i) {
      const auto code = std::lower_bound(distinct.begin(), distinct.end(), column[i]) - distinct.begin();
      if (narrow)
        codes.narrow[i] = static_cast<std::uint8_t>(code);
      else
        codes.wide[i] = static_cast<std::uint32_t>(code);
    }
}

// Calls work(k) for every k below n, on several threads if there are many rows.
template <class Work>
void for_each(std::size_t n, std::size_t n_rows, int n_threads, Work&& work) {
  RowBlocks items(static_cast<std::int64_t>(n));
  items.n_blocks = static_cast<std::int64_t>(n);
  for_each_block(items, n_rows > part_rows ? n_threads : 1, [&](std::int64_t k) { work(static_cast<std::size_t>(k)); });
}

// The codes of every row side by side.
class RowWords {
 public:
  RowWords(const std::vector<ColumnCodes>& codes, std::size_t n_rows, int n_threads, const Stopped& stopped) {
    struct Place {
      const ColumnCodes* codes;
      std::size_t word;
      int shift;
    };
    std::vector<Place> places;
    int used = 64;
    for (const ColumnCodes& column : codes) {
      const int bits = std::bit_width(std::max(column.n_codes, 1u) - 1);
      if (bits == 0) continue;
      if (used + bits > 64) {
        used = 0;
        ++width_;
      }
      places.push_back({&column, width_ - 1, used});
      used += bits;
    }
    words_.resize(n_rows * width_);
    for_each((n_rows + block_rows - 1) / block_rows, n_rows, n_threads, [&](std::size_t block) {
      if (stopped()) return;
      const std::size_t begin = block * block_rows, end = std::min(n_rows, begin + block_rows);
      for (const Place& place : places)
        place.codes->with([&](const auto* code) {
          std::uint64_t* word = words_.data() + place.word;
          for (std::size_t i = begin; i < end; ++i) word[i * width_] |= static_cast<std::uint64_t>(code[i]) << place.shift;
        });
    });
  }

  // Multipliers with well mixed bits, from the 64-bit finaliser of MurmurHash3.
  std::uint64_t hash(std::size_t row) const {
    std::uint64_t state = 0xC4CEB9FE1A85EC53ull;
    for (std::size_t w = 0; w < width_; ++w) {
      state = (state ^ words_[row * width_ + w]) * 0xFF51AFD7ED558CCDull;
      state ^= state >> 32;
    }
    state *= 0xC4CEB9FE1A85EC53ull;
    return state ^ (state >> 32);
  }

  bool equal(std::size_t a, std::size_t b) const {
    return std::equal(words_.begin() + static_cast<std::ptrdiff_t>(a * width_),
                      words_.begin() + static_cast<std::ptrdiff_t>((a + 1) * width_),
                      words_.begin() + static_cast<std::ptrdiff_t>(b * width_));
  }

  std::size_t width() const { return width_; }

 private:
  std::size_t width_ = 0;
  std::vector<std::uint64_t> words_;
};

// Rows by the leading bits of their hashes, ascending in each part.
struct RowParts {
  std::vector<std::size_t> begin;
  std::vector<std::uint32_t> rows;

  RowParts(const RowWords& words, std::size_t n_rows, const Stopped& stopped) : rows(n_rows) {
    const int bits = std::min(static_cast<int>(std::bit_width(n_rows / part_rows)), 12);
    const auto part_of = [&](std::size_t row) { return bits == 0 ? 0 : words.hash(row) >> (64 - bits); };
    begin.assign((std::size_t{1} << bits) + 1, 0);
    for (std::size_t i = 0; i < n_rows; ++i) {
      if (i % block_rows == 0 && stopped()) return;
      ++begin[part_of(i) + 1];
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
    for (std::size_t i = 0; i < n_rows; ++i) {
      if (i % block_rows == 0 && stopped()) return;
      rows[next[part_of(i)]++] = static_cast<std::uint32_t>(i);
    }
  }
};

// The first row equal to each row.
std::vector<std::uint32_t> first_equal(const RowWords& words, std::size_t n_rows, int n_threads, const Stopped& stopped) {
  std::vector<std::uint32_t> first(n_rows, 0);
  if (words.width() == 0) return first;
  const RowParts parts(words, n_rows, stopped);
  if (stopped()) return first;
  for_each(parts.begin.size() - 1, n_rows, n_threads, [&](std::size_t part) {
    const std::size_t begin = parts.begin[part], end = parts.begin[part + 1];
    const std::size_t mask = std::bit_ceil(2 * (end - begin) + 1) - 1;
    constexpr std::uint32_t nobody = ~0u;
    std::vector<std::uint32_t> slots(mask + 1, nobody);
    for (std::size_t k = begin; k < end; ++k) {
      if (k % block_rows == 0 && stopped()) return;
      const std::uint32_t row = parts.rows[k];
      std::size_t at = words.hash(row) & mask;
      while (slots[at] != nobody && !words.equal(slots[at], row)) at = (at + 1) & mask;
      if (slots[at] == nobody) slots[at] = row;
      first[row] = slots[at];
    }
  });
  return first;
}

// Weights of the groups, and their first rows.
std::vector<std::uint32_t> sum_weights(const RawTable& raw, const std::vector<std::uint32_t>& first, CodedTable& table,
                                       const Stopped& stopped) {
  std::vector<std::uint32_t> representatives, group(raw.n_rows);
  std::vector<CompensatedSum> total, positive;
  for (std::size_t i = 0; i < raw.n_rows; ++i) {
    if (i % block_rows == 0 && stopped()) break;
    if (first[i] == i) {
      group[i] = static_cast<std::uint32_t>(representatives.size());
      representatives.push_back(static_cast<std::uint32_t>(i));
      total.emplace_back();
      positive.emplace_back();
    } else {
      group[i] = group[first[i]];
    }
    total[group[i]].add(raw.weights[i]);
    if (raw.labels[i] > 0) positive[group[i]].add(raw.weights[i]);
  }
  for (const CompensatedSum& sum : total) table.total.push_back(sum.value());
  for (const CompensatedSum& sum : positive) table.positive.push_back(sum.value());
  return representatives;
}

template <class T>
void keep_rows(std::vector<T>& values, const std::vector<std::uint32_t>& rows) {
  if (values.size() == rows.size()) return;
  // Rows ascend, so none is overwritten before it has moved.
  for (std::size_t i = 0; i < std::min(rows.size(), values.size()); ++i) values[i] = values[rows[i]];
  values.resize(std::min(rows.size(), values.size()));
  values.shrink_to_fit();
}

}  // namespace

CodedTable merge_rows_by(const RawTable& raw, const std::vector<int>& columns, int n_threads, const Stopped& stop) {
  const Stopped stopped = stop ? stop : [] { return false; };
  const std::size_t n_columns = static_cast<std::size_t>(raw.n_columns);
  CodedTable table;
  table.value.resize(n_columns);
  table.code.resize(n_columns);
  for_each(columns.size(), raw.n_rows, n_threads, [&](std::size_t k) {
    if (!stopped()) code_column(raw.column(columns[k]), raw.n_rows, table.code[static_cast<std::size_t>(columns[k])], stopped);
  });
  if (stopped()) return table;
  std::vector<std::uint32_t> first;
  {
    const RowWords words(table.code, raw.n_rows, n_threads, stopped);
    if (!stopped()) first = first_equal(words, raw.n_rows, n_threads, stopped);
  }
  if (stopped()) return table;
  const std::vector<std::uint32_t> rows = sum_weights(raw, first, table, stopped);
  for_each(columns.size(), raw.n_rows, n_threads, [&](std::size_t k) {
    const std::size_t j = static_cast<std::size_t>(columns[k]);
    const double* column = raw.column(columns[k]);
    if (stopped()) return;
    table.value[j].reserve(rows.size());
    for (const std::uint32_t row : rows) table.value[j].push_back(column[row]);
    keep_rows(table.code[j].narrow, rows);
    keep_rows(table.code[j].wide, rows);
  });
  return table;
}

CodedTable merge_rows(const RawTable& raw, int n_threads, const Stopped& stopped) {
  std::vector<int> all(static_cast<std::size_t>(raw.n_columns));
  std::iota(all.begin(), all.end(), 0);
  return merge_rows_by(raw, all, n_threads, stopped);
}

}  // namespace surefoot
