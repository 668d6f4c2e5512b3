// The loss of the cards on one support, in whichever form the problem asks for.
#pragma once

#include <memory>

#include "surefoot/riskscore/fit/box_fit.hpp"
#include "surefoot/riskscore/fit/scaled_fit.hpp"

namespace surefoot {

struct ScoreProblem;

// Loss: gaps at which a box of points is branched rather than fitted further. Under shift a fit takes a stage of smoothing for
// every digit: most boxes are decided by coarser fits, and the others are branched soon enough. Not tuned further.
struct SupportLossParameters {
  double tolerance = 1e-7, shifted_tolerance = 3e-5;
};
inline constexpr SupportLossParameters support_loss_parameters{};

class SupportLoss {
 public:
  virtual ~SupportLoss() = default;
  // Takes the cells of another support; `columns` names them in the table. The cells must outlive the fits.
  virtual void open(const int* columns, const ScoreCells& cells) = 0;
  // Best real-valued card in the box and a bound on all of its cards, as fit_box has them. Where the box is a single card, the
  // loss is that card's.
  virtual void fit(const PointBox& box, double slack, double threshold, double tolerance, BoxFit& fit) = 0;
  // Gap between loss and bound at which a box is branched rather than fitted further.
  virtual double tolerance() const = 0;
  // The scales, 1 / multiplier, that cards may have, and how to narrow them for the fits until `open` is called again. At unit
  // scale there is nothing to narrow.
  virtual ScaleRange scales() const { return {}; }
  virtual void narrow(const ScaleRange&) {}
  // Whether to fix the intercept before the points.
  virtual bool intercept_first() const { return true; }
};

std::unique_ptr<SupportLoss> make_loss(const ScoreProblem& problem);

}  // namespace surefoot
