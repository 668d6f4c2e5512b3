// Bits that two sets share.
#pragma once

#include <cstdint>

namespace surefoot {

// Number of bits set in both a and b.
std::int64_t shared_bits(const std::uint64_t* a, const std::uint64_t* b, std::int64_t n_words);

}  // namespace surefoot
