// The active pieces and hinges of a row model: a quadratic step is first solved without the inactive ones (sifting, as in large
// linear programmes: solve over a few, price the rest, add what is violated).
//
// A model lists everything a long step might activate, and most steps are short. What is left out can only raise the model, so
// the minimum over the active part is a lower bound on that of the whole model, and it is the whole model's if nothing left out
// is violated where the step ends.
#pragma once

#include <cstdint>
#include <vector>

#include "surefoot/robust/row_model.hpp"

namespace surefoot {

// When and how inactive pieces and hinges are left out. No benchmark is on record for these values.
struct ActiveRowsParameters {
  std::int64_t least_hinges =
      2000;                         // hinges of a model below which all are active at once: selecting takes longer than solving
  double least_inactive = 0.2;      // fraction of the hinges that must be inactive for the selection to pay
  double loose_factor = 100.0;      // tolerance of a round that only finds the active set, over the final one
  double violation_fraction = 0.1;  // part of the predicted decrease that inactive pieces may take back
  std::int64_t free_hinges = 1000;  // hinges that may become active in any one round
  double least_scale = 1e-3;        // fraction of a violating step below which no nearer point is looked at
  int max_rounds = 20;              // rounds before the whole model is solved
  // As many rows tie at an optimum as there are coordinates, about; a model that lists thousands of times as many begins with a
  // narrower active set, which costs rounds where few tie.
  double crowded = 100.0;       // active hinges per coordinate of the step
  double crowded_width = 0.04;  // of the width, what is left then
};

class ActiveRows {
 public:
  // Begins with the pieces at most `width` below their row's best and the hinges at most that far from opening.
  // `linear` is the gradient of everything else, of length `stride`.
  ActiveRows(const TiedRows& all, const double* linear, std::size_t stride, double width);

  // The rows with more than one active piece, or an active hinge; the gradient of the others is in the linear term.
  const TiedRows& rows() const { return rows_; }
  const std::vector<double>& linear() const { return linear_; }
  double inactive_fraction() const;  // of the hinges

  // By how much all rows exceed their active part at scale * d, and how many hinges would become active there.
  struct Violation {
    double excess = 0;
    std::int64_t n_hinges = 0;
  };
  Violation violation(const std::vector<double>& d, double scale);
  // Adds what is active at scale * d, or within the width of it.
  void activate(const std::vector<double>& d, double scale);

  // Masses of all pieces and hinges from those of the active ones: 0 for those left out.
  std::vector<double> piece_masses(const std::vector<double>& active) const;
  std::vector<double> hinge_masses(const std::vector<double>& active) const;

 private:
  template <class OnHinge, class OnRow>
  void evaluate(const std::vector<double>& d, double scale, OnHinge&& on_hinge, OnRow&& on_row);
  void rebuild();
  bool is_linear(std::int64_t i) const;
  void add_linear(std::int64_t i);
  void add_row(std::int64_t i);

  const TiedRows& all_;
  const double* other_linear_;
  double width_;
  std::vector<std::uint8_t> piece_active_, hinge_active_;
  TiedRows rows_;
  std::vector<double> linear_;
  std::vector<std::int64_t> piece_of_, hinge_of_;  // index among all of each active one
  std::vector<std::int32_t> position_;             // of a row's varied slots among the active ones; -1: not varied there
  std::vector<double> linear_mass_;                // of the rows that have become linear, by piece of all
  std::vector<double> varied_, values_;
};

}  // namespace surefoot
