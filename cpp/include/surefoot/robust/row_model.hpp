// Row sums of the robust loss around a point: value, gradient, curvature, and the rows whose worst case is (nearly) tied.
//
// This is all a solver ever learns about the rows. Sums over parts of a table add up, and tied rows concatenate, so the rows
// may as well live elsewhere.
#pragma once

#include <cstdint>
#include <vector>

#include "surefoot/robust/mixed_table.hpp"
#include "surefoot/robust/row_part.hpp"
#include "surefoot/robust/working_set.hpp"

namespace surefoot {

// Rows whose worst case is not one smooth piece. The gradient of piece k of a row, in lifted coordinates, is
//   coef_k * (the row's part, 1 at the shared slots) + (varied_k at the varied slots),
// where the first varied slot is always the price. Features whose slot is the same in every piece of the row are shared.
//
// Hinges. Where the loss is nearly linear (a row well on the wrong side), each feature moves or stays nearly independently of
// the others, and every subset of the features whose move gains about nothing is nearly tied: too many pieces to list. One
// piece represents them all if it carries a hinge per such feature,  max(0, change of the tangent at the piece when the
// feature's move is toggled).
struct TiedRows {
  std::vector<std::int64_t> row;
  std::vector<double> weight;
  std::vector<std::int64_t> part_at;  // start of each row's part, and the end
  std::vector<double> part_value;
  std::vector<std::int32_t> part_slot;  // empty for dense tables
  std::vector<std::int64_t> shared_at;  // start of each row's shared slots, and the end
  std::vector<std::int32_t> shared_slot;
  std::vector<std::int64_t> varied_at;
  std::vector<std::int32_t> varied_slot;
  std::vector<std::int64_t> piece_at;
  std::vector<std::int64_t> entry_at;  // start of each row's (pieces x varied slots) block in `varied`
  std::vector<double> varied;
  std::vector<double> value;  // per piece, as are all below
  std::vector<double> coef;
  std::vector<std::uint64_t> mask;
  std::vector<std::uint8_t> flipped;
  std::vector<std::int64_t> hinge_at;       // start of each piece's hinges, and the end
  std::vector<std::int32_t> hinge_feature;  // per hinge, as are all below
  std::vector<double> hinge_value;          // at most 0 for the maximal piece of a row
  std::vector<std::int32_t> hinge_level;    // where its level's slot is among the row's varied slots
  std::vector<std::int32_t> hinge_envelope;
  std::vector<double> hinge_price_coef;
  std::vector<double> hinge_level_coef;  // the envelope's is its negative

  std::int64_t size() const { return static_cast<std::int64_t>(row.size()); }
  RowPart part(std::int64_t i) const {
    return {part_value.data() + part_at[i], part_slot.empty() ? nullptr : part_slot.data() + part_at[i],
            static_cast<int>(part_at[i + 1] - part_at[i])};
  }
  std::int64_t n_pieces() const { return static_cast<std::int64_t>(value.size()); }
  std::int64_t n_hinges() const { return static_cast<std::int64_t>(hinge_value.size()); }
};

struct RowModel {
  double value = 0;               // weighted sum of the worst-case losses, all rows
  std::vector<double> gradient;   // rows with one piece only
  std::vector<double> curvature;  // all rows; lower triangle, (size + 1) x (size + 1)
  TiedRows tied;
  std::vector<double> point;  // where the model was made
};

// Where a model must be right: the trust region of its linearisation, measured in losses.
struct ModelRegion {
  double active_width = 0;  // pieces this far below their row's maximum are listed
  double precision = 0;     // error with which hinges may represent further pieces
  // Above 0, every row also gets outer linearisation cuts with a hinge for every feature whose move this change of the loss
  // could toggle: expensive, but right at any distance. Levels of one or two rows have so little curvature that steps along
  // them are long.
  double cut_radius = 0;
};

// No benchmark is on record for these values.
struct RowModelParameters {
  double cut_arguments[4] = {-4.0, -4.0 / 3, 4.0 / 3,
                             4.0};  // loss arguments at which cuts touch; more cuts are tighter and slower
  double straight_slope = 0.5;      // slope of the loss above which a piece carries hinges even if nothing it lists needs them
  double revived_width = 2.0;       // width for hinges of a piece below the maximum, over its distance from the maximum
};

RowModel build_row_model(const MixedTable& table, const LiftedLayout& layout, const double* x, const ModelRegion& region,
                         const WorkingSet& working_set, int n_threads);

// Adds the model of further rows, which start at first_row of the table. A table cut into parts is summed up like this one part
// at a time, and each part's own model can be let go.
void append_row_model(RowModel& model, const RowModel& part, std::int64_t first_row);

// The gradients of all pieces, and of all hinges, of the tied rows: one line of length size + 1 each, for methods that need
// them written out.
std::vector<double> piece_gradients(const RowModel& model);
std::vector<double> hinge_gradients(const RowModel& model);

}  // namespace surefoot
