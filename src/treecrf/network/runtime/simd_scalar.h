/* Plain C, which a compiler can vectorize: the definition of what the other instruction sets compute. */

#define ISA_NAME "scalar"
#define BYTE_ROWS 0
#define TILE_ROWS 4

typedef struct {
    float v[LANES];
} Floats;

#define EACH_LANE for (int lane = 0; lane < LANES; lane++)
#define LANEWISE(expression)                   \
    Floats out;                                \
    EACH_LANE out.v[lane] = (expression);      \
    return out

INLINE Floats f_load(const float *from) {
    Floats x;
    memcpy(x.v, from, sizeof x.v);
    return x;
}
INLINE void f_store(float *to, Floats x) { memcpy(to, x.v, sizeof x.v); }
INLINE Floats f_set(float value) { LANEWISE(value); }
/* The first `count` lanes from memory, the others filled. */
INLINE Floats f_load_first(const float *from, int64_t count, float fill) {
    LANEWISE(lane < count ? from[lane] : fill);
}
INLINE void f_store_first(float *to, int64_t count, Floats x) {
    for (int lane = 0; lane < LANES && lane < count; lane++) to[lane] = x.v[lane];
}
/* The first `count` lanes of x, the others filled. */
INLINE Floats f_first(Floats x, int64_t count, float fill) { LANEWISE(lane < count ? x.v[lane] : fill); }
INLINE Floats f_add(Floats a, Floats b) { LANEWISE(a.v[lane] + b.v[lane]); }
INLINE Floats f_sub(Floats a, Floats b) { LANEWISE(a.v[lane] - b.v[lane]); }
INLINE Floats f_mul(Floats a, Floats b) { LANEWISE(a.v[lane] * b.v[lane]); }
INLINE Floats f_div(Floats a, Floats b) { LANEWISE(a.v[lane] / b.v[lane]); }
INLINE Floats f_min(Floats a, Floats b) { LANEWISE(a.v[lane] < b.v[lane] ? a.v[lane] : b.v[lane]); }
INLINE Floats f_max(Floats a, Floats b) { LANEWISE(a.v[lane] > b.v[lane] ? a.v[lane] : b.v[lane]); }
INLINE Floats f_abs(Floats a) { LANEWISE(fabsf(a.v[lane])); }
/* a * b + c with one rounding; fmaf would be a call where there is no such instruction. The product is exact in double.
   If the sum is not, its last bit becomes odd, so that it never looks like the middle between two floats. */
INLINE float fused(float a, float b, float c) {
    const double product = (double)a * (double)b, sum = product + (double)c, added = sum - product;
    const double error = (product - (sum - added)) + ((double)c - added);
    int64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    const int is_inexact = (error < 0.0) | (error > 0.0); /* not NaN */
    bits += (is_inexact & ~(int)bits & 1) * ((error > 0.0) == (sum > 0.0) ? 1 : -1);
    double odd;
    memcpy(&odd, &bits, sizeof odd);
    return (float)odd;
}
INLINE Floats f_fma(Floats a, Floats b, Floats c) { LANEWISE(fused(a.v[lane], b.v[lane], c.v[lane])); }
/* To the nearest integer, halves to even; |x| < 2^22. */
INLINE Floats f_round(Floats a) { LANEWISE((a.v[lane] + 12582912.0f) - 12582912.0f); }
/* x * 2^n for integers n, or 0 where `guard` <= -87 and the result might not be a normal number. */
INLINE Floats f_scale(Floats x, Floats n, Floats guard) {
    Floats out;
    EACH_LANE {
        float exponent = n.v[lane] > -127.0f ? n.v[lane] : -127.0f; /* also for NaN */
        int32_t bits = ((int32_t)(exponent < 128.0f ? exponent : 128.0f) + 127) << 23;
        float power;
        memcpy(&power, &bits, sizeof power);
        out.v[lane] = guard.v[lane] > -87.0f ? x.v[lane] * power : 0.0f;
    }
    return out;
}
INLINE Floats f_from_ints(const int32_t *from) { LANEWISE((float)from[lane]); }
/* Non-negative integers, rounded. */
typedef int16_t QuantizedValue;
INLINE void store_quantized(uint8_t *row, int64_t width, int64_t k, Floats x, int is_wide) {
    QuantizedValue *to = (QuantizedValue *)row + k;
    (void)width, (void)is_wide;
    x = f_round(x);
    EACH_LANE to[lane] = (QuantizedValue)x.v[lane];
}
/* Sums in the order of the other instruction sets: halves, quarters, eighths, pairs. */
#define REDUCE(NAME, OPERATION)                                                               \
    INLINE float NAME(Floats x) {                                                             \
        for (int half = LANES / 2; half > 0; half /= 2)                                       \
            for (int lane = 0; lane < half; lane++) {                                         \
                float a = x.v[lane], b = x.v[lane + half];                                    \
                x.v[lane] = OPERATION;                                                        \
            }                                                                                 \
        return x.v[0];                                                                        \
    }
REDUCE(f_sum, a + b)
REDUCE(f_largest, a > b ? a : b)
REDUCE(f_smallest, a < b ? a : b)

#define HAS_TRANSPOSE 0

/* out[r][c] = the sum over k < inputs of q[r][k] * weights of column c, for `rows` rows and TILE columns. Inputs are a
   multiple of STEP_INPUTS, rows of q and columns of weights have `stride` numbers. */
static void tile_sums(const QuantizedValue *q, int64_t rows, int64_t inputs, int64_t stride, const int8_t *weights,
                      const uint8_t *is_large, int32_t out[TILE_ROWS][TILE]) {
    (void)is_large;
    memset(out, 0, TILE_ROWS * TILE * sizeof(int32_t));
    for (int block = 0; block < TILE; block += LANES)
        for (int64_t k = 0; k < inputs; k += 4)
            for (int row = 0; row < rows; row++) {
                const QuantizedValue *x = q + row * stride + k;
                const int32_t x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
                EACH_LANE {
                    const int8_t *w = weights + block * stride + k * LANES + 4 * lane;
                    out[row][block + lane] += x0 * w[0] + x1 * w[1] + x2 * w[2] + x3 * w[3];
                }
            }
}
