/* The kernels for ARM NEON with dot products: see kernels.h. */

#include "kernels.h"

#if defined(__aarch64__) || defined(_M_ARM64)
#include <arm_neon.h>

#include "../../chart/portable.h"

#define KERNELS kernels_neon
BEGIN_TARGET("arch=armv8.2-a+dotprod")
#include "simd_neon.h"
#include "instance.h"
END_TARGET
#endif
