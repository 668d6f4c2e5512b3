// Packs in memory where wide loads find them.
#pragma once

#include <new>
#include <vector>

#include "surefoot/core/lane_math.hpp"

namespace surefoot {

// Without wide registers a compiler aligns packs to 16 bytes; code compiled for wide ones (SUREFOOT_DISPATCH) relies on 32. Both run on
// the same packs, so their memory is aligned for the stricter.
constexpr std::size_t pack_alignment = 32;

template <class T>
struct PackAllocator {
  using value_type = T;
  PackAllocator() = default;
  template <class Other>
  PackAllocator(const PackAllocator<Other>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{pack_alignment})); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t{pack_alignment}); }
  template <class Other>
  bool operator==(const PackAllocator<Other>&) const {
    return true;
  }
};

using PackVector = std::vector<Pack, PackAllocator<Pack>>;

}  // namespace surefoot
