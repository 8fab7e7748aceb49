/* The kernels for ARM NEON with the matrix products of i8mm: see kernels.h. */

#include "kernels.h"

#if defined(__aarch64__) || defined(_M_ARM64)
#include <arm_neon.h>

#include "../../chart/portable.h"

#define KERNELS kernels_neon_i8mm
BEGIN_TARGET("arch=armv8.2-a+dotprod+i8mm")
#include "simd_neon_i8mm.h"
#include "instance.h"
END_TARGET
#endif
