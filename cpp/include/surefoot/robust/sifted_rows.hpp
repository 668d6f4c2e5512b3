// Tied rows without the pieces and hinges that a short step leaves asleep.
//
// A model that must be right far away lists everything a long step might wake, and most steps are short. A step solved with a part of
// the pieces and hinges is a step of the whole model if the rest, looked at where it ends, is still asleep: what was left out only
// ever raises the model, so its minimum is no lower than the part's.
#pragma once

#include <cstdint>
#include <vector>

#include "surefoot/robust/row_model.hpp"

namespace surefoot {

class SiftedRows {
 public:
  // Begins with the pieces at most `width` below their row's best and the hinges at most that far from opening.
  // `linear` is the gradient of everything else, of length `stride`.
  SiftedRows(const TiedRows& all, const double* linear, std::size_t stride, double width);

  // The rows of which more than one piece, or a hinge, is left; the gradient of the others is in the linear term.
  const TiedRows& rows() const { return rows_; }
  const std::vector<double>& linear() const { return linear_; }
  double asleep() const;  // the share of the hinges

  // By how much the rows with everything exceed the sifted ones at scale * d, and how many hinges would join.
  struct Missed {
    double excess = 0;
    std::int64_t n_hinges = 0;
  };
  Missed missed(const std::vector<double>& d, double scale);
  // What is awake there, or comes within the width of it, joins.
  void wake(const std::vector<double>& d, double scale);

  // Masses of all pieces and hinges from those of the sifted ones: 0 for those left out.
  std::vector<double> piece_masses(const std::vector<double>& sifted) const;
  std::vector<double> hinge_masses(const std::vector<double>& sifted) const;

 private:
  template <class OnHinge, class OnRow>
  void look(const std::vector<double>& d, double scale, OnHinge&& on_hinge, OnRow&& on_row);
  void gather();
  bool decided(std::int64_t i) const;
  void add_decided(std::int64_t i);
  void gather_row(std::int64_t i);

  const TiedRows& all_;
  const double* other_;
  double width_;
  std::vector<std::uint8_t> piece_in_, hinge_in_;
  TiedRows rows_;
  std::vector<double> linear_;
  std::vector<std::int64_t> piece_of_, hinge_of_;  // which of all a sifted one is
  std::vector<std::int32_t> position_;             // of a row's varied slots among the sifted ones; -1: not varied there
  std::vector<double> decided_mass_;               // by piece of all
  std::vector<double> varied_, values_;
};

}  // namespace surefoot
