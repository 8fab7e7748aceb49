/* The int8 kernels of a parser on the CPU: linear layers, the BERT encoder and the biaffine scorers. The LSTM is in
   lstm.c.

   Weights are int8 with one scale per output. Each input row is quantized on its own to uint8, between its smallest and
   largest number: x = offset + scale * q. So the result of a row does not depend on the other rows of a batch.
   Everything else is float. A thread takes whole segments through all layers of an encoder: threads never wait for each
   other, and activations stay in the cache of one core.

   The products need the dot-product instructions of AVX-512 (VNNI). `available` returns whether this processor has
   them. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "int8.h"

#define QUERY_BLOCK 4  /* queries per pass over keys and values */
#define DOT_BLOCK 4    /* rows per dot-product loop of a chart */
#define SPAN_BLOCK 192 /* spans that a thread claims at once */
#define LEFT_BLOCK 18  /* left boundaries per product */

enum { NORM_FIELDS = 2 }; /* addresses of a Norm in a table */

typedef struct {
    const float *gain, *bias;
} Norm;

typedef struct { /* a layer of BERT */
    Linear qkv, attention_output, intermediate, output;
    Norm attention_norm, output_norm;
} Layer;

typedef struct {
    int64_t threads, segments, width;
    int64_t layers, size, heads, intermediate_size; /* of the encoder */
    double epsilon;
    const int64_t *pieces, *lengths; /* (segments, width), (segments,) */
    const int64_t *table;            /* addresses: see `read_layer` */
    const float *layer_weights;      /* (layers + 1,): of each layer in the output */
    const float *piece_inputs;       /* (segments, width, size): added to the embeddings of pieces; may be null */
    int64_t *next;                   /* counter of the segments that threads have claimed */
    float *out;                      /* (segments, width, size) */
} EncoderJob;

typedef struct { /* x W' + bias */
    int64_t rows, inputs, outputs;
    int64_t stride; /* between rows of x */
    double slope;
    const int64_t *table; /* of one Linear */
    const float *x;       /* (rows, inputs) */
    int64_t *next;        /* counter of the rows that threads have claimed */
    float *out;           /* (rows, outputs) */
} LinearJob;

typedef struct { /* [l; 1]' W [r; 1] of spans, for each class */
    int64_t spans, size, classes;
    int64_t stride;                /* between boundaries */
    const int64_t *table;          /* of the Linear from l to [l; 1]' W, (size + 1, classes); classes padded to LANES */
    const float *left, *right;     /* boundaries (., size) */
    const int64_t *lefts, *rights; /* (spans,): indices of boundaries; equal lefts are adjacent */
    int64_t *next;                 /* counter of the spans that threads have claimed */
    float *out;                    /* (spans, classes) */
} SpanJob;

typedef struct { /* the utility of the best label of each span: see decoding/expected_f1.py */
    int64_t spans, classes, names;
    int64_t empty_label;            /* a class without constituents */
    double threshold;               /* per constituent */
    const float *scores;            /* (spans, classes) */
    const float *marginals;         /* (spans,) */
    const int64_t *starts, *chains; /* the names of class c are chains[starts[c]:starts[c + 1]] */
    const double *counts;           /* (classes,): constituents per class */
    float *utility;                 /* (spans,) */
    int64_t *next;                  /* counter of the spans that threads have claimed */
    int64_t *out;                   /* (spans,): labels */
} UtilityJob;

typedef struct { /* left' half + bias of all pairs of boundaries */
    int64_t sentences, boundaries, size;
    int64_t stride;    /* between rows of left */
    const float *left; /* (sentences, boundaries, size) */
    const float *half; /* (sentences, boundaries, size + 1): W [r; 1], with the bias at the end */
    int64_t *next;     /* counter of the boundaries that threads have claimed */
    float *out;        /* (sentences, boundaries, boundaries) */
} ChartJob;

#if SUPPORTED
VECTOR_CODE
/* x = layer_norm(x + y) */
static void add_and_norm(float *x, const float *y, int64_t rows, int64_t size, Norm norm, double epsilon) {
    for (int64_t row = 0; row < rows; row++, x += size, y += size) {
        Floats sum = broadcast(0.0f), squares = broadcast(0.0f);
        for (int64_t k = 0; k < size; k += LANES) {
            Floats values = load(x + k) + load(y + k);
            store(x + k, values);
            sum += values;
        }
        float mean = _mm512_reduce_add_ps(sum) / size;
        for (int64_t k = 0; k < size; k += LANES) {
            Floats centered = load(x + k) - broadcast(mean);
            squares = _mm512_fmadd_ps(centered, centered, squares);
        }
        float factor = (float)(1.0 / sqrt(_mm512_reduce_add_ps(squares) / size + epsilon));
        for (int64_t k = 0; k < size; k += LANES)
            store(x + k, _mm512_fmadd_ps((load(x + k) - broadcast(mean)) * broadcast(factor), load(norm.gain + k),
                                         load(norm.bias + k)));
    }
}

/* The softmax of a row without its division: replaces x by exp(x - max) and returns 1 / sum. Padding is -inf. */
INLINE float softmax_row(float *x, int64_t width) {
    Floats high = load(x), sum = broadcast(0.0f);
    for (int64_t k = LANES; k < width; k += LANES) high = _mm512_max_ps(high, load(x + k));
    high = broadcast(_mm512_reduce_max_ps(high));
    for (int64_t k = 0; k < width; k += LANES) {
        Floats e = exponential(load(x + k) - high);
        store(x + k, e);
        sum += e;
    }
    return 1.0f / _mm512_reduce_add_ps(sum);
}

/* Transposes up to LANES rows of LANES numbers, multiplied by a factor; missing rows are zeros. */
static void transpose(const float *x, int64_t stride, int64_t rows, Floats factor, float *out, int64_t width) {
    Floats a[LANES], b[LANES];
    const __m512i low_lanes = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high_lanes = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    for (int r = 0; r < LANES; r++) a[r] = r < rows ? _mm512_mul_ps(load(x + r * stride), factor) : broadcast(0.0f);
#pragma GCC unroll 4
    for (int step = 0; step < 4; step++) { /* each step interleaves rows k and k + 8 */
#pragma GCC unroll 8
        for (int k = 0; k < LANES / 2; k++) {
            b[2 * k] = _mm512_permutex2var_ps(a[k], low_lanes, a[k + 8]);
            b[2 * k + 1] = _mm512_permutex2var_ps(a[k], high_lanes, a[k + 8]);
        }
        memcpy(a, b, sizeof a);
    }
    for (int d = 0; d < LANES; d++) store(out + d * width, a[d]);
}

/* One attention head. The queries, keys and values of a row start at qkv, qkv + size and qkv + 2 * size. */
static void attend_head(const float *qkv, int64_t rows, int64_t size, int64_t head, float *scratch, float *out) {
    int64_t stride = 3 * size, width = padded_size(rows);
    float *keys = scratch, *weights = scratch + head * width, factor = 1.0f / sqrtf((float)head);
    for (int64_t j = 0; j < width; j += LANES)
        for (int64_t d = 0; d < head; d += LANES)
            transpose(qkv + j * stride + size + d, stride, rows - j, broadcast(factor), keys + d * width + j, width);
    for (int64_t i = 0; i < rows; i += QUERY_BLOCK) {
        const float *query[QUERY_BLOCK];
        float inverse[QUERY_BLOCK];
#pragma GCC unroll 4
        for (int r = 0; r < QUERY_BLOCK; r++) query[r] = qkv + (i + r < rows ? i + r : i) * stride;
        for (int64_t j = 0; j < width; j += LANES) {
            Floats sums[QUERY_BLOCK] = {broadcast(0.0f), broadcast(0.0f), broadcast(0.0f), broadcast(0.0f)};
            for (int64_t d = 0; d < head; d++) {
                Floats key = load(keys + d * width + j);
#pragma GCC unroll 4
                for (int r = 0; r < QUERY_BLOCK; r++) sums[r] = _mm512_fmadd_ps(broadcast(query[r][d]), key, sums[r]);
            }
#pragma GCC unroll 4
            for (int r = 0; r < QUERY_BLOCK; r++)
                store(weights + r * width + j, _mm512_mask_mov_ps(broadcast(-INFINITY), lane_mask(rows - j), sums[r]));
        }
        for (int r = 0; r < QUERY_BLOCK && i + r < rows; r++) inverse[r] = softmax_row(weights + r * width, width);
        for (int64_t d = 0; d < head; d += LANES) {
            Floats sums[QUERY_BLOCK] = {broadcast(0.0f), broadcast(0.0f), broadcast(0.0f), broadcast(0.0f)};
            for (int64_t j = 0; j < rows; j++) {
                Floats value = load(qkv + j * stride + 2 * size + d);
#pragma GCC unroll 4
                for (int r = 0; r < QUERY_BLOCK; r++)
                    sums[r] = _mm512_fmadd_ps(broadcast(weights[r * width + j]), value, sums[r]);
            }
            for (int r = 0; r < QUERY_BLOCK && i + r < rows; r++)
                store(out + (i + r) * size + d, sums[r] * broadcast(inverse[r]));
        }
    }
}

static Norm read_norm(const int64_t *table) {
    return (Norm){(const float *)(uintptr_t)table[0], (const float *)(uintptr_t)table[1]};
}

/* The table of an EncoderJob holds the word embeddings, the position embeddings and their norm; then each layer, in the
   order of `read_layer`. */
enum { EMBEDDING_FIELDS = 2 + NORM_FIELDS, LAYER_FIELDS = 4 * LINEAR_FIELDS + 2 * NORM_FIELDS };

static Layer read_layer(const EncoderJob *job, int64_t number) {
    const int64_t *t = job->table + EMBEDDING_FIELDS + number * LAYER_FIELDS;
    return (Layer){.qkv = read_linear(t, job->size, 3 * job->size),
                   .attention_output = read_linear(t + LINEAR_FIELDS, job->size, job->size),
                   .attention_norm = read_norm(t + 2 * LINEAR_FIELDS),
                   .intermediate = read_linear(t + 2 * LINEAR_FIELDS + NORM_FIELDS, job->size, job->intermediate_size),
                   .output = read_linear(t + 3 * LINEAR_FIELDS + NORM_FIELDS, job->intermediate_size, job->size),
                   .output_norm = read_norm(t + 4 * LINEAR_FIELDS + NORM_FIELDS)};
}

typedef struct { /* the segments that a thread encodes at once, concatenated without padding */
    int64_t rows;
    int64_t *segments, count;
    float *x, *wide, *narrow, *scratch; /* x: hidden states; wide, narrow: intermediate values */
    Quantized quantized;
} Group;

/* x = layer_norm(word embeddings + position embeddings + piece inputs) */
static void embed(const EncoderJob *job, Group *g) {
    const float *words = (const float *)(uintptr_t)job->table[0], *positions = (const float *)(uintptr_t)job->table[1];
    float *x = g->x, *y = g->narrow;
    for (int64_t k = 0; k < g->count; k++)
        for (int64_t position = 0; position < job->lengths[g->segments[k]];
             position++, x += job->size, y += job->size) {
            int64_t piece = job->pieces[g->segments[k] * job->width + position];
            memcpy(x, words + piece * job->size, job->size * sizeof(float));
            memcpy(y, positions + position * job->size, job->size * sizeof(float));
            if (!job->piece_inputs) continue;
            const float *inputs = job->piece_inputs + (g->segments[k] * job->width + position) * job->size;
            for (int64_t n = 0; n < job->size; n++) y[n] += inputs[n];
        }
    add_and_norm(g->x, g->narrow, g->rows, job->size, read_norm(job->table + 2), job->epsilon);
}

/* out += weight * x, or out = weight * x for the first layer */
static void add_to_output(const EncoderJob *job, const Group *g, float weight, int is_first) {
    const float *x = g->x;
    if (weight == 0.0f && !is_first) return;
    for (int64_t k = 0; k < g->count; k++) {
        float *out = job->out + g->segments[k] * job->width * job->size;
        int64_t numbers = job->lengths[g->segments[k]] * job->size;
        for (int64_t n = 0; n < numbers; n += LANES)
            store(out + n, _mm512_fmadd_ps(load(x + n), broadcast(weight), is_first ? broadcast(0.0f) : load(out + n)));
        x += numbers;
    }
}

static void attention(const EncoderJob *job, const Group *g) {
    int64_t head = job->size / job->heads, row = 0;
    for (int64_t k = 0; k < g->count; row += job->lengths[g->segments[k++]])
        for (int64_t h = 0; h < job->heads; h++)
            attend_head(g->wide + 3 * row * job->size + h * head, job->lengths[g->segments[k]], job->size, head,
                        g->scratch, g->narrow + row * job->size + h * head);
}

static void encode_group(const EncoderJob *job, Group *g) {
    embed(job, g);
    add_to_output(job, g, job->layer_weights[0], 1);
    for (int64_t number = 0; number < job->layers; number++) {
        Layer l = read_layer(job, number);
        quantize(g->x, g->rows, job->size, g->quantized);
        multiply(&l.qkv, g->quantized, g->rows, g->wide);
        attention(job, g);
        quantize(g->narrow, g->rows, job->size, g->quantized);
        multiply(&l.attention_output, g->quantized, g->rows, g->narrow);
        add_and_norm(g->x, g->narrow, g->rows, job->size, l.attention_norm, job->epsilon);
        quantize(g->x, g->rows, job->size, g->quantized);
        multiply_gelu(&l.intermediate, g->quantized, g->rows, g->wide);
        quantize(g->wide, g->rows, job->intermediate_size, g->quantized);
        multiply(&l.output, g->quantized, g->rows, g->narrow);
        add_and_norm(g->x, g->narrow, g->rows, job->size, l.output_norm, job->epsilon);
        add_to_output(job, g, job->layer_weights[number + 1], 0);
    }
}

static int run_linear(const LinearJob *job) {
    Linear l = read_linear(job->table, job->inputs, job->outputs);
    char *needed = NULL, *free_memory;
    allocate_quantized(&needed, GROUP_ROWS, job->inputs);
    char *memory = free_memory = calloc(1, (size_t)needed);
    if (memory == NULL) return 0;
    Quantized x = allocate_quantized(&free_memory, GROUP_ROWS, job->inputs);
    l.slope = (float)job->slope;
    for (int64_t row; (row = next_block(job->next, GROUP_ROWS)) < job->rows;) {
        int64_t rows = min(GROUP_ROWS, job->rows - row);
        for (int64_t k = 0; k < rows; k++) quantize_row(job->x + (row + k) * job->stride, job->inputs, x, k);
        multiply(&l, x, rows, job->out + row * job->outputs);
    }
    free(memory);
    return 1;
}

/* The scores of one span: half = [l; 1]' W, (size + 1, classes); out = r' half[:size] + half[size]. */
static void score_span(const float *half, const float *right, int64_t size, int64_t classes, float *out) {
    int64_t width = padded_size(classes);
    for (int64_t c = 0; c < classes; c += LANES) {
        Floats sum = load(half + size * width + c);
        for (int64_t k = 0; k < size; k++) sum = _mm512_fmadd_ps(broadcast(right[k]), load(half + k * width + c), sum);
        _mm512_mask_storeu_ps(out + c, lane_mask(classes - c), sum);
    }
}

/* The mean of each position's pieces. Piece k is row rows[k] of x, one of counts[k] pieces of position positions[k]. */
static void mean_pool(const float *x, int64_t pieces, int64_t size, int64_t outputs, const int64_t *rows,
                      const int64_t *positions, const int64_t *counts, float *out) {
    memset(out, 0, outputs * size * sizeof(float));
    for (int64_t k = 0; k < pieces; k++) {
        const float *from = x + rows[k] * size;
        float *to = out + positions[k] * size, weight = 1.0f / counts[k];
        for (int64_t d = 0; d < size; d += LANES) {
            __mmask16 mask = lane_mask(size - d);
            Floats sum = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(mask, from + d), broadcast(weight),
                                         _mm512_maskz_loadu_ps(mask, to + d));
            _mm512_mask_storeu_ps(to + d, mask, sum);
        }
    }
}

/* out[j] = left . half[j] + bias[j], in floats, for one left boundary and all right boundaries of its sentence. */
static void chart_row(const ChartJob *job, const float *left, const float *half, float *out) {
    for (int64_t j = 0; j < job->boundaries; j += DOT_BLOCK) {
        const float *row[DOT_BLOCK];
        Floats sums[DOT_BLOCK] = {broadcast(0.0f), broadcast(0.0f), broadcast(0.0f), broadcast(0.0f)};
#pragma GCC unroll 4
        for (int r = 0; r < DOT_BLOCK; r++) row[r] = half + min(j + r, job->boundaries - 1) * (job->size + 1);
        for (int64_t k = 0; k < job->size; k += LANES) {
            __mmask16 mask = lane_mask(job->size - k);
            Floats values = _mm512_maskz_loadu_ps(mask, left + k);
#pragma GCC unroll 4
            for (int r = 0; r < DOT_BLOCK; r++)
                sums[r] = _mm512_fmadd_ps(values, _mm512_maskz_loadu_ps(mask, row[r] + k), sums[r]);
        }
        for (int r = 0; r < DOT_BLOCK && j + r < job->boundaries; r++)
            out[j + r] = _mm512_reduce_add_ps(sums[r]) + row[r][job->size];
    }
}

static void run_chart(const ChartJob *job) {
    int64_t n = job->boundaries;
    for (int64_t row; (row = next_block(job->next, n)) < job->sentences * n;)
        for (int64_t i = row; i < row + n; i++)
            chart_row(job, job->left + i * job->stride, job->half + row * (job->size + 1), job->out + i * n);
}

/* Runs on each thread. Adjacent spans with the same left boundary share one product [l; 1]' W. */
static int run_spans(const SpanJob *job) {
    Linear l = read_linear(job->table, job->size, (job->size + 1) * padded_size(job->classes));
    char *needed = NULL, *free_memory;
    allocate_quantized(&needed, LEFT_BLOCK, job->size);
    char *memory = free_memory = calloc(1, (size_t)needed + LEFT_BLOCK * l.outputs * sizeof(float));
    if (memory == NULL) return 0;
    Quantized x = allocate_quantized(&free_memory, LEFT_BLOCK, job->size);
    float *half = (float *)free_memory;
    for (int64_t block; (block = next_block(job->next, SPAN_BLOCK)) < job->spans;) {
        int64_t block_end = min(block + SPAN_BLOCK, job->spans), begin = block;
        while (begin < block_end) {
            int64_t rows = 0, end = begin;
            for (; end < block_end; end++) {
                if (end > begin && job->lefts[end] == job->lefts[end - 1]) continue;
                if (rows == LEFT_BLOCK) break;
                quantize_row(job->left + job->lefts[end] * job->stride, job->size, x, rows++);
            }
            multiply(&l, x, rows, half);
            for (int64_t k = begin, row = 0; k < end; k++) {
                row += k > begin && job->lefts[k] != job->lefts[k - 1];
                score_span(half + row * l.outputs, job->right + job->rights[k] * job->stride, job->size, job->classes,
                           job->out + k * job->classes);
            }
            begin = end;
        }
    }
    free(memory);
    return 1;
}

/* The best label of one span and its utility. `probabilities` (classes, padded) and `names` (names,) are scratch. A
   label with a score of -inf is forbidden. */
static void best_label(const UtilityJob *job, int64_t span, float *probabilities, double *names) {
    const float *scores = job->scores + span * job->classes;
    int64_t width = padded_size(job->classes), best = 0;
    for (int64_t c = 0; c < width; c++) probabilities[c] = c < job->classes ? scores[c] : -INFINITY;
    for (int64_t c = 1; c < job->classes; c++) best = scores[c] > scores[best] ? c : best;
    double inverse = softmax_row(probabilities, width), expected = 0.0;
    memset(names, 0, job->names * sizeof(double));
    for (int64_t c = 0; c < job->classes; c++)
        for (int64_t k = job->starts[c]; k < job->starts[c + 1]; k++) names[job->chains[k]] += probabilities[c];
    for (int64_t k = job->starts[best]; k < job->starts[best + 1]; k++) expected += names[job->chains[k]];
    double utility = inverse * job->marginals[span] * expected - job->threshold * job->counts[best];
    int is_dropped = utility < 0 && scores[job->empty_label] > -INFINITY;
    job->utility[span] = is_dropped ? 0.0f : (float)utility;
    job->out[span] = is_dropped ? job->empty_label : best;
}

static int run_utility(const UtilityJob *job) {
    char *memory = malloc(padded_size(job->classes) * sizeof(float) + job->names * sizeof(double));
    if (memory == NULL) return 0;
    float *probabilities = (float *)memory;
    for (int64_t begin; (begin = next_block(job->next, SPAN_BLOCK)) < job->spans;)
        for (int64_t span = begin; span < min(begin + SPAN_BLOCK, job->spans); span++)
            best_label(job, span, probabilities, (double *)(probabilities + padded_size(job->classes)));
    free(memory);
    return 1;
}
END_OF_VECTOR_CODE

/* Places a group's arrays in memory. Returns how much memory they need; with NULL it only computes that. */
static int64_t lay_out(const EncoderJob *job, Group *g, int64_t rows, int64_t longest, char *memory) {
    char *start = memory;
    int64_t widest = job->intermediate_size > 3 * job->size ? job->intermediate_size : 3 * job->size;
    g->segments = allocate(&memory, rows * sizeof(int64_t));
    g->x = allocate(&memory, rows * job->size * sizeof(float));
    g->narrow = allocate(&memory, rows * job->size * sizeof(float));
    g->wide = allocate(&memory, rows * widest * sizeof(float));
    g->scratch = allocate(&memory, (job->size / job->heads + QUERY_BLOCK) * padded_size(longest) * sizeof(float));
    g->quantized = allocate_quantized(&memory, rows, widest);
    return memory - start + ALIGN;
}

/* Runs on each thread: claims segments until its group has enough rows, encodes them, and repeats. */
static int run_encoder(const EncoderJob *job) {
    int64_t total = 0, longest = 0;
    for (int64_t k = 0; k < job->segments; k++) {
        total += job->lengths[k];
        longest = job->lengths[k] > longest ? job->lengths[k] : longest;
    }
    int64_t group_rows = min((total + job->threads - 1) / job->threads, GROUP_ROWS);
    Group g;
    char *memory = calloc(1, lay_out(job, &g, group_rows + longest, longest, NULL));
    if (memory == NULL) return 0;
    lay_out(job, &g, group_rows + longest, longest, (char *)(((uintptr_t)memory + ALIGN - 1) / ALIGN * ALIGN));
    for (;;) {
        g.rows = g.count = 0;
        while (g.rows < group_rows) {
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

static int can_run(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("fma");
}
#else
static void pack(const float *x, int64_t outputs, int64_t inputs, int8_t *tiles, float *scales, float *sums) {}
static int run_encoder(const EncoderJob *job) { return 0; }
static int run_linear(const LinearJob *job) { return 0; }
static int run_spans(const SpanJob *job) { return 0; }
static int run_utility(const UtilityJob *job) { return 0; }
static void run_chart(const ChartJob *job) {}
static void mean_pool(const float *x, int64_t pieces, int64_t size, int64_t outputs, const int64_t *rows,
                      const int64_t *positions, const int64_t *counts, float *out) {}
static int can_run(void) { return 0; }
#endif

/* Returns 0 and sets a ValueError if a piece or a position is outside of the embeddings. */
static int check(const EncoderJob *job, int64_t vocabulary_size, int64_t max_length) {
    for (int64_t k = 0; k < job->segments; k++) {
        int64_t length = job->lengths[k];
        if (length < 1 || length > job->width || length > max_length) {
            PyErr_Format(PyExc_ValueError, "segment %lld has %lld pieces; expected 1 to %lld", (long long)k,
                         (long long)length, (long long)(job->width < max_length ? job->width : max_length));
            return 0;
        }
        for (int64_t position = 0; position < length; position++) {
            int64_t piece = job->pieces[k * job->width + position];
            if (piece >= 0 && piece < vocabulary_size) continue;
            PyErr_Format(PyExc_ValueError, "segment %lld has piece %lld; expected 0 to %lld", (long long)k,
                         (long long)piece, (long long)(vocabulary_size - 1));
            return 0;
        }
    }
    return 1;
}

/* Addresses are integers: see _int8.pyi. */
static PyObject *encode(PyObject *module, PyObject *args) {
    unsigned long long pieces, lengths, table, layer_weights, piece_inputs, next, out;
    long long thread, threads, segments, width, layers, size, heads, intermediate_size, vocabulary_size, max_length;
    double epsilon;
    int is_complete;
    if (!PyArg_ParseTuple(args, "LLLLLLLLLLdKKKKKKK", &thread, &threads, &segments, &width, &layers, &size, &heads,
                          &intermediate_size, &vocabulary_size, &max_length, &epsilon, &table, &pieces, &lengths,
                          &layer_weights, &piece_inputs, &next, &out))
        return NULL;
    EncoderJob job = {threads, segments, width, layers, size, heads, intermediate_size, epsilon};
    job.pieces = (const int64_t *)(uintptr_t)pieces, job.lengths = (const int64_t *)(uintptr_t)lengths;
    job.table = (const int64_t *)(uintptr_t)table, job.layer_weights = (const float *)(uintptr_t)layer_weights;
    job.piece_inputs = (const float *)(uintptr_t)piece_inputs;
    job.next = (int64_t *)(uintptr_t)next, job.out = (float *)(uintptr_t)out;
    if (!check(&job, vocabulary_size, max_length)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    is_complete = run_encoder(&job);
    Py_END_ALLOW_THREADS
    if (!is_complete) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *linear(PyObject *module, PyObject *args) {
    unsigned long long table, x, next, out;
    long long thread, threads, rows, inputs, outputs, stride;
    double slope;
    int is_complete;
    if (!PyArg_ParseTuple(args, "LLLLLLdKKKK", &thread, &threads, &rows, &inputs, &outputs, &stride, &slope, &table,
                          &x, &next, &out))
        return NULL;
    LinearJob job = {rows, inputs, outputs, stride, slope};
    job.table = (const int64_t *)(uintptr_t)table, job.x = (const float *)(uintptr_t)x;
    job.next = (int64_t *)(uintptr_t)next, job.out = (float *)(uintptr_t)out;
    Py_BEGIN_ALLOW_THREADS
    is_complete = run_linear(&job);
    Py_END_ALLOW_THREADS
    if (!is_complete) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *score_spans(PyObject *module, PyObject *args) {
    unsigned long long table, left, right, lefts, rights, next, out;
    long long thread, threads, spans, size, classes, stride;
    int is_complete;
    if (!PyArg_ParseTuple(args, "LLLLLLKKKKKKK", &thread, &threads, &spans, &size, &classes, &stride, &table, &left,
                          &right, &lefts, &rights, &next, &out))
        return NULL;
    SpanJob job = {spans, size, classes, stride};
    job.table = (const int64_t *)(uintptr_t)table;
    job.left = (const float *)(uintptr_t)left, job.right = (const float *)(uintptr_t)right;
    job.lefts = (const int64_t *)(uintptr_t)lefts, job.rights = (const int64_t *)(uintptr_t)rights;
    job.next = (int64_t *)(uintptr_t)next, job.out = (float *)(uintptr_t)out;
    Py_BEGIN_ALLOW_THREADS
    is_complete = run_spans(&job);
    Py_END_ALLOW_THREADS
    if (!is_complete) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *label_utility(PyObject *module, PyObject *args) {
    unsigned long long scores, marginals, starts, chains, counts, utility, next, out;
    long long thread, threads, spans, classes, names, empty_label;
    double threshold;
    int is_complete;
    if (!PyArg_ParseTuple(args, "LLLLLLdKKKKKKKK", &thread, &threads, &spans, &classes, &names, &empty_label,
                          &threshold, &scores, &marginals, &starts, &chains, &counts, &utility, &next, &out))
        return NULL;
    UtilityJob job = {spans, classes, names, empty_label, threshold};
    job.scores = (const float *)(uintptr_t)scores, job.marginals = (const float *)(uintptr_t)marginals;
    job.starts = (const int64_t *)(uintptr_t)starts, job.chains = (const int64_t *)(uintptr_t)chains;
    job.counts = (const double *)(uintptr_t)counts, job.utility = (float *)(uintptr_t)utility;
    job.next = (int64_t *)(uintptr_t)next, job.out = (int64_t *)(uintptr_t)out;
    Py_BEGIN_ALLOW_THREADS
    is_complete = run_utility(&job);
    Py_END_ALLOW_THREADS
    if (!is_complete) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *score_chart(PyObject *module, PyObject *args) {
    unsigned long long left, half, next, out;
    long long thread, threads, sentences, boundaries, size, stride;
    if (!PyArg_ParseTuple(args, "LLLLLLKKKK", &thread, &threads, &sentences, &boundaries, &size, &stride, &left, &half,
                          &next, &out))
        return NULL;
    ChartJob job = {sentences, boundaries, size, stride};
    job.left = (const float *)(uintptr_t)left, job.half = (const float *)(uintptr_t)half;
    job.next = (int64_t *)(uintptr_t)next, job.out = (float *)(uintptr_t)out;
    Py_BEGIN_ALLOW_THREADS
    run_chart(&job);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *mean_pool_pieces(PyObject *module, PyObject *args) {
    unsigned long long x, rows, positions, counts, out;
    long long pieces, size, outputs;
    if (!PyArg_ParseTuple(args, "LLLKKKKK", &pieces, &size, &outputs, &x, &rows, &positions, &counts, &out))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    mean_pool((const float *)(uintptr_t)x, pieces, size, outputs, (const int64_t *)(uintptr_t)rows,
              (const int64_t *)(uintptr_t)positions, (const int64_t *)(uintptr_t)counts, (float *)(uintptr_t)out);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *pack_weights(PyObject *module, PyObject *args) {
    unsigned long long weights, tiles, scales, sums;
    long long outputs, inputs;
    if (!PyArg_ParseTuple(args, "LLKKKK", &outputs, &inputs, &weights, &tiles, &scales, &sums)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    pack((const float *)(uintptr_t)weights, outputs, inputs, (int8_t *)(uintptr_t)tiles, (float *)(uintptr_t)scales,
         (float *)(uintptr_t)sums);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

PyObject *lstm(PyObject *module, PyObject *args); /* see lstm.c */

static PyObject *available(PyObject *module, PyObject *args) { return PyBool_FromLong(can_run()); }

static PyMethodDef methods[] = {{"encode", encode, METH_VARARGS, NULL},
                                {"linear", linear, METH_VARARGS, NULL},
                                {"lstm", lstm, METH_VARARGS, NULL},
                                {"score_spans", score_spans, METH_VARARGS, NULL},
                                {"label_utility", label_utility, METH_VARARGS, NULL},
                                {"score_chart", score_chart, METH_VARARGS, NULL},
                                {"mean_pool", mean_pool_pieces, METH_VARARGS, NULL},
                                {"pack", pack_weights, METH_VARARGS, NULL},
                                {"available", available, METH_NOARGS, NULL},
                                {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_int8", .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit__int8(void) { return PyModuleDef_Init(&definition); }
