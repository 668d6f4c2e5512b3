#include "surefoot/cell_counts.hpp"

#include <algorithm>

namespace surefoot {
namespace {

// Columns with more values are cut: their cells are about as many as their rows.
constexpr std::uint32_t most_codes = 64;
static_assert(most_codes <= ColumnCodes::most_narrow);

}  // namespace

CellCounts::CellCounts(const CodedTable& table)
    : table_(table), rare_(table.value.size()), rare_code_(table.value.size()), values_(table.value.size()) {
  const std::size_t n_rows = table.n_rows();
  row_.reserve(n_rows);
  for (std::size_t i = 0; i < n_rows; ++i) row_.push_back({table.total[i], table.positive[i], 1});
  for (std::size_t j = 0; j < rare_.size(); ++j) {
    const auto& code = table.code[j].narrow;
    const std::uint32_t n_codes = table.code[j].n_codes;
    if (n_codes > most_codes) continue;
    values_[j].resize(n_codes);
    for (std::size_t i = 0; i < n_rows; ++i) values_[j][code[i]] = table.value[j][i];
    if (n_codes != 2) continue;
    const auto ones = static_cast<std::size_t>(std::count(code.begin(), code.end(), std::uint8_t{1}));
    rare_code_[j] = 2 * ones <= n_rows ? 1 : 0;
    rare_[j].reserve(std::min(ones, n_rows - ones));
    for (std::size_t i = 0; i < n_rows; ++i)
      if (code[i] == rare_code_[j]) rare_[j].push_back(static_cast<std::uint32_t>(i));
  }
}

void CellCounts::open(const RowPartition& rows, const std::vector<int>& columns) {
  rows_ = &rows;
  columns_ = columns;
  columns_.push_back(-1);
  groups_.assign(rows.first.size(), {});
  for (std::size_t i = 0; i < rows.group.size(); ++i) groups_[rows.group[i]].add(row_[i]);
}

void CellCounts::write(int column, ScoreCells& cells) {
  const auto j = static_cast<std::size_t>(column);
  columns_.back() = column;
  if (values_[j].empty() || groups_.size() * values_[j].size() > rows_->group.size() + 64) {
    finer_.split(table_.code[j], *rows_);
    finer_.write_cells(table_, columns_.data(), static_cast<int>(columns_.size()), cells);
    return;
  }
  count(j);
  write_counted(j, cells);
}

void CellCounts::count(std::size_t column) {
  const std::size_t n_codes = values_[column].size();
  const auto& group = rows_->group;
  sums_.assign(groups_.size() * n_codes, {});
  if (n_codes != 2) {
    const auto& code = table_.code[column].narrow;
    for (std::size_t i = 0; i < group.size(); ++i) sums_[group[i] * n_codes + code[i]].add(row_[i]);
    return;
  }
  const std::size_t rare = rare_code_[column];
  for (const std::uint32_t i : rare_[column]) sums_[2 * group[i] + rare].add(row_[i]);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Sums& rest = sums_[2 * g + 1 - rare];
    rest = groups_[g];
    rest.subtract(sums_[2 * g + rare]);
  }
}

void CellCounts::write_counted(std::size_t column, ScoreCells& cells) const {
  const std::size_t n_codes = values_[column].size();
  const int n = static_cast<int>(columns_.size());
  const auto occupied = std::count_if(sums_.begin(), sums_.end(), [](const Sums& sums) { return sums.n_rows > 0; });
  cells.reset(n, static_cast<std::size_t>(occupied));
  std::size_t cell = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (std::size_t c = 0; c < n_codes; ++c) {
      const Sums& sums = sums_[g * n_codes + c];
      if (sums.n_rows == 0) continue;
      // A difference may come out below 0, where a weight cannot be.
      const double total = std::max(sums.total, 0.0);
      cells.set_weights(cell, total, std::clamp(sums.positive, 0.0, total));
      for (int k = 0; k + 1 < n; ++k)
        cells.set_value(cell, k,
                        table_.value[static_cast<std::size_t>(columns_[static_cast<std::size_t>(k)])][rows_->first[g]]);
      cells.set_value(cell, n - 1, values_[column][c]);
      ++cell;
    }
}

}  // namespace surefoot
