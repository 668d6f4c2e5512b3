// Sums over dense vectors, which a compiler may not reorder on its own, in an order that lets it use wide registers.
#pragma once

namespace surefoot {

// sum of a[k] b[k], as eight running sums: several multiply-adds are in flight at a time.
double dot(const double* a, const double* b, int n);

// out[k] += scale * v[k].
void add_scaled(double* out, const double* v, double scale, int n);

}  // namespace surefoot
