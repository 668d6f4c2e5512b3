#include "surefoot/robust/row_elimination.hpp"

#include <algorithm>
#include <cmath>

namespace surefoot {

RowElimination::RowElimination(const TiedRows& tied, std::size_t stride, int n_threads)
    : tied_(tied),
      stride_(stride),
      n_threads_(n_threads),
      blocks_(tied.size(), static_cast<std::int64_t>(tied.varied.size()) + 8 * tied.n_hinges(), stride * stride),
      parts_(static_cast<std::size_t>(blocks_.n_blocks)),
      r_(static_cast<std::size_t>(tied.size())),
      r_step_(r_.size()),
      row_pivot_(r_.size()),
      row_rhs_(r_.size()),
      pieces_(static_cast<std::size_t>(tied.n_pieces())),
      hinges_(static_cast<std::size_t>(tied.n_hinges())),
      reduced_(tied.varied) {
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < tied_.size(); ++i) most = std::max(most, n_varied(i));
  for (Block& part : parts_) {
    part.vector.resize(stride_);
    part.matrix.resize(stride_ * stride_);
    part.scratch.resize(static_cast<std::size_t>(most * (most + 3)));
  }
}

// Calls work(i, block) for every tied row, block by block.
template <class Work>
void RowElimination::for_each_row(Work&& work) {
  for_each_block(blocks_, n_threads_, [&](std::int64_t b) {
    Block& block = parts_[static_cast<std::size_t>(b)];
    for (auto i = blocks_.begin(b); i < blocks_.end(b); ++i) work(i, block);
  });
}

void RowElimination::add_vectors(std::vector<double>& out) const {
  for (const Block& part : parts_)
    for (std::size_t a = 0; a < stride_; ++a) out[a] += part.vector[a];
}

// What the slots that all pieces of a row share see of v.
double RowElimination::common_image(std::int64_t i, const std::vector<double>& v) const {
  double common = tied_.part(i).dot(v.data());
  for (auto e = tied_.shared_at[i]; e < tied_.shared_at[i + 1]; ++e) common += v[tied_.shared_slot[e]];
  return common;
}

// The row's varied slots of v, side by side.
const double* RowElimination::gather(std::int64_t i, const std::vector<double>& v, Block& block) const {
  const std::int32_t* slot = slots(i);
  for (std::int64_t e = 0; e < n_varied(i); ++e) block.scratch[e] = v[slot[e]];
  return block.scratch.data();
}

void RowElimination::scatter(std::int64_t i, double common, const double* varied, std::vector<double>& out) const {
  const std::int32_t* slot = slots(i);
  for (std::int64_t e = 0; e < n_varied(i); ++e) out[slot[e]] += varied[e];
  tied_.part(i).add_to(out.data(), common);
  for (auto e = tied_.shared_at[i]; e < tied_.shared_at[i + 1]; ++e) out[tied_.shared_slot[e]] += common;
}

// The central path is slack * multiplier = mu * (a piece's part of its row's weight): a row of a million weighs a millionth,
// and equal weights would hold its multipliers away from their natural size for most of the solve.
void RowElimination::start(double margin, double hinge_weight) {
  value_at_zero_ = 0;
  for (std::int64_t i = 0; i < tied_.size(); ++i) {
    const auto first = tied_.piece_at[i], last = tied_.piece_at[i + 1];
    double best = -INFINITY;
    r_[i] = -INFINITY;
    for (auto k = first; k < last; ++k) {
      Piece& piece = pieces_[k];
      double value = piece.image = tied_.value[k];
      piece.multiplier = piece.centrality_weight = tied_.weight[i] / static_cast<double>(last - first);
      for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) {
        Hinge& hinge = hinges_[h];
        hinge.rise.slack = margin + std::max(0.0, tied_.hinge_value[h]);
        hinge.excess.slack = hinge.rise.slack - tied_.hinge_value[h];
        piece.image += hinge.rise.slack;
        value += std::max(0.0, tied_.hinge_value[h]);
        for (ComplementaryPair* side : {&hinge.rise, &hinge.excess}) {
          side->multiplier = 0.5 * piece.centrality_weight;
          side->centrality_weight = hinge_weight * piece.centrality_weight;
        }
      }
      r_[i] = std::max(r_[i], piece.image + margin);
      best = std::max(best, value);
    }
    value_at_zero_ += tied_.weight[i] * best;
    for (auto k = first; k < last; ++k) pieces_[k].slack = r_[i] - pieces_[k].image;
  }
}

void RowElimination::take_initial_step(double margin) {
  for_each_row([&](std::int64_t i, Block&) {
    r_[i] += r_step_[i];
    for (auto k = tied_.piece_at[i]; k < tied_.piece_at[i + 1]; ++k) {
      pieces_[k].take_initial_step(margin);
      for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) {
        hinges_[h].rise.take_initial_step(margin);
        hinges_[h].excess.take_initial_step(margin);
      }
    }
  });
}

double RowElimination::total_centrality_weight() const {
  double total = 0;
  for (const Piece& piece : pieces_) total += piece.centrality_weight;
  for (const Hinge& hinge : hinges_) total += hinge.rise.centrality_weight + hinge.excess.centrality_weight;
  return total;
}

double RowElimination::objective_change() const {
  double after = 0;
  for (std::int64_t i = 0; i < tied_.size(); ++i) after += tied_.weight[i] * r_[i];
  return after - value_at_zero_;
}

void RowElimination::update_residuals(const std::vector<double>& d, std::vector<double>& dual_residual) {
  for (Block& part : parts_) {
    std::fill(part.vector.begin(), part.vector.end(), 0.0);
    part.complementarity = part.feasibility_error = 0;
  }
  for_each_row([&](std::int64_t i, Block& block) { residual_row(i, d, block); });
  add_vectors(dual_residual);
  complementarity_ = feasibility_error_ = 0;
  for (const Block& part : parts_) {
    complementarity_ += part.complementarity;
    feasibility_error_ += part.feasibility_error;
  }
}

void RowElimination::residual_row(std::int64_t i, const std::vector<double>& d, Block& block) {
  const auto width = n_varied(i);
  const double common = common_image(i, d), *varied = gather(i, d, block);
  double *gradient_varied = block.scratch.data() + width, gradient_common = 0;
  std::fill_n(gradient_varied, width, 0.0);
  const double* entry = tied_.varied.data() + tied_.entry_at[i];
  for (auto k = tied_.piece_at[i]; k < tied_.piece_at[i + 1]; ++k, entry += width) {
    Piece& piece = pieces_[k];
    piece.update_scaling();
    block.complementarity += piece.slack * piece.multiplier;
    gradient_common += piece.multiplier * tied_.coef[k];
    double primal_residual = tied_.value[k] + tied_.coef[k] * common - r_[i] + piece.slack;
    for (std::int64_t e = 0; e < width; ++e) {
      primal_residual += entry[e] * varied[e];
      gradient_varied[e] += piece.multiplier * entry[e];
    }
    for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) {
      Hinge& hinge = hinges_[h];
      hinge.rise.update_scaling();
      hinge.excess.update_scaling();
      add_hinge(h, hinge.excess.multiplier, gradient_varied);
      primal_residual += hinge.rise.slack;
      hinge.primal_residual = tied_.hinge_value[h] + hinge_image(h, varied) - hinge.rise.slack + hinge.excess.slack;
      const double balance = piece.multiplier - hinge.rise.multiplier - hinge.excess.multiplier;
      block.feasibility_error += piece.multiplier * std::fabs(hinge.primal_residual) + std::fabs(balance) * hinge.rise.slack;
      block.complementarity += hinge.rise.slack * hinge.rise.multiplier + hinge.excess.slack * hinge.excess.multiplier;
    }
    piece.primal_residual = primal_residual;
    block.feasibility_error += piece.multiplier * std::fabs(primal_residual);
  }
  scatter(i, gradient_common, gradient_varied, block.vector);
}

void RowElimination::add_schur_complement(std::vector<double>& lower) {
  for_each_block(blocks_, n_threads_, [&](std::int64_t b) {
    Block& block = parts_[static_cast<std::size_t>(b)];
    std::fill(block.matrix.begin(), block.matrix.end(), 0.0);
    OuterSum outer(block.matrix.data(), stride_, tied_.part_slot.empty() && tied_.size() ? tied_.part(0).count : 0);
    for (auto i = blocks_.begin(b); i < blocks_.end(b); ++i) schur_row(i, block, outer);
    outer.flush();
  });
  for (const Block& part : parts_)
    for (std::size_t a = 0; a < lower.size(); ++a) lower[a] += part.matrix[a];
}

// Lower triangle of M += scale * (v e^T + e v^T), where v holds the part and e is 1 at the slot. A slot of a dense part, that of a
// ranged column, lies among its entries; all others lie behind them.
void RowElimination::add_cross(std::vector<double>& M, const RowPart& part, std::int32_t slot, double scale) const {
  double* const line = M.data() + static_cast<std::size_t>(slot) * stride_;
  if (part.slot || slot >= part.count) return part.add_to(line, scale);
  for (std::int32_t a = 0; a <= slot; ++a) line[a] += scale * part.value[a];
  for (std::int32_t a = slot; a < part.count; ++a)
    M[static_cast<std::size_t>(a) * stride_ + static_cast<std::size_t>(slot)] += scale * part.value[a];
}

void RowElimination::schur_row(std::int64_t i, Block& part, OuterSum& outer) {
  const auto first = tied_.piece_at[i], last = tied_.piece_at[i + 1];
  const auto width = static_cast<std::size_t>(n_varied(i));
  double* const reduced = reduced_.data() + tied_.entry_at[i];
  std::fill_n(part.scratch.begin(), width * (width + 3), 0.0);
  double* const mean = part.scratch.data();
  double* const cross = mean + width;
  double* const centred = cross + width;
  double* const block = centred + width;
  double total = 0, coef_mean = 0;
  for (auto k = first; k < last; ++k) {
    double* piece_gradient = reduced + static_cast<std::size_t>(k - first) * width;
    double pivot = 1.0 / pieces_[k].scaling();
    if (tied_.hinge_at[k] < tied_.hinge_at[k + 1])
      std::copy_n(tied_.varied.data() + (piece_gradient - reduced_.data()), width, piece_gradient);
    for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) {
      Hinge& hinge = hinges_[h];
      const double A = hinge.rise.scaling(), Y = hinge.excess.scaling();
      const double inverse_pivot = hinge.inverse_pivot = 1.0 / (A + Y);
      const double fraction = Y * inverse_pivot, curvature = A * fraction;
      const std::size_t level = tied_.hinge_level[h], envelope = tied_.hinge_envelope[h];
      const double price_coef = tied_.hinge_price_coef[h], level_coef = tied_.hinge_level_coef[h];
      pivot += inverse_pivot;
      add_hinge(h, fraction, piece_gradient);
      block[0] += curvature * price_coef * price_coef;
      block[level * width] += curvature * price_coef * level_coef;
      block[envelope * width] -= curvature * price_coef * level_coef;
      block[level * width + level] += curvature * level_coef * level_coef;
      block[envelope * width + envelope] += curvature * level_coef * level_coef;
      block[envelope * width + level] -= curvature * level_coef * level_coef;
    }
    const double D = pieces_[k].inverse_pivot = 1.0 / pivot;
    total += D;
    coef_mean += D * tied_.coef[k];
    for (std::size_t e = 0; e < width; ++e) mean[e] += D * piece_gradient[e];
  }
  row_pivot_[i] = total;
  coef_mean /= total;
  for (std::size_t e = 0; e < width; ++e) mean[e] /= total;
  double spread = 0;
  if (last - first > 1) {
    for (auto k = first; k < last; ++k) {
      const double D = pieces_[k].inverse_pivot;
      const double coef = tied_.coef[k] - coef_mean;
      const double* piece_gradient = reduced + static_cast<std::size_t>(k - first) * width;
      spread += D * coef * coef;
      for (std::size_t e = 0; e < width; ++e) centred[e] = piece_gradient[e] - mean[e];
      for (std::size_t e = 0; e < width; ++e) cross[e] += D * coef * centred[e];
      add_square(block, centred, static_cast<int>(width), D);
    }
  }
  const std::int32_t* slot = slots(i);
  std::vector<double>& M = part.matrix;
  // Nobody reads what is summed up for the coefficients that are fixed at 0.
  const auto fixed = static_cast<std::int32_t>(stride_) - 1;
  for (std::size_t e = 0; e < width; ++e) {
    if (slot[e] == fixed) continue;
    for (std::size_t f = 0; f <= e; ++f) {
      const auto [low, high] = std::minmax(slot[e], slot[f]);
      M[static_cast<std::size_t>(high) * stride_ + static_cast<std::size_t>(low)] += block[e * width + f];
    }
  }
  if (spread == 0) return;
  const RowPart part_of_row = tied_.part(i);
  const std::int32_t* shared = tied_.shared_slot.data() + tied_.shared_at[i];
  const int n_shared = static_cast<int>(tied_.shared_at[i + 1] - tied_.shared_at[i]);
  outer.add(part_of_row, shared, n_shared, spread);
  for (std::size_t e = 0; e < width; ++e) {
    if (slot[e] == fixed) continue;
    add_cross(M, part_of_row, slot[e], cross[e]);
    for (int q = 0; q < n_shared; ++q) {
      if (shared[q] == fixed) continue;
      const auto [low, high] = std::minmax(slot[e], shared[q]);
      M[static_cast<std::size_t>(high) * stride_ + static_cast<std::size_t>(low)] += cross[e];
    }
  }
}

// With D the inverse pivot of a piece, its multiplier changes by  D (g . step - r_step) + fixed step,  and the multiplier of a
// hinge by (A Y / (A + Y)) h . step + (Y / (A + Y)) (step of the piece's multiplier) + a fixed step of its own.
void RowElimination::add_right_hand_side(const CentralityTarget& target, std::vector<double>& rhs) {
  for (Block& part : parts_) std::fill(part.vector.begin(), part.vector.end(), 0.0);
  for_each_row([&](std::int64_t i, Block& block) { rhs_row(i, target, block); });
  add_vectors(rhs);
}

void RowElimination::rhs_row(std::int64_t i, const CentralityTarget& target, Block& block) {
  const auto first = tied_.piece_at[i], last = tied_.piece_at[i + 1], width = n_varied(i);
  double* const varied = block.scratch.data();
  std::fill_n(varied, width, 0.0);
  double fixed_sum = 0, mass = 0;
  for (auto k = first; k < last; ++k) {
    Piece& piece = pieces_[k];
    piece.set_residual(target);
    double fixed = piece.primal_residual - piece.residual / piece.multiplier;
    for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) {
      Hinge& hinge = hinges_[h];
      hinge.rise.set_residual(target);
      hinge.excess.set_residual(target);
      // Step of the rise = (Y h . step - (step of the piece's multiplier) + rhs) / (A + Y).
      const double Y = hinge.excess.scaling(),
                   own = Y * hinge.primal_residual - hinge.excess.residual * hinge.excess.inverse_slack;
      const double balance = piece.multiplier - hinge.rise.multiplier - hinge.excess.multiplier;
      hinge.rhs = own - balance - hinge.rise.residual * hinge.rise.inverse_slack;
      add_hinge(h, Y * hinge.inverse_pivot * hinge.rhs - own, varied);
      fixed += hinge.inverse_pivot * hinge.rhs;
    }
    piece.fixed_step = piece.inverse_pivot * fixed;
    fixed_sum += piece.fixed_step;
    mass += piece.multiplier;
  }
  row_rhs_[i] = (fixed_sum - (tied_.weight[i] - mass)) / row_pivot_[i];
  double common = 0;
  const double* entry = reduced_.data() + tied_.entry_at[i];
  for (auto k = first; k < last; ++k, entry += width) {
    const double scale = pieces_[k].inverse_pivot * row_rhs_[i] - pieces_[k].fixed_step;
    common += scale * tied_.coef[k];
    for (std::int64_t e = 0; e < width; ++e) varied[e] += scale * entry[e];
  }
  scatter(i, common, varied, block.vector);
}

void RowElimination::recover_step(const std::vector<double>& step, StepLength& length) {
  for (Block& part : parts_) part.step_length = {length.length};
  for_each_row([&](std::int64_t i, Block& block) { recover_row(i, step, block); });
  for (const Block& part : parts_) length.merge(part.step_length);
}

void RowElimination::recover_row(std::int64_t i, const std::vector<double>& step, Block& block) {
  const auto first = tied_.piece_at[i], last = tied_.piece_at[i + 1], width = n_varied(i);
  const double common = common_image(i, step), *varied = gather(i, step, block);
  const double* entry = reduced_.data() + tied_.entry_at[i];
  double weighted = 0;  // sum of D (g . step)
  for (auto k = first; k < last; ++k, entry += width) {
    double image = tied_.coef[k] * common;
    for (std::int64_t e = 0; e < width; ++e) image += entry[e] * varied[e];
    pieces_[k].image = image;
    weighted += pieces_[k].inverse_pivot * image;
  }
  r_step_[i] = row_rhs_[i] + weighted / row_pivot_[i];
  for (auto k = first; k < last; ++k) {
    Piece& piece = pieces_[k];
    piece.multiplier_step = piece.fixed_step + piece.inverse_pivot * (piece.image - r_step_[i]);
    piece.slack_step = -(piece.residual + piece.slack * piece.multiplier_step) / piece.multiplier;
    piece.limit(block.step_length);
    for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) {
      ComplementaryPair &rise = hinges_[h].rise, &excess = hinges_[h].excess;
      const double image = hinge_image(h, varied);
      rise.slack_step = (excess.scaling() * image - piece.multiplier_step + hinges_[h].rhs) * hinges_[h].inverse_pivot;
      rise.recover_multiplier_step();
      rise.limit(block.step_length);
      excess.slack_step = rise.slack_step - image - hinges_[h].primal_residual;
      excess.recover_multiplier_step();
      excess.limit(block.step_length);
    }
  }
}

void RowElimination::advance(double length) {
  for_each_row([&](std::int64_t i, Block&) {
    r_[i] += length * r_step_[i];
    for (auto k = tied_.piece_at[i]; k < tied_.piece_at[i + 1]; ++k) {
      pieces_[k].advance(length);
      for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) {
        hinges_[h].rise.advance(length);
        hinges_[h].excess.advance(length);
      }
    }
  });
}

void RowElimination::save_best() {
  best_mass_.resize(pieces_.size());
  best_hinge_mass_.resize(hinges_.size());
  for (std::size_t k = 0; k < pieces_.size(); ++k) best_mass_[k] = pieces_[k].multiplier;
  for (std::size_t h = 0; h < hinges_.size(); ++h) best_hinge_mass_[h] = hinges_[h].excess.multiplier;
}

void RowElimination::restore_best() {
  for (std::size_t k = 0; k < best_mass_.size(); ++k) pieces_[k].multiplier = best_mass_[k];
  for (std::size_t h = 0; h < best_hinge_mass_.size(); ++h) hinges_[h].excess.multiplier = best_hinge_mass_[h];
}

double RowElimination::masses(const std::vector<double>& d, std::vector<double>& mass, std::vector<double>& hinge_mass) {
  mass.resize(pieces_.size());
  hinge_mass.resize(hinges_.size());
  double change = 0;
  for (std::int64_t i = 0; i < tied_.size(); ++i) {
    const auto first = tied_.piece_at[i], last = tied_.piece_at[i + 1], width = n_varied(i);
    const double common = common_image(i, d), *varied = gather(i, d, parts_[0]);
    const double* entry = tied_.varied.data() + tied_.entry_at[i];
    double before = -INFINITY, after = -INFINITY, total = 0;
    for (auto k = first; k < last; ++k, entry += width) {
      double now = tied_.value[k], then = now + tied_.coef[k] * common;
      for (std::int64_t e = 0; e < width; ++e) then += entry[e] * varied[e];
      for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) {
        now += std::max(0.0, tied_.hinge_value[h]);
        then += std::max(0.0, tied_.hinge_value[h] + hinge_image(h, varied));
      }
      before = std::max(before, now);
      after = std::max(after, then);
      total += pieces_[k].multiplier;
    }
    change += tied_.weight[i] * (after - before);
    const double scale = tied_.weight[i] / total;
    for (auto k = first; k < last; ++k) {
      mass[k] = scale * pieces_[k].multiplier;
      for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h)
        hinge_mass[h] = std::min(scale * hinges_[h].excess.multiplier, mass[k]);
    }
  }
  return change;
}

}  // namespace surefoot
