#include "surefoot/riskscore/table/row_partition.hpp"

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

namespace {

// Rows with the same cell often follow each other, and an addition waits for the one before it: odd and even rows have sums of
// their own.
template <class Code>
void add_weights(const CodedTable& table, const std::uint32_t* group, const Code* code, std::size_t n_codes,
                 CutScratch::Weights* sums) {
  const double *total = table.total.data(), *positive = table.positive.data();
  const std::size_t n_rows = table.n_rows();
  std::size_t i = 0;
  for (; i + 1 < n_rows; i += 2) {
    sums[2 * (group[i] * n_codes + code[i])].add(total[i], positive[i]);
    sums[2 * (group[i + 1] * n_codes + code[i + 1]) + 1].add(total[i + 1], positive[i + 1]);
  }
  if (i < n_rows) sums[2 * (group[i] * n_codes + code[i])].add(total[i], positive[i]);
}

}  // namespace

void RowPartition::write_finer_cells(const CodedTable& table, const int* columns, int n, CutScratch& scratch,
                                     ScoreCells& cells) const {
  const ColumnCodes& codes = table.code[static_cast<std::size_t>(columns[n - 1])];
  const std::size_t n_codes = codes.n_codes, n_slots = first.size() * n_codes;
  if (codes.narrow.empty() || n_slots > group.size() + 64) {
    scratch.finer.split(codes, *this);
    scratch.finer.write_cells(table, columns, n, cells);
    return;
  }
  auto& sums = scratch.sums;
  sums.assign(2 * n_slots, {});
  add_weights(table, group.data(), codes.narrow.data(), n_codes, sums.data());
  std::size_t occupied = 0;
  for (std::size_t slot = 0; slot < n_slots; ++slot) {
    sums[slot] = {sums[2 * slot].total + sums[2 * slot + 1].total, sums[2 * slot].positive + sums[2 * slot + 1].positive};
    occupied += sums[slot].total > 0;
  }
  // Cells of rows without weight are left out: nothing can be lost there.
  cells.reset(n, occupied);
  std::size_t cell = 0;
  for (std::size_t g = 0; g < first.size(); ++g)
    for (std::size_t c = 0; c < n_codes; ++c) {
      const CutScratch::Weights& weights = sums[g * n_codes + c];
      if (!(weights.total > 0)) continue;
      cells.set_weights(cell, weights.total, weights.positive);
      for (int k = 0; k + 1 < n; ++k) cells.set_value(cell, k, table.value[static_cast<std::size_t>(columns[k])][first[g]]);
      cells.set_value(cell, n - 1, codes.values[c]);
      ++cell;
    }
}

}  // namespace surefoot
