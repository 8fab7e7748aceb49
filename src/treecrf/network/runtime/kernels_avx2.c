/* The kernels for AVX2: see kernels.h. */

#include "kernels.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>

#include "../../chart/portable.h"

#define KERNELS kernels_avx2
#define ENCODE encode_bytes
static int encode_bytes(const EncoderJob *job) { return kernels_avx2_bytes.encode(job); }

BEGIN_TARGET("avx2,fma")
#include "simd_avx2.h"
#include "instance.h"
END_TARGET
#endif
