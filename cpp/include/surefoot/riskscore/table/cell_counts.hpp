// Cells of a partition cut by one column more, without cutting the rows.
//
// Most columns of a score card are 0/1, and most 0/1 columns are rare. Of such a column only the rows with the rarer value are
// looked at; the cells of the other value are what is left of the groups. The weights of a cell that is what was left are
// differences, good to rounding: enough to compare supports, not to prove anything about them.
#pragma once

#include <cstdint>
#include <vector>

#include "surefoot/riskscore/table/row_partition.hpp"

namespace surefoot {

class CellCounts {
 public:
  explicit CellCounts(const CodedTable& table);

  // The partition that is cut from here on; it must outlive the calls of `write`. `columns` are those that made it.
  void open(const RowPartition& rows, const std::vector<int>& columns);
  bool is_open(const RowPartition& rows) const { return rows_ == &rows; }
  // The cells of the partition cut by `column`, which is the last of their columns.
  void write(int column, ScoreCells& cells);

 private:
  struct Sums {
    double total = 0, positive = 0;
    std::uint64_t n_rows = 0;

    void add(const Sums& other) {
      total += other.total;
      positive += other.positive;
      n_rows += other.n_rows;
    }
    void subtract(const Sums& other) {
      total -= other.total;
      positive -= other.positive;
      n_rows -= other.n_rows;
    }
  };

  void count(std::size_t column);
  void write_counted(std::size_t column, ScoreCells& cells) const;

  const CodedTable& table_;
  std::vector<Sums> row_;                         // by row
  std::vector<std::vector<std::uint32_t>> rare_;  // by column: the rows with the rarer of two values
  std::vector<std::uint32_t> rare_code_;
  const RowPartition* rows_ = nullptr;
  std::vector<int> columns_;
  std::vector<Sums> groups_;  // by group of the partition
  std::vector<Sums> sums_;    // by group and code
  CutScratch scratch_;
};

}  // namespace surefoot
