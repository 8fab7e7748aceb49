/* Int8 matrix products: float rows times weights of 8-bit integers. int8.c describes the quantization. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define SUPPORTED 1
#include <immintrin.h>
/* Functions between VECTOR_CODE and END_OF_VECTOR_CODE are compiled for these instruction sets. */
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

#define LANES 16 /* floats per vector */
#define TILE_ROWS 6
#define TILE_COLUMNS (4 * LANES)
#define ALIGN 64
#define GROUP_ROWS 96 /* rows per product: the weights are read from memory once for all of them */

enum { LINEAR_FIELDS = 4 }; /* addresses of a Linear in a table */

typedef struct {
    int64_t inputs, outputs;
    /* Tiles of TILE_COLUMNS columns: for each group of four inputs, four weights of each column. Inputs are padded to a
       multiple of LANES, columns to a multiple of TILE_COLUMNS. */
    const int8_t *weights;
    const float *scales, *sums, *bias; /* per column; sums: of the column's integers */
    float slope;                       /* of the leaky ReLU after the product; 1 for none */
} Linear;

#if SUPPORTED
VECTOR_CODE
#define INLINE static inline __attribute__((always_inline))

typedef __m512 Floats;

INLINE Floats load(const float *from) { return _mm512_loadu_ps(from); }
INLINE void store(float *to, Floats x) { _mm512_storeu_ps(to, x); }
INLINE Floats broadcast(float x) { return _mm512_set1_ps(x); }

/* exp(x) = 2^n exp(r) with x = n ln 2 + r; 0 below the smallest normal number. */
INLINE Floats exponential(Floats x) {
    Floats n = _mm512_roundscale_ps(x * broadcast(1.44269504f), 0);
    Floats r = _mm512_fnmadd_ps(n, broadcast(0.693359375f), x);
    r = _mm512_fnmadd_ps(n, broadcast(-2.12194440e-4f), r);
    Floats p = broadcast(1.0f / 720);
    p = _mm512_fmadd_ps(p, r, broadcast(1.0f / 120));
    p = _mm512_fmadd_ps(p, r, broadcast(1.0f / 24));
    p = _mm512_fmadd_ps(p, r, broadcast(1.0f / 6));
    p = _mm512_fmadd_ps(p, r, broadcast(0.5f));
    p = _mm512_fmadd_ps(p, r, broadcast(1.0f));
    p = _mm512_fmadd_ps(p, r, broadcast(1.0f));
    return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, broadcast(-87.0f), _CMP_GT_OQ), p, n);
}

/* gelu(x) = x Phi(x), where Phi(x) is 1/2 plus an odd polynomial in x clamped to [-4, 4]. The error is at most 2e-4
   from -8 to 8; a quantization step there is about 0.02. */
INLINE Floats gelu(Floats x) {
    Floats clamped = _mm512_max_ps(_mm512_min_ps(x, broadcast(4.0f)), broadcast(-4.0f)), square = clamped * clamped;
    Floats p = broadcast(2.27813814e-8f);
    p = _mm512_fmadd_ps(p, square, broadcast(-1.59859902e-6f));
    p = _mm512_fmadd_ps(p, square, broadcast(4.79554468e-5f));
    p = _mm512_fmadd_ps(p, square, broadcast(-8.14014688e-4f));
    p = _mm512_fmadd_ps(p, square, broadcast(8.77238400e-3f));
    p = _mm512_fmadd_ps(p, square, broadcast(-6.45730999e-2f));
    p = _mm512_fmadd_ps(p, square, broadcast(3.97883340e-1f));
    return x * _mm512_fmadd_ps(clamped, p, broadcast(0.5f));
}

/* Quantized rows: x = offset + scale * q. */
typedef struct {
    uint8_t *q;
    float *scales, *offsets; /* per row */
} Quantized;

static int64_t padded_size(int64_t size) { return (size + LANES - 1) / LANES * LANES; }

/* The mask of the first `count` lanes. */
INLINE __mmask16 lane_mask(int64_t count) { return count >= LANES ? 0xffff : count <= 0 ? 0 : (1 << count) - 1; }

/* Quantizes x (size,) into row `row` of `rows`. */
static void quantize_row(const float *x, int64_t size, Quantized rows, int64_t row) {
    Floats low = broadcast(x[0]), high = low;
    for (int64_t k = 0; k < size; k += LANES) {
        Floats values = _mm512_mask_loadu_ps(broadcast(x[0]), lane_mask(size - k), x + k);
        low = _mm512_min_ps(low, values);
        high = _mm512_max_ps(high, values);
    }
    float minimum = _mm512_reduce_min_ps(low), range = _mm512_reduce_max_ps(high) - minimum;
    Floats factor = broadcast(range > 0.0f ? 255.0f / range : 0.0f), offset = broadcast(minimum);
    for (int64_t k = 0; k < size; k += LANES) {
        Floats values = _mm512_mask_loadu_ps(offset, lane_mask(size - k), x + k);
        __m512i q = _mm512_cvtps_epi32((values - offset) * factor);
        _mm_storeu_si128((__m128i *)(rows.q + row * padded_size(size) + k), _mm512_cvtusepi32_epi8(q));
    }
    rows.scales[row] = range / 255.0f;
    rows.offsets[row] = minimum;
}

static inline void quantize(const float *x, int64_t count, int64_t size, Quantized rows) {
    for (int64_t row = 0; row < count; row++) quantize_row(x + row * size, size, rows, row);
}

/* Adds to each lane of `sums` the dot product of four unsigned and four signed bytes. This is assembly because GCC,
   given the intrinsic, also stores every sum on the stack in every step. */
INLINE __m512i dot(__m512i sums, __m512i q, __m512i weights) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(q), "v"(weights));
    return sums;
}

/* Converts the integer sums of LANES columns of one row to floats, applies the activation and stores the outputs. */
INLINE void dequantize(const Linear *l, Quantized x, int64_t row, int64_t column, float *out, int has_gelu,
                       __m512i sums) {
    Floats sum = _mm512_cvtepi32_ps(sums) * broadcast(x.scales[row]);
    sum = _mm512_fmadd_ps(broadcast(x.offsets[row]), load(l->sums + column), sum);
    sum = _mm512_fmadd_ps(sum, load(l->scales + column), load(l->bias + column));
    sum = has_gelu ? gelu(sum) : _mm512_max_ps(sum, sum * broadcast(l->slope));
    _mm512_mask_storeu_ps(out + row * l->outputs + column, lane_mask(l->outputs - column), sum);
}

/* A tile has TILE_ROWS rows times TILE_COLUMNS columns. Each of its sums has a name of its own, because compilers do
   not keep arrays in registers. */
#define ONE_ROW(DO) DO(0)
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)
#define START(i) __m512i a##i = zero, b##i = zero, c##i = zero, d##i = zero;
#define STEP(i)                                                      \
    memcpy(&four_bytes, rows_q + i * inputs + k, sizeof four_bytes); \
    q = _mm512_set1_epi32(four_bytes);                               \
    a##i = dot(a##i, q, a);                                          \
    b##i = dot(b##i, q, b);                                          \
    c##i = dot(c##i, q, c);                                          \
    d##i = dot(d##i, q, d);
#define DEQUANTIZE(i)                                                       \
    if (row + i < rows) {                                                   \
        dequantize(l, x, row + i, column, out, has_gelu, a##i);             \
        dequantize(l, x, row + i, column + LANES, out, has_gelu, b##i);     \
        dequantize(l, x, row + i, column + 2 * LANES, out, has_gelu, c##i); \
        dequantize(l, x, row + i, column + 3 * LANES, out, has_gelu, d##i); \
    }

/* Declares and computes the sums of a tile that starts at a row of x and a column of l. EACH is EACH_ROW, or ONE_ROW
   for the tile's first row only. */
#define SUMS(EACH, l, x, row, column)                                                               \
    const int64_t inputs = padded_size((l)->inputs);                                                \
    const int8_t *weights = (l)->weights + (column) * inputs;                                       \
    const uint8_t *rows_q = (x).q + (row) * inputs;                                                 \
    const __m512i zero = _mm512_setzero_si512();                                                    \
    EACH(START)                                                                                     \
    for (int64_t k = 0; k < inputs; k += 4, weights += 4 * TILE_COLUMNS) {                          \
        int32_t four_bytes;                                                                         \
        __m512i q, a = _mm512_loadu_si512(weights), b = _mm512_loadu_si512(weights + TILE_COLUMNS); \
        __m512i c = _mm512_loadu_si512(weights + 2 * TILE_COLUMNS);                                 \
        __m512i d = _mm512_loadu_si512(weights + 3 * TILE_COLUMNS);                                 \
        EACH(STEP)                                                                                  \
    }

INLINE void multiply_tile(const Linear *l, Quantized x, int64_t rows, int64_t row, int64_t column, float *out,
                          int has_gelu) {
    SUMS(EACH_ROW, l, x, row, column)
    EACH_ROW(DEQUANTIZE)
}

/* out = leaky_relu(x W' + bias). x has space for complete tiles of rows. */
static void multiply(const Linear *l, Quantized x, int64_t rows, float *out) {
    for (int64_t column = 0; column < l->outputs; column += TILE_COLUMNS)
        for (int64_t row = 0; row < rows; row += TILE_ROWS) multiply_tile(l, x, rows, row, column, out, 0);
}

/* out = gelu(x W' + bias) */
static inline void multiply_gelu(const Linear *l, Quantized x, int64_t rows, float *out) {
    for (int64_t column = 0; column < l->outputs; column += TILE_COLUMNS)
        for (int64_t row = 0; row < rows; row += TILE_ROWS) multiply_tile(l, x, rows, row, column, out, 1);
}

/* Packs float weights (outputs, inputs) into tiles of integers, with the scale and the sum of each output's integers.
   The caller has filled all three arrays with zeros, which are the padding. */
static inline void pack(const float *x, int64_t outputs, int64_t inputs, int8_t *tiles, float *scales, float *sums) {
    int64_t width = padded_size(inputs);
    for (int64_t row = 0; row < outputs; row++, x += inputs) {
        Floats high = broadcast(0.0f);
        for (int64_t k = 0; k < inputs; k += LANES)
            high = _mm512_max_ps(high, _mm512_abs_ps(_mm512_maskz_loadu_ps(lane_mask(inputs - k), x + k)));
        float max_abs = _mm512_reduce_max_ps(high);
        Floats factor = broadcast(max_abs > 0.0f ? 127.0f / max_abs : 0.0f);
        __m512i sum = _mm512_setzero_si512();
        int8_t *column = tiles + row / TILE_COLUMNS * TILE_COLUMNS * width + row % TILE_COLUMNS * 4;
        for (int64_t k = 0; k < inputs; k += LANES) {
            __m512i q = _mm512_cvtps_epi32(_mm512_maskz_loadu_ps(lane_mask(inputs - k), x + k) * factor);
            int8_t bytes[LANES];
            _mm_storeu_si128((__m128i *)bytes, _mm512_cvtepi32_epi8(q));
            for (int64_t byte = 0; byte < LANES; byte += 4) memcpy(column + (k + byte) * TILE_COLUMNS, bytes + byte, 4);
            sum = _mm512_add_epi32(sum, q);
        }
        scales[row] = max_abs / 127.0f;
        sums[row] = (float)_mm512_reduce_add_epi32(sum);
    }
}

static Linear read_linear(const int64_t *table, int64_t inputs, int64_t outputs) {
    return (Linear){inputs, outputs, (const int8_t *)(uintptr_t)table[0], (const float *)(uintptr_t)table[1],
                    (const float *)(uintptr_t)table[2], (const float *)(uintptr_t)table[3], .slope = 1.0f};
}

/* Takes an aligned array from the front of a memory block. Starting from NULL, the block's end is the size needed. */
static void *allocate(char **memory, int64_t bytes) {
    char *start = *memory;
    *memory += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return start;
}

static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

/* The first of the next `count` items that no thread has claimed; the counter is shared by all threads. */
static int64_t next_block(int64_t *counter, int64_t count) {
    return __atomic_fetch_add(counter, count, __ATOMIC_RELAXED);
}

/* Allocates quantized rows, padded to complete tiles. */
static Quantized allocate_quantized(char **memory, int64_t rows, int64_t size) {
    int64_t tiled = (rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    Quantized x = {.q = allocate(memory, tiled * padded_size(size))};
    x.scales = allocate(memory, tiled * sizeof(float));
    x.offsets = allocate(memory, tiled * sizeof(float));
    return x;
}
END_OF_VECTOR_CODE
#endif
