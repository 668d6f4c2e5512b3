// The working set of an SQP loop: pieces that the next row model must contain, because they held mass in the last quadratic
// programme or became the worst where its step failed. It warm starts the active set and says which pieces the curvature is
// taken from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace surefoot {

struct Plan;

struct WorkingSet {
  std::vector<std::int64_t> row;    // ascending; per piece, as are all below
  std::vector<std::uint64_t> mask;  // mask_words per piece: which features move
  std::vector<std::uint8_t> flipped;
  std::vector<double> fraction;  // of its row's mass, as of the last quadratic programme

  // The pieces of a plan that hold more than such a fraction of their row's mass.
  static WorkingSet of_plan(const Plan& plan, double least_fraction);

  // The union, in the order of rows; of one row these come before the others.
  WorkingSet joined(const WorkingSet& other) const;

  // The pieces of the rows [begin, end), counted from begin; and the same pieces with `first_row` added to their rows.
  WorkingSet of_rows(std::int64_t begin, std::int64_t end) const;
  WorkingSet shifted(std::int64_t first_row) const;

 private:
  std::size_t mask_words() const { return row.empty() ? 0 : mask.size() / row.size(); }
  void append(const WorkingSet& from, std::size_t p);
};

}  // namespace surefoot
