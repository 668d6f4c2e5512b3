#include "surefoot/robust/active_rows.hpp"

#include <algorithm>
#include <cmath>

namespace surefoot {

ActiveRows::ActiveRows(const TiedRows& all, const double* linear, std::size_t stride, double width)
    : all_(all),
      other_linear_(linear),
      width_(width),
      piece_active_(static_cast<std::size_t>(all.n_pieces())),
      hinge_active_(static_cast<std::size_t>(all.n_hinges())),
      linear_(stride) {
  activate(std::vector<double>(stride), 0.0);
}

double ActiveRows::inactive_fraction() const {
  return 1.0 - static_cast<double>(rows_.n_hinges()) / std::max(1.0, static_cast<double>(all_.n_hinges()));
}

// Calls on_hinge(h, value) for every hinge and on_row(i, best, best_active) for every row at the point scale * d, with the
// values of the row's pieces in values_.
template <class OnHinge, class OnRow>
void ActiveRows::evaluate(const std::vector<double>& d, double scale, OnHinge&& on_hinge, OnRow&& on_row) {
  for (std::int64_t i = 0; i < all_.size(); ++i) {
    const auto n_varied = all_.varied_at[i + 1] - all_.varied_at[i];
    const std::int32_t* slot = all_.varied_slot.data() + all_.varied_at[i];
    double common = all_.part(i).dot(d.data());
    for (auto e = all_.shared_at[i]; e < all_.shared_at[i + 1]; ++e) common += d[all_.shared_slot[e]];
    varied_.resize(static_cast<std::size_t>(n_varied));
    for (std::int64_t e = 0; e < n_varied; ++e) varied_[e] = scale * d[slot[e]];
    double best = -INFINITY, best_active = -INFINITY;
    values_.clear();
    const double* entry = all_.varied.data() + all_.entry_at[i];
    for (auto k = all_.piece_at[i]; k < all_.piece_at[i + 1]; ++k, entry += n_varied) {
      double value = all_.value[k] + scale * all_.coef[k] * common;
      for (std::int64_t e = 0; e < n_varied; ++e) value += entry[e] * varied_[e];
      double active = value;
      for (auto h = all_.hinge_at[k]; h < all_.hinge_at[k + 1]; ++h) {
        const double change = all_.hinge_value[h] + all_.hinge_price_coef[h] * varied_[0] +
                              all_.hinge_level_coef[h] * (varied_[all_.hinge_level[h]] - varied_[all_.hinge_envelope[h]]);
        value += std::max(0.0, change);
        if (hinge_active_[h]) active += std::max(0.0, change);
        on_hinge(h, change);
      }
      values_.push_back(value);
      best = std::max(best, value);
      if (piece_active_[k]) best_active = std::max(best_active, active);
    }
    on_row(i, best, best_active);
  }
}

ActiveRows::Violation ActiveRows::violation(const std::vector<double>& d, double scale) {
  Violation sum;
  evaluate(
      d, scale, [&](std::int64_t h, double change) { sum.n_hinges += change >= -width_ && !hinge_active_[h]; },
      [&](std::int64_t i, double best, double best_active) { sum.excess += all_.weight[i] * (best - best_active); });
  return sum;
}

void ActiveRows::activate(const std::vector<double>& d, double scale) {
  evaluate(
      d, scale,
      [&](std::int64_t h, double change) {
        if (change >= -width_) hinge_active_[h] = 1;
      },
      [&](std::int64_t i, double best, double) {
        for (auto k = all_.piece_at[i]; k < all_.piece_at[i + 1]; ++k)
          if (values_[k - all_.piece_at[i]] >= best - width_) piece_active_[k] = 1;
      });
  rebuild();
}

void ActiveRows::rebuild() {
  rows_ = TiedRows();
  piece_of_.clear();
  hinge_of_.clear();
  linear_mass_.assign(piece_active_.size(), 0.0);
  std::copy_n(other_linear_, linear_.size(), linear_.begin());
  for (auto* at : {&rows_.part_at, &rows_.shared_at, &rows_.varied_at, &rows_.piece_at, &rows_.entry_at, &rows_.hinge_at})
    at->push_back(0);
  for (std::int64_t i = 0; i < all_.size(); ++i) {
    if (is_linear(i)) {
      add_linear(i);
    } else {
      add_row(i);
    }
  }
}

bool ActiveRows::is_linear(std::int64_t i) const {
  const auto first = all_.piece_at[i], last = all_.piece_at[i + 1];
  if (std::count(piece_active_.begin() + first, piece_active_.begin() + last, 1) > 1) return false;
  const auto k = std::find(piece_active_.begin() + first, piece_active_.begin() + last, 1) - piece_active_.begin();
  const auto hinges = hinge_active_.begin();
  return std::find(hinges + all_.hinge_at[k], hinges + all_.hinge_at[k + 1], 1) == hinges + all_.hinge_at[k + 1];
}

void ActiveRows::add_linear(std::int64_t i) {
  const auto n_varied = all_.varied_at[i + 1] - all_.varied_at[i];
  const auto k = std::find(piece_active_.begin() + all_.piece_at[i], piece_active_.end(), 1) - piece_active_.begin();
  const double weight = linear_mass_[k] = all_.weight[i], scale = weight * all_.coef[k];
  const double* entry = all_.varied.data() + all_.entry_at[i] + (k - all_.piece_at[i]) * n_varied;
  all_.part(i).add_to(linear_.data(), scale);
  for (auto e = all_.shared_at[i]; e < all_.shared_at[i + 1]; ++e) linear_[all_.shared_slot[e]] += scale;
  for (std::int64_t e = 0; e < n_varied; ++e) linear_[all_.varied_slot[all_.varied_at[i] + e]] += weight * entry[e];
}

void ActiveRows::add_row(std::int64_t i) {
  const auto first = all_.piece_at[i], last = all_.piece_at[i + 1];
  const auto n_varied = all_.varied_at[i + 1] - all_.varied_at[i];
  const std::int32_t* slot = all_.varied_slot.data() + all_.varied_at[i];
  const double* entries = all_.varied.data() + all_.entry_at[i];
  const RowPart part = all_.part(i);
  rows_.row.push_back(all_.row[i]);
  rows_.weight.push_back(all_.weight[i]);
  rows_.part_value.insert(rows_.part_value.end(), part.value, part.value + part.count);
  if (part.slot) rows_.part_slot.insert(rows_.part_slot.end(), part.slot, part.slot + part.count);
  rows_.part_at.push_back(static_cast<std::int64_t>(rows_.part_value.size()));
  for (auto e = all_.shared_at[i]; e < all_.shared_at[i + 1]; ++e) rows_.shared_slot.push_back(all_.shared_slot[e]);

  // Slots in which the active pieces agree become shared, or vanish; but a hinge needs its own.
  position_.assign(static_cast<std::size_t>(n_varied), -1);
  position_[0] = 0;
  for (auto k = first; k < last; ++k)
    for (auto h = all_.hinge_at[k]; piece_active_[k] && h < all_.hinge_at[k + 1]; ++h)
      if (hinge_active_[h]) position_[all_.hinge_level[h]] = position_[all_.hinge_envelope[h]] = 0;
  std::int32_t n_active = 0;
  for (std::int64_t e = 0; e < n_varied; ++e) {
    // What moves change in a ranged column comes on top of its entry in the part.
    bool all_zero = true, all_common = part.slot || slot[e] >= part.count;
    for (auto k = first; k < last; ++k) {
      if (!piece_active_[k]) continue;
      const double entry = entries[(k - first) * n_varied + e];
      all_zero = all_zero && entry == 0.0;
      all_common = all_common && entry == all_.coef[k];
    }
    if (position_[e] == 0 || !(all_zero || all_common)) {
      position_[e] = n_active++;
      rows_.varied_slot.push_back(slot[e]);
    } else if (!all_zero) {
      rows_.shared_slot.push_back(slot[e]);
    }
  }

  for (auto k = first; k < last; ++k) {
    if (!piece_active_[k]) continue;
    piece_of_.push_back(k);
    rows_.value.push_back(all_.value[k]);
    rows_.coef.push_back(all_.coef[k]);
    for (std::int64_t e = 0; e < n_varied; ++e)
      if (position_[e] >= 0) rows_.varied.push_back(entries[(k - first) * n_varied + e]);
    for (auto h = all_.hinge_at[k]; h < all_.hinge_at[k + 1]; ++h) {
      if (!hinge_active_[h]) continue;
      hinge_of_.push_back(h);
      rows_.hinge_value.push_back(all_.hinge_value[h]);
      rows_.hinge_level.push_back(position_[all_.hinge_level[h]]);
      rows_.hinge_envelope.push_back(position_[all_.hinge_envelope[h]]);
      rows_.hinge_price_coef.push_back(all_.hinge_price_coef[h]);
      rows_.hinge_level_coef.push_back(all_.hinge_level_coef[h]);
    }
    rows_.hinge_at.push_back(static_cast<std::int64_t>(rows_.hinge_value.size()));
  }
  // In the order in which sums of squares are added fastest.
  std::sort(rows_.shared_slot.begin() + rows_.shared_at.back(), rows_.shared_slot.end());
  rows_.shared_at.push_back(static_cast<std::int64_t>(rows_.shared_slot.size()));
  rows_.varied_at.push_back(static_cast<std::int64_t>(rows_.varied_slot.size()));
  rows_.piece_at.push_back(static_cast<std::int64_t>(rows_.value.size()));
  rows_.entry_at.push_back(static_cast<std::int64_t>(rows_.varied.size()));
}

std::vector<double> ActiveRows::piece_masses(const std::vector<double>& active) const {
  std::vector<double> masses = linear_mass_;
  for (std::size_t k = 0; k < active.size(); ++k) masses[static_cast<std::size_t>(piece_of_[k])] = active[k];
  return masses;
}

std::vector<double> ActiveRows::hinge_masses(const std::vector<double>& active) const {
  std::vector<double> masses(hinge_active_.size());
  for (std::size_t h = 0; h < active.size(); ++h) masses[static_cast<std::size_t>(hinge_of_[h])] = active[h];
  return masses;
}

}  // namespace surefoot
