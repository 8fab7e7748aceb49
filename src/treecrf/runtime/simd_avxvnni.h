/* AVX2 with the 256-bit dot products of AVX-VNNI, which do not saturate: rows are quantized to 8 bits. */

#define ISA_NAME "avxvnni"
#define QUANTIZED_MAX 255
#define BYTE_PRODUCTS

#include "simd_avx2.h"
