#include "surefoot/row_partition.hpp"

#include <algorithm>
#include <bit>

#include "surefoot/compensated_sum.hpp"

namespace surefoot {

void RowPartition::split(const std::vector<std::uint32_t>& code, std::uint32_t n_codes, const RowPartition& parent) {
  const std::size_t n_rows = parent.group.size();
  const std::uint64_t n_keys = static_cast<std::uint64_t>(parent.first.size()) * n_codes;
  group.resize(n_rows);
  first.clear();
  if (n_keys <= 4 * n_rows + 64) {
    slots_.assign(n_keys, -1);
    for (std::size_t i = 0; i < n_rows; ++i) {
      std::int64_t& slot = slots_[static_cast<std::uint64_t>(parent.group[i]) * n_codes + code[i]];
      if (slot < 0) {
        slot = static_cast<std::int64_t>(first.size());
        first.push_back(static_cast<std::uint32_t>(i));
      }
      group[i] = static_cast<std::uint32_t>(slot);
    }
    return;
  }
  const std::size_t capacity = std::bit_ceil(2 * n_rows + 1), mask = capacity - 1;
  slots_.assign(capacity, -1);
  keys_.resize(capacity);
  for (std::size_t i = 0; i < n_rows; ++i) {
    const std::uint64_t key = static_cast<std::uint64_t>(parent.group[i]) * n_codes + code[i];
    std::size_t at = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ull) >> 20) & mask;
    while (slots_[at] >= 0 && keys_[at] != key) at = (at + 1) & mask;
    if (slots_[at] < 0) {
      keys_[at] = key;
      slots_[at] = static_cast<std::int64_t>(first.size());
      first.push_back(static_cast<std::uint32_t>(i));
    }
    group[i] = static_cast<std::uint32_t>(slots_[at]);
  }
}

void RowPartition::write_cells(const CodedTable& table, const int* columns, int n, ScoreCells& cells) const {
  cells.reset(n, first.size());
  auto* total = reinterpret_cast<double*>(cells.total.data());
  auto* positive = reinterpret_cast<double*>(cells.positive.data());
  for (std::size_t i = 0; i < group.size(); ++i) {
    total[group[i]] += table.total[i];
    positive[group[i]] += table.positive[i];
  }
  for (int j = 0; j < n; ++j) {
    const auto& value = table.value[static_cast<std::size_t>(columns[j])];
    for (std::size_t cell = 0; cell < first.size(); ++cell) cells.set_value(cell, j, value[first[cell]]);
  }
}

namespace {

// The distinct values in ascending order. Most columns of a score card have a handful, which a scan finds faster than sorting.
std::vector<double> distinct_values(const double* column, std::size_t n) {
  std::vector<double> distinct;
  double last = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!distinct.empty() && column[i] == last) continue;
    last = column[i];
    const auto at = std::lower_bound(distinct.begin(), distinct.end(), last);
    if (at != distinct.end() && *at == last) continue;
    if (distinct.size() == 64) {
      distinct.assign(column, column + n);
      std::sort(distinct.begin(), distinct.end());
      distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
      break;
    }
    distinct.insert(at, last);
  }
  return distinct;
}

}  // namespace

CodedTable merge_rows(const RawTable& raw) {
  const std::size_t n_rows = raw.n_rows;
  std::vector<std::vector<std::uint32_t>> codes(static_cast<std::size_t>(raw.n_columns));
  CodedTable table;
  table.value.resize(codes.size());
  table.code.resize(codes.size());
  table.n_codes.resize(codes.size());
  RowPartition rows(n_rows), finer;
  for (std::size_t j = 0; j < codes.size(); ++j) {
    const double* column = raw.column(static_cast<int>(j));
    const std::vector<double> distinct = distinct_values(column, n_rows);
    codes[j].resize(n_rows);
    for (std::size_t i = 0; i < n_rows; ++i)
      codes[j][i] =
          static_cast<std::uint32_t>(std::lower_bound(distinct.begin(), distinct.end(), column[i]) - distinct.begin());
    table.n_codes[j] = static_cast<std::uint32_t>(distinct.size());
    finer.split(codes[j], table.n_codes[j], rows);
    std::swap(rows, finer);
  }
  std::vector<CompensatedSum> total(rows.first.size()), positive(rows.first.size());
  for (std::size_t i = 0; i < n_rows; ++i) {
    total[rows.group[i]].add(raw.weights[i]);
    if (raw.labels[i] > 0) positive[rows.group[i]].add(raw.weights[i]);
  }
  for (std::size_t i = 0; i < total.size(); ++i) {
    table.total.push_back(total[i].value());
    table.positive.push_back(positive[i].value());
  }
  for (std::size_t j = 0; j < codes.size(); ++j) {
    table.value[j].reserve(rows.first.size());
    table.code[j].reserve(rows.first.size());
    for (const std::uint32_t row : rows.first) {
      table.value[j].push_back(raw.column(static_cast<int>(j))[row]);
      table.code[j].push_back(codes[j][row]);
    }
    // Tables of many rows are not held twice.
    codes[j] = {};
  }
  return table;
}

}  // namespace surefoot
