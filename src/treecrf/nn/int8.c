/* The encoder of BERT on the CPU, with products of 8-bit integers.

   Weights are int8 with a scale for each output; each row that meets them is quantized by itself to uint8, between its
   own smallest and largest number: x = low + scale * q. So a row's result never depends on its neighbours. All else
   is float. A thread takes whole windows through all layers, so threads never wait for each other, and what passes
   between layers stays in the cache of one core.

   Products need the dot-product instructions of AVX-512 (VNNI); `available` says whether this processor has them. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define SUPPORTED 1
#include <immintrin.h>
#else
#define SUPPORTED 0
#endif

#define LANES 16
#define TILE_ROWS 6
#define TILE (4 * LANES) /* columns */
#define QUERIES 4
#define ALIGN 64
#define GROUP_ROWS 96 /* each weight that comes from memory meets so many */

enum { PACK_FIELDS = 4, NORM_FIELDS = 2 };

typedef struct {
    int64_t inputs, outputs;
    const int8_t *weights; /* tiles of TILE columns: for each four inputs, four weights of each column */
    const float *scales, *sums, *bias; /* sums: of a column's integers */
} Linear;

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
    int64_t *next;                   /* the first window that nobody has taken */
    float *out;                      /* (windows, width, size) */
} Job;

#if SUPPORTED
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,fma")
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

/* x P(X < x) for a normal X, from the approximation of erfc by a polynomial in 1 / (1 + p |z|) times exp(-z^2). */
INLINE Floats gelu(Floats x) {
    Floats z = _mm512_abs_ps(x) * all(0.707106781f);
    Floats t = all(1.0f) / _mm512_fmadd_ps(z, all(0.3275911f), all(1.0f));
    Floats p = all(1.061405429f);
    p = _mm512_fmadd_ps(p, t, all(-1.453152027f));
    p = _mm512_fmadd_ps(p, t, all(1.421413741f));
    p = _mm512_fmadd_ps(p, t, all(-0.284496736f));
    p = _mm512_fmadd_ps(p, t, all(0.254829592f));
    Floats tail = all(0.5f) * p * t * exponential(-z * z); /* P(X > |x|) */
    Floats below = _mm512_mask_sub_ps(tail, _mm512_cmp_ps_mask(x, all(0.0f), _CMP_GT_OQ), all(1.0f), tail);
    return x * below;
}

/* Rows as integers: x = low + scale * q. */
typedef struct {
    uint8_t *q;
    float *scales, *lows;
} Quantized;

static void quantize(const float *x, int64_t rows, int64_t size, Quantized to) {
    for (int64_t row = 0; row < rows; row++) {
        const float *from = x + row * size;
        Floats low = load(from), high = low;
        for (int64_t k = LANES; k < size; k += LANES) {
            low = _mm512_min_ps(low, load(from + k));
            high = _mm512_max_ps(high, load(from + k));
        }
        float bottom = _mm512_reduce_min_ps(low), range = _mm512_reduce_max_ps(high) - bottom;
        Floats factor = all(range > 0.0f ? 255.0f / range : 0.0f), offset = all(bottom);
        for (int64_t k = 0; k < size; k += LANES) {
            __m512i q = _mm512_cvtps_epi32((load(from + k) - offset) * factor);
            _mm_storeu_si128((__m128i *)(to.q + row * size + k), _mm512_cvtusepi32_epi8(q));
        }
        to.scales[row] = range / 255.0f;
        to.lows[row] = bottom;
    }
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
    store(out + row * l->outputs + column, bent ? gelu(sum) : sum);
}

/* TILE_ROWS rows times TILE columns; the sums have names, as compilers keep no arrays in registers. */
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)
#define START(i) __m512i a##i = zero, b##i = zero, c##i = zero, d##i = zero;
#define STEP(i)                                           \
    memcpy(&four, rows + i * l->inputs + k, sizeof four); \
    q = _mm512_set1_epi32(four);                          \
    a##i = dot(a##i, q, a);                               \
    b##i = dot(b##i, q, b);                               \
    c##i = dot(c##i, q, c);                               \
    d##i = dot(d##i, q, d);
#define FINISH(i)                                               \
    finish(l, x, row + i, column, out, bent, a##i);             \
    finish(l, x, row + i, column + LANES, out, bent, b##i);     \
    finish(l, x, row + i, column + 2 * LANES, out, bent, c##i); \
    finish(l, x, row + i, column + 3 * LANES, out, bent, d##i);

INLINE void tile(const Linear *l, Quantized x, int64_t row, int64_t column, float *out, int bent) {
    const int8_t *weights = l->weights + column * l->inputs;
    const uint8_t *rows = x.q + row * l->inputs;
    const __m512i zero = _mm512_setzero_si512();
    EACH_ROW(START)
    for (int64_t k = 0; k < l->inputs; k += 4, weights += 4 * TILE) {
        int32_t four;
        __m512i q, a = _mm512_loadu_si512(weights), b = _mm512_loadu_si512(weights + TILE);
        __m512i c = _mm512_loadu_si512(weights + 2 * TILE), d = _mm512_loadu_si512(weights + 3 * TILE);
        EACH_ROW(STEP)
    }
    EACH_ROW(FINISH)
}

/* x W' + bias; rows come in whole tiles, the last of which may hold leftovers. */
static void multiply(const Linear *l, Quantized x, int64_t rows, float *out) {
    for (int64_t column = 0; column < l->outputs; column += TILE)
        for (int64_t row = 0; row < rows; row += TILE_ROWS) tile(l, x, row, column, out, 0);
}

static void multiply_gelu(const Linear *l, Quantized x, int64_t rows, float *out) {
    for (int64_t column = 0; column < l->outputs; column += TILE)
        for (int64_t row = 0; row < rows; row += TILE_ROWS) tile(l, x, row, column, out, 1);
}

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

/* One head: queries, keys and values are at qkv, qkv + size and qkv + 2 * size of each row. */
static void attend(const float *qkv, int64_t rows, int64_t size, int64_t head, float *scratch, float *out) {
    int64_t stride = 3 * size, width = (rows + LANES - 1) / LANES * LANES;
    float *keys = scratch, *shares = scratch + head * width, factor = 1.0f / sqrtf((float)head);
    for (int64_t j = 0; j < width; j++)
        for (int64_t d = 0; d < head; d++) keys[d * width + j] = j < rows ? qkv[j * stride + size + d] * factor : 0.0f;
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
            for (int r = 0; r < QUERIES; r++) store(shares + r * width + j, sums[r]);
        }
        for (int r = 0; r < QUERIES; r++) {
            for (int64_t j = rows; j < width; j++) shares[r * width + j] = -INFINITY;
            inverse[r] = soften(shares + r * width, width);
        }
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

static Linear linear(const int64_t *table, int64_t inputs, int64_t outputs) {
    return (Linear){inputs, outputs, (const int8_t *)(uintptr_t)table[0], (const float *)(uintptr_t)table[1],
                    (const float *)(uintptr_t)table[2], (const float *)(uintptr_t)table[3]};
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
#pragma GCC pop_options

/* The next part of one block of memory. */
static void *part(char **block, int64_t bytes) {
    char *start = *block;
    *block += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return start;
}

/* Lays a group's arrays out in a block, or with no block, says how large it must be. */
static int64_t lay_out(const Job *job, Group *g, int64_t rows, int64_t longest, char *block) {
    char *start = block;
    int64_t width = (longest + LANES - 1) / LANES * LANES, tiled = (rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
    int64_t widest = job->inner > 3 * job->size ? job->inner : 3 * job->size;
    g->windows = part(&block, rows * sizeof(int64_t));
    g->x = part(&block, tiled * job->size * sizeof(float));
    g->narrow = part(&block, tiled * job->size * sizeof(float));
    g->wide = part(&block, tiled * widest * sizeof(float));
    g->scratch = part(&block, (job->size / job->heads + QUERIES) * width * sizeof(float));
    g->quantized.q = part(&block, tiled * widest);
    g->quantized.scales = part(&block, tiled * sizeof(float));
    g->quantized.lows = part(&block, tiled * sizeof(float));
    return block - start + ALIGN;
}

/* What each thread does: take windows until there is enough to do, and encode them. */
static int work(const Job *job) {
    int64_t total = 0, longest = 0;
    for (int64_t k = 0; k < job->windows; k++) {
        total += job->lengths[k];
        longest = job->lengths[k] > longest ? job->lengths[k] : longest;
    }
    int64_t enough = (total + job->threads - 1) / job->threads;
    enough = enough < GROUP_ROWS ? enough : GROUP_ROWS;
    Group g;
    char *block = calloc(1, lay_out(job, &g, enough + longest, longest, NULL));
    if (block == NULL) return 0;
    lay_out(job, &g, enough + longest, longest, (char *)(((uintptr_t)block + ALIGN - 1) / ALIGN * ALIGN));
    for (;;) {
        g.rows = g.count = 0;
        while (g.rows < enough) {
            int64_t window = __atomic_fetch_add(job->next, 1, __ATOMIC_RELAXED);
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
static int work(const Job *job) { return 0; }
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
    unsigned long long pieces, lengths, table, mix, next, out;
    long long thread, threads, windows, width, layers, size, heads, inner, words, places;
    double epsilon;
    int done;
    if (!PyArg_ParseTuple(args, "LLLLLLLLLLdKKKKKK", &thread, &threads, &windows, &width, &layers, &size, &heads,
                          &inner, &words, &places, &epsilon, &pieces, &lengths, &table, &mix, &next, &out))
        return NULL;
    Job job = {threads, windows, width, layers, size, heads, inner, epsilon};
    job.pieces = (const int64_t *)(uintptr_t)pieces, job.lengths = (const int64_t *)(uintptr_t)lengths;
    job.table = (const int64_t *)(uintptr_t)table, job.mix = (const float *)(uintptr_t)mix;
    job.next = (int64_t *)(uintptr_t)next, job.out = (float *)(uintptr_t)out;
    if (!check(&job, words, places)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    done = work(&job);
    Py_END_ALLOW_THREADS
    if (!done) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *available(PyObject *module, PyObject *args) { return PyBool_FromLong(can_run()); }

static PyMethodDef methods[] = {{"encode", encode, METH_VARARGS, NULL},
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
