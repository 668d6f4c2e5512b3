// How many rows have all of a few 0/1 columns at 1: the counts every contingency table of those columns is made of.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "surefoot/riskscore/table/row_partition.hpp"

namespace surefoot {

// Rows as bits, sorted by label and weight, so that one pass over the bits of a set gives its weight for both labels.
class BitColumns {
 public:
  // Needs 0/1 values in `columns`; `fits` says whether they are, and whether the rows have few enough distinct weights.
  BitColumns(const RawTable& table, const std::vector<int>& columns);
  static bool fits(const RawTable& table, const std::vector<int>& columns);
  // Number of different pairs of label and weight.
  static std::size_t count_segments(const RawTable& table);

  // Whether all rows of a label weigh the same.
  bool one_weight_each() const;

  int n_columns() const { return static_cast<int>(columns_.size()); }
  std::size_t n_words() const { return n_words_; }
  const std::uint64_t* column(int j) const { return columns_[static_cast<std::size_t>(j)].data(); }

  // Weight of the rows in both sets, of all labels and of label +1.
  void shared_weight(const std::uint64_t* a, const std::uint64_t* b, double& total, double& positive) const;
  void all_weight(double& total, double& positive) const;

 private:
  struct Segment {
    std::size_t begin, n_words, n_rows;
    double weight;
    bool positive;
  };
  std::vector<Segment> segments_;
  std::size_t n_words_ = 0;
  std::vector<std::vector<std::uint64_t>> columns_;
};

// One number per set T u {f}, f beyond the last column of T: rows[f] is valid for those f.
struct CountRow {
  const double* total;
  const double* positive;
};

// Counts of all sets of up to `depth` columns.
class SubsetCounts {
 public:
  // Once `stop` is set the counts stay unfinished.
  SubsetCounts(const BitColumns& bits, int depth, int n_threads, const std::atomic<bool>& stop);

  // Largest size of T for which row(T) exists.
  int max_prefix() const { return depth_ - 1; }
  CountRow row(const int* prefix, int size) const;

  // Numbers a table of that depth holds.
  static double size(int n_columns, int depth);

 private:
  std::size_t rank(const int* prefix, int size) const;

  int n_, depth_;
  std::vector<std::vector<std::size_t>> offset_;  // by size of the prefix, by rank of the prefix
  std::vector<std::vector<double>> total_, positive_;
};

}  // namespace surefoot
