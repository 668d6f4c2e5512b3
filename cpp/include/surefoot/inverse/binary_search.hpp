// The best 0/1 vector under linear rows, by depth-first search from a given vector.
//
//   max over flips f in {0, 1}^n of   sum_j gain_j f_j + table[sum_j f_j]   subject to   sum_j row_rj f_j <= room_r for every r.
//
// x = start with the coordinates of f flipped; the table prices the number of flips. Two bounds prune a node with flips decided
// for a prefix of the coordinates: a row whose least possible side exceeds its room, and the best completion when rows are not
// kept but paid for with multipliers mu >= 0: what remains is a choice of the k largest gains for the best k, tabulated for every
// suffix and every number of flips so far. The multipliers come from a few subgradient steps at the root.
#pragma once

#include <cstdint>
#include <vector>

namespace surefoot {

struct FlipProgram {
  int n_unknowns;
  int n_rows;
  const double* rows;   // n_rows x n_unknowns, in terms of flips
  const double* room;   // n_rows
  const double* gain;   // n_unknowns
  const double* table;  // n_unknowns + 1
};

struct FlipAnswer {
  bool found;     // whether a vector better than the floor was found
  bool complete;  // whether the search ended before the limit of nodes
  double value;   // of the best vector, or the floor
  std::vector<char> flips;
  std::int64_t n_nodes;
};

// A search that keeps its memory for the next one.
class FlipSearch {
 public:
  // Vectors with a value of at most `floor` are of no interest; `slack` is how far a row may be missed, per row. `prices`, if
  // given, are multipliers of the rows that served an earlier search of the same rows: they are where this one begins, and come
  // back as it leaves them. The answer is valid until the next search.
  const FlipAnswer& search(const FlipProgram& program, const double* slack, double floor, std::int64_t max_nodes,
                           double* prices = nullptr);

 private:
  std::size_t at(int j, int r) const { return static_cast<std::size_t>(j) * m_ + r; }
  double best_prefix(int& count);
  void price_rows(int steps);
  void order_unknowns();
  void tabulate(const std::vector<double>& gain, std::vector<double>& completion);
  void descend(int j, int h, double plain, double priced);

  FlipProgram p_{};
  int n_ = 0, m_ = 0;
  double floor_ = 0, constant_ = 0;
  std::int64_t max_nodes_ = 0, n_nodes_ = 0;
  bool found_ = false;
  std::vector<double> limit_, mu_, trial_, gain_, excess_, sorted_, priced_, plain_, column_, completion_, plain_completion_,
      rest_, side_;
  std::vector<int> order_;
  std::vector<char> flip_, best_;
  FlipAnswer answer_{};
};

FlipAnswer search_flips(const FlipProgram& program, const double* slack, double floor, std::int64_t max_nodes);

}  // namespace surefoot
