/* The products of a parser on the CPU, of 8-bit integers: linear layers, the encoder of BERT, and biaffine labels;
   an LSTM is in lstm.c.

   Weights are int8 with a scale for each output; each row that meets them is quantized by itself to uint8, between its
   own smallest and largest number: x = low + scale * q. So a row's result never depends on its neighbours. All else
   is float. A thread takes whole windows through all layers of an encoder, so threads never wait for each other, and
   what passes between layers stays in the cache of one core.

   Products need the dot-product instructions of AVX-512 (VNNI); `available` says whether this processor has them. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "int8.h"

#define QUERIES 4
#define DOTS 4
#define SPANS 192
#define LEFTS 18

enum { NORM_FIELDS = 2 };

typedef struct {
    const float *gain, *bias;
} Norm;

typedef struct {
    Linear qkv, out, up, down;
    Norm attended, done;
} Layer;

typedef struct {
    int64_t threads, windows, width;
    int64_t layers, size, heads, inner; /* of the encoder */
    double epsilon;
    const int64_t *pieces, *lengths; /* (windows, width), (windows,) */
    const int64_t *table;            /* addresses: see `layer` */
    const float *mix;                /* (layers + 1,) */
    const float *added;              /* (windows, width, size) to the pieces' vectors, or null */
    int64_t *next;                   /* the first window that nobody has taken */
    float *out;                      /* (windows, width, size) */
} Job;

typedef struct { /* x W' + bias */
    int64_t rows, inputs, outputs;
    int64_t stride; /* of x */
    double slope;
    const int64_t *table; /* of one Linear */
    const float *x;       /* (rows, inputs) */
    int64_t *next;        /* the first row that nobody has taken */
    float *out;           /* (rows, outputs) */
} Product;

typedef struct { /* [l; 1]' W [r; 1] of spans, for each class */
    int64_t spans, size, classes;
    int64_t stride;                /* of boundaries */
    const int64_t *table;          /* of the Linear from l to [l; 1]' W, (size + 1, classes) with whole LANES of classes */
    const float *left, *right;     /* boundaries (., size) */
    const int64_t *lefts, *rights; /* (spans,) which of them; those alike side by side */
    int64_t *next;                 /* the first span that nobody has taken */
    float *out;                    /* (spans, classes) */
} Labels;

typedef struct { /* the utility of the best label of each span: see decoding/expected_f1.py */
    int64_t spans, classes, names;
    int64_t empty_label;                /* the class of what is no constituent */
    double threshold;                   /* of a constituent */
    const float *scores;            /* (spans, classes) */
    const float *marginals;         /* (spans,) */
    const int64_t *starts, *chains; /* the names of class c are those in chains from starts[c] to starts[c + 1] */
    const double *counts;           /* (classes,) how many constituents each stands for */
    float *utility;                   /* (spans,) */
    int64_t *next;                  /* the first span that nobody has taken */
    int64_t *out;                   /* (spans,) the labels */
} LabelUtility;

typedef struct { /* left' half + alone of all pairs of boundaries */
    int64_t sentences, boundaries, size;
    int64_t stride;    /* of left */
    const float *left; /* (sentences, boundaries, size) */
    const float *half; /* (sentences, boundaries, size + 1), with what is added alone at the end */
    int64_t *next;     /* the first boundary that nobody has taken */
    float *out;        /* (sentences, boundaries, boundaries) */
} Chart;

#if SUPPORTED
VECTOR_CODE
/* x = norm(x + y) */
static void add_and_norm(float *x, const float *y, int64_t rows, int64_t size, Norm norm, double epsilon) {
    for (int64_t row = 0; row < rows; row++, x += size, y += size) {
        Floats sum = all(0.0f), squares = all(0.0f);
        for (int64_t k = 0; k < size; k += LANES) {
            Floats both = load(x + k) + load(y + k);
            store(x + k, both);
            sum += both;
        }
        float mean = _mm512_reduce_add_ps(sum) / size;
        for (int64_t k = 0; k < size; k += LANES) {
            Floats apart = load(x + k) - all(mean);
            squares = _mm512_fmadd_ps(apart, apart, squares);
        }
        float factor = (float)(1.0 / sqrt(_mm512_reduce_add_ps(squares) / size + epsilon));
        for (int64_t k = 0; k < size; k += LANES)
            store(x + k, _mm512_fmadd_ps((load(x + k) - all(mean)) * all(factor), load(norm.gain + k),
                                         load(norm.bias + k)));
    }
}

/* exp(x - max) of a row, whose lanes after `count` are -inf, and the inverse of its sum. */
INLINE float soften(float *x, int64_t width) {
    Floats high = load(x), sum = all(0.0f);
    for (int64_t k = LANES; k < width; k += LANES) high = _mm512_max_ps(high, load(x + k));
    high = all(_mm512_reduce_max_ps(high));
    for (int64_t k = 0; k < width; k += LANES) {
        Floats e = exponential(load(x + k) - high);
        store(x + k, e);
        sum += e;
    }
    return 1.0f / _mm512_reduce_add_ps(sum);
}

/* Up to LANES rows of LANES numbers times a factor, as columns; rows that are not there count as zeros. */
static void transpose(const float *x, int64_t stride, int64_t rows, Floats factor, float *out, int64_t width) {
    Floats a[LANES], b[LANES];
    const __m512i low_lanes = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high_lanes = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    for (int r = 0; r < LANES; r++) a[r] = r < rows ? _mm512_mul_ps(load(x + r * stride), factor) : all(0.0f);
#pragma GCC unroll 4
    for (int step = 0; step < 4; step++) { /* each puts row k beside row k + 8 */
#pragma GCC unroll 8
        for (int k = 0; k < LANES / 2; k++) {
            b[2 * k] = _mm512_permutex2var_ps(a[k], low_lanes, a[k + 8]);
            b[2 * k + 1] = _mm512_permutex2var_ps(a[k], high_lanes, a[k + 8]);
        }
        memcpy(a, b, sizeof a);
    }
    for (int d = 0; d < LANES; d++) store(out + d * width, a[d]);
}

/* One head: queries, keys and values are at qkv, qkv + size and qkv + 2 * size of each row. */
static void attend(const float *qkv, int64_t rows, int64_t size, int64_t head, float *scratch, float *out) {
    int64_t stride = 3 * size, width = padded(rows);
    float *keys = scratch, *shares = scratch + head * width, factor = 1.0f / sqrtf((float)head);
    for (int64_t j = 0; j < width; j += LANES)
        for (int64_t d = 0; d < head; d += LANES)
            transpose(qkv + j * stride + size + d, stride, rows - j, all(factor), keys + d * width + j, width);
    for (int64_t i = 0; i < rows; i += QUERIES) {
        const float *query[QUERIES];
        float inverse[QUERIES];
#pragma GCC unroll 4
        for (int r = 0; r < QUERIES; r++) query[r] = qkv + (i + r < rows ? i + r : i) * stride;
        for (int64_t j = 0; j < width; j += LANES) {
            Floats sums[QUERIES] = {all(0.0f), all(0.0f), all(0.0f), all(0.0f)};
            for (int64_t d = 0; d < head; d++) {
                Floats key = load(keys + d * width + j);
#pragma GCC unroll 4
                for (int r = 0; r < QUERIES; r++) sums[r] = _mm512_fmadd_ps(all(query[r][d]), key, sums[r]);
            }
#pragma GCC unroll 4
            for (int r = 0; r < QUERIES; r++)
                store(shares + r * width + j, _mm512_mask_mov_ps(all(-INFINITY), lanes(rows - j), sums[r]));
        }
        for (int r = 0; r < QUERIES && i + r < rows; r++) inverse[r] = soften(shares + r * width, width);
        for (int64_t d = 0; d < head; d += LANES) {
            Floats sums[QUERIES] = {all(0.0f), all(0.0f), all(0.0f), all(0.0f)};
            for (int64_t j = 0; j < rows; j++) {
                Floats value = load(qkv + j * stride + 2 * size + d);
#pragma GCC unroll 4
                for (int r = 0; r < QUERIES; r++) sums[r] = _mm512_fmadd_ps(all(shares[r * width + j]), value, sums[r]);
            }
            for (int r = 0; r < QUERIES && i + r < rows; r++)
                store(out + (i + r) * size + d, sums[r] * all(inverse[r]));
        }
    }
}

static Norm norm(const int64_t *table) {
    return (Norm){(const float *)(uintptr_t)table[0], (const float *)(uintptr_t)table[1]};
}

/* The table: words, places and norm of the embeddings; then for each layer its four products and two norms. */
enum { EMBEDDING_FIELDS = 2 + NORM_FIELDS, LAYER_FIELDS = 4 * PACK_FIELDS + 2 * NORM_FIELDS };

static Layer layer(const Job *job, int64_t number) {
    const int64_t *t = job->table + EMBEDDING_FIELDS + number * LAYER_FIELDS;
    return (Layer){.qkv = linear(t, job->size, 3 * job->size),
                   .out = linear(t + PACK_FIELDS, job->size, job->size),
                   .attended = norm(t + 2 * PACK_FIELDS),
                   .up = linear(t + 2 * PACK_FIELDS + NORM_FIELDS, job->size, job->inner),
                   .down = linear(t + 3 * PACK_FIELDS + NORM_FIELDS, job->inner, job->size),
                   .done = norm(t + 4 * PACK_FIELDS + NORM_FIELDS)};
}

typedef struct { /* what one thread works on: windows one after the other, without padding */
    int64_t rows;
    int64_t *windows, count;
    float *x, *wide, *narrow, *scratch;
    Quantized quantized;
} Group;

static void embed(const Job *job, Group *g) {
    const float *words = (const float *)(uintptr_t)job->table[0], *places = (const float *)(uintptr_t)job->table[1];
    float *x = g->x, *y = g->narrow;
    for (int64_t k = 0; k < g->count; k++)
        for (int64_t place = 0; place < job->lengths[g->windows[k]]; place++, x += job->size, y += job->size) {
            int64_t piece = job->pieces[g->windows[k] * job->width + place];
            memcpy(x, words + piece * job->size, job->size * sizeof(float));
            memcpy(y, places + place * job->size, job->size * sizeof(float));
            if (!job->added) continue;
            const float *added = job->added + (g->windows[k] * job->width + place) * job->size;
            for (int64_t n = 0; n < job->size; n++) y[n] += added[n];
        }
    add_and_norm(g->x, g->narrow, g->rows, job->size, norm(job->table + 2), job->epsilon);
}

static void collect(const Job *job, const Group *g, float share, int first) {
    const float *x = g->x;
    if (share == 0.0f && !first) return;
    for (int64_t k = 0; k < g->count; k++) {
        float *out = job->out + g->windows[k] * job->width * job->size;
        int64_t numbers = job->lengths[g->windows[k]] * job->size;
        for (int64_t n = 0; n < numbers; n += LANES)
            store(out + n, _mm512_fmadd_ps(load(x + n), all(share), first ? all(0.0f) : load(out + n)));
        x += numbers;
    }
}

static void attention(const Job *job, const Group *g) {
    int64_t head = job->size / job->heads, row = 0;
    for (int64_t k = 0; k < g->count; row += job->lengths[g->windows[k++]])
        for (int64_t h = 0; h < job->heads; h++)
            attend(g->wide + 3 * row * job->size + h * head, job->lengths[g->windows[k]], job->size, head, g->scratch,
                   g->narrow + row * job->size + h * head);
}

static void encode_group(const Job *job, Group *g) {
    embed(job, g);
    collect(job, g, job->mix[0], 1);
    for (int64_t number = 0; number < job->layers; number++) {
        Layer l = layer(job, number);
        quantize(g->x, g->rows, job->size, g->quantized);
        multiply(&l.qkv, g->quantized, g->rows, g->wide);
        attention(job, g);
        quantize(g->narrow, g->rows, job->size, g->quantized);
        multiply(&l.out, g->quantized, g->rows, g->narrow);
        add_and_norm(g->x, g->narrow, g->rows, job->size, l.attended, job->epsilon);
        quantize(g->x, g->rows, job->size, g->quantized);
        multiply_gelu(&l.up, g->quantized, g->rows, g->wide);
        quantize(g->wide, g->rows, job->inner, g->quantized);
        multiply(&l.down, g->quantized, g->rows, g->narrow);
        add_and_norm(g->x, g->narrow, g->rows, job->size, l.done, job->epsilon);
        collect(job, g, job->mix[number + 1], 0);
    }
}
static int product_work(const Product *job) {
    Linear l = linear(job->table, job->inputs, job->outputs);
    char *size = NULL, *block;
    room(&size, GROUP_ROWS, job->inputs);
    char *memory = block = calloc(1, (size_t)size);
    if (memory == NULL) return 0;
    Quantized x = room(&block, GROUP_ROWS, job->inputs);
    l.slope = (float)job->slope;
    for (int64_t row; (row = take(job->next, GROUP_ROWS)) < job->rows;) {
        int64_t rows = min(GROUP_ROWS, job->rows - row);
        for (int64_t k = 0; k < rows; k++) quantize_row(job->x + (row + k) * job->stride, job->inputs, x, k);
        multiply(&l, x, rows, job->out + row * job->outputs);
    }
    free(memory);
    return 1;
}

/* The classes of one span: the sum over k of r[k] times row k of [l; 1]' W, and its last row. */
static void score_span(const float *half, const float *right, int64_t size, int64_t classes, float *out) {
    int64_t width = padded(classes);
    for (int64_t c = 0; c < classes; c += LANES) {
        Floats sum = load(half + size * width + c);
        for (int64_t k = 0; k < size; k++) sum = _mm512_fmadd_ps(all(right[k]), load(half + k * width + c), sum);
        _mm512_mask_storeu_ps(out + c, lanes(classes - c), sum);
    }
}

/* The mean over each position's pieces: a piece is a row of x, and one of some that make up its position. */
static void pool(const float *x, int64_t pieces, int64_t size, int64_t positions, const int64_t *rows,
                 const int64_t *places, const int64_t *shares, float *out) {
    memset(out, 0, positions * size * sizeof(float));
    for (int64_t k = 0; k < pieces; k++) {
        const float *from = x + rows[k] * size;
        float *to = out + places[k] * size, share = 1.0f / shares[k];
        for (int64_t d = 0; d < size; d += LANES) {
            __mmask16 mask = lanes(size - d);
            Floats sum = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(mask, from + d), all(share),
                                         _mm512_maskz_loadu_ps(mask, to + d));
            _mm512_mask_storeu_ps(to + d, mask, sum);
        }
    }
}

/* left[i] . half[j] + alone[j] of the boundaries of each sentence; the product of floats, in blocks of DOTS rows j. */
static void chart_row(const Chart *job, const float *left, const float *half, float *out) {
    for (int64_t j = 0; j < job->boundaries; j += DOTS) {
        const float *row[DOTS];
        Floats sums[DOTS] = {all(0.0f), all(0.0f), all(0.0f), all(0.0f)};
#pragma GCC unroll 4
        for (int r = 0; r < DOTS; r++) row[r] = half + min(j + r, job->boundaries - 1) * (job->size + 1);
        for (int64_t k = 0; k < job->size; k += LANES) {
            __mmask16 mask = lanes(job->size - k);
            Floats some = _mm512_maskz_loadu_ps(mask, left + k);
#pragma GCC unroll 4
            for (int r = 0; r < DOTS; r++)
                sums[r] = _mm512_fmadd_ps(some, _mm512_maskz_loadu_ps(mask, row[r] + k), sums[r]);
        }
        for (int r = 0; r < DOTS && j + r < job->boundaries; r++)
            out[j + r] = _mm512_reduce_add_ps(sums[r]) + row[r][job->size];
    }
}

static void chart_work(const Chart *job) {
    int64_t n = job->boundaries;
    for (int64_t row; (row = take(job->next, n)) < job->sentences * n;)
        for (int64_t i = row; i < row + n; i++)
            chart_row(job, job->left + i * job->stride, job->half + row * (job->size + 1), job->out + i * n);
}

/* Spans that start at the same place share their [l; 1]' W; threads take some spans at a time. */
static int labels_work(const Labels *job) {
    Linear l = linear(job->table, job->size, (job->size + 1) * padded(job->classes));
    char *size = NULL, *block;
    room(&size, LEFTS, job->size);
    char *memory = block = calloc(1, (size_t)size + LEFTS * l.outputs * sizeof(float));
    if (memory == NULL) return 0;
    Quantized x = room(&block, LEFTS, job->size);
    float *half = (float *)block;
    for (int64_t begin; (begin = take(job->next, SPANS)) < job->spans;) {
        int64_t last = min(begin + SPANS, job->spans), done = begin;
        while (done < last) {
            int64_t rows = 0, end = done;
            for (; end < last; end++) {
                if (end > done && job->lefts[end] == job->lefts[end - 1]) continue;
                if (rows == LEFTS) break;
                quantize_row(job->left + job->lefts[end] * job->stride, job->size, x, rows++);
            }
            multiply(&l, x, rows, half);
            for (int64_t k = done, row = 0; k < end; k++) {
                row += k > done && job->lefts[k] != job->lefts[k - 1];
                score_span(half + row * l.outputs, job->right + job->rights[k] * job->stride, job->size, job->classes,
                           job->out + k * job->classes);
            }
            done = end;
        }
    }
    free(memory);
    return 1;
}

/* One span, given room for its labels' probabilities and those of names; classes with a score of -inf are ruled out. */
static void best_label(const LabelUtility *job, int64_t span, float *shares, double *names) {
    const float *scores = job->scores + span * job->classes;
    int64_t width = padded(job->classes), best = 0;
    for (int64_t c = 0; c < width; c++) shares[c] = c < job->classes ? scores[c] : -INFINITY;
    for (int64_t c = 1; c < job->classes; c++) best = scores[c] > scores[best] ? c : best;
    double inverse = soften(shares, width), held = 0.0;
    memset(names, 0, job->names * sizeof(double));
    for (int64_t c = 0; c < job->classes; c++)
        for (int64_t k = job->starts[c]; k < job->starts[c + 1]; k++) names[job->chains[k]] += shares[c];
    for (int64_t k = job->starts[best]; k < job->starts[best + 1]; k++) held += names[job->chains[k]];
    double utility = inverse * job->marginals[span] * held - job->threshold * job->counts[best];
    int is_dropped = utility < 0 && scores[job->empty_label] > -INFINITY;
    job->utility[span] = is_dropped ? 0.0f : (float)utility;
    job->out[span] = is_dropped ? job->empty_label : best;
}

static int label_utility_work(const LabelUtility *job) {
    char *memory = malloc(padded(job->classes) * sizeof(float) + job->names * sizeof(double));
    if (memory == NULL) return 0;
    float *shares = (float *)memory;
    for (int64_t begin; (begin = take(job->next, SPANS)) < job->spans;)
        for (int64_t span = begin; span < min(begin + SPANS, job->spans); span++)
            best_label(job, span, shares, (double *)(shares + padded(job->classes)));
    free(memory);
    return 1;
}
END_OF_VECTOR_CODE

/* Lays a group's arrays out in a block, or with no block, says how large it must be. */
static int64_t lay_out(const Job *job, Group *g, int64_t rows, int64_t longest, char *block) {
    char *start = block;
    int64_t widest = job->inner > 3 * job->size ? job->inner : 3 * job->size;
    g->windows = part(&block, rows * sizeof(int64_t));
    g->x = part(&block, rows * job->size * sizeof(float));
    g->narrow = part(&block, rows * job->size * sizeof(float));
    g->wide = part(&block, rows * widest * sizeof(float));
    g->scratch = part(&block, (job->size / job->heads + QUERIES) * padded(longest) * sizeof(float));
    g->quantized = room(&block, rows, widest);
    return block - start + ALIGN;
}

/* What each thread does: take windows until there is enough to do, and encode them. */
static int work(const Job *job) {
    int64_t total = 0, longest = 0;
    for (int64_t k = 0; k < job->windows; k++) {
        total += job->lengths[k];
        longest = job->lengths[k] > longest ? job->lengths[k] : longest;
    }
    int64_t enough = min((total + job->threads - 1) / job->threads, GROUP_ROWS);
    Group g;
    char *block = calloc(1, lay_out(job, &g, enough + longest, longest, NULL));
    if (block == NULL) return 0;
    lay_out(job, &g, enough + longest, longest, (char *)(((uintptr_t)block + ALIGN - 1) / ALIGN * ALIGN));
    for (;;) {
        g.rows = g.count = 0;
        while (g.rows < enough) {
            int64_t window = take(job->next, 1);
            if (window >= job->windows) break;
            g.windows[g.count++] = window;
            g.rows += job->lengths[window];
        }
        if (g.count == 0) break;
        encode_group(job, &g);
    }
    free(block);
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
static int work(const Job *job) { return 0; }
static int product_work(const Product *job) { return 0; }
static int labels_work(const Labels *job) { return 0; }
static int label_utility_work(const LabelUtility *job) { return 0; }
static void chart_work(const Chart *job) {}
static void pool(const float *x, int64_t pieces, int64_t size, int64_t positions, const int64_t *rows,
                 const int64_t *places, const int64_t *shares, float *out) {}
static int can_run(void) { return 0; }
#endif

/* 0 with a ValueError if a piece or a position would lead outside of the embeddings. */
static int check(const Job *job, int64_t words, int64_t places) {
    for (int64_t k = 0; k < job->windows; k++) {
        int64_t length = job->lengths[k];
        if (length < 1 || length > job->width || length > places) {
            PyErr_Format(PyExc_ValueError, "window %lld has %lld pieces; expected 1 to %lld", (long long)k,
                         (long long)length, (long long)(job->width < places ? job->width : places));
            return 0;
        }
        for (int64_t place = 0; place < length; place++) {
            int64_t piece = job->pieces[k * job->width + place];
            if (piece >= 0 && piece < words) continue;
            PyErr_Format(PyExc_ValueError, "window %lld has piece %lld; the encoder knows 0 to %lld", (long long)k,
                         (long long)piece, (long long)(words - 1));
            return 0;
        }
    }
    return 1;
}

/* Pointers come as integers, see _int8.pyi. */
static PyObject *encode(PyObject *module, PyObject *args) {
    unsigned long long pieces, lengths, table, mix, added, next, out;
    long long thread, threads, windows, width, layers, size, heads, inner, words, places;
    double epsilon;
    int done;
    if (!PyArg_ParseTuple(args, "LLLLLLLLLLdKKKKKKK", &thread, &threads, &windows, &width, &layers, &size, &heads,
                          &inner, &words, &places, &epsilon, &table, &pieces, &lengths, &mix, &added, &next, &out))
        return NULL;
    Job job = {threads, windows, width, layers, size, heads, inner, epsilon};
    job.pieces = (const int64_t *)(uintptr_t)pieces, job.lengths = (const int64_t *)(uintptr_t)lengths;
    job.table = (const int64_t *)(uintptr_t)table, job.mix = (const float *)(uintptr_t)mix;
    job.added = (const float *)(uintptr_t)added;
    job.next = (int64_t *)(uintptr_t)next, job.out = (float *)(uintptr_t)out;
    if (!check(&job, words, places)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    done = work(&job);
    Py_END_ALLOW_THREADS
    if (!done) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *product(PyObject *module, PyObject *args) {
    unsigned long long table, x, next, out;
    long long thread, threads, rows, inputs, outputs, stride;
    double slope;
    int done;
    if (!PyArg_ParseTuple(args, "LLLLLLdKKKK", &thread, &threads, &rows, &inputs, &outputs, &stride, &slope, &table,
                          &x, &next, &out))
        return NULL;
    Product job = {rows, inputs, outputs, stride, slope};
    job.table = (const int64_t *)(uintptr_t)table, job.x = (const float *)(uintptr_t)x;
    job.next = (int64_t *)(uintptr_t)next, job.out = (float *)(uintptr_t)out;
    Py_BEGIN_ALLOW_THREADS
    done = product_work(&job);
    Py_END_ALLOW_THREADS
    if (!done) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *labels(PyObject *module, PyObject *args) {
    unsigned long long table, left, right, lefts, rights, next, out;
    long long thread, threads, spans, size, classes, stride;
    int done;
    if (!PyArg_ParseTuple(args, "LLLLLLKKKKKKK", &thread, &threads, &spans, &size, &classes, &stride, &table, &left,
                          &right, &lefts, &rights, &next, &out))
        return NULL;
    Labels job = {spans, size, classes, stride};
    job.table = (const int64_t *)(uintptr_t)table;
    job.left = (const float *)(uintptr_t)left, job.right = (const float *)(uintptr_t)right;
    job.lefts = (const int64_t *)(uintptr_t)lefts, job.rights = (const int64_t *)(uintptr_t)rights;
    job.next = (int64_t *)(uintptr_t)next, job.out = (float *)(uintptr_t)out;
    Py_BEGIN_ALLOW_THREADS
    done = labels_work(&job);
    Py_END_ALLOW_THREADS
    if (!done) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *label_utility(PyObject *module, PyObject *args) {
    unsigned long long scores, marginals, starts, chains, counts, utility, next, out;
    long long thread, threads, spans, classes, names, empty_label;
    double threshold;
    int done;
    if (!PyArg_ParseTuple(args, "LLLLLLdKKKKKKKK", &thread, &threads, &spans, &classes, &names, &empty_label, &threshold, &scores,
                          &marginals, &starts, &chains, &counts, &utility, &next, &out))
        return NULL;
    LabelUtility job = {spans, classes, names, empty_label, threshold};
    job.scores = (const float *)(uintptr_t)scores, job.marginals = (const float *)(uintptr_t)marginals;
    job.starts = (const int64_t *)(uintptr_t)starts, job.chains = (const int64_t *)(uintptr_t)chains;
    job.counts = (const double *)(uintptr_t)counts, job.utility = (float *)(uintptr_t)utility;
    job.next = (int64_t *)(uintptr_t)next, job.out = (int64_t *)(uintptr_t)out;
    Py_BEGIN_ALLOW_THREADS
    done = label_utility_work(&job);
    Py_END_ALLOW_THREADS
    if (!done) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *chart(PyObject *module, PyObject *args) {
    unsigned long long left, half, next, out;
    long long thread, threads, sentences, boundaries, size, stride;
    if (!PyArg_ParseTuple(args, "LLLLLLKKKK", &thread, &threads, &sentences, &boundaries, &size, &stride, &left, &half,
                          &next, &out))
        return NULL;
    Chart job = {sentences, boundaries, size, stride};
    job.left = (const float *)(uintptr_t)left, job.half = (const float *)(uintptr_t)half;
    job.next = (int64_t *)(uintptr_t)next, job.out = (float *)(uintptr_t)out;
    Py_BEGIN_ALLOW_THREADS
    chart_work(&job);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *pool_pieces(PyObject *module, PyObject *args) {
    unsigned long long x, rows, places, shares, out;
    long long pieces, size, positions;
    if (!PyArg_ParseTuple(args, "LLLKKKKK", &pieces, &size, &positions, &x, &rows, &places, &shares, &out)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    pool((const float *)(uintptr_t)x, pieces, size, positions, (const int64_t *)(uintptr_t)rows,
         (const int64_t *)(uintptr_t)places, (const int64_t *)(uintptr_t)shares, (float *)(uintptr_t)out);
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
                                {"product", product, METH_VARARGS, NULL},
                                {"lstm", lstm, METH_VARARGS, NULL},
                                {"labels", labels, METH_VARARGS, NULL},
                                {"label_utility", label_utility, METH_VARARGS, NULL},
                                {"chart", chart, METH_VARARGS, NULL},
                                {"pool", pool_pieces, METH_VARARGS, NULL},
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
