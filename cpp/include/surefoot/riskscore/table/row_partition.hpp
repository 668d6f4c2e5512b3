// Rows partitioned by some of their columns.
#pragma once

#include <cstdint>
#include <vector>

#include "surefoot/riskscore/table/coded_table.hpp"
#include "surefoot/riskscore/table/score_cells.hpp"

namespace surefoot {

struct CutScratch;

struct RowPartition {
  std::vector<std::uint32_t> group;  // of each row
  std::vector<std::uint32_t> first;  // first row of each group: groups are numbered in the order they appear

  explicit RowPartition(std::size_t n_rows = 0) : group(n_rows, 0), first(n_rows ? 1 : 0, 0) {}

  // The groups cut further by a column's codes.
  void split(const ColumnCodes& codes, const RowPartition& parent);

  // Cells of the groups; `columns` are those that made the partition.
  void write_cells(const CodedTable& table, const int* columns, int n, ScoreCells& cells) const;

  // Cells of the groups cut by the last of `columns`, the others being those that made the partition. Where they are few
  // against the rows, one pass adds their weights up, and no row is cut.
  void write_finer_cells(const CodedTable& table, const int* columns, int n, CutScratch& scratch, ScoreCells& cells) const;

 private:
  template <class Code>
  void split(const Code* code, std::uint32_t n_codes, const RowPartition& parent);

  std::vector<std::int64_t> slots_;  // open addressing: key and group, scratch of split
  std::vector<std::uint64_t> keys_;
};

// What a thread needs to look at finer cells.
struct CutScratch {
  // Of all rows, and of those with label +1.
  struct Weights {
    double total = 0, positive = 0;

    void add(double all, double of_positive) {
      total += all;
      positive += of_positive;
    }
  };

  RowPartition finer;
  std::vector<Weights> sums;  // by group and code, each twice
};

}  // namespace surefoot
