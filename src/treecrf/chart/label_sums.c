/* The labels of each span: the logsumexp over constituents, free labels and all labels, the scores of a chart that follow
   from these sums, and their gradient with respect to the label scores.

   Scores of labels and weights are (batch, size, size, labels), sums (batch, 3, size, size), and charts (batch, 2, size,
   size): of spans, and the additional scores of right children. Outside the sentences, scores are not read, and results are
   zero, except that a span has its offset. Threads take rows, the cells of one sentence and start. A cell has its labels in lanes, of the type of the
   scores; sums and charts are in double precision, with the cells of a row in lanes. */

#include "cpu_backend.h"

typedef struct {
    int64_t batch, size, labels, is_double, adds_labels, weighs_free;
    int64_t row_length; /* doubles of each of four rows for this thread */
    char *scores;
    int64_t *lengths, *counter; /* counter: one zero; the next row */
    uint8_t *is_constituent;
    void *is_free; /* for this thread: 1 for free labels, else 0, in the type of the scores */
    double *first_rows, *second_rows; /* for this thread, a row of each group: maxima and totals, or sums and factors */
    double *sums, *chart;
    double *terms; /* offsets, like a chart of spans, or weights of the sums; these may be null */
    char *weights; /* null if sums are computed */
} Labels;

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
        int64_t bits = bits_of_double(x[lane]);
        int64_t shifted = (int64_t)((uint64_t)bits - (uint64_t)bits_of_double(0x1.6a09e667f3bcdp-1));
        double e = (double)(int32_t)(shifted >> 52);
        double m = double_from_bits((int64_t)((uint64_t)bits - ((uint64_t)(shifted >> 52) << 52)));
        double s = (m - 1.0) / (m + 1.0), z = s * s, p = 1.0 / 21;
        for (int k = 19; k > 0; k -= 2) p = p * z + 1.0 / k;
        double value = 2.0 * s * p + e * 0x1.62e42fefa39efp-1;
        x[lane] = x[lane] > 0.0 ? value : x[lane] == 0.0 ? -INFINITY : x[lane];
    }
}

/* Sums of a row: log(total) + maximum; the sum of all labels follows from both groups. A span has its offset, and with
   `adds_labels` the sum of all labels, as its score; a right child of two or more words must be a constituent. */
INLINE void sum_row(const Labels *b, int64_t cell, int64_t sentence, int64_t count, int is_double) {
    int64_t cells = b->size * b->size, chart_cell = cell - sentence * cells;
    double *maxima = b->first_rows, *totals = b->second_rows;
    double *sums = b->sums + 3 * sentence * cells + chart_cell, *chart = b->chart + 2 * sentence * cells + chart_cell;
    for (int64_t k = 0; k < count; k++) {
        if (is_double) sum_cell_double(b, cell + k, maxima + k, totals + k);
        else sum_cell_float(b, cell + k, maxima + k, totals + k);
    }
    for (int64_t k = 0; k < count; k += LANES) {
        double all[LANES], largest[LANES], x[LANES];
        const double *first_maxima = maxima + k, *second_maxima = first_maxima + b->row_length;
        EACH_LANE largest[lane] = first_maxima[lane] > second_maxima[lane] ? first_maxima[lane] : second_maxima[lane];
        EACH_LANE all[lane] = 0.0;
        for (int group = 0; group < 2; group++) {
            double *maximum = maxima + group * b->row_length + k, *total = totals + group * b->row_length + k;
            EACH_LANE x[lane] = maximum[lane] - largest[lane];
            exponentials_double(x);
            EACH_LANE all[lane] += total[lane] == 0.0 ? 0.0 : total[lane] * x[lane];
            EACH_LANE x[lane] = total[lane];
            logarithms(x);
            EACH_LANE total[lane] = x[lane] + maximum[lane];
        }
        logarithms(all);
        EACH_LANE maxima[k + lane] = all[lane] + largest[lane];
    }
    memcpy(sums, totals, count * sizeof(double));
    memcpy(sums + cells, totals + b->row_length, count * sizeof(double));
    memcpy(sums + 2 * cells, maxima, count * sizeof(double));
    const double *offsets = b->terms + cell;
    for (int64_t k = 0; k < count; k++) {
        chart[k] = offsets[k] + (b->adds_labels ? maxima[k] : 0.0);
        chart[cells + k] = k == 0 || maxima[k] == -INFINITY ? 0.0 : totals[k] - maxima[k];
    }
}

/* The weights of a row: the gradient of sum(chart * scores of the chart) + sum(sum_weights * sums), without free labels
   unless `weighs_free`. The weight of all labels is divided among both groups. */
INLINE void weigh_row(const Labels *b, int64_t cell, int64_t sentence, int64_t count, int is_double) {
    int64_t cells = b->size * b->size, chart_cell = cell - sentence * cells;
    const double *sums = b->sums + 3 * sentence * cells + chart_cell, *chart = b->chart + 2 * sentence * cells + chart_cell;
    const double *sum_weights = b->terms ? b->terms + 3 * sentence * cells + chart_cell : NULL;
    for (int64_t k = 0; k < count; k += LANES) {
        double all[LANES], x[LANES], right[LANES];
        int64_t lanes = minimum(count - k, LANES);
        EACH_LANE {
            int64_t c = k + (lane < lanes ? lane : 0);
            right[lane] = k + lane == 0 ? 0.0 : chart[cells + c];
            all[lane] = (b->adds_labels ? chart[c] : 0.0) - right[lane] + (sum_weights ? sum_weights[2 * cells + c] : 0.0);
        }
        for (int group = 0; group < 2; group++) {
            double *shift = b->first_rows + group * b->row_length + k, *factor = b->second_rows + group * b->row_length + k;
            EACH_LANE {
                int64_t c = k + (lane < lanes ? lane : 0);
                shift[lane] = sums[group * cells + c];
                x[lane] = shift[lane] - sums[2 * cells + c];
                factor[lane] = (group ? 0.0 : right[lane]) + (sum_weights ? sum_weights[group * cells + c] : 0.0);
            }
            exponentials_double(x);
            EACH_LANE {
                int is_zero = shift[lane] == -INFINITY || (group && !b->weighs_free);
                factor[lane] = is_zero ? 0.0 : factor[lane] + all[lane] * x[lane];
                shift[lane] = is_zero ? 0.0 : shift[lane];
            }
        }
    }
    for (int64_t k = 0; k < count; k++) {
        if (is_double) weigh_cell_double(b, cell + k, b->first_rows + k, b->second_rows + k);
        else weigh_cell_float(b, cell + k, b->first_rows + k, b->second_rows + k);
    }
}

/* Sets the results of the cells begin <= j < end of one row, which are outside the sentence. */
static void clear_cells(const Labels *b, int64_t row, int64_t begin, int64_t end) {
    int64_t cells = b->size * b->size, cell_size = b->labels * (b->is_double ? sizeof(double) : sizeof(float));
    int64_t sentence = row / b->size, cell = row % b->size * b->size + begin, bytes = (end - begin) * sizeof(double);
    if (b->weights) {
        memset(b->weights + (row * b->size + begin) * cell_size, 0, (end - begin) * cell_size);
        return;
    }
    for (int group = 0; group < 3; group++) memset(b->sums + (3 * sentence + group) * cells + cell, 0, bytes);
    memcpy(b->chart + 2 * sentence * cells + cell, b->terms + sentence * cells + cell, bytes);
    memset(b->chart + (2 * sentence + 1) * cells + cell, 0, bytes);
}

INLINE void run_row(const Labels *b, int64_t row, int is_double) {
    int64_t sentence = row / b->size, begin = row % b->size + 1, end = b->lengths[sentence] + 1;
    if (begin > end) begin = end;
    clear_cells(b, row, 0, begin);
    if (b->weights) weigh_row(b, row * b->size + begin, sentence, end - begin, is_double);
    else sum_row(b, row * b->size + begin, sentence, end - begin, is_double);
    clear_cells(b, row, end, b->size);
}

CLONES static void run_rows(const Labels *b) {
    if (b->is_double) mark_free_labels_double(b);
    else mark_free_labels_float(b);
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
    if (!b->counter || !b->is_constituent || !b->is_free || !b->sums || !b->chart || !b->scores || !b->lengths ||
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
    b.is_constituent = (uint8_t *)(uintptr_t)is_constituent, b.is_free = (double *)(uintptr_t)buffers;
    b.sums = (double *)(uintptr_t)sums, b.chart = (double *)(uintptr_t)chart, b.terms = (double *)(uintptr_t)terms;
    if (!check_numbers(batch, size, thread, threads) || !check_labels(&b, has_weights)) return NULL;
    int64_t padded_labels = labels + 2 * LANES;
    b.row_length = size + LANES;
    double *buffer = (double *)b.is_free + thread * (padded_labels + 4 * b.row_length);
    b.is_free = buffer, b.first_rows = buffer + padded_labels, b.second_rows = b.first_rows + 2 * b.row_length;
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
