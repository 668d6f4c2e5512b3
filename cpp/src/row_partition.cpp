#include "surefoot/row_partition.hpp"

#include <bit>

namespace surefoot {

void RowPartition::split(const ColumnCodes& codes, const RowPartition& parent) {
  codes.with([&](const auto* code) { split(code, codes.n_codes, parent); });
}

template <class Code>
void RowPartition::split(const Code* code, std::uint32_t n_codes, const RowPartition& parent) {
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

}  // namespace surefoot
