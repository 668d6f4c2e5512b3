// Rows told apart by some of their columns.
#pragma once

#include <cstdint>
#include <vector>

#include "surefoot/score_cells.hpp"

namespace surefoot {

// The table as it comes: values column by column, labels -1 and +1, weights that sum to 1.
struct RawTable {
  const double* values;
  std::size_t n_rows;
  int n_columns;
  const double* labels;
  const double* weights;

  const double* column(int j) const { return values + static_cast<std::size_t>(j) * n_rows; }
};

// Rows of a table with their weights; columns as values and as codes of their distinct values.
struct CodedTable {
  std::vector<std::vector<double>> value;        // by column
  std::vector<std::vector<std::uint32_t>> code;  // by column, counted from 0
  std::vector<std::uint32_t> n_codes;            // by column
  std::vector<double> total, positive;           // by row: weight, and weight if the label is +1

  std::size_t n_rows() const { return total.size(); }
  int n_columns() const { return static_cast<int>(value.size()); }
};

// The table with equal rows merged.
CodedTable merge_rows(const RawTable& raw);

struct RowPartition {
  std::vector<std::uint32_t> group;  // of each row
  std::vector<std::uint32_t> first;  // first row of each group: groups are numbered in the order they appear

  explicit RowPartition(std::size_t n_rows = 0) : group(n_rows, 0), first(n_rows ? 1 : 0, 0) {}

  // The groups cut further by a column's codes.
  void split(const std::vector<std::uint32_t>& code, std::uint32_t n_codes, const RowPartition& parent);

  // Cells of the groups; `columns` are those that made the partition.
  void write_cells(const CodedTable& table, const int* columns, int n, ScoreCells& cells) const;

 private:
  std::vector<std::int64_t> slots_;  // open addressing: key and group, scratch of split
  std::vector<std::uint64_t> keys_;
};

}  // namespace surefoot
