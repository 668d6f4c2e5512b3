// Functions marked with SUREFOOT_DISPATCH are compiled twice, for any processor and for those with AVX2, and the right one is chosen
// when the library is loaded. Only GCC on x86-64 does this without further ado; elsewhere the mark means nothing. "x86-64-v3" asks what
// the processor can do; "haswell", all that older compilers know, asks for its maker as well, and leaves other makers' at the default.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#if __GNUC__ >= 12
#define SUREFOOT_DISPATCH __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define SUREFOOT_DISPATCH __attribute__((target_clones("arch=haswell", "default")))
#endif
#else
#define SUREFOOT_DISPATCH
#endif
