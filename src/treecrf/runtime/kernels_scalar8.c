/* Plain C with the rounding of the 8-bit instruction sets, which they are tested against: see kernels.h. */

#include "kernels.h"
#include "portable.h"

#define KERNELS kernels_scalar8
#define ISA_NAME "scalar8"
#define NARROW_MAX 255
#define BYTE_ROWS 1
#include "simd_scalar.h"
#include "instance.h"
