/* Quantized rows times packed int8 weights. Needs one of the simd_*.h headers. */

#define ALIGNMENT 64
#define GROUP_ROWS 96 /* rows that use each weight before the next one is loaded */

typedef struct {
    int64_t inputs, outputs;
    /* Blocks of LANES columns, four to a tile: for each four inputs, four weights of each column. Inputs are padded to
       whole LANES, columns to whole tiles. */
    const int8_t *weights;
    const uint8_t *is_large; /* of each STEP_BYTES weights: see PACK_FIELDS */
    const float *scales, *sums, *bias; /* sums: of a column's integers */
    int64_t levels;                    /* the largest value of quantized rows */
    float slope;                       /* of a leaky ReLU */
} Linear;

/* Quantized rows: x = low + scale * q. If BYTE_ROWS, narrow rows are bytes, and wide rows a row of the low 7 bits and a row
   of the high 7 bits. Otherwise all rows are 16-bit integers. */
typedef struct {
    uint8_t *q;
    float *scales, *lows;
    int64_t levels;
} Quantized;

INLINE int is_wide(int64_t levels) { return !BYTE_ROWS || levels > NARROW_LEVELS; }
INLINE int64_t row_bytes(int64_t width, int64_t levels) { return is_wide(levels) ? 2 * width : width; }

enum { NO_GELU, GELU };

INLINE int64_t padded(int64_t size) { return (size + LANES - 1) / LANES * LANES; }

/* exp(x) = 2^n e^r with x = n ln 2 + r; 0 below the smallest normal number. */
INLINE Floats exponential(Floats x) {
    Floats n = f_round(f_mul(x, f_set(1.44269504f)));
    Floats r = f_fma(n, f_set(-0.693359375f), x);
    r = f_fma(n, f_set(2.12194440e-4f), r);
    Floats p = f_set(1.0f / 720);
    p = f_fma(p, r, f_set(1.0f / 120));
    p = f_fma(p, r, f_set(1.0f / 24));
    p = f_fma(p, r, f_set(1.0f / 6));
    p = f_fma(p, r, f_set(0.5f));
    p = f_fma(p, r, f_set(1.0f));
    p = f_fma(p, r, f_set(1.0f));
    return f_scale(p, n, x);
}

/* GELU within 2e-4 from -8 to 8: the normal distribution function is 1/2 plus an odd polynomial, and constant beyond 4. */
INLINE Floats gelu(Floats x) {
    Floats clamped = f_max(f_min(x, f_set(4.0f)), f_set(-4.0f)), square = f_mul(clamped, clamped);
    Floats p = f_set(2.27813814e-8f);
    p = f_fma(p, square, f_set(-1.59859902e-6f));
    p = f_fma(p, square, f_set(4.79554468e-5f));
    p = f_fma(p, square, f_set(-8.14014688e-4f));
    p = f_fma(p, square, f_set(8.77238400e-3f));
    p = f_fma(p, square, f_set(-6.45730999e-2f));
    p = f_fma(p, square, f_set(3.97883340e-1f));
    return f_mul(x, f_fma(clamped, p, f_set(0.5f)));
}

/* The largest quantized value, which is less for many inputs, so that sums have 31 bits. */
INLINE int64_t quantized_max(int64_t inputs, int64_t levels) { return minimum(levels, INT32_MAX / (127 * inputs)); }

/* Quantizes a row of floats into row number `row`. */
static void quantize_row(const float *x, int64_t size, Quantized to, int64_t row) {
    Floats low = f_set(x[0]), high = low;
    for (int64_t k = 0; k < size; k += LANES) {
        Floats values = f_load_first(x + k, size - k, x[0]);
        low = f_min(low, values);
        high = f_max(high, values);
    }
    const int64_t width = padded(size);
    const float levels = (float)quantized_max(width, to.levels);
    float bottom = f_smallest(low), range = f_largest(high) - bottom;
    Floats factor = f_set(range > 0.0f ? levels / range : 0.0f), offset = f_set(bottom);
    for (int64_t k = 0; k < size; k += LANES) {
        Floats values = f_load_first(x + k, size - k, bottom);
        values = f_max(f_min(f_mul(f_sub(values, offset), factor), f_set(levels)), f_set(0.0f)); /* also for NaN */
        store_quantized(to.q + row * row_bytes(width, to.levels), width, k, values, is_wide(to.levels));
    }
    to.scales[row] = range / levels;
    to.lows[row] = bottom;
}

/* The sums of LANES columns as floats, without the bias. */
INLINE Floats dequantize(const Linear *l, Quantized x, int64_t row, int64_t column, const int32_t *sums) {
    Floats sum = f_mul(f_from_ints(sums), f_set(x.scales[row]));
    return f_fma(f_set(x.lows[row]), f_load(l->sums + column), sum);
}

INLINE void finish_row(const Linear *l, Quantized x, int64_t row, int64_t column, float *out, int activation,
                       const int32_t *sums) {
    for (int64_t c = 0; c < TILE && column + c < l->outputs; c += LANES) {
        Floats sum = dequantize(l, x, row, column + c, sums + c);
        sum = f_fma(sum, f_load(l->scales + column + c), f_load(l->bias + column + c));
        sum = activation == GELU ? gelu(sum) : f_max(sum, f_mul(sum, f_set(l->slope)));
        f_store_first(out + row * l->outputs + column + c, l->outputs - column - c, sum);
    }
}

/* The sums of TILE columns for the rows of one tile, from `row` on and before `end`; returns the row after them. x has
   memory for whole tiles, and `row` is the first one of a tile. */
INLINE int64_t row_sums(const Linear *l, Quantized x, int64_t row, int64_t end, int64_t column,
                        int32_t sums[TILE_ROWS][TILE]) {
    const int64_t stride = padded(l->inputs), parts = BYTE_ROWS && is_wide(x.levels) ? 2 : 1;
    const int64_t inputs = (l->inputs + STEP_INPUTS - 1) / STEP_INPUTS * STEP_INPUTS;
    const int64_t rows = minimum(end - row, TILE_ROWS / parts);
    const uint8_t *q = x.q + row * row_bytes(stride, x.levels);
    const uint8_t *is_large = l->is_large + column * stride / STEP_BYTES;
    tile_sums((const QuantizedValue *)q, rows * parts, inputs, stride, l->weights + column * stride, is_large, sums);
    for (int64_t r = 0; parts == 2 && r < rows; r++)
        for (int c = 0; c < TILE; c++) sums[r][c] = sums[2 * r][c] + sums[2 * r + 1][c] * (1 << LOW_BITS);
    return row + rows;
}

/* TILE columns of x W' + bias, with an activation, for the rows from `row` to `end`. */
INLINE void multiply_tile(const Linear *l, Quantized x, int64_t row, int64_t end, int64_t column, float *out, int activation) {
    int32_t sums[TILE_ROWS][TILE];
    while (row < end) {
        int64_t tile_end = row_sums(l, x, row, end, column, sums);
        for (int64_t r = 0; row < tile_end; r++, row++) finish_row(l, x, row, column, out, activation, sums[r]);
    }
}

static void multiply(const Linear *l, Quantized x, int64_t rows, float *out) {
    for (int64_t column = 0; column < l->outputs; column += TILE) multiply_tile(l, x, 0, rows, column, out, NO_GELU);
}

static void pack(const PackJob *job) {
    int64_t width = padded(job->inputs);
    const float *x = job->weights;
    for (int64_t row = 0; row < job->outputs; row++, x += job->inputs) {
        float largest = 0.0f;
        int64_t sum = 0;
        for (int64_t k = 0; k < job->inputs; k++) largest = fabsf(x[k]) > largest ? fabsf(x[k]) : largest;
        float factor = largest > 0.0f ? 127.0f / largest : 0.0f;
        int8_t *to = job->tiles + row / LANES * LANES * width + row % LANES * 4;
        for (int64_t k = 0; k < job->inputs; k++) {
            int8_t q = (int8_t)lrintf(x[k] * factor);
            to[k / 4 * 4 * LANES + k % 4] = q;
            sum += q;
        }
        job->scales[row] = largest / 127.0f;
        job->sums[row] = (float)sum;
    }
}

INLINE Linear linear_at(const int64_t *table, int64_t inputs, int64_t outputs) {
    Linear l = {inputs, outputs, (const int8_t *)(uintptr_t)table[0], (const uint8_t *)(uintptr_t)table[1],
                (const float *)(uintptr_t)table[2], (const float *)(uintptr_t)table[3],
                (const float *)(uintptr_t)table[4], minimum(*(const int64_t *)(uintptr_t)table[5], WIDE_LEVELS), 1.0f};
    return l;
}

/* Offsets of arrays in one block of memory. */
INLINE int64_t reserve(int64_t *end, int64_t bytes) {
    int64_t start = *end;
    *end += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return start;
}

typedef struct {
    int64_t q, scales, lows;
} QuantizedOffsets;

/* Memory for quantized rows, rounded up to whole tiles. */
INLINE QuantizedOffsets reserve_quantized(int64_t *end, int64_t rows, int64_t size) {
    int64_t tiled = (rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    QuantizedOffsets offsets;
    offsets.q = reserve(end, 2 * tiled * padded(size));
    offsets.scales = reserve(end, tiled * (int64_t)sizeof(float));
    offsets.lows = reserve(end, tiled * (int64_t)sizeof(float));
    return offsets;
}

INLINE Quantized quantized_at(char *block, QuantizedOffsets offsets, int64_t levels) {
    Quantized x = {(uint8_t *)(block + offsets.q), (float *)(block + offsets.scales), (float *)(block + offsets.lows),
                   levels};
    return x;
}

/* Zeroed memory with an aligned `start`; NULL if there is not enough. */
INLINE char *allocate(int64_t bytes, char **start) {
    char *memory = (char *)calloc(1, (size_t)(bytes + ALIGNMENT));
    *start = memory == NULL ? NULL : (char *)(((uintptr_t)memory + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    return memory;
}

static int multiply_job(const LinearJob *job) {
    Linear l = linear_at(job->table, job->inputs, job->outputs);
    int64_t bytes = 0;
    char *block, *memory;
    QuantizedOffsets offsets = reserve_quantized(&bytes, GROUP_ROWS, job->inputs);
    if ((memory = allocate(bytes, &block)) == NULL) return 0;
    Quantized x = quantized_at(block, offsets, l.levels);
    l.slope = (float)job->slope;
    for (int64_t row; (row = next_block(job->next, GROUP_ROWS)) < job->rows;) {
        int64_t rows = minimum(GROUP_ROWS, job->rows - row);
        for (int64_t k = 0; k < rows; k++) quantize_row(job->x + (row + k) * job->stride, job->inputs, x, k);
        multiply(&l, x, rows, job->out + row * job->outputs);
    }
    free(memory);
    return 1;
}
