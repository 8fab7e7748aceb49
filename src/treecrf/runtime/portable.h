/* What compilers spell differently. */

#ifndef TREECRF_PORTABLE_H
#define TREECRF_PORTABLE_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PRAGMA(text) _Pragma(#text)

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#define INLINE static __forceinline
#define UNROLL(count)
#define BEGIN_TARGET(extensions) /* MSVC compiles any intrinsic anywhere */
#define END_TARGET
static int64_t next_block(int64_t *next, int64_t count) { return _InterlockedExchangeAdd64(next, count); }
#else
#define INLINE static inline __attribute__((always_inline, unused))
#define UNROLL(count) PRAGMA(GCC unroll count)
#if defined(__clang__)
#define BEGIN_TARGET(extensions) PRAGMA(clang attribute push(__attribute__((target(extensions))), apply_to = function))
#define END_TARGET _Pragma("clang attribute pop")
#else
#define BEGIN_TARGET(extensions) _Pragma("GCC push_options") PRAGMA(GCC target(extensions))
#define END_TARGET _Pragma("GCC pop_options")
#endif
/* Takes the next `count` items of a job that threads share. */
INLINE int64_t next_block(int64_t *next, int64_t count) { return __atomic_fetch_add(next, count, __ATOMIC_RELAXED); }
#endif

INLINE int64_t minimum(int64_t a, int64_t b) { return a < b ? a : b; }

#endif
