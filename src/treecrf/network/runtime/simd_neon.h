/* ARM NEON with dot products: 128-bit vectors, four to a Floats.

   A quantized row has up to 14 bits. It is kept as two bytes of 7 bits for each value, since the dot products take signed
   bytes: of each 16 values the low bytes, then the high bytes. With the matrix products of i8mm two rows are
   multiplied by two columns at a time. */

#ifndef ISA_NAME
#define ISA_NAME "neon"
#endif
#define BYTE_ROWS 0 /* both halves of a row are multiplied at once */
#define TILE_ROWS 4
#define QUARTERS 4

typedef struct {
    float32x4_t v[QUARTERS];
} Floats;

#define EACH_QUARTER(expression)                                  \
    Floats out;                                                   \
    UNROLL(4)                                                     \
    for (int k = 0; k < QUARTERS; k++) out.v[k] = (expression);   \
    return out

INLINE Floats f_load(const float *from) { EACH_QUARTER(vld1q_f32(from + 4 * k)); }
INLINE void f_store(float *to, Floats x) {
    for (int k = 0; k < QUARTERS; k++) vst1q_f32(to + 4 * k, x.v[k]);
}
INLINE Floats f_set(float value) { EACH_QUARTER(vdupq_n_f32(value)); }
INLINE Floats f_load_first(const float *from, int64_t count, float fill) {
    float lanes[LANES];
    if (count >= LANES) return f_load(from);
    for (int lane = 0; lane < LANES; lane++) lanes[lane] = lane < count ? from[lane] : fill;
    return f_load(lanes);
}
INLINE void f_store_first(float *to, int64_t count, Floats x) {
    float lanes[LANES];
    if (count >= LANES) {
        f_store(to, x);
        return;
    }
    f_store(lanes, x);
    for (int lane = 0; lane < count; lane++) to[lane] = lanes[lane];
}
INLINE Floats f_first(Floats x, int64_t count, float fill) {
    float lanes[LANES];
    f_store(lanes, x);
    return f_load_first(lanes, count, fill);
}
INLINE Floats f_add(Floats a, Floats b) { EACH_QUARTER(vaddq_f32(a.v[k], b.v[k])); }
INLINE Floats f_sub(Floats a, Floats b) { EACH_QUARTER(vsubq_f32(a.v[k], b.v[k])); }
INLINE Floats f_mul(Floats a, Floats b) { EACH_QUARTER(vmulq_f32(a.v[k], b.v[k])); }
INLINE Floats f_div(Floats a, Floats b) { EACH_QUARTER(vdivq_f32(a.v[k], b.v[k])); }
INLINE Floats f_min(Floats a, Floats b) { EACH_QUARTER(vminq_f32(a.v[k], b.v[k])); }
INLINE Floats f_max(Floats a, Floats b) { EACH_QUARTER(vmaxq_f32(a.v[k], b.v[k])); }
INLINE Floats f_abs(Floats a) { EACH_QUARTER(vabsq_f32(a.v[k])); }
INLINE Floats f_fma(Floats a, Floats b, Floats c) { EACH_QUARTER(vfmaq_f32(c.v[k], a.v[k], b.v[k])); }
INLINE Floats f_round(Floats a) { EACH_QUARTER(vrndnq_f32(a.v[k])); }
INLINE float32x4_t scale_quarter(float32x4_t x, float32x4_t n, float32x4_t guard) {
    int32x4_t power = vshlq_n_s32(vaddq_s32(vcvtq_s32_f32(n), vdupq_n_s32(127)), 23);
    uint32x4_t is_normal = vcgtq_f32(guard, vdupq_n_f32(-87.0f));
    float32x4_t scaled = vmulq_f32(x, vreinterpretq_f32_s32(power));
    return vreinterpretq_f32_u32(vandq_u32(is_normal, vreinterpretq_u32_f32(scaled)));
}
INLINE Floats f_scale(Floats x, Floats n, Floats guard) { EACH_QUARTER(scale_quarter(x.v[k], n.v[k], guard.v[k])); }
INLINE Floats f_from_ints(const int32_t *from) { EACH_QUARTER(vcvtq_f32_s32(vld1q_s32(from + 4 * k))); }
typedef int16_t QuantizedValue;
INLINE void store_quantized(uint8_t *row, int64_t width, int64_t k, Floats x, int is_wide) {
    uint8x8_t low[2], high[2];
    (void)width, (void)is_wide;
    for (int half = 0; half < 2; half++) {
        uint16x8_t values =
            vcombine_u16(vqmovn_u32(vcvtnq_u32_f32(x.v[2 * half])), vqmovn_u32(vcvtnq_u32_f32(x.v[2 * half + 1])));
        low[half] = vmovn_u16(vandq_u16(values, vdupq_n_u16(127)));
        high[half] = vshrn_n_u16(values, 7);
    }
    vst1q_u8(row + 2 * k, vcombine_u8(low[0], low[1]));
    vst1q_u8(row + 2 * k + LANES, vcombine_u8(high[0], high[1]));
}
/* The bytes of the values from `k` on: the high ones are LANES further on. */
INLINE const uint8_t *bytes_at(const QuantizedValue *row, int64_t k) {
    return (const uint8_t *)(row + k / LANES * LANES) + k % LANES;
}
#define REDUCE(NAME, OPERATION)                                                                        \
    INLINE float NAME(Floats x) {                                                                      \
        float32x4_t low = v##OPERATION##q_f32(x.v[0], x.v[2]), high = v##OPERATION##q_f32(x.v[1], x.v[3]); \
        float32x4_t four = v##OPERATION##q_f32(low, high);                                             \
        float32x2_t two = v##OPERATION##_f32(vget_low_f32(four), vget_high_f32(four));                 \
        return vget_lane_f32(v##OPERATION##_f32(two, vdup_lane_f32(two, 1)), 0);                       \
    }
REDUCE(f_sum, add)
REDUCE(f_largest, max)
REDUCE(f_smallest, min)

#define HAS_TRANSPOSE 0

/* Eight of the TILE columns at a time: the sums of low and of high bytes stay in registers. */
#ifdef MATRIX_PRODUCTS
INLINE int8x16_t load_pair(const QuantizedValue *row, int64_t stride, int64_t k, int offset) {
    uint8x8_t first = vld1_u8(bytes_at(row, k) + offset), second = vld1_u8(bytes_at(row + stride, k) + offset);
    return vreinterpretq_s8_u8(vcombine_u8(first, second));
}

static void tile_sums(const QuantizedValue *q, int64_t rows, int64_t inputs, int64_t stride, const int8_t *weights,
                      const uint8_t *is_large, int32_t out[TILE_ROWS][TILE]) {
    (void)rows, (void)is_large;
    for (int column = 0; column < TILE; column += 8) {
        const int8_t *w = weights + column / LANES * LANES * stride + column % LANES * 4;
        int32x4_t low[TILE_ROWS / 2][4], high[TILE_ROWS / 2][4]; /* two rows of two columns each */
        UNROLL(2)
        for (int pair = 0; pair < TILE_ROWS / 2; pair++)
            UNROLL(4)
            for (int n = 0; n < 4; n++) low[pair][n] = high[pair][n] = vdupq_n_s32(0);
        for (int64_t k = 0; k < inputs; k += 8, w += 8 * LANES) {
            int8x16_t columns[4]; /* eight inputs of two columns each */
            UNROLL(2)
            for (int half = 0; half < 2; half++) {
                int32x4_t first = vreinterpretq_s32_s8(vld1q_s8(w + 16 * half));
                int32x4_t second = vreinterpretq_s32_s8(vld1q_s8(w + 4 * LANES + 16 * half));
                columns[2 * half] = vreinterpretq_s8_s32(vzip1q_s32(first, second));
                columns[2 * half + 1] = vreinterpretq_s8_s32(vzip2q_s32(first, second));
            }
            UNROLL(2)
            for (int pair = 0; pair < TILE_ROWS / 2; pair++) {
                int8x16_t low_rows = load_pair(q + 2 * pair * stride, stride, k, 0);
                int8x16_t high_rows = load_pair(q + 2 * pair * stride, stride, k, LANES);
                UNROLL(4)
                for (int n = 0; n < 4; n++) {
                    low[pair][n] = vmmlaq_s32(low[pair][n], low_rows, columns[n]);
                    high[pair][n] = vmmlaq_s32(high[pair][n], high_rows, columns[n]);
                }
            }
        }
        for (int pair = 0; pair < TILE_ROWS / 2; pair++)
            for (int n = 0; n < 4; n++) {
                int32x4_t sums = vaddq_s32(low[pair][n], vshlq_n_s32(high[pair][n], 7));
                vst1_s32(&out[2 * pair][column + 2 * n], vget_low_s32(sums));
                vst1_s32(&out[2 * pair + 1][column + 2 * n], vget_high_s32(sums));
            }
    }
}
#else
INLINE int8x16_t broadcast_four(const uint8_t *from) {
    int32_t four;
    memcpy(&four, from, sizeof four);
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

static void tile_sums(const QuantizedValue *q, int64_t rows, int64_t inputs, int64_t stride, const int8_t *weights,
                      const uint8_t *is_large, int32_t out[TILE_ROWS][TILE]) {
    (void)rows, (void)is_large;
    for (int column = 0; column < TILE; column += 8) {
        const int8_t *w = weights + column / LANES * LANES * stride + column % LANES * 4;
        int32x4_t low[TILE_ROWS][2], high[TILE_ROWS][2];
        UNROLL(4)
        for (int row = 0; row < TILE_ROWS; row++)
            UNROLL(2)
            for (int n = 0; n < 2; n++) low[row][n] = high[row][n] = vdupq_n_s32(0);
        for (int64_t k = 0; k < inputs; k += 4, w += 4 * LANES) {
            int8x16_t columns[2] = {vld1q_s8(w), vld1q_s8(w + 16)};
            UNROLL(4)
            for (int row = 0; row < TILE_ROWS; row++) {
                const uint8_t *x = bytes_at(q + row * stride, k);
                int8x16_t low_bytes = broadcast_four(x), high_bytes = broadcast_four(x + LANES);
                UNROLL(2)
                for (int n = 0; n < 2; n++) {
                    low[row][n] = vdotq_s32(low[row][n], columns[n], low_bytes);
                    high[row][n] = vdotq_s32(high[row][n], columns[n], high_bytes);
                }
            }
        }
        for (int row = 0; row < TILE_ROWS; row++)
            for (int n = 0; n < 2; n++)
                vst1q_s32(&out[row][column + 4 * n], vaddq_s32(low[row][n], vshlq_n_s32(high[row][n], 7)));
    }
}
#endif
