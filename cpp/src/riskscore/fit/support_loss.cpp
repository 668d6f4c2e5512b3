#include "surefoot/riskscore/fit/support_loss.hpp"

#include <algorithm>

#include "surefoot/riskscore/problem/score_problem.hpp"
#include "surefoot/riskscore/shift/shifted_fit.hpp"

namespace surefoot {
namespace {

class PlainLoss final : public SupportLoss {
 public:
  void open(const int*, const ScoreCells& cells) override { cells_ = &cells; }
  void fit(const PointBox& box, double slack, double threshold, double tolerance, BoxFit& fit) override {
    fit_box(*cells_, box, slack, threshold, tolerance, fit);
  }
  double tolerance() const override { return support_loss_parameters.tolerance; }

 private:
  const ScoreCells* cells_ = nullptr;
};

class ScaledLoss final : public SupportLoss {
 public:
  explicit ScaledLoss(const ScaleRange& range) : range_(range), fit_(range) {}
  void open(const int*, const ScoreCells& cells) override {
    cells_ = &cells;
    fit_.set_range(range_);
  }
  void fit(const PointBox& box, double slack, double threshold, double tolerance, BoxFit& fit) override {
    fit_.fit(*cells_, box, slack, threshold, tolerance, fit);
  }
  double tolerance() const override { return support_loss_parameters.tolerance; }
  ScaleRange scales() const override { return range_; }
  void narrow(const ScaleRange& range) override { fit_.set_range(range); }
  // Whatever whole number the intercept is, some scale makes it right; points, which are fewer, determine the scale.
  bool intercept_first() const override { return false; }

 private:
  const ScoreCells* cells_ = nullptr;
  ScaleRange range_;
  ScaledFit fit_;
};

class ShiftedLoss : public SupportLoss {
 public:
  explicit ShiftedLoss(const ScoreProblem& problem) : problem_(problem), most_lambda_(lambda_limit(problem)) {}
  void open(const int* columns, const ScoreCells& cells) override {
    lattice_.build(cells, problem_.prices(columns, cells.n_columns));
  }
  void fit(const PointBox& box, double slack, double threshold, double tolerance, BoxFit& fit) override {
    fit_shifted(lattice_, box, most_lambda_, slack, threshold, tolerance, fit);
  }
  double tolerance() const override { return support_loss_parameters.shifted_tolerance; }

 protected:
  const ScoreProblem& problem_;
  double most_lambda_;
  ShiftLattice lattice_;
};

// As ScaledFit has it: the points that are fixed are tied to the scale, and open coefficients lie in the hull of what they may
// be at any scale. The robust loss is convex in scale, open coefficients and lambda together.
class ScaledShiftedLoss final : public ShiftedLoss {
 public:
  explicit ScaledShiftedLoss(const ScoreProblem& problem) : ShiftedLoss(problem), range_(problem.scale) {}
  void open(const int* columns, const ScoreCells& cells) override {
    ShiftedLoss::open(columns, cells);
    range_ = problem_.scale;
  }
  void fit(const PointBox& box, double slack, double threshold, double tolerance, BoxFit& fit) override {
    const int n = lattice_.n_columns();
    bool any_fixed = n == 0;
    for (int j = 1; j <= n; ++j) any_fixed = any_fixed || box.lower[j] == box.upper[j];
    bool any_tied = false;
    region_.scale = range_;
    fit.scale = std::clamp(fit.scale, range_.low, range_.high);
    for (int j = 0; j <= n; ++j) {
      region_.tied[j] = any_fixed && box.lower[j] == box.upper[j];
      any_tied = any_tied || region_.tied[j];
      region_.point[j] = region_.tied[j] ? box.lower[j] : 0;
      region_.box.lower[j] = range_.least(box.lower[j]);
      region_.box.upper[j] = range_.most(box.upper[j]);
      fit.point[j] = std::clamp(fit.point[j], box.lower[j], box.upper[j]) * fit.scale;
    }
    fit_shifted(lattice_, region_, most_lambda_, slack, threshold, tolerance, fit);
    if (!any_tied) fit.scale = finest_scale(range_, box, n, fit.point);
    for (int j = 0; j <= n; ++j) fit.point[j] = region_.tied[j] ? box.lower[j] : fit.point[j] / fit.scale;
  }
  ScaleRange scales() const override { return range_; }
  void narrow(const ScaleRange& range) override { range_ = range; }
  bool intercept_first() const override { return false; }

 private:
  ScaleRange range_;
  FitRegion region_;
};

}  // namespace

std::unique_ptr<SupportLoss> make_loss(const ScoreProblem& problem) {
  if (problem.shift.active() && problem.scale.free()) return std::make_unique<ScaledShiftedLoss>(problem);
  if (problem.shift.active()) return std::make_unique<ShiftedLoss>(problem);
  if (problem.scale.free()) return std::make_unique<ScaledLoss>(problem.scale);
  return std::make_unique<PlainLoss>();
}

}  // namespace surefoot
