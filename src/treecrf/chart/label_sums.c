/* The labels of each span: the logsumexp over constituents, free labels and all labels, the scores of a chart that follow
   from these sums, and their gradient with respect to the label scores.

   Scores of labels and weights are (batch, size, size, labels), sums (batch, 3, size, size), and charts (batch, 2, size,
   size): of spans, and the additional scores of right children. Outside the sentences, scores are not read, and results are
   zero, except that a span has its offset; weights, the largest array, come as zeros, and only spans are written. Threads
   take rows, the cells of one sentence and start, and compute LANES cells at once. Labels are in lanes, of the type of the
   scores, and then sums and charts, in double precision, with a cell in each lane. */

#include "cpu_backend.h"

typedef struct {
    int64_t batch, size, labels, is_double, adds_labels, weighs_free;
    char *scores;
    int64_t *lengths, *counter; /* counter: one zero; the next row */
    uint8_t *is_constituent;
    void *groups, *exps; /* for this thread, in the type of the scores: groups of labels, exponentials of LANES cells */
    double *sums, *chart;
    double *terms; /* offsets, like a chart of spans, or weights of the sums; these may be null */
    char *weights; /* zeros; null if sums are computed */
} Labels;

#define PREFETCH_DISTANCE 1024 /* bytes; labels are read in the order of their addresses */

/* exp(x) needs x <= LARGEST_EXPONENT, and is 0 for x <= SMALLEST_EXPONENT. Totals below SMALLEST_TOTAL, or above its
   inverse, are computed again from scores less their maximum. */
#define LABEL_LANES_double LANES
#define LAST_POWER_double 13
#define LARGEST_EXPONENT_double 709.0
#define SMALLEST_EXPONENT_double -1000.0
#define SMALLEST_TOTAL_double 1e-200
#define ROUNDING_double 0x1.8p52
#define LOG_2_HIGH_double 0x1.62e42feep-1
#define LOG_2_LOW_double 0x1.a39ef35793c76p-33
#define two_to_double power_of_two

#define LABEL_LANES_float (2 * LANES)
#define LAST_POWER_float 7
#define LARGEST_EXPONENT_float 88.0f
#define SMALLEST_EXPONENT_float -88.0f
#define SMALLEST_TOTAL_float 1e-30
#define ROUNDING_float 0x1.8p23f
#define LOG_2_HIGH_float 0x1.62e4p-1f
#define LOG_2_LOW_float 0x1.7f7d1cp-20f

/* 2^x for an integer x from -126 to 127; 0 for -127 */
INLINE float two_to_float(float x) {
    int32_t bits;
    x += 0x1.8p23f + 127;
    memcpy(&bits, &x, sizeof bits);
    bits = (int32_t)((uint32_t)bits << 23);
    memcpy(&x, &bits, sizeof bits);
    return x;
}

#define REAL float
#define NAME(name) name##_float
#include "label_cells.h"
#define REAL double
#define NAME(name) name##_double
#include "label_cells.h"

/* log(x) of LANES positive numbers; -inf for 0. With x = m 2^e and m between sqrt(1/2) and sqrt(2), it is
   2 artanh((m - 1) / (m + 1)) + e log(2). */
INLINE void logarithms(double *x) {
    EACH_LANE {
        uint64_t bits = (uint64_t)bits_of_double(x[lane]) + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd); /* 1, sqrt(1/2) */
        double e = double_from_bits((int64_t)(bits >> 52 | 0x4330000000000000)) - (0x1p52 + 1023.0);
        double m = double_from_bits((int64_t)((bits & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd));
        double s = (m - 1.0) / (m + 1.0), z = s * s, p = 1.0 / 21;
        for (int k = 19; k > 0; k -= 2) p = p * z + 1.0 / k;
        double value = 2.0 * s * p + e * 0x1.62e42fefa39efp-1;
        x[lane] = x[lane] > 0.0 ? value : x[lane] == 0.0 ? -INFINITY : x[lane];
    }
}

/* Reads up to LANES numbers; zeros follow them. */
INLINE void read_lanes(const double *from, int64_t count, double *x) {
    if (count == LANES) EACH_LANE x[lane] = from[lane];
    else EACH_LANE x[lane] = lane < count ? from[lane] : 0.0;
}

INLINE void write_lanes(const double *x, int64_t count, double *to) {
    if (count == LANES) EACH_LANE to[lane] = x[lane];
    else EACH_LANE if (lane < count) to[lane] = x[lane];
}

/* The sums of up to LANES cells are log(total) + maximum; the sum of all labels follows from both groups. A span has its
   offset, and with `adds_labels` the sum of all labels, as its score; a right child of two or more words must be a
   constituent. */
INLINE void sum_cells(const Labels *b, int64_t cell, int64_t sentence, int64_t count, int has_word, int is_double) {
    int64_t cells = b->size * b->size, chart_cell = cell - sentence * cells;
    double *sums = b->sums + 3 * sentence * cells + chart_cell, *chart = b->chart + 2 * sentence * cells + chart_cell;
    double maxima[2 * LANES], totals[2 * LANES], all[LANES], largest[LANES], x[LANES];
    int is_extreme = is_double ? sum_cells_double(b, cell, count, maxima, totals)
                               : sum_cells_float(b, cell, count, maxima, totals);
    EACH_LANE largest[lane] = maxima[lane] > maxima[LANES + lane] ? maxima[lane] : maxima[LANES + lane];
    EACH_LANE all[lane] = 0.0;
    for (int group = 0; group < 2; group++) {
        double *maximum = maxima + group * LANES, *total = totals + group * LANES;
        EACH_LANE x[lane] = 1.0;
        if (is_extreme) EACH_LANE x[lane] = exponential_double(maximum[lane] - largest[lane]);
        EACH_LANE all[lane] += total[lane] == 0.0 ? 0.0 : total[lane] * x[lane];
        logarithms(total);
        EACH_LANE total[lane] += maximum[lane];
        write_lanes(total, count, sums + group * cells);
    }
    logarithms(all);
    EACH_LANE all[lane] += largest[lane];
    write_lanes(all, count, sums + 2 * cells);
    EACH_LANE x[lane] = all[lane] == -INFINITY ? 0.0 : totals[lane] - all[lane];
    if (has_word) x[0] = 0.0;
    write_lanes(x, count, chart + cells);
    read_lanes(b->terms + cell, count, x);
    if (b->adds_labels) EACH_LANE x[lane] += all[lane];
    write_lanes(x, count, chart);
}

/* The weights of up to LANES cells: the gradient of sum(chart * scores of the chart) + sum(sum_weights * sums), without
   free labels unless `weighs_free`. The weight of all labels is divided among both groups. */
INLINE void weigh_cells(const Labels *b, int64_t cell, int64_t sentence, int64_t count, int has_word, int is_double) {
    int64_t cells = b->size * b->size, chart_cell = cell - sentence * cells;
    const double *sums = b->sums + 3 * sentence * cells + chart_cell, *chart = b->chart + 2 * sentence * cells + chart_cell;
    const double *sum_weights = b->terms ? b->terms + 3 * sentence * cells + chart_cell : NULL;
    double group_sums[2 * LANES], log_shares[2 * LANES], factors[2 * LANES], label_factors[2 * LANES], x[LANES];
    read_lanes(chart + cells, count, factors);
    if (has_word) factors[0] = 0.0;
    read_lanes(chart, b->adds_labels ? count : 0, label_factors);
    EACH_LANE label_factors[lane] -= factors[lane];
    EACH_LANE factors[LANES + lane] = 0.0;
    for (int group = 0; sum_weights && group < 3; group++) {
        double *factor = group < 2 ? factors + group * LANES : label_factors;
        read_lanes(sum_weights + group * cells, count, x);
        EACH_LANE factor[lane] += x[lane];
    }
    EACH_LANE label_factors[LANES + lane] = label_factors[lane];
    read_lanes(sums, count, group_sums);
    read_lanes(sums + cells, count, group_sums + LANES);
    read_lanes(sums + 2 * cells, count, x);
    EACH(2 * LANES) log_shares[lane] = group_sums[lane] - x[lane % LANES];
    EACH(2 * LANES) {
        int is_zero = group_sums[lane] == -INFINITY || (lane >= LANES && !b->weighs_free);
        factors[lane] = is_zero ? 0.0 : factors[lane];
        label_factors[lane] = is_zero ? 0.0 : label_factors[lane];
        log_shares[lane] = is_zero ? 0.0 : log_shares[lane];
        group_sums[lane] = is_zero ? 0.0 : group_sums[lane];
    }
    if (is_double) weigh_cells_double(b, cell, count, group_sums, log_shares, label_factors, factors);
    else weigh_cells_float(b, cell, count, group_sums, log_shares, label_factors, factors);
}

/* Sets the sums and scores of the cells begin <= j < end of one row, which are outside the sentence. */
static void clear_cells(const Labels *b, int64_t row, int64_t begin, int64_t end) {
    int64_t cells = b->size * b->size, bytes = (end - begin) * sizeof(double);
    int64_t sentence = row / b->size, cell = row % b->size * b->size + begin;
    for (int group = 0; group < 3; group++) memset(b->sums + (3 * sentence + group) * cells + cell, 0, bytes);
    memcpy(b->chart + 2 * sentence * cells + cell, b->terms + sentence * cells + cell, bytes);
    memset(b->chart + (2 * sentence + 1) * cells + cell, 0, bytes);
}

INLINE void run_row(const Labels *b, int64_t row, int is_double) {
    int64_t sentence = row / b->size, begin = row % b->size + 1, end = b->lengths[sentence] + 1;
    if (begin > end) begin = end;
    for (int64_t j = begin; j < end; j += LANES) {
        int64_t cell = row * b->size + j, count = minimum(end - j, LANES);
        if (b->weights) weigh_cells(b, cell, sentence, count, j == begin, is_double);
        else sum_cells(b, cell, sentence, count, j == begin, is_double);
    }
    if (b->weights) return;
    clear_cells(b, row, 0, begin);
    clear_cells(b, row, end, b->size);
}

CLONES static void run_rows(const Labels *b) {
    if (b->is_double) set_groups_double(b);
    else set_groups_float(b);
    for (int64_t row; (row = next_block(b->counter, 1)) < b->batch * b->size;) {
        if (b->is_double) run_row(b, row, 1);
        else run_row(b, row, 0);
    }
}

/* Whether sizes, addresses and lengths are valid; sets a ValueError if not. */
static int check_labels(const Labels *b, int has_weights) {
    if (b->labels < 0 || b->labels > LARGEST_SIZE) {
        PyErr_Format(PyExc_ValueError, "%lld labels; expected up to %lld", (long long)b->labels, (long long)LARGEST_SIZE);
        return 0;
    }
    if (!b->counter || !b->is_constituent || !b->groups || !b->sums || !b->chart || !b->scores || !b->lengths ||
        !(has_weights ? (void *)b->weights : (void *)b->terms)) {
        PyErr_SetString(PyExc_ValueError, "an address is null; expected an array");
        return 0;
    }
    if (!check_lengths(b->lengths, b->batch, b->size)) return 0;
    if (load_counter(b->counter) >= 0) return 1;
    PyErr_SetString(PyExc_ValueError, "the counter is negative; expected zero");
    return 0;
}

static PyObject *run_labels(PyObject *args, int has_weights) {
    unsigned long long scores, lengths, counter, is_constituent, buffers, sums, chart, terms, weights;
    long long batch, size, labels, is_double, adds_labels, weighs_free, threads, thread;
    if (!PyArg_ParseTuple(args, "LLLLLLLLKKKKKKKKK", &thread, &threads, &batch, &size, &labels, &is_double, &adds_labels,
                          &weighs_free, &scores, &lengths, &counter, &is_constituent, &buffers, &sums, &chart, &terms,
                          &weights))
        return NULL;
    Labels b = {.batch = batch, .size = size, .labels = labels, .is_double = is_double};
    b.adds_labels = adds_labels, b.weighs_free = weighs_free;
    b.scores = (char *)(uintptr_t)scores, b.weights = has_weights ? (char *)(uintptr_t)weights : NULL;
    b.lengths = (int64_t *)(uintptr_t)lengths, b.counter = (int64_t *)(uintptr_t)counter;
    b.is_constituent = (uint8_t *)(uintptr_t)is_constituent, b.groups = (void *)(uintptr_t)buffers;
    b.sums = (double *)(uintptr_t)sums, b.chart = (double *)(uintptr_t)chart, b.terms = (double *)(uintptr_t)terms;
    if (!check_numbers(batch, size, thread, threads) || !check_labels(&b, has_weights)) return NULL;
    int64_t padded_labels = labels + 2 * LANES;
    b.groups = (double *)b.groups + thread * (LANES + 1) * padded_labels;
    b.exps = (double *)b.groups + padded_labels;
    Py_BEGIN_ALLOW_THREADS
    run_rows(&b);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

PyObject *label_chart(PyObject *module, PyObject *args) {
    (void)module;
    return run_labels(args, 0);
}

PyObject *label_weights(PyObject *module, PyObject *args) {
    (void)module;
    return run_labels(args, 1);
}
