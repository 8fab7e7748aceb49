/* The kernels for AVX2 with rows of bytes: see simd_avx2_bytes.h. */

#include "kernels.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>

#include "../../chart/portable.h"

#define KERNELS kernels_avx2_bytes
BEGIN_TARGET("avx2,fma")
#include "simd_avx2_bytes.h"
#include "instance.h"
END_TARGET
#endif
