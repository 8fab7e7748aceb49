/* AVX2 with the 256-bit dot products of AVX-VNNI, which do not saturate: rows are bytes. */

#define ISA_NAME "avxvnni"
#define BYTE_ROWS 1

#include "simd_avx2.h"
