// Functions marked with SUREFOOT_DISPATCH are compiled twice, for any processor and for those with AVX2, and the right one is chosen
// when the library is loaded. Only GCC on x86-64 does this without further ado; elsewhere the mark means nothing.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define SUREFOOT_DISPATCH __attribute__((target_clones("arch=haswell", "default")))
#else
#define SUREFOOT_DISPATCH
#endif
