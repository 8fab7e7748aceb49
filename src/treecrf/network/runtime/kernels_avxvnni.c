/* The kernels for AVX-VNNI: see kernels.h. */

#include "kernels.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>

#include "../../chart/portable.h"

#if HAS_AVXVNNI
#define KERNELS kernels_avxvnni
BEGIN_TARGET("avx2,fma,avxvnni")
#include "simd_avxvnni.h"
#include "instance.h"
END_TARGET
#endif
#endif
