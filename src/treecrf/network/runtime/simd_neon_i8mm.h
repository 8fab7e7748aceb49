/* ARM NEON with the matrix products of i8mm. */

#define ISA_NAME "neon-i8mm"
#define MATRIX_PRODUCTS

#include "simd_neon.h"
