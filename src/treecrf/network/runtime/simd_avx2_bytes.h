/* AVX2 with rows of bytes, for encoders: their weights are mostly small.

   `maddubs` adds two products of bytes in 16 bits, and saturates. The sums of two of them have 16 bits as well if the
   weights are small enough (find_large_sums), so that four products take three instructions, where `madd` takes four.
   Steps with larger weights use `madd`. The weights of LSTMs are too large for this more often than not. */

#define BYTE_ROWS 1
#define TILE_ROWS 4
#define HAS_TILE_SUMS
#include "simd_avx2.h"

#define ONE_ROW(DO) DO(0)
#define TWO_ROWS(DO) DO(0) DO(1)
#define FOUR_ROWS(DO) DO(0) DO(1) DO(2) DO(3)
#define START(i) __m256i a##i = _mm256_setzero_si256(), b##i = _mm256_setzero_si256();
#define STORE(i)                                           \
    _mm256_storeu_si256((__m256i *)&out[i][column], a##i); \
    _mm256_storeu_si256((__m256i *)&out[i][column + 8], b##i);

INLINE __m256i four_inputs(const uint8_t *q) {
    int32_t four;
    memcpy(&four, q, sizeof four);
    return _mm256_set1_epi32(four);
}
INLINE __m256i add_pairs(__m256i sums, __m256i products) {
    return add_products(sums, _mm256_madd_epi16(products, _mm256_set1_epi16(1)));
}
#define SMALL_STEP(i)                                                                                   \
    x = four_inputs(q + i * stride + k), y = four_inputs(q + i * stride + k + 4);                       \
    a##i = add_pairs(a##i, _mm256_add_epi16(_mm256_maddubs_epi16(x, w0), _mm256_maddubs_epi16(y, w2))); \
    b##i = add_pairs(b##i, _mm256_add_epi16(_mm256_maddubs_epi16(x, w1), _mm256_maddubs_epi16(y, w3)));

/* Inputs with even and with odd numbers, as 16-bit integers. */
INLINE __m256i even_weights(__m256i w) { return _mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8); }
INLINE __m256i odd_weights(__m256i w) { return _mm256_srai_epi16(w, 8); }
#define LARGE_HALF(i)                                                                                 \
    x = four_inputs(q + i * stride + n);                                                              \
    y = _mm256_srli_epi16(x, 8), x = _mm256_and_si256(x, _mm256_set1_epi16(255));                     \
    a##i = add_products(add_products(a##i, _mm256_madd_epi16(x, even0)), _mm256_madd_epi16(y, odd0)); \
    b##i = add_products(add_products(b##i, _mm256_madd_epi16(x, even1)), _mm256_madd_epi16(y, odd1));

#define COLUMN_SUMS(EACH_ROW)                                                                          \
    for (int column = 0; column < TILE; column += LANES, is_large += stride / STEP_INPUTS) {           \
        EACH_ROW(START)                                                                                \
        for (int64_t k = 0; k < inputs; k += STEP_INPUTS) {                                            \
            const __m256i *w = (const __m256i *)(const void *)(weights + column * stride + k * LANES); \
            __m256i w0 = _mm256_loadu_si256(w), w1 = _mm256_loadu_si256(w + 1);                        \
            __m256i w2 = _mm256_loadu_si256(w + 2), w3 = _mm256_loadu_si256(w + 3), x, y;              \
            if (!is_large[k / STEP_INPUTS]) {                                                          \
                EACH_ROW(SMALL_STEP)                                                                   \
                continue;                                                                              \
            }                                                                                          \
            for (int64_t n = k; n < k + STEP_INPUTS; n += 4, w0 = w2, w1 = w3) {                       \
                __m256i even0 = even_weights(w0), odd0 = odd_weights(w0);                              \
                __m256i even1 = even_weights(w1), odd1 = odd_weights(w1);                              \
                EACH_ROW(LARGE_HALF)                                                                   \
            }                                                                                          \
        }                                                                                              \
        EACH_ROW(STORE)                                                                                \
    }

static void tile_sums(const QuantizedValue *q, int64_t rows, int64_t inputs, int64_t stride, const int8_t *weights,
                      const uint8_t *is_large, int32_t out[TILE_ROWS][TILE]) {
    if (rows == 1) COLUMN_SUMS(ONE_ROW)
    else if (rows == 2) COLUMN_SUMS(TWO_ROWS)
    else COLUMN_SUMS(FOUR_ROWS)
}
