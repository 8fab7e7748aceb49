/* Products of rows of floats with weights of 8-bit integers: see int8.c. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define SUPPORTED 1
#include <immintrin.h>
/* What stands between these may use what only some processors have. */
#define EXTENSIONS "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,fma"
#define PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define TARGET(list) PRAGMA(clang attribute push(__attribute__((target(list))), apply_to = function))
#define END_OF_VECTOR_CODE _Pragma("clang attribute pop")
#else
#define TARGET(list) _Pragma("GCC push_options") PRAGMA(GCC target(list))
#define END_OF_VECTOR_CODE _Pragma("GCC pop_options")
#endif
#define VECTOR_CODE TARGET(EXTENSIONS)
#else
#define SUPPORTED 0
#endif

#define LANES 16
#define TILE_ROWS 6
#define TILE (4 * LANES) /* columns */
#define ALIGN 64
#define GROUP_ROWS 96 /* each weight that comes from memory meets so many */

enum { PACK_FIELDS = 4 };

typedef struct {
    int64_t inputs, outputs;
    /* Tiles of TILE columns: for each four inputs, four weights of each column. Inputs are filled up to whole LANES,
       columns to whole tiles. */
    const int8_t *weights;
    const float *scales, *sums, *bias; /* sums: of a column's integers */
    float slope;                       /* by which negative outputs are multiplied */
} Linear;

#if SUPPORTED
VECTOR_CODE
#define INLINE static inline __attribute__((always_inline))

typedef __m512 Floats;

INLINE Floats load(const float *from) { return _mm512_loadu_ps(from); }
INLINE void store(float *to, Floats x) { _mm512_storeu_ps(to, x); }
INLINE Floats all(float x) { return _mm512_set1_ps(x); }

/* 2^n e^r with x = n ln 2 + r; 0 below the smallest normal number. */
INLINE Floats exponential(Floats x) {
    Floats n = _mm512_roundscale_ps(x * all(1.44269504f), 0);
    Floats r = _mm512_fnmadd_ps(n, all(0.693359375f), x);
    r = _mm512_fnmadd_ps(n, all(-2.12194440e-4f), r);
    Floats p = all(1.0f / 720);
    p = _mm512_fmadd_ps(p, r, all(1.0f / 120));
    p = _mm512_fmadd_ps(p, r, all(1.0f / 24));
    p = _mm512_fmadd_ps(p, r, all(1.0f / 6));
    p = _mm512_fmadd_ps(p, r, all(0.5f));
    p = _mm512_fmadd_ps(p, r, all(1.0f));
    p = _mm512_fmadd_ps(p, r, all(1.0f));
    return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, all(-87.0f), _CMP_GT_OQ), p, n);
}

/* x P(X < x) for a normal X, within 2e-4 from -8 to 8, where a step of what 8 bits can tell of it is some 0.02: the
   probability is 1/2 and an odd polynomial, beyond 4 what it is there. */
INLINE Floats gelu(Floats x) {
    Floats near = _mm512_max_ps(_mm512_min_ps(x, all(4.0f)), all(-4.0f)), square = near * near;
    Floats p = all(2.27813814e-8f);
    p = _mm512_fmadd_ps(p, square, all(-1.59859902e-6f));
    p = _mm512_fmadd_ps(p, square, all(4.79554468e-5f));
    p = _mm512_fmadd_ps(p, square, all(-8.14014688e-4f));
    p = _mm512_fmadd_ps(p, square, all(8.77238400e-3f));
    p = _mm512_fmadd_ps(p, square, all(-6.45730999e-2f));
    p = _mm512_fmadd_ps(p, square, all(3.97883340e-1f));
    return x * _mm512_fmadd_ps(near, p, all(0.5f));
}

/* Rows as integers: x = low + scale * q. */
typedef struct {
    uint8_t *q;
    float *scales, *lows;
} Quantized;

static int64_t padded(int64_t size) { return (size + LANES - 1) / LANES * LANES; }

INLINE __mmask16 lanes(int64_t count) { return count >= LANES ? 0xffff : count <= 0 ? 0 : (1 << count) - 1; }

/* One row into row number `row`. */
static void quantize_row(const float *x, int64_t size, Quantized to, int64_t row) {
    Floats low = all(x[0]), high = low;
    for (int64_t k = 0; k < size; k += LANES) {
        Floats some = _mm512_mask_loadu_ps(all(x[0]), lanes(size - k), x + k);
        low = _mm512_min_ps(low, some);
        high = _mm512_max_ps(high, some);
    }
    float bottom = _mm512_reduce_min_ps(low), range = _mm512_reduce_max_ps(high) - bottom;
    Floats factor = all(range > 0.0f ? 255.0f / range : 0.0f), offset = all(bottom);
    for (int64_t k = 0; k < size; k += LANES) {
        Floats some = _mm512_mask_loadu_ps(offset, lanes(size - k), x + k);
        __m512i q = _mm512_cvtps_epi32((some - offset) * factor);
        _mm_storeu_si128((__m128i *)(to.q + row * padded(size) + k), _mm512_cvtusepi32_epi8(q));
    }
    to.scales[row] = range / 255.0f;
    to.lows[row] = bottom;
}

static inline void quantize(const float *x, int64_t rows, int64_t size, Quantized to) {
    for (int64_t row = 0; row < rows; row++) quantize_row(x + row * size, size, to, row);
}

/* sums + the products of four unsigned and four signed bytes in each lane. Not the intrinsic: GCC then also stores
   every sum on the stack in every step. */
INLINE __m512i dot(__m512i sums, __m512i q, __m512i weights) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(q), "v"(weights));
    return sums;
}

/* A column's sums of integers as what they stand for. */
INLINE void finish(const Linear *l, Quantized x, int64_t row, int64_t column, float *out, int bent, __m512i sums) {
    Floats sum = _mm512_cvtepi32_ps(sums) * all(x.scales[row]);
    sum = _mm512_fmadd_ps(all(x.lows[row]), load(l->sums + column), sum);
    sum = _mm512_fmadd_ps(sum, load(l->scales + column), load(l->bias + column));
    sum = bent ? gelu(sum) : _mm512_max_ps(sum, sum * all(l->slope));
    _mm512_mask_storeu_ps(out + row * l->outputs + column, lanes(l->outputs - column), sum);
}

/* TILE_ROWS rows times TILE columns; the sums have names, as compilers keep no arrays in registers. */
#define ONE_ROW(DO) DO(0)
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)
#define START(i) __m512i a##i = zero, b##i = zero, c##i = zero, d##i = zero;
#define STEP(i)                                           \
    memcpy(&four, left + i * inputs + k, sizeof four); \
    q = _mm512_set1_epi32(four);                          \
    a##i = dot(a##i, q, a);                               \
    b##i = dot(b##i, q, b);                               \
    c##i = dot(c##i, q, c);                               \
    d##i = dot(d##i, q, d);
#define FINISH(i)                                                   \
    if (row + i < rows) {                                           \
        finish(l, x, row + i, column, out, bent, a##i);             \
        finish(l, x, row + i, column + LANES, out, bent, b##i);     \
        finish(l, x, row + i, column + 2 * LANES, out, bent, c##i); \
        finish(l, x, row + i, column + 3 * LANES, out, bent, d##i); \
    }

/* Declares the sums of some or EACH row of the tile that starts at a row of x and a column of l, and computes them. */
#define SUMS(EACH, l, x, row, column)                                                                   \
    const int64_t inputs = padded((l)->inputs);                                                         \
    const int8_t *weights = (l)->weights + (column) * inputs;                                           \
    const uint8_t *left = (x).q + (row) * inputs;                                                       \
    const __m512i zero = _mm512_setzero_si512();                                                        \
    EACH(START)                                                                                         \
    for (int64_t k = 0; k < inputs; k += 4, weights += 4 * TILE) {                                      \
        int32_t four;                                                                                   \
        __m512i q, a = _mm512_loadu_si512(weights), b = _mm512_loadu_si512(weights + TILE);             \
        __m512i c = _mm512_loadu_si512(weights + 2 * TILE), d = _mm512_loadu_si512(weights + 3 * TILE); \
        EACH(STEP)                                                                                      \
    }

INLINE void tile(const Linear *l, Quantized x, int64_t rows, int64_t row, int64_t column, float *out, int bent) {
    SUMS(EACH_ROW, l, x, row, column)
    EACH_ROW(FINISH)
}

/* x W' + bias; x has room for whole tiles of rows. */
static void multiply(const Linear *l, Quantized x, int64_t rows, float *out) {
    for (int64_t column = 0; column < l->outputs; column += TILE)
        for (int64_t row = 0; row < rows; row += TILE_ROWS) tile(l, x, rows, row, column, out, 0);
}

static inline void multiply_gelu(const Linear *l, Quantized x, int64_t rows, float *out) {
    for (int64_t column = 0; column < l->outputs; column += TILE)
        for (int64_t row = 0; row < rows; row += TILE_ROWS) tile(l, x, rows, row, column, out, 1);
}

/* Weights (outputs, inputs) of floats into tiles of integers, with their scales and sums; the rest of both is zeros. */
static inline void pack(const float *x, int64_t outputs, int64_t inputs, int8_t *tiles, float *scales, float *sums) {
    int64_t width = padded(inputs);
    for (int64_t row = 0; row < outputs; row++, x += inputs) {
        Floats high = all(0.0f);
        for (int64_t k = 0; k < inputs; k += LANES)
            high = _mm512_max_ps(high, _mm512_abs_ps(_mm512_maskz_loadu_ps(lanes(inputs - k), x + k)));
        float most = _mm512_reduce_max_ps(high);
        Floats factor = all(most > 0.0f ? 127.0f / most : 0.0f);
        __m512i sum = _mm512_setzero_si512();
        int8_t *to = tiles + row / TILE * TILE * width + row % TILE * 4;
        for (int64_t k = 0; k < inputs; k += LANES) {
            __m512i q = _mm512_cvtps_epi32(_mm512_maskz_loadu_ps(lanes(inputs - k), x + k) * factor);
            int8_t bytes[LANES];
            _mm_storeu_si128((__m128i *)bytes, _mm512_cvtepi32_epi8(q));
            for (int64_t four = 0; four < LANES; four += 4) memcpy(to + (k + four) * TILE, bytes + four, 4);
            sum = _mm512_add_epi32(sum, q);
        }
        scales[row] = most / 127.0f;
        sums[row] = (float)_mm512_reduce_add_epi32(sum);
    }
}

static Linear linear(const int64_t *table, int64_t inputs, int64_t outputs) {
    return (Linear){inputs, outputs, (const int8_t *)(uintptr_t)table[0], (const float *)(uintptr_t)table[1],
                    (const float *)(uintptr_t)table[2], (const float *)(uintptr_t)table[3], .slope = 1.0f};
}

/* The next part of one block of memory. */
static void *part(char **block, int64_t bytes) {
    char *start = *block;
    *block += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return start;
}

static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t take(int64_t *next, int64_t count) { return __atomic_fetch_add(next, count, __ATOMIC_RELAXED); }

/* Room for some rows as integers, with those that fill up a tile. */
static Quantized room(char **block, int64_t rows, int64_t size) {
    int64_t tiled = (rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    Quantized q = {.q = part(block, tiled * padded(size))};
    q.scales = part(block, tiled * sizeof(float));
    q.lows = part(block, tiled * sizeof(float));
    return q;
}
END_OF_VECTOR_CODE
#endif
