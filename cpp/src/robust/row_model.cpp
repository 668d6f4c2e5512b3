#include "surefoot/robust/row_model.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include "surefoot/core/softplus.hpp"
#include "surefoot/robust/outer_product.hpp"
#include "surefoot/robust/row_view.hpp"

namespace surefoot {
namespace {

template <class T>
void append(std::vector<T>& all, const std::vector<T>& part) {
  all.insert(all.end(), part.begin(), part.end());
}

// Offsets of a part continue where the whole ends.
void append_offsets(std::vector<std::int64_t>& all, const std::vector<std::int64_t>& part) {
  const std::int64_t base = all.empty() ? 0 : all.back();
  if (all.empty()) all.push_back(0);
  for (std::size_t k = 1; k < part.size(); ++k) all.push_back(base + part[k]);
}

// Appends the tied rows of a part whose first row is `first_row` of the whole.
void append_rows(TiedRows& tied, const TiedRows& part, std::int64_t first_row) {
  for (const auto row : part.row) tied.row.push_back(first_row + row);
  append(tied.weight, part.weight);
  append_offsets(tied.part_at, part.part_at);
  append(tied.part_value, part.part_value);
  append(tied.part_slot, part.part_slot);
  append_offsets(tied.shared_at, part.shared_at);
  append(tied.shared_slot, part.shared_slot);
  append_offsets(tied.varied_at, part.varied_at);
  append(tied.varied_slot, part.varied_slot);
  append_offsets(tied.piece_at, part.piece_at);
  append_offsets(tied.entry_at, part.entry_at);
  append(tied.varied, part.varied);
  append(tied.value, part.value);
  append(tied.coef, part.coef);
  append(tied.mask, part.mask);
  append(tied.flipped, part.flipped);
  append_offsets(tied.hinge_at, part.hinge_at);
  append(tied.hinge_feature, part.hinge_feature);
  append(tied.hinge_value, part.hinge_value);
  append(tied.hinge_level, part.hinge_level);
  append(tied.hinge_envelope, part.hinge_envelope);
  append(tied.hinge_price_coef, part.hinge_price_coef);
  append(tied.hinge_level_coef, part.hinge_level_coef);
}

constexpr RowModelParameters parameters;

// Partial sums of one block, and the work of adding a row to them.
class ModelBuilder {
 public:
  double value = 0;
  std::vector<double> gradient, curvature;
  TiedRows tied;

  ModelBuilder(const MixedTable& table, const LiftedLayout& layout, const PointTables& point)
      : gradient(static_cast<std::size_t>(layout.size) + 1),
        curvature(gradient.size() * gradient.size()),
        table_(table),
        layout_(layout),
        point_(point),
        view_(table, layout),
        scratch_(table),
        outer_(curvature.data(), gradient.size(), table.entry_at ? 0 : layout.first_numeric + table.n_numeric),
        words_(table.mask_words()) {
    for (auto* at : {&tied.part_at, &tied.shared_at, &tied.varied_at, &tied.piece_at, &tied.entry_at, &tied.hinge_at})
      at->push_back(0);
  }

  ModelBuilder(const ModelBuilder&) = delete;

  // Adds the row; `first` to `last` are its pieces in the working set.
  void add(std::int64_t row, const ModelRegion& region, const WorkingSet& working_set, std::size_t first, std::size_t last) {
    view_.move_to(row);
    const double score = row_score(table_, layout_, point_, row);
    enumerate_prefixes(table_, point_, row, score, region.active_width, scratch_);
    const double best = scratch_.pieces[scratch_.best].value;
    value += view_.weight * best;
    masks_.clear();
    pieces_.clear();
    fractions_.clear();
    for (std::size_t k = 0; k < scratch_.pieces.size(); ++k) {
      const Piece& piece = scratch_.pieces[k];
      if (static_cast<int>(k) != scratch_.best && piece.value < best - region.active_width) continue;
      if (static_cast<int>(k) == scratch_.best) best_piece_ = pieces_.size();
      pieces_.push_back(piece);
      masks_.resize(pieces_.size() * words_);
      std::uint64_t* mask = masks_.data() + (pieces_.size() - 1) * words_;
      for (int j = 0; j < piece.n_moved; ++j) set_bit(mask, scratch_.order[piece.flipped][j]);
      fractions_.push_back(0.0);
    }
    for (std::size_t k = first; k < last; ++k) add_working_piece(working_set, k, score);
    if (region.cut_radius > 0) add_cuts(score, best - region.cut_radius);
    if (pieces_.size() == 1) {
      add_single();
      return;
    }
    choose_representatives(region.precision);
    add_tied(row, best, region);
  }

  // Completes the sums.
  void finish() { outer_.flush(); }

 private:
  void add_working_piece(const WorkingSet& working_set, std::size_t k, double score) {
    const std::uint64_t* mask = working_set.mask.data() + k * words_;
    const bool flipped = working_set.flipped[k];
    for (std::size_t p = 0; p < pieces_.size(); ++p) {
      if (pieces_[p].flipped == flipped && std::equal(mask, mask + words_, masks_.data() + p * words_)) {
        fractions_[p] += working_set.fraction[k];
        return;
      }
    }
    const double argument = view_.argument(point_, score, mask, flipped);
    const double cost = view_.cost(mask, flipped);
    pieces_.push_back({argument, cost, softplus(argument) - point_.price * cost, flipped, 0});
    masks_.insert(masks_.end(), mask, mask + words_);
    fractions_.push_back(working_set.fraction[k]);
  }

  // Outer linearisation cuts: tangents of the loss at a few slopes, every feature where it is best off at that slope. With
  // hinges on all features they bound the row's worst case from below wherever the step ends; the pieces at hand do so only
  // near the point.
  void add_cuts(double score, double least) {
    for (const bool flipped : {false, true}) {
      if (flipped && !std::isfinite(table_.flip_price)) continue;
      const double target = view_.target(flipped);
      for (const double argument : parameters.cut_arguments) {
        const double slope = sigmoid(argument);
        Piece piece{argument, flipped ? table_.flip_price : 0.0, 0, flipped, 0};
        piece.value = softplus(argument) + slope * (-target * score - argument) - point_.price * piece.cost;
        masks_.resize((pieces_.size() + 1) * words_);
        std::uint64_t* mask = masks_.data() + pieces_.size() * words_;
        std::fill_n(mask, words_, 0);
        for (int l = 0; l < table_.n_moves(); ++l) {
          const double price = table_.price_of(l, view_.row);
          const double gain = slope * point_.gain_of(table_, view_.row, target > 0 ? 0 : 1, l) - point_.price * price;
          if (!(gain > 0)) continue;
          set_bit(mask, l);
          piece.value += gain;
          piece.cost += price;
        }
        if (piece.value < least) {
          masks_.resize(pieces_.size() * words_);
          continue;
        }
        pieces_.push_back(piece);
        fractions_.push_back(0.0);
      }
    }
  }

  const std::uint64_t* mask_of(std::size_t piece) const { return masks_.data() + piece * words_; }

  // Change of the tangent at a piece when the move l is toggled.
  double toggle_gain(std::size_t piece, int l) const {
    const double gain = point_.gain_of(table_, view_.row, view_.target(pieces_[piece].flipped) > 0 ? 0 : 1, l);
    const double move = sigmoid(pieces_[piece].argument) * gain - point_.price * table_.price_of(l, view_.row);
    return has_bit(mask_of(piece), l) ? -move : move;
  }

  // Whether the tangent at piece k, with the features in which they differ toggled, has the value of piece p, to the precision.
  bool represents(std::size_t k, std::size_t p, double precision) const {
    if (pieces_[p].flipped != pieces_[k].flipped) return false;
    double straight = pieces_[k].value;
    for (int l = 0; l < table_.n_moves(); ++l)
      if (has_bit(mask_of(k), l) != has_bit(mask_of(p), l)) straight += toggle_gain(k, l);
    return std::fabs(pieces_[p].value - straight) <= precision;
  }

  // Pieces that others do not already stand for, best first, and whether they stand for others.
  void choose_representatives(double precision) {
    by_value_.resize(pieces_.size());
    std::iota(by_value_.begin(), by_value_.end(), std::size_t{0});
    std::stable_sort(by_value_.begin(), by_value_.end(), [&](auto a, auto b) { return pieces_[a].value > pieces_[b].value; });
    chosen_.clear();
    has_hinges_.clear();
    for (const auto p : by_value_) {
      std::ptrdiff_t owner = -1;
      for (std::size_t c = 0; c < chosen_.size() && owner < 0; ++c)
        if (represents(chosen_[c], p, precision)) owner = static_cast<std::ptrdiff_t>(c);
      if (owner < 0) {
        owner = static_cast<std::ptrdiff_t>(chosen_.size());
        chosen_.push_back(p);
        has_hinges_.push_back(false);
      } else {
        has_hinges_[static_cast<std::size_t>(owner)] = true;
      }
    }
  }

  // The row as a piece sees it: entries of ranged columns, slots of features.
  void take(std::size_t piece) {
    view_.place(mask_of(piece));
    slots_.clear();
    for (int l = 0; l < table_.n_categorical; ++l)
      slots_.push_back(view_.slot(l, masks_.data() + piece * words_, pieces_[piece].flipped));
  }

  void add_curvature(double slope, double scale) {
    outer_.add(view_.part(), slots_.data(), static_cast<int>(slots_.size()), scale * slope * (1 - slope));
  }

  void add_single() {
    const Piece& piece = pieces_[0];
    const double slope = sigmoid(piece.argument);
    take(0);
    add_gradient(gradient.data(), view_.part(), slots_, -view_.target(piece.flipped) * slope * view_.weight);
    gradient[layout_.price] -= view_.weight * piece.cost;
    add_curvature(slope, view_.weight);
  }

  void add_tied(std::int64_t row, double best, const ModelRegion& region) {
    double known = 0;
    for (const double fraction : fractions_) known += fraction;
    if (known > 0) {
      for (double& fraction : fractions_) fraction /= known;
    } else {
      fractions_[best_piece_] = 1.0;
    }
    // Curvature belongs to the pieces that held the mass, whichever represents them now. Without moves a row has two
    // pieces, one the mirror image of the other, with equal curvature.
    const std::size_t n_curved = table_.n_moves() ? pieces_.size() : 1;
    for (std::size_t p = 0; p < n_curved; ++p) {
      const double fraction = table_.n_moves() ? fractions_[p] : 1.0;
      if (fraction == 0) continue;
      take(p);
      add_curvature(sigmoid(pieces_[p].argument), view_.weight * fraction);
    }
    tied.row.push_back(row);
    tied.weight.push_back(view_.weight);

    // Moves of each representative that carry a hinge.
    hinged_.clear();
    hinged_at_.assign(1, 0);
    for (std::size_t c = 0; c < chosen_.size(); ++c) {
      // A steep piece is nearly straight too, even if nothing else in the list shows it yet.
      const bool straight =
          region.cut_radius > 0 || has_hinges_[c] || sigmoid(pieces_[chosen_[c]].argument) > parameters.straight_slope;
      // A piece listed although it is well below the best is one that a long step brought up: the next may be as long.
      const double width =
          std::max({region.active_width, region.cut_radius, parameters.revived_width * (best - pieces_[chosen_[c]].value)});
      for (int l = 0; straight && l < table_.n_moves(); ++l)
        if (can_move(l) && toggle_gain(chosen_[c], l) >= -width * table_.reach(l, view_.row)) hinged_.push_back(l);
      hinged_at_.push_back(hinged_.size());
    }

    const std::size_t first_varied = tied.varied_slot.size();
    tied.varied_slot.push_back(layout_.price);
    owner_.clear();
    bool lowered = false, raised = false;
    for (const auto p : chosen_) (view_.target(pieces_[p].flipped) > 0 ? lowered : raised) = true;
    entry_of_.assign(static_cast<std::size_t>(table_.n_moves()), -1);
    for (int l = 0; l < table_.n_categorical; ++l) {
      const std::int32_t own = view_.slot(l, mask_of(chosen_[0]), pieces_[chosen_[0]].flipped);
      bool shared = std::find(hinged_.begin(), hinged_.end(), l) == hinged_.end();
      for (const auto p : chosen_) shared = shared && view_.slot(l, mask_of(p), pieces_[p].flipped) == own;
      if (shared) {
        tied.shared_slot.push_back(own);
        continue;
      }
      entry_of_[static_cast<std::size_t>(l)] = static_cast<std::int32_t>(tied.varied_slot.size() - first_varied);
      owner_.push_back(l);
      tied.varied_slot.push_back(layout_.level[table_.level_offset[l] + view_.codes[l]]);
      if (lowered) tied.varied_slot.push_back(layout_.low[l]);
      if (raised) tied.varied_slot.push_back(layout_.high[l]);
    }
    const auto nowhere = static_cast<std::int32_t>(add_ranged_slots(first_varied));
    append(tied.part_value, view_.value);
    append(tied.part_slot, view_.slot_);
    tied.part_at.push_back(static_cast<std::int64_t>(tied.part_value.size()));
    for (std::size_t c = 0; c < chosen_.size(); ++c) {
      const std::size_t p = chosen_[c];
      const double slope = sigmoid(pieces_[p].argument);
      const double target = view_.target(pieces_[p].flipped);
      const double coef = -target * slope;
      tied.value.push_back(pieces_[p].value);
      tied.coef.push_back(coef);
      tied.flipped.push_back(pieces_[p].flipped);
      tied.mask.insert(tied.mask.end(), mask_of(p), mask_of(p) + words_);
      tied.varied.push_back(-pieces_[p].cost);
      for (const int l : owner_) {
        const bool moved = has_bit(mask_of(p), l);
        tied.varied.push_back(moved ? 0.0 : coef);
        if (lowered) tied.varied.push_back(moved && target > 0 ? coef : 0.0);
        if (raised) tied.varied.push_back(moved && target < 0 ? coef : 0.0);
      }
      for (const std::size_t r : varied_ranges_) tied.varied.push_back(coef * (view_.entry(r, mask_of(p)) - own(r)));
      if (nowhere > 0) tied.varied.push_back(0.0);
      for (std::size_t u = hinged_at_[c]; u < hinged_at_[c + 1]; ++u) {
        const int l = hinged_[u];
        const double sign = has_bit(mask_of(p), l) ? -1.0 : 1.0;
        const std::int32_t entry = entry_of_[static_cast<std::size_t>(l)];
        tied.hinge_feature.push_back(l);
        tied.hinge_value.push_back(toggle_gain(p, l));
        tied.hinge_level.push_back(entry);
        tied.hinge_price_coef.push_back(-sign * table_.price_of(l, view_.row));
        if (l < table_.n_categorical) {
          tied.hinge_envelope.push_back(entry + (lowered && target < 0 ? 2 : 1));
          tied.hinge_level_coef.push_back(sign * target * slope);
        } else {
          tied.hinge_envelope.push_back(nowhere);
          tied.hinge_level_coef.push_back(-sign * target * slope * table_.way(l, view_.row));
        }
      }
      tied.hinge_at.push_back(static_cast<std::int64_t>(tied.hinge_value.size()));
    }
    // In the order in which sums of squares are added fastest.
    std::sort(tied.shared_slot.begin() + tied.shared_at.back(), tied.shared_slot.end());
    tied.shared_at.push_back(static_cast<std::int64_t>(tied.shared_slot.size()));
    tied.varied_at.push_back(static_cast<std::int64_t>(tied.varied_slot.size()));
    tied.piece_at.push_back(static_cast<std::int64_t>(tied.value.size()));
    tied.entry_at.push_back(static_cast<std::int64_t>(tied.varied.size()));
  }

  bool can_move(int l) const {
    return l < table_.n_categorical ? layout_.low[l] != layout_.size : table_.way(l, view_.row) != 0;
  }

  double own(std::size_t r) const { return table_.numeric[view_.row * table_.n_numeric + table_.ranges[r].column]; }

  // Where all pieces have a ranged column at one place, and none can toggle its moves, the part holds it there. Of the others it
  // holds the row's own value, and a varied slot, that of the column itself, what moves change. Hinges of such columns have no
  // envelope: the slot of a coefficient that is fixed at 0 stands for it; its place among the varied ones, or 0 if there is none.
  std::size_t add_ranged_slots(std::size_t first_varied) {
    varied_ranges_.clear();
    view_.place(mask_of(chosen_[0]));
    bool any_hinge = false;
    for (std::size_t r = 0; r < table_.ranges.size(); ++r) {
      const int low = table_.n_categorical + 2 * static_cast<int>(r), slot = layout_.first_numeric + table_.ranges[r].column;
      const bool has_hinge =
          std::any_of(hinged_.begin(), hinged_.end(), [&](std::int32_t l) { return l == low || l == low + 1; });
      bool shared = !has_hinge;
      for (const auto p : chosen_)
        for (const int l : {low, low + 1}) shared = shared && has_bit(mask_of(p), l) == has_bit(mask_of(chosen_[0]), l);
      if (shared) continue;
      any_hinge = any_hinge || has_hinge;
      view_.value[static_cast<std::size_t>(slot)] = own(r);
      entry_of_[static_cast<std::size_t>(low)] = entry_of_[static_cast<std::size_t>(low) + 1] =
          static_cast<std::int32_t>(tied.varied_slot.size() - first_varied);
      varied_ranges_.push_back(r);
      tied.varied_slot.push_back(slot);
    }
    if (!any_hinge) return 0;
    tied.varied_slot.push_back(layout_.size);
    return tied.varied_slot.size() - 1 - first_varied;
  }

  const MixedTable& table_;
  const LiftedLayout& layout_;
  const PointTables& point_;
  RowView view_;
  RowScratch scratch_;
  OuterSum outer_;
  std::size_t words_;
  std::vector<Piece> pieces_;
  std::vector<std::uint64_t> masks_;
  std::vector<double> fractions_;
  std::vector<std::int32_t> slots_, owner_, entry_of_, hinged_;
  std::vector<std::size_t> by_value_, chosen_, hinged_at_, varied_ranges_;
  std::vector<bool> has_hinges_;
  std::size_t best_piece_ = 0;
};

}  // namespace

RowModel build_row_model(const MixedTable& table, const LiftedLayout& layout, const double* x, const ModelRegion& region,
                         const WorkingSet& working_set, int n_threads) {
  const PointTables point(table, layout, x);
  const RowBlocks blocks = curvature_blocks(table, layout);
  std::deque<ModelBuilder> parts;  // never moves them: they point into themselves
  for (std::int64_t block = 0; block < blocks.n_blocks; ++block) parts.emplace_back(table, layout, point);
  for_each_block(blocks, n_threads, [&](std::int64_t block) {
    auto& part = parts[static_cast<std::size_t>(block)];
    const auto row_of = [&](std::int64_t r) {
      return static_cast<std::size_t>(std::lower_bound(working_set.row.begin(), working_set.row.end(), r) -
                                      working_set.row.begin());
    };
    std::size_t first = row_of(blocks.begin(block));
    for (std::int64_t row = blocks.begin(block); row < blocks.end(block); ++row) {
      std::size_t last = first;
      while (last < working_set.row.size() && working_set.row[last] == row) ++last;
      part.add(row, region, working_set, first, last);
      first = last;
    }
    part.finish();
  });

  RowModel model;
  model.point.assign(x, x + layout.size + 1);
  model.gradient.assign(static_cast<std::size_t>(layout.size) + 1, 0.0);
  model.curvature.assign(model.gradient.size() * model.gradient.size(), 0.0);
  for (const auto& part : parts) {
    model.value += part.value;
    add_into(model.gradient, part.gradient);
    add_into(model.curvature, part.curvature);
    append_rows(model.tied, part.tied, 0);
  }
  return model;
}

void append_row_model(RowModel& model, const RowModel& part, std::int64_t first_row) {
  model.value += part.value;
  add_into(model.gradient, part.gradient);
  add_into(model.curvature, part.curvature);
  append_rows(model.tied, part.tied, first_row);
}

std::vector<double> piece_gradients(const RowModel& model) {
  const TiedRows& tied = model.tied;
  const std::size_t length = model.gradient.size();
  std::vector<double> lines(static_cast<std::size_t>(tied.n_pieces()) * length, 0.0);
  for (std::int64_t i = 0; i < tied.size(); ++i) {
    const RowPart part = tied.part(i);
    const double* varied = tied.varied.data() + tied.entry_at[i];
    for (auto k = tied.piece_at[i]; k < tied.piece_at[i + 1]; ++k) {
      double* line = lines.data() + static_cast<std::size_t>(k) * length;
      part.add_to(line, tied.coef[k]);
      for (auto s = tied.shared_at[i]; s < tied.shared_at[i + 1]; ++s) line[tied.shared_slot[s]] += tied.coef[k];
      for (auto v = tied.varied_at[i]; v < tied.varied_at[i + 1]; ++v) line[tied.varied_slot[v]] += *varied++;
      line[length - 1] = 0;
    }
  }
  return lines;
}

std::vector<double> hinge_gradients(const RowModel& model) {
  const TiedRows& tied = model.tied;
  const std::size_t length = model.gradient.size();
  std::vector<double> lines(static_cast<std::size_t>(tied.n_hinges()) * length, 0.0);
  for (std::int64_t i = 0; i < tied.size(); ++i) {
    const std::int32_t* slot = tied.varied_slot.data() + tied.varied_at[i];
    for (auto h = tied.hinge_at[tied.piece_at[i]]; h < tied.hinge_at[tied.piece_at[i + 1]]; ++h) {
      double* line = lines.data() + static_cast<std::size_t>(h) * length;
      line[slot[0]] += tied.hinge_price_coef[h];
      line[slot[tied.hinge_level[h]]] += tied.hinge_level_coef[h];
      line[slot[tied.hinge_envelope[h]]] -= tied.hinge_level_coef[h];
      line[length - 1] = 0;
    }
  }
  return lines;
}

}  // namespace surefoot
