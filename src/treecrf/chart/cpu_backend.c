/* Exact inference over binary trees on the CPU: inside, marginals and the best tree.

   Charts are kept by width: cell (w, i) is the span words[i:i+w], and the cells of one width lie side by side. The
   splits of span (w, i) are the pairs (d, i), (w - d, i + d) for 0 < d < w, so LANES neighbouring spans walk through
   their splits together: two vector loads a split, and no sum across lanes.

   The inside weight exp(beta) of a span is a mantissa in [1, 2) and a power of two whose exponent has a double of its
   own. The cubic loops then need no exp, and no score is too large or too small; weight zero is 0 * 2^-inf. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define LANES 8
#define GROUP (4 * LANES) /* parents that send their flow down together */
#define TEAM_WORDS 200 /* in a shorter sentence threads would mostly wait for each other */

#if defined(_MSC_VER)
#include <windows.h>
#define INLINE static __forceinline
#define FETCH_ADD(counter) InterlockedExchangeAdd64(counter, 1)
#define LOOK(counter) InterlockedExchangeAdd64(counter, 0)
#define YIELD SwitchToThread
#else
#include <sched.h>
#define INLINE static inline __attribute__((always_inline))
#define FETCH_ADD(counter) __atomic_fetch_add(counter, 1, __ATOMIC_ACQ_REL)
#define LOOK(counter) __atomic_load_n(counter, __ATOMIC_ACQUIRE)
#define YIELD sched_yield
#endif

/* One binary holds the code for several generations of processors; the loader picks one. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__has_attribute)
#if __has_attribute(target_clones)
#define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#endif
#ifndef CLONES
#define CLONES
#endif

/* GCC unrolls a loop this short before it looks for vectors, and then finds none. */
#if defined(__GNUC__) && !defined(__clang__)
#define EACH_LANE _Pragma("GCC unroll 1") for (int lane = 0; lane < LANES; lane++)
#else
#define EACH_LANE for (int lane = 0; lane < LANES; lane++)
#endif

typedef struct {         /* one call, the same for each of its threads but for `thread` */
    int64_t batch, size; /* scores are (batch, size, size) */
    int64_t wide;        /* scores and marginals are double, not float */
    int64_t threads, thread;
    char *scores, *out;
    int64_t out_size;                    /* bytes a sentence */
    int64_t *lengths, *order, *counters; /* order: longest sentence first; counters: 2 * batch zeros */
    double *charts, *scratch;            /* 4 planes a sentence; 2 planes for each of 2 * threads slots */
} Batch;

typedef struct {
    int64_t words, row; /* row: doubles between the rows of a plane */
    int64_t size, wide;
    char *scores, *out;
    double *mantissa, *exponent; /* the inside chart */
    double *total, *top;         /* the same before a span's own score is added */
    double *first, *second;      /* two planes of scratch */
} Sentence;

/* The spans begin <= i < end of one width, whole groups of LANES; width 0 stands for the way between scores or
   marginals, which lie by start and end, and planes. */
typedef void Step(const Sentence *, int64_t width, int64_t begin, int64_t end);

static int64_t item_size(int64_t wide) { return wide ? sizeof(double) : sizeof(float); }

/* An odd number of cache lines, so that a walk down the rows meets every set of the cache. */
static int64_t row_length(int64_t words) { return ((words + 2 * LANES - 1) / LANES * LANES) | LANES; }

static int64_t plane_length(int64_t words) { return (words + 1) * row_length(words); }

static int64_t lanes(const Sentence *s, int64_t width) {
    return width == 0 ? s->row : (s->words - width) / LANES * LANES + LANES;
}

INLINE double from_bits(int64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

INLINE int64_t to_bits(double x) {
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* 2^x for an integral x < 1024; 0 for x < -1022 and for NaN, which is -inf minus -inf here. */
INLINE double power_of_two(double x) {
    x = x > -1023.0 ? x : -1023.0;
    return from_bits((int64_t)((uint64_t)to_bits(x + (0x1.8p52 + 1023.0)) << 52));
}

/* Scores, which lie by start and end, into a plane by width, for the spans that start at begin <= i < end. */
static void read_scores(const Sentence *s, double *plane, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && i < s->words; i++) {
        const double *wide = (const double *)s->scores + i * (s->size + 1);
        const float *narrow = (const float *)s->scores + i * (s->size + 1);
        double *cell = plane + i;
        if (s->wide) for (int64_t width = 1; width <= s->words - i; width++) cell[width * s->row] = wide[width];
        else for (int64_t width = 1; width <= s->words - i; width++) cell[width * s->row] = narrow[width];
    }
}

static const double INVERSE_FACTORIAL[] = {
    1.0,         1.0,          1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,       1.0 / 720,
    1.0 / 5040,  1.0 / 40320,  1.0 / 362880,  1.0 / 3628800,  1.0 / 39916800,  1.0 / 479001600, 1.0 / 6227020800};

/* In place of its score: exp(score) = mantissa * 2^exponent with mantissa = exp(r), |r| <= log(2) / 2,
   by its Taylor series to r^13. */
INLINE void split_exp(double *mantissa, double *exponent) {
    EACH_LANE {
        double score = exponent[lane], x = score * 0x1.71547652b82fep0; /* log2(e) */
        double e = fabs(x) < 0x1p51 ? (x + 0x1.8p52) - 0x1.8p52 : x;
        double r = (score - e * 0x1.62e42feep-1) - e * 0x1.a39ef35793c76p-33; /* log(2), high and low part */
        r = r > 0.5 ? 0.5 : r < -0.5 ? -0.5 : r; /* matters where a score is too large to have a fraction */
        double p = INVERSE_FACTORIAL[13];
        for (int k = 12; k >= 0; k--) p = p * r + INVERSE_FACTORIAL[k];
        mantissa[lane] = score == -INFINITY ? 0.0 : p;
        exponent[lane] = e;
    }
}

/* Weights exp(score) into the chart, and weight zero into the rest of each row: the lanes after its last span read
   that, and pass it on to real spans below them. */
INLINE void start_chart(const Sentence *s, int64_t begin, int64_t end) {
    read_scores(s, s->exponent, begin, end);
    for (int64_t width = 1; width <= s->words; width++) {
        double *mantissa = s->mantissa + width * s->row, *exponent = s->exponent + width * s->row;
        int64_t spans = s->words - width + 1, i = begin;
        for (; i < end && i < spans; i += LANES) {
            EACH_LANE exponent[i + lane] = i + lane < spans ? exponent[i + lane] : -INFINITY;
            split_exp(mantissa + i, exponent + i);
        }
        for (; i < end; i++) mantissa[i] = 0.0, exponent[i] = -INFINITY;
    }
}

/* sum_d W(d, i) W(w - d, i + d) = total * 2^top for LANES spans, where W = exp(beta); top is the largest exponent. */
INLINE void sum_splits(const Sentence *s, int64_t width, int64_t i, double *total, double *top) {
    for (int64_t d = 1; d < width; d++) {
        const double *left = s->exponent + d * s->row + i, *right = s->exponent + (width - d) * s->row + i + d;
        EACH_LANE {
            double e = left[lane] + right[lane];
            top[lane] = e > top[lane] ? e : top[lane];
        }
    }
    for (int64_t d = 1; d < width; d++) {
        int64_t left = d * s->row + i, right = (width - d) * s->row + i + d;
        const double *m = s->mantissa + left, *n = s->mantissa + right;
        const double *e = s->exponent + left, *f = s->exponent + right;
        EACH_LANE total[lane] += m[lane] * n[lane] * power_of_two(e[lane] + f[lane] - top[lane]);
    }
}

/* W(w, i) = exp(score(w, i)) * sum_d W(d, i) W(w - d, i + d), where the sum is 1 for a single word;
   log Z = log W(n, 0). */
CLONES static void inside_step(const Sentence *s, int64_t width, int64_t begin, int64_t end) {
    if (width == 0) start_chart(s, begin, end);
    for (int64_t i = begin; i < end && width > 1; i += LANES) {
        double total[LANES], top[LANES];
        EACH_LANE total[lane] = 0.0, top[lane] = -INFINITY;
        sum_splits(s, width, i, total, top);
        int64_t cell = width * s->row + i;
        double *mantissa = s->mantissa + cell, *exponent = s->exponent + cell;
        EACH_LANE s->total[cell + lane] = total[lane];
        EACH_LANE s->top[cell + lane] = top[lane];
        EACH_LANE {
            double w = total[lane] * mantissa[lane];
            int64_t bits = to_bits(w);
            double shift = from_bits((bits >> 52) | 0x4330000000000000) - (0x1p52 + 1023.0);
            mantissa[lane] = w > 0.0 ? from_bits((bits & 0x000fffffffffffff) | 0x3ff0000000000000) : w;
            exponent[lane] = w > 0.0 ? top[lane] + exponent[lane] + shift : -INFINITY;
        }
    }
    if (width == s->words && begin == 0 && end > 0) {
        int64_t root = width * s->row;
        *(double *)s->out = log(s->mantissa[root]) + s->exponent[root] * 0x1.62e42fefa39efp-1;
    }
}

/* Marginals from their planes to where callers want them, for the spans that start at begin <= i < end. */
static void write_marginals(const Sentence *s, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && i < s->words; i++) {
        double *wide = (double *)s->out + i * (s->size + 1);
        float *narrow = (float *)s->out + i * (s->size + 1);
        for (int64_t width = 1; width <= s->words - i; width++) {
            double mu = s->first[width * s->row + i] + s->second[width * s->row + i];
            if (s->wide) wide[width] = mu;
            else narrow[width] = (float)mu;
        }
    }
}

/* What LANES parents of probability share * total * 2^top give to the children of one split. What a cell gets as a left
   and as a right child is kept apart: at one width every sum has one writer. */
INLINE void flow_down(const Sentence *s, int64_t left, int64_t right, const double *share, const double *top) {
    const double *m = s->mantissa + left, *n = s->mantissa + right;
    const double *e = s->exponent + left, *f = s->exponent + right;
    double *to_left = s->first + left, *to_right = s->second + right, flow[LANES];
    EACH_LANE flow[lane] = share[lane] * m[lane] * n[lane] * power_of_two(e[lane] + f[lane] - top[lane]);
    EACH_LANE to_left[lane] += flow[lane];
    EACH_LANE to_right[lane] += flow[lane];
}

/* No probability yet but for the root's: 1, or 0 if no tree is allowed. */
static void start_marginals(const Sentence *s) {
    int64_t root = s->words * s->row;
    memset(s->out, 0, s->size * s->size * item_size(s->wide));
    memset(s->first, 0, plane_length(s->words) * sizeof(double));
    memset(s->second, 0, plane_length(s->words) * sizeof(double));
    s->first[root] = s->mantissa[root] > 0.0;
}

/* mu(n, 0) = 1; span p = (w, i) gives mu_p exp(score_p) / W_p * W(d, i) W(w - d, i + d) to both children of a split. */
CLONES static void outside_step(const Sentence *s, int64_t width, int64_t begin, int64_t end) {
    if (width == s->words && begin == 0 && end > 0) start_marginals(s);
    for (int64_t i = begin; i < end && width > 1; i += GROUP) {
        double share[GROUP];
        int64_t cell = width * s->row + i, count = end - i < GROUP ? end - i : GROUP;
        for (int64_t k = 0; k < count; k++) {
            double mu = s->first[cell + k] + s->second[cell + k];
            share[k] = mu > 0.0 ? mu / s->total[cell + k] : 0.0;
        }
        for (int64_t d = 1; d < width; d++)
            for (int64_t k = 0; k < count; k += LANES)
                flow_down(s, d * s->row + i + k, (width - d) * s->row + i + d + k, share + k, s->top + cell + k);
    }
    if (width == 0) write_marginals(s, begin, end);
}

/* Where the best tree over a span splits. To look at the splits again for the n - 1 spans of one tree costs less than
   to note the best one for all n^2 spans. */
static int64_t best_split(const Sentence *s, int64_t width, int64_t i) {
    double best = -INFINITY;
    int64_t split = 1;
    for (int64_t d = 1; d < width; d++) {
        double sum = s->first[d * s->row + i] + s->first[(width - d) * s->row + i + d];
        if (sum > best) best = sum, split = d;
    }
    return split;
}

/* Mark the spans of the best tree over words[i:j]; the recursion takes the shorter half, so it is log2(n) deep. */
static void mark_tree(const Sentence *s, int64_t i, int64_t j) {
    s->out[i * s->size + j] = 1;
    while (j - i > 1) {
        int64_t k = i + best_split(s, j - i, i);
        s->out[i * s->size + k] = s->out[k * s->size + j] = 1;
        if (k - i < j - k) mark_tree(s, i, k), i = k;
        else mark_tree(s, k, j), j = k;
    }
}

/* best(w, i) = score(w, i) + max_d best(d, i) + best(w - d, i + d) */
CLONES static void cky_step(const Sentence *s, int64_t width, int64_t begin, int64_t end) {
    if (width == 0) read_scores(s, s->first, begin, end);
    for (int64_t i = begin; i < end && width > 1; i += LANES) {
        double best[LANES];
        EACH_LANE best[lane] = -INFINITY;
        for (int64_t d = 1; d < width; d++) {
            const double *left = s->first + d * s->row + i, *right = s->first + (width - d) * s->row + i + d;
            EACH_LANE {
                double sum = left[lane] + right[lane];
                best[lane] = sum > best[lane] ? sum : best[lane];
            }
        }
        EACH_LANE s->first[width * s->row + i + lane] += best[lane];
    }
    if (width == s->words && begin == 0 && end > 0) {
        memset(s->out, 0, s->size * s->size);
        mark_tree(s, 0, s->words);
    }
}

/* All threads on one sentence: a ticket is one part of the spans of one width, and waits for the widths before it. */
static void together(const Sentence *s, Step *step, int down, int64_t parts, int64_t *taken, int64_t *done) {
    for (int64_t ticket; (ticket = FETCH_ADD(taken)) < (s->words + 1) * parts; FETCH_ADD(done)) {
        int64_t round = ticket / parts, part = ticket % parts;
        int64_t width = down ? s->words - round : round, blocks = lanes(s, width) / LANES;
        while (LOOK(done) < round * parts) YIELD();
        step(s, width, blocks * part / parts * LANES, blocks * (part + 1) / parts * LANES);
    }
}

static void alone(const Sentence *s, Step *step, int down) {
    for (int64_t round = 0; round <= s->words; round++) {
        int64_t width = down ? s->words - round : round;
        step(s, width, 0, lanes(s, width));
    }
}

static double cube(int64_t words) { return (double)words * words * words; }

static Sentence sentence(const Batch *b, int64_t index, int64_t slot) {
    int64_t plane = plane_length(b->size - 1), cells = b->size * b->size;
    Sentence s = {.words = b->lengths[index], .size = b->size, .wide = b->wide};
    s.row = row_length(s.words);
    s.scores = b->scores + index * cells * item_size(b->wide);
    s.out = b->out + index * b->out_size;
    s.mantissa = b->charts + 4 * index * plane;
    s.exponent = s.mantissa + plane;
    s.total = s.exponent + plane;
    s.top = s.total + plane;
    s.first = b->scratch + 2 * slot * plane;
    s.second = s.first + plane;
    return s;
}

/* What each thread does: a sentence with more than a thread's share of the work is done together, others by whoever
   comes first. There are fewer of the former than threads, so a slot of scratch is left for each thread. */
static void work(const Batch *b, Step *step, int down) {
    double total = 0.0;
    for (int64_t k = 0; k < b->batch; k++) total += cube(b->lengths[k]);
    for (int64_t k = 0, slot = b->threads; k < b->batch; k++) {
        int64_t index = b->order[k], *taken = b->counters + 2 * index;
        if (b->lengths[index] >= TEAM_WORDS && cube(b->lengths[index]) * b->threads > total) {
            Sentence s = sentence(b, index, slot++);
            together(&s, step, down, b->threads, taken, taken + 1);
        } else if (FETCH_ADD(taken) == 0) {
            Sentence s = sentence(b, index, b->thread);
            alone(&s, step, down);
        }
    }
}

/* Pointers come as integers, see _cpu_backend.pyi; NULL with a ValueError if a length would lead outside of the chart. */
static Batch *parse(PyObject *args, Batch *b) {
    unsigned long long scores, lengths, order, counters, charts, scratch, out;
    long long batch, size, wide, threads, thread;
    if (!PyArg_ParseTuple(args, "LLLLLKKKKKKK", &thread, &threads, &batch, &size, &wide, &scores, &lengths, &order,
                          &counters, &charts, &scratch, &out))
        return NULL;
    *b = (Batch){.batch = batch, .size = size, .wide = wide, .threads = threads, .thread = thread};
    b->scores = (char *)(uintptr_t)scores, b->out = (char *)(uintptr_t)out;
    b->lengths = (int64_t *)(uintptr_t)lengths, b->order = (int64_t *)(uintptr_t)order;
    b->counters = (int64_t *)(uintptr_t)counters;
    b->charts = (double *)(uintptr_t)charts, b->scratch = (double *)(uintptr_t)scratch;
    for (int64_t k = 0; k < batch; k++) {
        if (b->lengths[k] >= 1 && b->lengths[k] < size) continue;
        PyErr_Format(PyExc_ValueError, "sentence %lld has length %lld; the chart holds 1 to %lld words", (long long)k,
                     (long long)b->lengths[k], size - 1);
        return NULL;
    }
    return b;
}

static PyObject *run(Batch *b, Step *step, int down, int64_t out_size) {
    b->out_size = out_size;
    Py_BEGIN_ALLOW_THREADS
    work(b, step, down);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *inside(PyObject *module, PyObject *args) {
    Batch b;
    return parse(args, &b) ? run(&b, inside_step, 0, sizeof(double)) : NULL;
}

static PyObject *outside(PyObject *module, PyObject *args) {
    Batch b;
    return parse(args, &b) ? run(&b, outside_step, 1, b.size * b.size * item_size(b.wide)) : NULL;
}

static PyObject *cky(PyObject *module, PyObject *args) {
    Batch b;
    return parse(args, &b) ? run(&b, cky_step, 0, b.size * b.size) : NULL;
}

static PyObject *plane(PyObject *module, PyObject *args) {
    long long words;
    return PyArg_ParseTuple(args, "L", &words) ? PyLong_FromLongLong(plane_length(words)) : NULL;
}

static PyMethodDef methods[] = {{"inside", inside, METH_VARARGS, NULL},
                                {"outside", outside, METH_VARARGS, NULL},
                                {"cky", cky, METH_VARARGS, NULL},
                                {"plane", plane, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_cpu_backend", .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit__cpu_backend(void) { return PyModuleDef_Init(&definition); }
