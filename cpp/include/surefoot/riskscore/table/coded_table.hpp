// Tables for score cards: as they come, and with equal rows merged and columns as codes of their distinct values.
//
// To merge, the codes of a row are packed side by side into as few 64-bit words as hold them: rows are equal where their words
// are. Rows go by a hash of the words into parts that fit into the cache, and each part looks its rows up in a table of its
// own. Words are compared, not hashes, so the hash decides how long it takes and nothing else. What comes out depends neither
// on threads nor on parts.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

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

// A column as codes: its distinct values, ascending, counted from 0. Most columns have few, and every pass over the rows reads
// them.
struct ColumnCodes {
  std::uint32_t n_codes = 0;
  std::vector<std::uint8_t> narrow;  // by row, where up to 256 codes are
  std::vector<std::uint32_t> wide;   // by row, where more are
  std::vector<double> values;        // by code, where up to 256 are

  static constexpr std::uint32_t most_narrow = 256;

  // Calls work with the codes, whichever they are.
  template <class Work>
  void with(Work&& work) const {
    if (n_codes <= most_narrow)
      work(narrow.data());
    else
      work(wide.data());
  }
};

// Rows of a table with their weights; columns as values and as codes.
struct CodedTable {
  std::vector<std::vector<double>> value;  // by column
  std::vector<ColumnCodes> code;           // by column
  std::vector<double> total, positive;     // by row: weight, and weight if the label is +1

  std::size_t n_rows() const { return total.size(); }
  int n_columns() const { return static_cast<int>(value.size()); }
};

// The table with equal rows merged, in the order of their first appearance. A table of which something is missing, once
// `stopped`, which is polled every few milliseconds per thread except while a column of more than 256 values is sorted.
CodedTable merge_rows(const RawTable& raw, int n_threads = 1, const std::function<bool()>& stopped = {});

// The same by some columns only, whatever the rows hold in others; those are left without values.
CodedTable merge_rows_by(const RawTable& raw, const std::vector<int>& columns, int n_threads = 1,
                         const std::function<bool()>& stopped = {});

}  // namespace surefoot
