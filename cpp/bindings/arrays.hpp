// How NumPy arrays cross the border: dtype, rank and layout are part of the type, so nothing is converted silently.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "surefoot/robust/mixed_table.hpp"
#include "surefoot/robust/shift_plan.hpp"

namespace surefoot::bindings {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::numpy, nb::shape<-1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::numpy, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;

// Written in place.
template <class T>
using Changed = nb::ndarray<T, nb::numpy, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;

// A NumPy array that owns the vector's memory.
template <class T>
nb::object to_numpy(std::vector<T>&& values, std::size_t columns = 0) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  const std::size_t rows = columns ? owned->size() / columns : owned->size();
  const std::size_t shape[2] = {rows, columns};
  return nb::ndarray<nb::numpy, T>(owned->data(), columns ? 2 : 1, shape, owner).cast();
}

inline void require(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

template <class T>
std::vector<T> copied(const Vector<T>& values) {
  return {values.data(), values.data() + values.shape(0)};
}

inline void require_point(const LiftedLayout& layout, std::size_t length) {
  require(length == static_cast<std::size_t>(layout.size) + 1,
          "the point must have one entry per lifted coordinate and a zero");
}

// A table together with the arrays it points into.
struct BoundTable {
  MixedTable table;
  LiftedLayout layout;
  std::vector<nb::object> owners;  // keep the arrays alive

  const double* point(const Vector<double>& x) const {
    require_point(layout, x.shape(0));
    return x.data();
  }
};

void require_working_set(const BoundTable& rows, const WorkingSet& pieces);
void require_plan(const BoundTable& rows, const Plan& plan);

void bind_mixed_table(nb::module_& module);
void bind_lifted_space(nb::module_& module);
void bind_working_set(nb::module_& module);
void bind_sqp_parameters(nb::module_& module);
void bind_sqp_loop(nb::module_& module);
void bind_row_model(nb::module_& module);
void bind_qp_interior_point(nb::module_& module);
void bind_support_search(nb::module_& module);
void bind_axis_loss(nb::module_& module);
void bind_binary_search(nb::module_& module);
void bind_mirror_steps(nb::module_& module);
void bind_boxed_search(nb::module_& module);

}  // namespace surefoot::bindings
