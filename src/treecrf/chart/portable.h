/* Threads, inlining and instruction sets, which compilers spell differently. */

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
#define PREFETCH(address) ((void)(address))
#define BEGIN_TARGET(extensions) /* MSVC compiles any intrinsic anywhere */
#define END_TARGET
INLINE int64_t next_block(int64_t *next, int64_t count) { return _InterlockedExchangeAdd64(next, count); }
INLINE int64_t load_counter(int64_t *counter) { return _InterlockedExchangeAdd64(counter, 0); }
INLINE int64_t add_to_counter(int64_t *counter, int64_t count) { return _InterlockedExchangeAdd64(counter, count); }
#else
#if defined(__SANITIZE_ADDRESS__)
#define INLINE static __attribute__((noinline, unused)) /* GCC would need minutes for the checks in what is inlined */
#else
#define INLINE static inline __attribute__((always_inline, unused))
#endif
#define UNROLL(count) PRAGMA(GCC unroll count)
#define PREFETCH(address) __builtin_prefetch(address)
#if defined(__clang__)
#define BEGIN_TARGET(extensions) PRAGMA(clang attribute push(__attribute__((target(extensions))), apply_to = function))
#define END_TARGET _Pragma("clang attribute pop")
#else
#define BEGIN_TARGET(extensions) _Pragma("GCC push_options") PRAGMA(GCC target(extensions))
#define END_TARGET _Pragma("GCC pop_options")
#endif
/* Takes the next `count` items of a job that threads share. */
INLINE int64_t next_block(int64_t *next, int64_t count) { return __atomic_fetch_add(next, count, __ATOMIC_RELAXED); }
/* What another thread wrote before it added to a counter is visible after the counter is loaded or added to. */
INLINE int64_t load_counter(int64_t *counter) { return __atomic_load_n(counter, __ATOMIC_SEQ_CST); }
INLINE int64_t add_to_counter(int64_t *counter, int64_t count) {
    return __atomic_fetch_add(counter, count, __ATOMIC_SEQ_CST);
}
#endif

/* The binary has code for several instruction sets; the loader selects one of them. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__has_attribute)
#if __has_attribute(target_clones)
#define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#define CLONES_WITH_FMA __attribute__((target_clones("avx512f", "fma", "default")))
#endif
#endif
#ifndef CLONES
#define CLONES
#define CLONES_WITH_FMA
#endif

#if defined(_WIN32)
#include <windows.h>
INLINE void yield_thread(void) { SwitchToThread(); }
#else
#include <sched.h>
INLINE void yield_thread(void) { sched_yield(); }
#endif

/* Tells the core that this thread only waits. */
INLINE void pause_thread(void) {
#if defined(_M_X64) && !defined(__clang__)
    _mm_pause();
#elif defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
    __asm__ volatile("yield");
#endif
}

INLINE int64_t minimum(int64_t a, int64_t b) { return a < b ? a : b; }

#endif
