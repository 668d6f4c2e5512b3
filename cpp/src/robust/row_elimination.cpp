#include "surefoot/robust/row_elimination.hpp"

#include <algorithm>
#include <cmath>

namespace surefoot {

// Hinges are many and each has little to say; with more of the path's products than this they would decide how it bends.
constexpr double hinge_share = 0.2;

TiedBarrier::TiedBarrier(const TiedRows& tied, std::size_t stride, int n_threads)
    : tied_(tied),
      stride_(stride),
      n_threads_(n_threads),
      blocks_(tied.size(), static_cast<std::int64_t>(tied.varied.size()) + 8 * tied.n_hinges(), stride * stride),
      parts_(static_cast<std::size_t>(blocks_.n_blocks)),
      r_(static_cast<std::size_t>(tied.size())),
      r_step_(r_.size()),
      row_weight_(r_.size()),
      row_pull_(r_.size()),
      pieces_(static_cast<std::size_t>(tied.n_pieces())),
      hinges_(static_cast<std::size_t>(tied.n_hinges())),
      effective_(tied.varied) {
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < tied_.size(); ++i) most = std::max(most, n_varied(i));
  for (Block& part : parts_) {
    part.vector.resize(stride_);
    part.matrix.resize(stride_ * stride_);
    part.scratch.resize(static_cast<std::size_t>(most * (most + 3)));
  }
}

// Calls visit(i, block) for every tied row, block by block.
template <class Visit>
void TiedBarrier::visit_rows(Visit&& visit) {
  for_each_block(blocks_, n_threads_, [&](std::int64_t b) {
    Block& block = parts_[static_cast<std::size_t>(b)];
    for (auto i = blocks_.begin(b); i < blocks_.end(b); ++i) visit(i, block);
  });
}

void TiedBarrier::add_vectors(std::vector<double>& out) const {
  for (const Block& part : parts_)
    for (std::size_t a = 0; a < stride_; ++a) out[a] += part.vector[a];
}

// What the slots that all pieces of a row share see of v.
double TiedBarrier::common_image(std::int64_t i, const std::vector<double>& v) const {
  double common = tied_.part(i).dot(v.data());
  for (auto e = tied_.shared_at[i]; e < tied_.shared_at[i + 1]; ++e) common += v[tied_.shared_slot[e]];
  return common;
}

// The row's varied slots of v, side by side.
const double* TiedBarrier::gather(std::int64_t i, const std::vector<double>& v, Block& block) const {
  const std::int32_t* slot = slots(i);
  for (std::int64_t e = 0; e < n_varied(i); ++e) block.scratch[e] = v[slot[e]];
  return block.scratch.data();
}

void TiedBarrier::scatter(std::int64_t i, double common, const double* varied, std::vector<double>& out) const {
  const std::int32_t* slot = slots(i);
  for (std::int64_t e = 0; e < n_varied(i); ++e) out[slot[e]] += varied[e];
  tied_.part(i).add_to(out.data(), common);
  for (auto e = tied_.shared_at[i]; e < tied_.shared_at[i + 1]; ++e) out[tied_.shared_slot[e]] += common;
}

// The path follows slack * multiplier = mu * share, with the share a piece has of its row's weight: a row of a million weighs a
// millionth, and a common mu would keep its multipliers far from their natural size for most of the solve.
void TiedBarrier::start(double lift) {
  before_ = 0;
  for (std::int64_t i = 0; i < tied_.size(); ++i) {
    const auto first = tied_.piece_at[i], last = tied_.piece_at[i + 1];
    double best = -INFINITY;
    r_[i] = -INFINITY;
    for (auto k = first; k < last; ++k) {
      Piece& piece = pieces_[k];
      double value = piece.image = tied_.value[k];
      piece.multiplier = piece.share = tied_.weight[i] / static_cast<double>(last - first);
      for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) {
        Hinge& hinge = hinges_[h];
        hinge.rise.slack = lift + std::max(0.0, tied_.hinge_value[h]);
        hinge.gap.slack = hinge.rise.slack - tied_.hinge_value[h];
        piece.image += hinge.rise.slack;
        value += std::max(0.0, tied_.hinge_value[h]);
        for (ComplementaryPair* side : {&hinge.rise, &hinge.gap}) {
          side->multiplier = 0.5 * piece.share;
          side->share = hinge_share * piece.share;
        }
      }
      r_[i] = std::max(r_[i], piece.image + lift);
      best = std::max(best, value);
    }
    before_ += tied_.weight[i] * best;
    for (auto k = first; k < last; ++k) pieces_[k].slack = r_[i] - pieces_[k].image;
  }
}

void TiedBarrier::jump(double lift) {
  visit_rows([&](std::int64_t i, Block&) {
    r_[i] += r_step_[i];
    for (auto k = tied_.piece_at[i]; k < tied_.piece_at[i + 1]; ++k) {
      pieces_[k].jump(lift);
      for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) {
        hinges_[h].rise.jump(lift);
        hinges_[h].gap.jump(lift);
      }
    }
  });
}

double TiedBarrier::total_share() const {
  double total = 0;
  for (const Piece& piece : pieces_) total += piece.share;
  for (const Hinge& hinge : hinges_) total += hinge.rise.share + hinge.gap.share;
  return total;
}

double TiedBarrier::change() const {
  double after = 0;
  for (std::int64_t i = 0; i < tied_.size(); ++i) after += tied_.weight[i] * r_[i];
  return after - before_;
}

void TiedBarrier::add_pull(const std::vector<double>& d, std::vector<double>& gradient) {
  for (Block& part : parts_) {
    std::fill(part.vector.begin(), part.vector.end(), 0.0);
    part.product_sum = part.error = 0;
  }
  visit_rows([&](std::int64_t i, Block& block) { pull_row(i, d, block); });
  add_vectors(gradient);
  product_sum_ = error_ = 0;
  for (const Block& part : parts_) {
    product_sum_ += part.product_sum;
    error_ += part.error;
  }
}

void TiedBarrier::pull_row(std::int64_t i, const std::vector<double>& d, Block& block) {
  const auto width = n_varied(i);
  const double common = common_image(i, d), *varied = gather(i, d, block);
  double *pulled = block.scratch.data() + width, pulled_common = 0;
  std::fill_n(pulled, width, 0.0);
  const double* entry = tied_.varied.data() + tied_.entry_at[i];
  for (auto k = tied_.piece_at[i]; k < tied_.piece_at[i + 1]; ++k, entry += width) {
    Piece& piece = pieces_[k];
    piece.refresh();
    block.product_sum += piece.slack * piece.multiplier;
    pulled_common += piece.multiplier * tied_.coef[k];
    double miss = tied_.value[k] + tied_.coef[k] * common - r_[i] + piece.slack;
    for (std::int64_t e = 0; e < width; ++e) {
      miss += entry[e] * varied[e];
      pulled[e] += piece.multiplier * entry[e];
    }
    for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) {
      Hinge& hinge = hinges_[h];
      hinge.rise.refresh();
      hinge.gap.refresh();
      add_hinge(h, hinge.gap.multiplier, pulled);
      miss += hinge.rise.slack;
      hinge.miss = tied_.hinge_value[h] + hinge_image(h, varied) - hinge.rise.slack + hinge.gap.slack;
      const double balance = piece.multiplier - hinge.rise.multiplier - hinge.gap.multiplier;
      block.error += piece.multiplier * std::fabs(hinge.miss) + std::fabs(balance) * hinge.rise.slack;
      block.product_sum += hinge.rise.slack * hinge.rise.multiplier + hinge.gap.slack * hinge.gap.multiplier;
    }
    piece.miss = miss;
    block.error += piece.multiplier * std::fabs(miss);
  }
  scatter(i, pulled_common, pulled, block.vector);
}

void TiedBarrier::add_system(std::vector<double>& lower) {
  for_each_block(blocks_, n_threads_, [&](std::int64_t b) {
    Block& block = parts_[static_cast<std::size_t>(b)];
    std::fill(block.matrix.begin(), block.matrix.end(), 0.0);
    OuterSum outer(block.matrix.data(), stride_, tied_.part_slot.empty() && tied_.size() ? tied_.part(0).count : 0);
    for (auto i = blocks_.begin(b); i < blocks_.end(b); ++i) system_row(i, block, outer);
    outer.flush();
  });
  for (const Block& part : parts_)
    for (std::size_t a = 0; a < lower.size(); ++a) lower[a] += part.matrix[a];
}

void TiedBarrier::system_row(std::int64_t i, Block& part, OuterSum& outer) {
  const auto first = tied_.piece_at[i], last = tied_.piece_at[i + 1];
  const auto width = static_cast<std::size_t>(n_varied(i));
  double* const effective = effective_.data() + tied_.entry_at[i];
  std::fill_n(part.scratch.begin(), width * (width + 3), 0.0);
  double* const mean = part.scratch.data();
  double* const cross = mean + width;
  double* const centred = cross + width;
  double* const block = centred + width;
  double total = 0, coef_mean = 0;
  for (auto k = first; k < last; ++k) {
    double* mine = effective + static_cast<std::size_t>(k - first) * width;
    double softness = 1.0 / pieces_[k].ratio();
    if (tied_.hinge_at[k] < tied_.hinge_at[k + 1]) std::copy_n(tied_.varied.data() + (mine - effective_.data()), width, mine);
    for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) {
      Hinge& hinge = hinges_[h];
      const double A = hinge.rise.ratio(), Y = hinge.gap.ratio();
      const double soft = hinge.soft = 1.0 / (A + Y);
      const double taken = Y * soft, own = A * taken;
      const std::size_t level = tied_.hinge_level[h], envelope = tied_.hinge_envelope[h];
      const double price_coef = tied_.hinge_price_coef[h], level_coef = tied_.hinge_level_coef[h];
      softness += soft;
      add_hinge(h, taken, mine);
      block[0] += own * price_coef * price_coef;
      block[level * width] += own * price_coef * level_coef;
      block[envelope * width] -= own * price_coef * level_coef;
      block[level * width + level] += own * level_coef * level_coef;
      block[envelope * width + envelope] += own * level_coef * level_coef;
      block[envelope * width + level] -= own * level_coef * level_coef;
    }
    const double D = pieces_[k].weight = 1.0 / softness;
    total += D;
    coef_mean += D * tied_.coef[k];
    for (std::size_t e = 0; e < width; ++e) mean[e] += D * mine[e];
  }
  row_weight_[i] = total;
  coef_mean /= total;
  for (std::size_t e = 0; e < width; ++e) mean[e] /= total;
  double spread = 0;
  if (last - first > 1) {
    for (auto k = first; k < last; ++k) {
      const double D = pieces_[k].weight;
      const double coef = tied_.coef[k] - coef_mean;
      const double* mine = effective + static_cast<std::size_t>(k - first) * width;
      spread += D * coef * coef;
      for (std::size_t e = 0; e < width; ++e) centred[e] = mine[e] - mean[e];
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
  const RowPart own_part = tied_.part(i);
  const std::int32_t* shared = tied_.shared_slot.data() + tied_.shared_at[i];
  const int n_shared = static_cast<int>(tied_.shared_at[i + 1] - tied_.shared_at[i]);
  outer.add(own_part, shared, n_shared, spread);
  for (std::size_t e = 0; e < width; ++e) {
    if (slot[e] == fixed) continue;
    own_part.add_to(M.data() + static_cast<std::size_t>(slot[e]) * stride_, cross[e]);
    for (int q = 0; q < n_shared; ++q) {
      if (shared[q] == fixed) continue;
      const auto [low, high] = std::minmax(slot[e], shared[q]);
      M[static_cast<std::size_t>(high) * stride_ + static_cast<std::size_t>(low)] += cross[e];
    }
  }
}

// A piece's multiplier changes by  D (g . step - r_step) + drift,  and a hinge's by  (A Y / (A + Y)) h . step + (Y / (A + Y)) (piece's
// change) + own drift.
void TiedBarrier::add_forces(const Aim& aim, std::vector<double>& rhs) {
  for (Block& part : parts_) std::fill(part.vector.begin(), part.vector.end(), 0.0);
  visit_rows([&](std::int64_t i, Block& block) { force_row(i, aim, block); });
  add_vectors(rhs);
}

void TiedBarrier::force_row(std::int64_t i, const Aim& aim, Block& block) {
  const auto first = tied_.piece_at[i], last = tied_.piece_at[i + 1], width = n_varied(i);
  double* const varied = block.scratch.data();
  std::fill_n(varied, width, 0.0);
  double drift_sum = 0, mass = 0;
  for (auto k = first; k < last; ++k) {
    Piece& piece = pieces_[k];
    piece.aim(aim);
    double drift = piece.miss - piece.product / piece.multiplier;
    for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) {
      Hinge& hinge = hinges_[h];
      hinge.rise.aim(aim);
      hinge.gap.aim(aim);
      // rise's step = (Y h . step - (piece's multiplier step) + pull) / (A + Y); the rest of gap's is its own drift.
      const double Y = hinge.gap.ratio(), own = Y * hinge.miss - hinge.gap.product * hinge.gap.inverse_slack;
      const double balance = piece.multiplier - hinge.rise.multiplier - hinge.gap.multiplier;
      hinge.pull = own - balance - hinge.rise.product * hinge.rise.inverse_slack;
      add_hinge(h, Y * hinge.soft * hinge.pull - own, varied);
      drift += hinge.soft * hinge.pull;
    }
    piece.drift = piece.weight * drift;
    drift_sum += piece.drift;
    mass += piece.multiplier;
  }
  row_pull_[i] = (drift_sum - (tied_.weight[i] - mass)) / row_weight_[i];
  double common = 0;
  const double* entry = effective_.data() + tied_.entry_at[i];
  for (auto k = first; k < last; ++k, entry += width) {
    const double force = pieces_[k].weight * row_pull_[i] - pieces_[k].drift;
    common += force * tied_.coef[k];
    for (std::int64_t e = 0; e < width; ++e) varied[e] += force * entry[e];
  }
  scatter(i, common, varied, block.vector);
}

void TiedBarrier::follow(const std::vector<double>& step, StepRoom& room) {
  for (Block& part : parts_) part.room = {room.length};
  visit_rows([&](std::int64_t i, Block& block) { follow_row(i, step, block); });
  for (const Block& part : parts_) room.join(part.room);
}

void TiedBarrier::follow_row(std::int64_t i, const std::vector<double>& step, Block& block) {
  const auto first = tied_.piece_at[i], last = tied_.piece_at[i + 1], width = n_varied(i);
  const double common = common_image(i, step), *varied = gather(i, step, block);
  const double* entry = effective_.data() + tied_.entry_at[i];
  double pull = 0;
  for (auto k = first; k < last; ++k, entry += width) {
    double image = tied_.coef[k] * common;
    for (std::int64_t e = 0; e < width; ++e) image += entry[e] * varied[e];
    pieces_[k].image = image;
    pull += pieces_[k].weight * image;
  }
  r_step_[i] = row_pull_[i] + pull / row_weight_[i];
  for (auto k = first; k < last; ++k) {
    Piece& piece = pieces_[k];
    piece.multiplier_step = piece.drift + piece.weight * (piece.image - r_step_[i]);
    piece.slack_step = -(piece.product + piece.slack * piece.multiplier_step) / piece.multiplier;
    piece.add_to(block.room);
    for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) {
      ComplementaryPair &rise = hinges_[h].rise, &gap = hinges_[h].gap;
      const double image = hinge_image(h, varied);
      rise.slack_step = (gap.ratio() * image - piece.multiplier_step + hinges_[h].pull) * hinges_[h].soft;
      rise.follow_slack();
      rise.add_to(block.room);
      gap.slack_step = rise.slack_step - image - hinges_[h].miss;
      gap.follow_slack();
      gap.add_to(block.room);
    }
  }
}

void TiedBarrier::move(double length) {
  visit_rows([&](std::int64_t i, Block&) {
    r_[i] += length * r_step_[i];
    for (auto k = tied_.piece_at[i]; k < tied_.piece_at[i + 1]; ++k) {
      pieces_[k].move(length);
      for (auto h = tied_.hinge_at[k]; h < tied_.hinge_at[k + 1]; ++h) {
        hinges_[h].rise.move(length);
        hinges_[h].gap.move(length);
      }
    }
  });
}

void TiedBarrier::keep() {
  kept_mass_.resize(pieces_.size());
  kept_hinge_mass_.resize(hinges_.size());
  for (std::size_t k = 0; k < pieces_.size(); ++k) kept_mass_[k] = pieces_[k].multiplier;
  for (std::size_t h = 0; h < hinges_.size(); ++h) kept_hinge_mass_[h] = hinges_[h].gap.multiplier;
}

void TiedBarrier::restore() {
  for (std::size_t k = 0; k < kept_mass_.size(); ++k) pieces_[k].multiplier = kept_mass_[k];
  for (std::size_t h = 0; h < kept_hinge_mass_.size(); ++h) hinges_[h].gap.multiplier = kept_hinge_mass_[h];
}

double TiedBarrier::finish(const std::vector<double>& d, std::vector<double>& mass, std::vector<double>& hinge_mass) {
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
        hinge_mass[h] = std::min(scale * hinges_[h].gap.multiplier, mass[k]);
    }
  }
  return change;
}

}  // namespace surefoot
