// A sum whose error does not grow with the number of its terms.
#pragma once

#include <cmath>

namespace surefoot {

// Neumaier's variant of Kahan's sum: the rounding error of every addition is kept and added at the end. The result is off by 2 units in
// the last place of the sum of the sizes of its terms, up to terms in the square of a unit.
class CompensatedSum {
 public:
  void add(double term) {
    const double next = sum_ + term;
    rest_ += std::fabs(sum_) >= std::fabs(term) ? (sum_ - next) + term : (term - next) + sum_;
    sum_ = next;
  }
  double value() const { return sum_ + rest_; }

 private:
  double sum_ = 0, rest_ = 0;
};

}  // namespace surefoot
