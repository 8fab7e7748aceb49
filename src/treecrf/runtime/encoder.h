/* The encoder of BERT: a thread takes whole segments through all layers, so threads never wait for each other, and the
   activations of a segment stay in the cache of one core. */

#define QUERIES 4

typedef struct {
    const float *gain, *bias;
} Norm;

typedef struct {
    Linear qkv, out, up, down;
    Norm after_attention, after_feed_forward;
} EncoderLayer;

/* x = norm(x + y) */
static void add_and_norm(float *x, const float *y, int64_t rows, int64_t size, Norm norm, double epsilon) {
    for (int64_t row = 0; row < rows; row++, x += size, y += size) {
        Floats sum = f_set(0.0f), squares = f_set(0.0f);
        for (int64_t k = 0; k < size; k += LANES) {
            Floats both = f_add(f_load(x + k), f_load(y + k));
            f_store(x + k, both);
            sum = f_add(sum, both);
        }
        Floats mean = f_set(f_sum(sum) / size);
        for (int64_t k = 0; k < size; k += LANES) {
            Floats deviation = f_sub(f_load(x + k), mean);
            squares = f_fma(deviation, deviation, squares);
        }
        Floats factor = f_set((float)(1.0 / sqrt(f_sum(squares) / size + epsilon)));
        for (int64_t k = 0; k < size; k += LANES)
            f_store(x + k, f_fma(f_mul(f_sub(f_load(x + k), mean), factor), f_load(norm.gain + k), f_load(norm.bias + k)));
    }
}

/* Replaces a row by exp(x - max) and returns the inverse of the sum. */
INLINE float softmax_row(float *x, int64_t width) {
    Floats high = f_load(x), sum = f_set(0.0f);
    for (int64_t k = LANES; k < width; k += LANES) high = f_max(high, f_load(x + k));
    high = f_set(f_largest(high));
    for (int64_t k = 0; k < width; k += LANES) {
        Floats e = exponential(f_sub(f_load(x + k), high));
        f_store(x + k, e);
        sum = f_add(sum, e);
    }
    return 1.0f / f_sum(sum);
}

#if !HAS_TRANSPOSE
/* Up to LANES rows of LANES numbers times a factor, as columns; missing rows count as zeros. */
static void transpose(const float *x, int64_t stride, int64_t rows, float factor, float *out, int64_t width) {
    for (int r = 0; r < LANES; r++)
        for (int d = 0; d < LANES; d++) out[d * width + r] = r < rows ? x[r * stride + d] * factor : 0.0f;
}
#endif

/* One attention head: queries, keys and values are at qkv, qkv + size and qkv + 2 * size of each row. */
static void attend(const float *qkv, int64_t rows, int64_t size, int64_t head, float *scratch, float *out) {
    int64_t stride = 3 * size, width = padded(rows);
    float *keys = scratch, *weights = scratch + head * width, factor = 1.0f / sqrtf((float)head);
    for (int64_t j = 0; j < width; j += LANES)
        for (int64_t d = 0; d < head; d += LANES)
            transpose(qkv + j * stride + size + d, stride, rows - j, factor, keys + d * width + j, width);
    for (int64_t i = 0; i < rows; i += QUERIES) {
        const float *query[QUERIES];
        float inverse[QUERIES];
        UNROLL(4)
        for (int r = 0; r < QUERIES; r++) query[r] = qkv + (i + r < rows ? i + r : i) * stride;
        for (int64_t j = 0; j < width; j += LANES) {
            Floats sums[QUERIES];
            UNROLL(4)
            for (int r = 0; r < QUERIES; r++) sums[r] = f_set(0.0f);
            for (int64_t d = 0; d < head; d++) {
                Floats key = f_load(keys + d * width + j);
                UNROLL(4)
                for (int r = 0; r < QUERIES; r++) sums[r] = f_fma(f_set(query[r][d]), key, sums[r]);
            }
            UNROLL(4)
            for (int r = 0; r < QUERIES; r++) f_store(weights + r * width + j, f_first(sums[r], rows - j, -INFINITY));
        }
        for (int r = 0; r < QUERIES && i + r < rows; r++) inverse[r] = softmax_row(weights + r * width, width);
        for (int64_t d = 0; d < head; d += LANES) {
            Floats sums[QUERIES];
            UNROLL(4)
            for (int r = 0; r < QUERIES; r++) sums[r] = f_set(0.0f);
            for (int64_t j = 0; j < rows; j++) {
                Floats value = f_load(qkv + j * stride + 2 * size + d);
                UNROLL(4)
                for (int r = 0; r < QUERIES; r++) sums[r] = f_fma(f_set(weights[r * width + j]), value, sums[r]);
            }
            for (int r = 0; r < QUERIES && i + r < rows; r++)
                f_store(out + (i + r) * size + d, f_mul(sums[r], f_set(inverse[r])));
        }
    }
}

INLINE Norm norm_at(const int64_t *table) {
    Norm norm = {(const float *)(uintptr_t)table[0], (const float *)(uintptr_t)table[1]};
    return norm;
}

/* The table: word vectors, position vectors and norm of the embeddings; then of each layer four products and two norms. */
enum { EMBEDDING_FIELDS = 2 + NORM_FIELDS, LAYER_FIELDS = 4 * PACK_FIELDS + 2 * NORM_FIELDS };

static EncoderLayer layer_at(const EncoderJob *job, int64_t number) {
    const int64_t *t = job->table + EMBEDDING_FIELDS + number * LAYER_FIELDS;
    EncoderLayer layer;
    layer.qkv = linear_at(t, job->size, 3 * job->size);
    layer.out = linear_at(t + PACK_FIELDS, job->size, job->size);
    layer.after_attention = norm_at(t + 2 * PACK_FIELDS);
    layer.up = linear_at(t + 2 * PACK_FIELDS + NORM_FIELDS, job->size, job->inner);
    layer.down = linear_at(t + 3 * PACK_FIELDS + NORM_FIELDS, job->inner, job->size);
    layer.after_feed_forward = norm_at(t + 4 * PACK_FIELDS + NORM_FIELDS);
    return layer;
}

typedef struct { /* segments that one thread encodes together, one after the other without padding */
    int64_t rows;
    int64_t *segments, count;
    float *x, *wide, *narrow, *scratch;
    Quantized quantized;
} Group;

static void embed(const EncoderJob *job, Group *g) {
    const float *words = (const float *)(uintptr_t)job->table[0], *positions = (const float *)(uintptr_t)job->table[1];
    float *x = g->x, *y = g->narrow;
    for (int64_t k = 0; k < g->count; k++)
        for (int64_t p = 0; p < job->lengths[g->segments[k]]; p++, x += job->size, y += job->size) {
            int64_t piece = job->pieces[g->segments[k] * job->width + p];
            memcpy(x, words + piece * job->size, (size_t)job->size * sizeof(float));
            memcpy(y, positions + p * job->size, (size_t)job->size * sizeof(float));
            if (job->added == NULL) continue;
            const float *added = job->added + (g->segments[k] * job->width + p) * job->size;
            for (int64_t n = 0; n < job->size; n++) y[n] += added[n];
        }
    add_and_norm(g->x, g->narrow, g->rows, job->size, norm_at(job->table + 2), job->epsilon);
}

/* Adds the hidden states times a weight to the output. */
static void collect(const EncoderJob *job, const Group *g, float weight, int is_first) {
    const float *x = g->x;
    if (weight == 0.0f && !is_first) return;
    for (int64_t k = 0; k < g->count; k++) {
        float *out = job->out + g->segments[k] * job->width * job->size;
        int64_t numbers = job->lengths[g->segments[k]] * job->size;
        for (int64_t n = 0; n < numbers; n += LANES)
            f_store(out + n, f_fma(f_load(x + n), f_set(weight), is_first ? f_set(0.0f) : f_load(out + n)));
        x += numbers;
    }
}

static void attention(const EncoderJob *job, const Group *g) {
    int64_t head = job->size / job->heads, row = 0;
    for (int64_t k = 0; k < g->count; row += job->lengths[g->segments[k++]])
        for (int64_t h = 0; h < job->heads; h++)
            attend(g->wide + 3 * row * job->size + h * head, job->lengths[g->segments[k]], job->size, head, g->scratch,
                   g->narrow + row * job->size + h * head);
}

static void encode_group(const EncoderJob *job, Group *g) {
    embed(job, g);
    collect(job, g, job->mix[0], 1);
    for (int64_t number = 0; number < job->layers; number++) {
        EncoderLayer l = layer_at(job, number);
        quantize_rows(g->x, g->rows, job->size, g->quantized);
        multiply(&l.qkv, g->quantized, g->rows, g->wide);
        attention(job, g);
        quantize_rows(g->narrow, g->rows, job->size, g->quantized);
        multiply(&l.out, g->quantized, g->rows, g->narrow);
        add_and_norm(g->x, g->narrow, g->rows, job->size, l.after_attention, job->epsilon);
        quantize_rows(g->x, g->rows, job->size, g->quantized);
        multiply_gelu(&l.up, g->quantized, g->rows, g->wide);
        quantize_rows(g->wide, g->rows, job->inner, g->quantized);
        multiply(&l.down, g->quantized, g->rows, g->narrow);
        add_and_norm(g->x, g->narrow, g->rows, job->size, l.after_feed_forward, job->epsilon);
        collect(job, g, job->mix[number + 1], 0);
    }
}

/* Allocates a group for `rows` rows; returns NULL if there is not enough memory. */
static char *allocate_group(const EncoderJob *job, Group *g, int64_t rows, int64_t longest) {
    int64_t widest = job->inner > 3 * job->size ? job->inner : 3 * job->size, bytes = 0;
    int64_t segments = reserve(&bytes, rows * (int64_t)sizeof(int64_t));
    int64_t x = reserve(&bytes, rows * job->size * (int64_t)sizeof(float));
    int64_t narrow = reserve(&bytes, rows * job->size * (int64_t)sizeof(float));
    int64_t wide = reserve(&bytes, rows * widest * (int64_t)sizeof(float));
    int64_t scratch = reserve(&bytes, (job->size / job->heads + QUERIES) * padded(longest) * (int64_t)sizeof(float));
    QuantizedOffsets quantized = reserve_quantized(&bytes, rows, widest);
    char *block, *memory = allocate(bytes, &block);
    if (memory == NULL) return NULL;
    g->segments = (int64_t *)(block + segments);
    g->x = (float *)(block + x);
    g->narrow = (float *)(block + narrow);
    g->wide = (float *)(block + wide);
    g->scratch = (float *)(block + scratch);
    g->quantized = quantized_at(block, quantized);
    return memory;
}

/* What each thread does: takes segments until it has enough rows, and encodes them. */
static int encode_job(const EncoderJob *job) {
    int64_t total = 0, longest = 0;
    for (int64_t k = 0; k < job->segments; k++) {
        total += job->lengths[k];
        longest = job->lengths[k] > longest ? job->lengths[k] : longest;
    }
    int64_t enough = minimum((total + job->threads - 1) / job->threads, GROUP_ROWS);
    Group g;
    char *memory = allocate_group(job, &g, enough + longest, longest);
    if (memory == NULL) return 0;
    for (;;) {
        g.rows = g.count = 0;
        while (g.rows < enough) {
            int64_t segment = next_block(job->next, 1);
            if (segment >= job->segments) break;
            g.segments[g.count++] = segment;
            g.rows += job->lengths[segment];
        }
        if (g.count == 0) break;
        encode_group(job, &g);
    }
    free(memory);
    return 1;
}
