#include "surefoot/support_loss.hpp"

#include "surefoot/robust_fit.hpp"
#include "surefoot/score_problem.hpp"

namespace surefoot {
namespace {

class PlainLoss final : public SupportLoss {
 public:
  void open(const int*, const ScoreCells& cells) override { cells_ = &cells; }
  void fit(const PointBox& box, double slack, double threshold, double tolerance, BoxFit& fit) override {
    fit_box(*cells_, box, slack, threshold, tolerance, fit);
  }
  double tolerance() const override { return 1e-7; }

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
  double tolerance() const override { return 1e-7; }
  ScaleRange scales() const override { return range_; }
  void narrow(const ScaleRange& range) override { fit_.set_range(range); }
  // Whatever whole number the intercept is, some scale makes it right; points, which are fewer, settle the scale.
  bool intercept_first() const override { return false; }

 private:
  const ScoreCells* cells_ = nullptr;
  ScaleRange range_;
  ScaledFit fit_;
};

class RobustLoss final : public SupportLoss {
 public:
  explicit RobustLoss(const ScoreProblem& problem) : problem_(problem), most_lambda_(lambda_limit(problem)) {}
  void open(const int* columns, const ScoreCells& cells) override {
    lattice_.build(cells, problem_.prices(columns, cells.n_columns));
  }
  void fit(const PointBox& box, double slack, double threshold, double tolerance, BoxFit& fit) override {
    fit_robust(lattice_, box, most_lambda_, slack, threshold, tolerance, fit);
  }
  // Paths end with a stage for every digit; most boxes are decided by coarser fits, and the others are cut soon enough.
  double tolerance() const override { return 3e-5; }

 private:
  const ScoreProblem& problem_;
  double most_lambda_;
  RobustLattice lattice_;
};

}  // namespace

std::unique_ptr<SupportLoss> make_loss(const ScoreProblem& problem) {
  if (problem.robust.active()) return std::make_unique<RobustLoss>(problem);
  if (problem.scale.free()) return std::make_unique<ScaledLoss>(problem.scale);
  return std::make_unique<PlainLoss>();
}

}  // namespace surefoot
