// Cells counted over the rarer rows, or over all without cutting them, against cells of the rows themselves.
#include <algorithm>
#include <random>
#include <vector>

#include "check.hpp"
#include "surefoot/riskscore/table/cell_counts.hpp"

using namespace surefoot;

namespace {

// Columns: rare ones, common ones, a constant, three values, and nearly all different.
constexpr int n_columns = 5;

CodedTable draw(unsigned seed, std::size_t n_rows) {
  std::mt19937 random(seed);
  // Sums of these weights are exact, in whatever order.
  std::vector<double> values(n_columns * n_rows), labels(n_rows), weights(n_rows, 0x1p-10);
  for (std::size_t i = 0; i < n_rows; ++i) {
    values[i] = random() % 10 == 0 ? 3.5 : 0;
    values[n_rows + i] = random() % 10 == 0 ? 0 : 1;
    values[2 * n_rows + i] = 7;
    values[3 * n_rows + i] = static_cast<double>(random() % 3) - 1;
    values[4 * n_rows + i] = static_cast<double>(random() % 100000);
    labels[i] = random() % 2 ? 1 : -1;
  }
  return merge_rows({values.data(), n_rows, n_columns, labels.data(), weights.data()});
}

// Values of the columns, then both weights: one line for each cell, sorted.
std::vector<std::vector<double>> lines(const ScoreCells& cells) {
  std::vector<std::vector<double>> all;
  for (std::size_t cell = 0; cell < cells.n_cells; ++cell) {
    std::vector<double> line;
    for (int j = 0; j < cells.n_columns; ++j)
      line.push_back(reinterpret_cast<const double*>(cells.values.data() + static_cast<std::size_t>(j) *
                                                                               static_cast<std::size_t>(cells.n_packs))[cell]);
    line.push_back(reinterpret_cast<const double*>(cells.total.data())[cell]);
    line.push_back(reinterpret_cast<const double*>(cells.positive.data())[cell]);
    all.push_back(line);
  }
  std::sort(all.begin(), all.end());
  return all;
}

void check_cells(const ScoreCells& counted, const ScoreCells& expected) {
  const auto found = lines(counted), wanted = lines(expected);
  CHECK_EQUAL(found.size(), wanted.size());
  if (found.size() != wanted.size()) return;
  for (std::size_t cell = 0; cell < found.size(); ++cell)
    for (std::size_t k = 0; k < found[cell].size(); ++k) CHECK_EQUAL(found[cell][k], wanted[cell][k]);
}

}  // namespace

TEST(cells_counted_over_rare_rows_and_over_all_are_those_of_the_rows_cut) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const CodedTable table = draw(seed, 40 + 30 * seed);
    CellCounts counts(table);
    CutScratch scratch;
    for (int parent = -1; parent < n_columns; ++parent) {
      std::vector<int> columns;
      RowPartition rows(table.n_rows());
      if (parent >= 0) {
        columns = {parent};
        rows.split(table.code[static_cast<std::size_t>(parent)], RowPartition(table.n_rows()));
      }
      counts.open(rows, columns);
      for (int column = 0; column < n_columns; ++column) {
        if (column == parent) continue;
        std::vector<int> both = columns;
        both.push_back(column);
        RowPartition finer;
        finer.split(table.code[static_cast<std::size_t>(column)], rows);
        ScoreCells expected, counted;
        finer.write_cells(table, both.data(), static_cast<int>(both.size()), expected);
        counts.write(column, counted);
        check_cells(counted, expected);
        rows.write_finer_cells(table, both.data(), static_cast<int>(both.size()), scratch, counted);
        check_cells(counted, expected);
      }
    }
  }
}
