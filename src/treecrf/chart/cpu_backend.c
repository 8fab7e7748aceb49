/* Exact inference over binary trees on the CPU: inside, outside (marginals) and CKY.

   Charts are stored by width: cell (w, i) is the span words[i:i+w], and the cells of one width are contiguous. The
   splits of span (w, i) are the pairs (d, i), (w - d, i + d) for 0 < d < w. LANES adjacent spans process their splits
   at once: a split takes two vector loads, and nothing is summed across lanes.

   The inside weight W = exp(beta) of a span is stored as a mantissa in [1, 2) and a binary exponent, a double each. So
   the cubic loops need no exp, and no score is too large or too small. A weight of zero is 0 * 2^-inf.

   A sentence has one chart of scores, or two: the second has additional scores r of spans that are right children, whose
   weight is then W exp(r). Marginals have as many charts: of a span anywhere, and of a span as a right child. */

#include "cpu_backend.h"
#include "../trees/extension_module.h"

#define PARENT_BLOCK (4 * LANES) /* parents that the outside pass processes at once */
#define MIN_SHARED_WORDS 200 /* threads share longer sentences only; in shorter ones they would mostly wait */

typedef struct { /* the arguments of one call; only `thread` differs between its threads */
    int64_t batch, size, score_charts; /* scores are (batch, score_charts, size, size) */
    int64_t is_double;   /* whether scores and marginals are double or float */
    int64_t threads, thread;
    char *scores, *out;
    int64_t out_size;                    /* bytes per sentence */
    int64_t *lengths, *order, *counters; /* order: longest sentence first; counters: 2 * batch zeros */
    double *charts, *scratch; /* 2 + 2 * score_charts planes per sentence; 2 planes for each of 2 * threads slots */
} Batch;

typedef struct {
    int64_t words, row; /* row: doubles between the rows of a plane, which hold the spans of one width */
    int64_t size, is_double, has_right_scores;
    char *scores, *out;
    double *mantissa, *exponent;             /* the inside chart: W */
    double *sum_mantissa, *sum_exponent;     /* the sum over splits: W without the span's own score */
    double *right_mantissa, *right_exponent; /* W exp(r); the same planes as W without right scores */
    /* scratch. outside: mu as a left child, as a right child; CKY: best scores, also as a right child */
    double *first_plane, *second_plane;
} Sentence;

/* Computes the spans begin <= i < end of one width; both are multiples of LANES. Width 0 is the conversion of scores or
   marginals, which are stored by start and end, from or to planes. */
typedef void Step(const Sentence *, int64_t width, int64_t begin, int64_t end);

static int64_t element_size(int64_t is_double) { return is_double ? sizeof(double) : sizeof(float); }

/* An odd number of cache lines, so that cells of one column are spread over all sets of the cache. */
static int64_t row_length(int64_t words) { return ((words + 2 * LANES - 1) / LANES * LANES) | LANES; }

static int64_t plane_length(int64_t words) { return (words + 1) * row_length(words); }

/* The number of spans of a width, rounded up to a multiple of LANES. */
static int64_t lane_count(const Sentence *s, int64_t width) {
    return width == 0 ? s->row : (s->words - width) / LANES * LANES + LANES;
}

/* Copies a chart of scores to a plane, for the spans that start at begin <= i < end. */
static void read_scores(const Sentence *s, int64_t chart, double *plane, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && i < s->words; i++) {
        int64_t first_cell = chart * s->size * s->size + i * (s->size + 1);
        const double *doubles = (const double *)s->scores + first_cell;
        const float *floats = (const float *)s->scores + first_cell;
        double *cell = plane + i;
        if (s->is_double) for (int64_t width = 1; width <= s->words - i; width++) cell[width * s->row] = doubles[width];
        else for (int64_t width = 1; width <= s->words - i; width++) cell[width * s->row] = floats[width];
    }
}

/* Stores the weights exp(score) in two planes, and zero weights in the rest of each row. The lanes after a row's last
   span read the rest; in the outside pass they add their zeros to spans of smaller widths. */
INLINE void initialize_weights(const Sentence *s, int64_t chart, double *mantissas, double *exponents, int64_t begin,
                               int64_t end) {
    read_scores(s, chart, exponents, begin, end);
    for (int64_t width = 1; width <= s->words; width++) {
        double *mantissa = mantissas + width * s->row, *exponent = exponents + width * s->row;
        int64_t spans = s->words - width + 1, i = begin;
        for (; i < end && i < spans; i += LANES) {
            EACH_LANE exponent[i + lane] = i + lane < spans ? exponent[i + lane] : -INFINITY;
            split_exp(mantissa + i, exponent + i);
        }
        for (; i < end; i++) mantissa[i] = 0.0, exponent[i] = -INFINITY;
    }
}

/* Multiplies exp(r) of LANES right children by W. */
INLINE void weigh_right_children(const Sentence *s, int64_t cell) {
    EACH_LANE s->right_mantissa[cell + lane] *= s->mantissa[cell + lane];
    EACH_LANE s->right_exponent[cell + lane] += s->exponent[cell + lane];
}

/* Stores exp(score) and exp(r); single words are complete with that. */
INLINE void initialize_chart(const Sentence *s, int64_t begin, int64_t end) {
    initialize_weights(s, 0, s->mantissa, s->exponent, begin, end);
    if (!s->has_right_scores) return;
    initialize_weights(s, 1, s->right_mantissa, s->right_exponent, begin, end);
    for (int64_t i = begin; i < end; i += LANES) weigh_right_children(s, s->row + i);
}

/* total * 2^top = sum_d W(d, i) W(w - d, i + d) for LANES spans; top is the largest exponent of a term. Here and below,
   the second factor is the weight of a right child. */
INLINE void sum_splits(const Sentence *s, int64_t width, int64_t i, double *total, double *top) {
    for (int64_t d = 1; d < width; d++) {
        const double *left = s->exponent + d * s->row + i, *right = s->right_exponent + (width - d) * s->row + i + d;
        EACH_LANE {
            double e = left[lane] + right[lane];
            top[lane] = e > top[lane] ? e : top[lane];
        }
    }
    for (int64_t d = 1; d < width; d++) {
        int64_t left = d * s->row + i, right = (width - d) * s->row + i + d;
        const double *m = s->mantissa + left, *n = s->right_mantissa + right;
        const double *e = s->exponent + left, *f = s->right_exponent + right;
        EACH_LANE total[lane] += m[lane] * n[lane] * power_of_two(e[lane] + f[lane] - top[lane]);
    }
}

/* Inside, from narrow to wide: W(w, i) = exp(score(w, i)) * sum_d W(d, i) W(w - d, i + d), where the sum is 1 for a
   single word; log Z = log W(n, 0). */
CLONES static void inside_step(const Sentence *s, int64_t width, int64_t begin, int64_t end) {
    if (width == 0) initialize_chart(s, begin, end);
    for (int64_t i = begin; i < end && width > 1; i += LANES) {
        double total[LANES], top[LANES];
        EACH_LANE total[lane] = 0.0, top[lane] = -INFINITY;
        sum_splits(s, width, i, total, top);
        int64_t cell = width * s->row + i;
        double *mantissa = s->mantissa + cell, *exponent = s->exponent + cell;
        EACH_LANE s->sum_mantissa[cell + lane] = total[lane];
        EACH_LANE s->sum_exponent[cell + lane] = top[lane];
        EACH_LANE {
            double w = total[lane] * mantissa[lane];
            int64_t bits = bits_of_double(w);
            double shift = double_from_bits((bits >> 52) | 0x4330000000000000) - (0x1p52 + 1023.0);
            mantissa[lane] = w > 0.0 ? double_from_bits((bits & 0x000fffffffffffff) | 0x3ff0000000000000) : w;
            exponent[lane] = w > 0.0 ? top[lane] + exponent[lane] + shift : -INFINITY;
        }
        if (s->has_right_scores) weigh_right_children(s, cell);
    }
    if (width == s->words && begin == 0 && end > 0) {
        int64_t root = width * s->row;
        *(double *)s->out = log(s->mantissa[root]) + s->exponent[root] * 0x1.62e42fefa39efp-1;
    }
}

/* Copies marginals from their planes to the output, for the spans that start at begin <= i < end. */
static void write_marginals(const Sentence *s, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && i < s->words; i++) {
        for (int64_t width = 1; width <= s->words - i; width++) {
            int64_t plane_cell = width * s->row + i, cell = i * s->size + i + width, right_cell = s->size * s->size + cell;
            double right = s->second_plane[plane_cell], mu = s->first_plane[plane_cell] + right;
            if (s->is_double) ((double *)s->out)[cell] = mu;
            else ((float *)s->out)[cell] = (float)mu;
            if (!s->has_right_scores) continue;
            if (s->is_double) ((double *)s->out)[right_cell] = right;
            else ((float *)s->out)[right_cell] = (float)right;
        }
    }
}

/* Adds to the children of one split their marginals under LANES parents, whose marginals are ratio * total * 2^top. The
   marginals of a cell as a left and as a right child are in two planes, so that a cell of a plane has one writer per
   width. */
INLINE void send_to_children(const Sentence *s, int64_t left, int64_t right, const double *ratio, const double *top) {
    const double *m = s->mantissa + left, *n = s->right_mantissa + right;
    const double *e = s->exponent + left, *f = s->right_exponent + right;
    double *to_left = s->first_plane + left, *to_right = s->second_plane + right, mu[LANES];
    EACH_LANE mu[lane] = ratio[lane] * m[lane] * n[lane] * power_of_two(e[lane] + f[lane] - top[lane]);
    EACH_LANE to_left[lane] += mu[lane];
    EACH_LANE to_right[lane] += mu[lane];
}

/* Sets all marginals to 0, except the root's: it is 1, or 0 if no tree is allowed. */
static void initialize_marginals(const Sentence *s) {
    int64_t root = s->words * s->row;
    memset(s->out, 0, (1 + s->has_right_scores) * s->size * s->size * element_size(s->is_double));
    memset(s->first_plane, 0, plane_length(s->words) * sizeof(double));
    memset(s->second_plane, 0, plane_length(s->words) * sizeof(double));
    s->first_plane[root] = s->mantissa[root] > 0.0;
}

/* Outside, from wide to narrow: mu(n, 0) = 1; a span p = (w, i) adds
   mu(p) exp(score(p)) / W(p) * W(d, i) W(w - d, i + d) to both children of each split. */
CLONES static void outside_step(const Sentence *s, int64_t width, int64_t begin, int64_t end) {
    if (width == s->words && begin == 0 && end > 0) initialize_marginals(s);
    for (int64_t i = begin; i < end && width > 1; i += PARENT_BLOCK) {
        double ratio[PARENT_BLOCK];
        int64_t cell = width * s->row + i, count = end - i < PARENT_BLOCK ? end - i : PARENT_BLOCK;
        for (int64_t k = 0; k < count; k++) {
            double mu = s->first_plane[cell + k] + s->second_plane[cell + k];
            ratio[k] = mu > 0.0 ? mu / s->sum_mantissa[cell + k] : 0.0;
        }
        for (int64_t d = 1; d < width; d++)
            for (int64_t k = 0; k < count; k += LANES)
                send_to_children(s, d * s->row + i + k, (width - d) * s->row + i + d + k, ratio + k,
                                 s->sum_exponent + cell + k);
    }
    if (width == 0) write_marginals(s, begin, end);
}

/* The split of the best tree over a span. Recomputing it for the n - 1 branching spans of one tree is cheaper than
   storing it for all n^2 spans. */
static int64_t best_split(const Sentence *s, int64_t width, int64_t i) {
    const double *right_children = s->has_right_scores ? s->second_plane : s->first_plane;
    double best = -INFINITY;
    int64_t split = 1;
    for (int64_t d = 1; d < width; d++) {
        double sum = s->first_plane[d * s->row + i] + right_children[(width - d) * s->row + i + d];
        if (sum > best) best = sum, split = d;
    }
    return split;
}

/* Marks the spans of the best tree over words[i:j]. The recursion is for the shorter child, so its depth is log2(n). */
static void mark_tree(const Sentence *s, int64_t i, int64_t j) {
    s->out[i * s->size + j] = 1;
    while (j - i > 1) {
        int64_t k = i + best_split(s, j - i, i);
        s->out[i * s->size + k] = s->out[k * s->size + j] = 1;
        if (k - i < j - k) mark_tree(s, i, k), i = k;
        else mark_tree(s, k, j), j = k;
    }
}

/* CKY, from narrow to wide: best(w, i) = score(w, i) + max_d best(d, i) + best(w - d, i + d) */
CLONES static void cky_step(const Sentence *s, int64_t width, int64_t begin, int64_t end) {
    const double *right_children = s->has_right_scores ? s->second_plane : s->first_plane;
    if (width == 0) read_scores(s, 0, s->first_plane, begin, end);
    if (width == 0 && s->has_right_scores) {
        read_scores(s, 1, s->second_plane, begin, end);
        for (int64_t i = begin; i < end; i++) s->second_plane[s->row + i] += s->first_plane[s->row + i];
    }
    for (int64_t i = begin; i < end && width > 1; i += LANES) {
        double best[LANES];
        EACH_LANE best[lane] = -INFINITY;
        for (int64_t d = 1; d < width; d++) {
            const double *left = s->first_plane + d * s->row + i;
            const double *right = right_children + (width - d) * s->row + i + d;
            EACH_LANE {
                double sum = left[lane] + right[lane];
                best[lane] = sum > best[lane] ? sum : best[lane];
            }
        }
        int64_t cell = width * s->row + i;
        EACH_LANE s->first_plane[cell + lane] += best[lane];
        if (s->has_right_scores) EACH_LANE s->second_plane[cell + lane] += s->first_plane[cell + lane];
    }
    if (width == s->words && begin == 0 && end > 0) {
        memset(s->out, 0, s->size * s->size);
        mark_tree(s, 0, s->words);
    }
}

/* Runs one sentence on all threads. A ticket is one of `parts` parts of the spans of one width; a thread that takes it
   waits until all tickets of the previous widths are completed. */
static void run_shared(const Sentence *s, Step *step, int descending, int64_t parts, int64_t *next,
                       int64_t *completed) {
    for (int64_t ticket; (ticket = add_to_counter(next, 1)) < (s->words + 1) * parts; add_to_counter(completed, 1)) {
        int64_t step_index = ticket / parts, part = ticket % parts;
        int64_t width = descending ? s->words - step_index : step_index, blocks = lane_count(s, width) / LANES;
        while (load_counter(completed) < step_index * parts) yield_thread();
        step(s, width, blocks * part / parts * LANES, blocks * (part + 1) / parts * LANES);
    }
}

/* Runs one sentence on this thread. */
static void run_sentence(const Sentence *s, Step *step, int descending) {
    for (int64_t step_index = 0; step_index <= s->words; step_index++) {
        int64_t width = descending ? s->words - step_index : step_index;
        step(s, width, 0, lane_count(s, width));
    }
}

static double cube(int64_t words) { return (double)words * words * words; }

/* The pointers of one sentence, with a slot of scratch. */
static Sentence sentence(const Batch *b, int64_t index, int64_t slot) {
    int64_t plane = plane_length(b->size - 1), cells = b->score_charts * b->size * b->size;
    Sentence s = {.words = b->lengths[index], .size = b->size, .is_double = b->is_double};
    s.has_right_scores = b->score_charts > 1;
    s.row = row_length(s.words);
    s.scores = b->scores + index * cells * element_size(b->is_double);
    s.out = b->out + index * b->out_size;
    if (b->charts) {
        s.mantissa = b->charts + (2 + 2 * b->score_charts) * index * plane;
        s.exponent = s.mantissa + plane;
        s.sum_mantissa = s.exponent + plane;
        s.sum_exponent = s.sum_mantissa + plane;
        s.right_mantissa = s.has_right_scores ? s.sum_exponent + plane : s.mantissa;
        s.right_exponent = s.has_right_scores ? s.right_mantissa + plane : s.exponent;
    }
    s.first_plane = b->scratch + 2 * slot * plane;
    s.second_plane = s.first_plane + plane;
    return s;
}

/* Runs on each thread. All threads share a long sentence with more than 1 / threads of the batch's work; any other
   sentence is run by the first thread that claims it. Fewer sentences than threads are shared, so 2 * threads slots of
   scratch are enough: one per thread and one per shared sentence, unless the order has a sentence twice. */
static void run_batch(const Batch *b, Step *step, int descending) {
    double total = 0.0;
    for (int64_t k = 0; k < b->batch; k++) total += cube(b->lengths[k]);
    for (int64_t k = 0, slot = b->threads; k < b->batch; k++) {
        int64_t index = b->order[k], *next = b->counters + 2 * index;
        if (b->lengths[index] >= MIN_SHARED_WORDS && cube(b->lengths[index]) * b->threads > total &&
            slot < 2 * b->threads) {
            Sentence s = sentence(b, index, slot++);
            run_shared(&s, step, descending, b->threads, next, next + 1);
        } else if (add_to_counter(next, 1) == 0) {
            Sentence s = sentence(b, index, b->thread);
            run_sentence(&s, step, descending);
        }
    }
}

/* Whether the charts hold all sentences; sets a ValueError if not. */
int check_lengths(const int64_t *lengths, int64_t batch, int64_t size) {
    for (int64_t k = 0; k < batch; k++) {
        if (lengths[k] < 1 || lengths[k] >= size) {
            PyErr_Format(PyExc_ValueError, "sentence %lld has length %lld; the chart holds 1 to %lld words", (long long)k,
                         (long long)lengths[k], (long long)size - 1);
            return 0;
        }
    }
    return 1;
}

/* Whether sizes, addresses and indices are valid; sets a ValueError if not. Only the inside chart may be null. */
static int check_batch(const Batch *b, int needs_charts) {
    if (!check_numbers(b->batch, b->size, b->thread, b->threads)) return 0;
    if (b->score_charts < 1 || b->score_charts > 2) {
        PyErr_Format(PyExc_ValueError, "%lld charts of scores per sentence; expected 1 or 2", (long long)b->score_charts);
        return 0;
    }
    if (b->batch == 0) return 1;
    if (!b->scores || !b->out || !b->lengths || !b->order || !b->counters || !b->scratch || (needs_charts && !b->charts)) {
        PyErr_SetString(PyExc_ValueError, "an address is null; expected an array");
        return 0;
    }
    if (!check_lengths(b->lengths, b->batch, b->size)) return 0;
    for (int64_t k = 0; k < b->batch; k++) {
        if (b->order[k] < 0 || b->order[k] >= b->batch) {
            PyErr_Format(PyExc_ValueError, "item %lld of the order is %lld; expected one of %lld sentences", (long long)k,
                         (long long)b->order[k], (long long)b->batch);
            return 0;
        }
        if (load_counter(b->counters + 2 * k) < 0) {
            PyErr_Format(PyExc_ValueError, "the counter of sentence %lld is negative; expected zero", (long long)k);
            return 0;
        }
    }
    return 1;
}

/* Reads the arguments; addresses are integers, see _cpu_backend.pyi. Returns NULL and sets an error if one is invalid. */
static Batch *parse_arguments(PyObject *args, Batch *b, int needs_charts) {
    unsigned long long scores, lengths, order, counters, charts, scratch, out;
    long long batch, size, score_charts, is_double, threads, thread;
    if (!PyArg_ParseTuple(args, "LLLLLLKKKKKKK", &thread, &threads, &batch, &size, &score_charts, &is_double, &scores,
                          &lengths, &order, &counters, &charts, &scratch, &out))
        return NULL;
    memset(b, 0, sizeof *b);
    b->batch = batch, b->size = size, b->score_charts = score_charts;
    b->is_double = is_double, b->threads = threads, b->thread = thread;
    b->scores = (char *)(uintptr_t)scores, b->out = (char *)(uintptr_t)out;
    b->lengths = (int64_t *)(uintptr_t)lengths, b->order = (int64_t *)(uintptr_t)order;
    b->counters = (int64_t *)(uintptr_t)counters;
    b->charts = (double *)(uintptr_t)charts, b->scratch = (double *)(uintptr_t)scratch;
    return check_batch(b, needs_charts) ? b : NULL;
}

static PyObject *run(Batch *b, Step *step, int descending, int64_t out_size) {
    b->out_size = out_size;
    Py_BEGIN_ALLOW_THREADS
    run_batch(b, step, descending);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *inside(PyObject *module, PyObject *args) {
    Batch b;
    (void)module;
    return parse_arguments(args, &b, 1) ? run(&b, inside_step, 0, sizeof(double)) : NULL;
}

static PyObject *outside(PyObject *module, PyObject *args) {
    Batch b;
    (void)module;
    if (!parse_arguments(args, &b, 1)) return NULL;
    return run(&b, outside_step, 1, b.score_charts * b.size * b.size * element_size(b.is_double));
}

static PyObject *cky(PyObject *module, PyObject *args) {
    Batch b;
    (void)module;
    return parse_arguments(args, &b, 0) ? run(&b, cky_step, 0, b.size * b.size) : NULL;
}

static PyObject *get_plane_length(PyObject *module, PyObject *args) {
    long long words;
    (void)module;
    if (!PyArg_ParseTuple(args, "L", &words)) return NULL;
    if (words >= 0 && words <= LARGEST_SIZE) return PyLong_FromLongLong(plane_length(words));
    PyErr_Format(PyExc_ValueError, "%lld words; expected 0 to %lld", words, (long long)LARGEST_SIZE);
    return NULL;
}

static PyMethodDef methods[] = {{"inside", inside, METH_VARARGS, NULL},
                                {"outside", outside, METH_VARARGS, NULL},
                                {"cky", cky, METH_VARARGS, NULL},
                                {"label_chart", label_chart, METH_VARARGS, NULL},
                                {"label_weights", label_weights, METH_VARARGS, NULL},
                                {"kbest", kbest, METH_VARARGS, NULL},
                                {"plane_length", get_plane_length, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};

EXTENSION_MODULE(_cpu_backend,)
