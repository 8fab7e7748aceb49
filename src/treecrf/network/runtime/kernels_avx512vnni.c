/* The kernels for AVX-512 VNNI: see kernels.h. */

#include "kernels.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>

#include "../../chart/portable.h"

#define KERNELS kernels_avx512vnni
BEGIN_TARGET("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,fma")
#include "simd_avx512vnni.h"
#include "instance.h"
END_TARGET
#endif
