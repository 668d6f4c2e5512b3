#include "arrays.hpp"

NB_MODULE(_native, module) {
  module.doc() = "Compiled core of surefoot. Imported by solver folders only.";
  surefoot::bindings::bind_mixed_table(module);
  surefoot::bindings::bind_working_set(module);
  surefoot::bindings::bind_row_model(module);
  surefoot::bindings::bind_lifted_space(module);
  surefoot::bindings::bind_sqp_parameters(module);
  surefoot::bindings::bind_sqp_loop(module);
  surefoot::bindings::bind_qp_interior_point(module);
  surefoot::bindings::bind_support_search(module);
  surefoot::bindings::bind_axis_loss(module);
  surefoot::bindings::bind_binary_search(module);
  surefoot::bindings::bind_mirror_steps(module);
  surefoot::bindings::bind_boxed_search(module);
}
