/* The kernels for plain C: see kernels.h. */

#include "kernels.h"
#include "../../chart/portable.h"

#define KERNELS kernels_scalar
#include "simd_scalar.h"
#include "instance.h"
