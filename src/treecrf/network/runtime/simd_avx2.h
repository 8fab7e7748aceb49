/* AVX2 with FMA: 256-bit vectors, two to a Floats.

   All rows are multiplied by `madd` of 16-bit integers, except in encoders: see simd_avx2_bytes.h. */

#ifndef ISA_NAME /* AVX-VNNI has another name and other products, and shares the rest */
#define ISA_NAME "avx2"
#endif
#ifndef BYTE_ROWS
#define BYTE_ROWS 0
#endif
#ifndef TILE_ROWS
#define TILE_ROWS 6
#endif

typedef struct {
    __m256 low, high;
} Floats;

#define BOTH(low_half, high_half) \
    Floats out = {low_half, high_half}; \
    return out

INLINE Floats f_load(const float *from) { BOTH(_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)); }
INLINE void f_store(float *to, Floats x) {
    _mm256_storeu_ps(to, x.low);
    _mm256_storeu_ps(to + 8, x.high);
}
INLINE Floats f_set(float value) { BOTH(_mm256_set1_ps(value), _mm256_set1_ps(value)); }
/* All bits set in the first `count` of eight lanes. */
INLINE __m256i first_lanes(int64_t count) {
    int32_t limit = count < 0 ? 0 : count > 8 ? 8 : (int32_t)count;
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(limit), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
INLINE __m256 load_first_half(const float *from, int64_t count, float fill) {
    __m256i mask = first_lanes(count);
    if (count <= 0) return _mm256_set1_ps(fill);
    return _mm256_blendv_ps(_mm256_set1_ps(fill), _mm256_maskload_ps(from, mask), _mm256_castsi256_ps(mask));
}
INLINE Floats f_load_first(const float *from, int64_t count, float fill) {
    if (count >= LANES) return f_load(from);
    BOTH(load_first_half(from, count, fill), load_first_half(count > 8 ? from + 8 : from, count - 8, fill));
}
INLINE void f_store_first(float *to, int64_t count, Floats x) {
    if (count >= LANES) {
        f_store(to, x);
        return;
    }
    if (count > 0) _mm256_maskstore_ps(to, first_lanes(count), x.low);
    if (count > 8) _mm256_maskstore_ps(to + 8, first_lanes(count - 8), x.high);
}
INLINE Floats f_first(Floats x, int64_t count, float fill) {
    __m256 other = _mm256_set1_ps(fill);
    BOTH(_mm256_blendv_ps(other, x.low, _mm256_castsi256_ps(first_lanes(count))),
         _mm256_blendv_ps(other, x.high, _mm256_castsi256_ps(first_lanes(count - 8))));
}
INLINE Floats f_add(Floats a, Floats b) { BOTH(_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)); }
INLINE Floats f_sub(Floats a, Floats b) { BOTH(_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)); }
INLINE Floats f_mul(Floats a, Floats b) { BOTH(_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)); }
INLINE Floats f_div(Floats a, Floats b) { BOTH(_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)); }
INLINE Floats f_min(Floats a, Floats b) { BOTH(_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)); }
INLINE Floats f_max(Floats a, Floats b) { BOTH(_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)); }
INLINE Floats f_abs(Floats a) {
    __m256 sign = _mm256_set1_ps(-0.0f);
    BOTH(_mm256_andnot_ps(sign, a.low), _mm256_andnot_ps(sign, a.high));
}
INLINE Floats f_fma(Floats a, Floats b, Floats c) {
    BOTH(_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high));
}
INLINE Floats f_round(Floats a) {
    BOTH(_mm256_round_ps(a.low, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
         _mm256_round_ps(a.high, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
INLINE __m256 scale_half(__m256 x, __m256 n, __m256 guard) {
    __m256i power = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    __m256 is_normal = _mm256_cmp_ps(guard, _mm256_set1_ps(-87.0f), _CMP_GT_OQ);
    return _mm256_and_ps(is_normal, _mm256_mul_ps(x, _mm256_castsi256_ps(power)));
}
INLINE Floats f_scale(Floats x, Floats n, Floats guard) {
    BOTH(scale_half(x.low, n.low, guard.low), scale_half(x.high, n.high, guard.high));
}
INLINE Floats f_from_ints(const int32_t *from) {
    BOTH(_mm256_cvtepi32_ps(_mm256_loadu_si256((const __m256i *)from)),
         _mm256_cvtepi32_ps(_mm256_loadu_si256((const __m256i *)(from + 8))));
}
/* 16-bit integers of rounded numbers. */
INLINE __m256i to_words(Floats x) {
    __m256i words = _mm256_packs_epi32(_mm256_cvtps_epi32(x.low), _mm256_cvtps_epi32(x.high));
    return _mm256_permute4x64_epi64(words, 0xd8); /* packs works within 128 bits */
}
#if BYTE_ROWS
typedef uint8_t QuantizedValue;
INLINE void store_bytes(uint8_t *to, __m256i words) {
    __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128((__m128i *)to, bytes);
}
INLINE void store_quantized(uint8_t *row, int64_t width, int64_t k, Floats x, int is_wide) {
    __m256i words = to_words(x);
    store_bytes(row + k, is_wide ? _mm256_and_si256(words, _mm256_set1_epi16(127)) : words);
    if (is_wide) store_bytes(row + width + k, _mm256_srli_epi16(words, LOW_BITS));
}
#else
typedef int16_t QuantizedValue;
INLINE void store_quantized(uint8_t *row, int64_t width, int64_t k, Floats x, int is_wide) {
    (void)width, (void)is_wide;
    _mm256_storeu_si256((__m256i *)(row + 2 * k), to_words(x));
}
#endif
#define REDUCE(NAME, OPERATION)                                                      \
    INLINE float NAME(Floats x) {                                                    \
        __m256 eight = _mm256_##OPERATION##_ps(x.low, x.high);                       \
        __m128 four = _mm_##OPERATION##_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1)); \
        __m128 two = _mm_##OPERATION##_ps(four, _mm_movehl_ps(four, four));          \
        return _mm_cvtss_f32(_mm_##OPERATION##_ps(two, _mm_shuffle_ps(two, two, 1))); \
    }
REDUCE(f_sum, add)
REDUCE(f_largest, max)
REDUCE(f_smallest, min)

#define HAS_TRANSPOSE 0

/* GCC stores a sum on the stack in every step if this is the intrinsic. */
INLINE __m256i add_products(__m256i sums, __m256i products) {
#if defined(__GNUC__)
    __asm__("vpaddd %1, %0, %0" : "+x"(sums) : "x"(products));
    return sums;
#else
    return _mm256_add_epi32(sums, products);
#endif
}

#ifndef HAS_TILE_SUMS
/* The products of one step: four inputs of a row times the same inputs of 16 columns of bytes, or eight columns of 16-bit integers.
   Sums have names, as compilers do not keep arrays of vectors in registers. */
#define ONE_ROW(DO) DO(0)
#define THREE_ROWS(DO) DO(0) DO(1) DO(2)
#define SIX_ROWS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)
#define START(i) __m256i a##i = _mm256_setzero_si256(), b##i = _mm256_setzero_si256();

#if BYTE_ROWS
#define STEP_COLUMNS 16
#define STEP(i)                                     \
    memcpy(&four, q + i * stride + k, sizeof four); \
    x = _mm256_set1_epi32(four);                    \
    a##i = _mm256_dpbusd_avx_epi32(a##i, x, w0);    \
    b##i = _mm256_dpbusd_avx_epi32(b##i, x, w1);
#define STORE(i)                                                     \
    _mm256_storeu_si256((__m256i *)&out[i][column], a##i);           \
    _mm256_storeu_si256((__m256i *)&out[i][column + 8], b##i);
typedef int32_t FourInputs;
INLINE __m256i load_weights(const int8_t *from, int half) { return _mm256_loadu_si256((const __m256i *)from + half); }
#else
#define STEP_COLUMNS 8
#define STEP(i)                                                 \
    memcpy(&four, q + i * stride + k, sizeof four);             \
    x = _mm256_set1_epi64x(four);                               \
    a##i = add_products(a##i, _mm256_madd_epi16(x, w0));        \
    b##i = add_products(b##i, _mm256_madd_epi16(x, w1));
/* A column has two lanes: adds them, and puts the columns in order. */
#define STORE(i)                                                                                  \
    _mm256_storeu_si256((__m256i *)&out[i][column],                                               \
                        _mm256_permute4x64_epi64(_mm256_hadd_epi32(a##i, b##i), 0xd8));
typedef int64_t FourInputs;
INLINE __m256i load_weights(const int8_t *from, int half) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)from + half));
}
#endif

#define FOUR_INPUTS(EACH_ROW)                                    \
    w0 = load_weights(w, 0), w1 = load_weights(w, 1);            \
    EACH_ROW(STEP)                                               \
    k += 4, w += 4 * LANES;

#define COLUMN_SUMS(EACH_ROW)                                                                      \
    for (int column = 0; column < TILE; column += STEP_COLUMNS) {                                  \
        const int8_t *w = weights + column / LANES * LANES * stride + column % LANES * 4;          \
        EACH_ROW(START)                                                                            \
        for (int64_t k = 0; k < inputs;) {                                                         \
            FourInputs four;                                                                       \
            __m256i x, w0, w1;                                                                     \
            FOUR_INPUTS(EACH_ROW)                                                                  \
            FOUR_INPUTS(EACH_ROW)                                                                  \
        }                                                                                          \
        EACH_ROW(STORE)                                                                            \
    }

static void tile_sums(const QuantizedValue *q, int64_t rows, int64_t inputs, int64_t stride, const int8_t *weights,
                      const uint8_t *is_large, int32_t out[TILE_ROWS][TILE]) {
    (void)is_large;
    if (rows == 1) COLUMN_SUMS(ONE_ROW)
    else if (rows <= 3) COLUMN_SUMS(THREE_ROWS)
    else COLUMN_SUMS(SIX_ROWS)
}
#endif
