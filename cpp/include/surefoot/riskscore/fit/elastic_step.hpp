// The subproblem of proximal Newton for the elastic net: a quadratic model with an l1 and an l2 penalty, in a box, by
// coordinate descent with an active set.
#pragma once

namespace surefoot {

struct ElasticStep {
  int n;
  const double* curvature;  // n x n, symmetric, positive semidefinite
  const double* gradient;   // at `start`
  const double* start;
  const double* lower;
  const double* upper;
  const double* l1;  // not negative
  const double* l2;  // not negative
};

// Minimises  gradient . (x - start) + (x - start)' curvature (x - start) / 2 + sum_j l1_j |x_j| + l2_j x_j^2 / 2  over lower <=
// x <= upper. `x` holds a point of the box to begin with. Sweeps over all coordinates alternate with sweeps over the active
// set, those that are not 0, until no coordinate of a full sweep has curvature * change^2 above `tolerance`, or `max_sweeps`
// are done. `slope` is scratch of n.
void elastic_step(const ElasticStep& step, double tolerance, int max_sweeps, double* x, double* slope);

}  // namespace surefoot
