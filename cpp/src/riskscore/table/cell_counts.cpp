#include "surefoot/riskscore/table/cell_counts.hpp"

#include <algorithm>

namespace surefoot {

CellCounts::CellCounts(const CodedTable& table) : table_(table), rare_(table.value.size()), rare_code_(table.value.size()) {
  const std::size_t n_rows = table.n_rows();
  row_.reserve(n_rows);
  for (std::size_t i = 0; i < n_rows; ++i) row_.push_back({table.total[i], table.positive[i], 1});
  for (std::size_t j = 0; j < rare_.size(); ++j) {
    const auto& code = table.code[j].narrow;
    if (table.code[j].n_codes != 2) continue;
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
  if (table_.code[j].n_codes != 2 || 2 * groups_.size() > rows_->group.size() + 64) {
    rows_->write_finer_cells(table_, columns_.data(), static_cast<int>(columns_.size()), scratch_, cells);
    return;
  }
  count(j);
  write_counted(j, cells);
}

void CellCounts::count(std::size_t column) {
  const auto& group = rows_->group;
  sums_.assign(2 * groups_.size(), {});
  const std::size_t rare = rare_code_[column];
  for (const std::uint32_t i : rare_[column]) sums_[2 * group[i] + rare].add(row_[i]);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Sums& rest = sums_[2 * g + 1 - rare];
    rest = groups_[g];
    rest.subtract(sums_[2 * g + rare]);
  }
}

void CellCounts::write_counted(std::size_t column, ScoreCells& cells) const {
  const int n = static_cast<int>(columns_.size());
  const auto occupied = std::count_if(sums_.begin(), sums_.end(), [](const Sums& sums) { return sums.n_rows > 0; });
  cells.reset(n, static_cast<std::size_t>(occupied));
  std::size_t cell = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (std::size_t c = 0; c < 2; ++c) {
      const Sums& sums = sums_[2 * g + c];
      if (sums.n_rows == 0) continue;
      // A difference may come out below 0, where a weight cannot be.
      const double total = std::max(sums.total, 0.0);
      cells.set_weights(cell, total, std::clamp(sums.positive, 0.0, total));
      for (int k = 0; k + 1 < n; ++k)
        cells.set_value(cell, k,
                        table_.value[static_cast<std::size_t>(columns_[static_cast<std::size_t>(k)])][rows_->first[g]]);
      cells.set_value(cell, n - 1, table_.code[column].values[c]);
      ++cell;
    }
}

}  // namespace surefoot
