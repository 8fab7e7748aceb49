/* AVX-512 with the dot products of VNNI: a Floats is one vector, and rows are bytes. */

#define ISA_NAME "avx512vnni"
#define BYTE_ROWS 1
#define TILE_ROWS 6

typedef __m512 Floats;

INLINE __mmask16 first_lanes(int64_t count) {
    return (__mmask16)(count >= LANES ? 0xffff : count <= 0 ? 0 : (1 << count) - 1);
}
INLINE Floats f_load(const float *from) { return _mm512_loadu_ps(from); }
INLINE void f_store(float *to, Floats x) { _mm512_storeu_ps(to, x); }
INLINE Floats f_set(float value) { return _mm512_set1_ps(value); }
INLINE Floats f_load_first(const float *from, int64_t count, float fill) {
    return _mm512_mask_loadu_ps(_mm512_set1_ps(fill), first_lanes(count), from);
}
INLINE void f_store_first(float *to, int64_t count, Floats x) { _mm512_mask_storeu_ps(to, first_lanes(count), x); }
INLINE Floats f_first(Floats x, int64_t count, float fill) {
    return _mm512_mask_mov_ps(_mm512_set1_ps(fill), first_lanes(count), x);
}
INLINE Floats f_add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
INLINE Floats f_sub(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
INLINE Floats f_mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
INLINE Floats f_div(Floats a, Floats b) { return _mm512_div_ps(a, b); }
INLINE Floats f_min(Floats a, Floats b) { return _mm512_min_ps(a, b); }
INLINE Floats f_max(Floats a, Floats b) { return _mm512_max_ps(a, b); }
INLINE Floats f_abs(Floats a) { return _mm512_abs_ps(a); }
INLINE Floats f_fma(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
INLINE Floats f_round(Floats a) { return _mm512_roundscale_ps(a, 0); }
INLINE Floats f_scale(Floats x, Floats n, Floats guard) {
    return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(guard, _mm512_set1_ps(-87.0f), _CMP_GT_OQ), x, n);
}
INLINE Floats f_from_ints(const int32_t *from) { return _mm512_cvtepi32_ps(_mm512_loadu_si512(from)); }
typedef uint8_t QuantizedValue;
INLINE void store_quantized(uint8_t *row, int64_t width, int64_t k, Floats x, int is_wide) {
    __m512i values = _mm512_cvtps_epi32(x);
    __m512i low = is_wide ? _mm512_and_si512(values, _mm512_set1_epi32(127)) : values;
    _mm_storeu_si128((__m128i *)(row + k), _mm512_cvtepi32_epi8(low));
    if (is_wide) _mm_storeu_si128((__m128i *)(row + width + k), _mm512_cvtepi32_epi8(_mm512_srli_epi32(values, LOW_BITS)));
}
INLINE float f_sum(Floats x) { return _mm512_reduce_add_ps(x); }
INLINE float f_largest(Floats x) { return _mm512_reduce_max_ps(x); }
INLINE float f_smallest(Floats x) { return _mm512_reduce_min_ps(x); }

#define HAS_TRANSPOSE 1
/* Up to LANES rows of LANES numbers times a factor, as columns; missing rows count as zeros. */
static void transpose(const float *x, int64_t stride, int64_t rows, float factor, float *out, int64_t width) {
    Floats a[LANES], b[LANES];
    const __m512i low_lanes = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high_lanes = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    for (int r = 0; r < LANES; r++) a[r] = r < rows ? f_mul(f_load(x + r * stride), f_set(factor)) : f_set(0.0f);
    UNROLL(4)
    for (int step = 0; step < 4; step++) { /* each step puts row k beside row k + 8 */
        UNROLL(8)
        for (int k = 0; k < LANES / 2; k++) {
            b[2 * k] = _mm512_permutex2var_ps(a[k], low_lanes, a[k + 8]);
            b[2 * k + 1] = _mm512_permutex2var_ps(a[k], high_lanes, a[k + 8]);
        }
        memcpy(a, b, sizeof a);
    }
    for (int d = 0; d < LANES; d++) f_store(out + d * width, a[d]);
}

/* sums + the products of four unsigned and four signed bytes in each lane. GCC stores every sum on the stack in every
   step if this is the intrinsic. */
INLINE __m512i dot(__m512i sums, __m512i q, __m512i weights) {
#if defined(__GNUC__)
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(q), "v"(weights));
    return sums;
#else
    return _mm512_dpbusd_epi32(sums, q, weights);
#endif
}

/* The sums have names, as compilers do not keep arrays of 24 vectors in registers. */
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)
#define START(i) __m512i a##i = zero, b##i = zero, c##i = zero, d##i = zero;
#define STEP(i)                                        \
    memcpy(&four, q + i * stride + k, sizeof four);    \
    x = _mm512_set1_epi32(four);                       \
    a##i = dot(a##i, x, a);                            \
    b##i = dot(b##i, x, b);                            \
    c##i = dot(c##i, x, c);                            \
    d##i = dot(d##i, x, d);
#define STORE(i)                                       \
    _mm512_storeu_si512(&out[i][0], a##i);             \
    _mm512_storeu_si512(&out[i][LANES], b##i);         \
    _mm512_storeu_si512(&out[i][2 * LANES], c##i);     \
    _mm512_storeu_si512(&out[i][3 * LANES], d##i);

static void tile_sums(const QuantizedValue *q, int64_t rows, int64_t inputs, int64_t stride, const int8_t *weights,
                      const uint8_t *is_large, int32_t out[TILE_ROWS][TILE]) {
    (void)rows, (void)is_large;
    const __m512i zero = _mm512_setzero_si512();
    EACH_ROW(START)
    const int64_t block = LANES * stride; /* bytes of LANES columns */
    for (int64_t k = 0; k < inputs; k += 4, weights += 4 * LANES) {
        int32_t four;
        __m512i x, a = _mm512_loadu_si512(weights), b = _mm512_loadu_si512(weights + block);
        __m512i c = _mm512_loadu_si512(weights + 2 * block), d = _mm512_loadu_si512(weights + 3 * block);
        EACH_ROW(STEP)
    }
    EACH_ROW(STORE)
}
