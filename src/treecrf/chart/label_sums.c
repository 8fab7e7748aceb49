/* Sums over the labels of each span: the logsumexp over constituents, free labels and all labels, and the weights
   exp(score - sum of its group) times a factor of the group, which are the gradients of the first two.

   Scores and weights are (batch, size, size, labels), sums (batch, 3, size, size) and factors (batch, 2, size, size). Cells
   outside the sentences are not read, and zero in the results. Threads take rows, the cells of one sentence and start;
   LANES neighboring cells are processed at once, so nothing is summed across lanes. */

#include "cpu_backend.h"

#define LARGEST_EXPONENT 709.0 /* exp of it is below 2^1023 */

typedef struct {
    int64_t batch, size, labels, is_double;
    char *scores;
    int64_t *lengths, *counter; /* counter: one zero; the next row */
    uint8_t *is_constituent;
    double *buffer; /* labels * LANES scores for this thread */
    double *sums, *factors;
    char *weights;
} Labels;

/* exp(x) of LANES numbers up to LARGEST_EXPONENT. For scores in single precision, the series ends at r^9. */
INLINE void exponentials(double *x, int is_double) {
    EACH_LANE {
        double score = x[lane] > LARGEST_EXPONENT ? LARGEST_EXPONENT : x[lane];
        score = score < -1000.0 ? -1000.0 : score; /* exp is then 0; the sum of a group is never so small */
        double e = (score * 0x1.71547652b82fep0 + 0x1.8p52) - 0x1.8p52;
        double r = (score - e * 0x1.62e42feep-1) - e * 0x1.a39ef35793c76p-33; /* log(2), high and low part */
        double p = INVERSE_FACTORIAL[is_double ? 13 : 9];
        for (int k = is_double ? 12 : 8; k >= 0; k--) p = p * r + INVERSE_FACTORIAL[k];
        x[lane] = p * power_of_two(e);
    }
}

/* log(x) of LANES positive numbers; -inf for 0. With x = m 2^e and m between sqrt(1/2) and sqrt(2), it is
   2 artanh((m - 1) / (m + 1)) + e log(2). */
INLINE void logarithms(double *x) {
    EACH_LANE {
        int64_t bits = bits_of_double(x[lane]), shifted = bits - bits_of_double(0x1.6a09e667f3bcdp-1);
        double e = (double)(int32_t)(shifted >> 52);
        double m = double_from_bits(bits - (int64_t)((uint64_t)(shifted >> 52) << 52));
        double s = (m - 1.0) / (m + 1.0), z = s * s, p = 1.0 / 21;
        for (int k = 19; k > 0; k -= 2) p = p * z + 1.0 / k;
        double value = 2.0 * s * p + e * 0x1.62e42fefa39efp-1;
        x[lane] = x[lane] > 0.0 ? value : x[lane] == 0.0 ? -INFINITY : x[lane];
    }
}

/* Copies the scores of `count` <= LANES cells to the buffer, by label; the last cell fills the other lanes. */
INLINE void read_labels(const Labels *b, int64_t cell, int64_t count) {
    for (int64_t lane = 0; lane < LANES; lane++) {
        int64_t first = (cell + (lane < count ? lane : count - 1)) * b->labels;
        const double *doubles = (const double *)b->scores + first;
        const float *floats = (const float *)b->scores + first;
        if (b->is_double) for (int64_t l = 0; l < b->labels; l++) b->buffer[l * LANES + lane] = doubles[l];
        else for (int64_t l = 0; l < b->labels; l++) b->buffer[l * LANES + lane] = floats[l];
    }
}

/* sum = log(total) + maximum; the sum of all labels follows from the sums of both groups. */
INLINE void sum_cells(const Labels *b, int64_t cell, int64_t chart_cell, int64_t count, int is_double) {
    double maxima[3][LANES], totals[3][LANES];
    for (int group = 0; group < 3; group++) EACH_LANE maxima[group][lane] = -INFINITY, totals[group][lane] = 0.0;
    read_labels(b, cell, count);
    for (int64_t l = 0; l < b->labels; l++) {
        double *score = b->buffer + l * LANES, *maximum = maxima[!b->is_constituent[l]];
        EACH_LANE maximum[lane] = score[lane] > maximum[lane] ? score[lane] : maximum[lane];
    }
    EACH_LANE maxima[2][lane] = maxima[0][lane] > maxima[1][lane] ? maxima[0][lane] : maxima[1][lane];
    for (int group = 0; group < 3; group++)
        EACH_LANE maxima[group][lane] = maxima[group][lane] == -INFINITY ? 0.0 : maxima[group][lane];
    for (int64_t l = 0; l < b->labels; l++) {
        double x[LANES], *score = b->buffer + l * LANES;
        int group = !b->is_constituent[l];
        EACH_LANE x[lane] = score[lane] - maxima[group][lane];
        exponentials(x, is_double);
        EACH_LANE totals[group][lane] += score[lane] == -INFINITY ? 0.0 : x[lane];
    }
    for (int group = 0; group < 2; group++) {
        double x[LANES];
        EACH_LANE x[lane] = maxima[group][lane] - maxima[2][lane];
        exponentials(x, is_double);
        EACH_LANE totals[2][lane] += totals[group][lane] == 0.0 ? 0.0 : totals[group][lane] * x[lane];
    }
    for (int group = 0; group < 3; group++) {
        logarithms(totals[group]);
        double *sums = b->sums + chart_cell + group * b->size * b->size;
        for (int64_t lane = 0; lane < count; lane++) sums[lane] = totals[group][lane] + maxima[group][lane];
    }
}

INLINE void weigh_cells(const Labels *b, int64_t cell, int64_t sum_cell, int64_t factor_cell, int64_t count,
                        int is_double) {
    double sums[2][LANES], factors[2][LANES];
    int is_used[2] = {0, 0};
    for (int group = 0; group < 2; group++) {
        for (int64_t lane = 0; lane < LANES; lane++) {
            int64_t k = (lane < count ? lane : count - 1) + group * b->size * b->size;
            double sum = b->sums[sum_cell + k];
            sums[group][lane] = sum == -INFINITY ? 0.0 : sum;
            factors[group][lane] = sum == -INFINITY ? 0.0 : b->factors[factor_cell + k];
            is_used[group] |= factors[group][lane] != 0.0;
        }
    }
    read_labels(b, cell, count);
    for (int64_t l = 0; l < b->labels; l++) {
        double x[LANES], *score = b->buffer + l * LANES;
        int group = !b->is_constituent[l];
        EACH_LANE x[lane] = score[lane] - sums[group][lane];
        if (is_used[group]) exponentials(x, is_double);
        EACH_LANE score[lane] = score[lane] == -INFINITY || factors[group][lane] == 0.0 ? 0.0 : x[lane] * factors[group][lane];
    }
    for (int64_t lane = 0; lane < count; lane++) {
        double *doubles = (double *)b->weights + (cell + lane) * b->labels;
        float *floats = (float *)b->weights + (cell + lane) * b->labels;
        if (is_double) for (int64_t l = 0; l < b->labels; l++) doubles[l] = b->buffer[l * LANES + lane];
        else for (int64_t l = 0; l < b->labels; l++) floats[l] = (float)b->buffer[l * LANES + lane];
    }
}

/* Sets the results of the cells begin <= end of one row to zero. */
static void clear_cells(const Labels *b, int64_t row, int64_t begin, int64_t end) {
    int64_t cells = b->size * b->size, cell_size = b->labels * (b->is_double ? sizeof(double) : sizeof(float));
    double *sums = b->sums + row / b->size * 3 * cells + row % b->size * b->size;
    if (b->weights) memset(b->weights + (row * b->size + begin) * cell_size, 0, (end - begin) * cell_size);
    else for (int group = 0; group < 3; group++) memset(sums + group * cells + begin, 0, (end - begin) * sizeof(double));
}

INLINE void run_row(const Labels *b, int64_t row, int is_double) {
    int64_t sentence = row / b->size, start = row % b->size, cells = b->size * b->size;
    int64_t begin = start + 1, end = b->lengths[sentence] + 1, chart_row = start * b->size;
    if (begin > end) begin = end;
    clear_cells(b, row, 0, begin);
    for (int64_t j = begin; j < end; j += LANES) {
        int64_t count = end - j < LANES ? end - j : LANES, cell = row * b->size + j;
        int64_t sum_cell = sentence * 3 * cells + chart_row + j, factor_cell = sentence * 2 * cells + chart_row + j;
        if (b->weights) weigh_cells(b, cell, sum_cell, factor_cell, count, is_double);
        else sum_cells(b, cell, sum_cell, count, is_double);
    }
    clear_cells(b, row, end, b->size);
}

CLONES static void run_rows(const Labels *b) {
    for (int64_t row; (row = next_block(b->counter, 1)) < b->batch * b->size;) {
        if (b->is_double) run_row(b, row, 1);
        else run_row(b, row, 0);
    }
}

/* Whether sizes, addresses and lengths are valid; sets a ValueError if not. */
static int check_labels(const Labels *b, int has_weights) {
    if (b->batch < 0 || b->size < 1 || b->labels < 0 || b->batch > LARGEST_SIZE || b->size > LARGEST_SIZE ||
        b->labels > LARGEST_SIZE) {
        PyErr_Format(PyExc_ValueError, "%lld charts of size %lld with %lld labels; expected sizes up to %lld",
                     (long long)b->batch, (long long)b->size, (long long)b->labels, (long long)LARGEST_SIZE);
        return 0;
    }
    if (!b->counter || !b->is_constituent || !b->buffer || !b->sums || !b->scores || !b->lengths ||
        (has_weights && (!b->factors || !b->weights))) {
        PyErr_SetString(PyExc_ValueError, "an address is null; expected an array");
        return 0;
    }
    if (!check_lengths(b->lengths, b->batch, b->size)) return 0;
    if (load_counter(b->counter) >= 0) return 1;
    PyErr_SetString(PyExc_ValueError, "the counter is negative; expected zero");
    return 0;
}

static PyObject *run_labels(PyObject *args, int has_weights) {
    unsigned long long scores, lengths, counter, is_constituent, buffers, sums, factors = 0, weights = 0;
    long long batch, size, labels, is_double, threads, thread;
    if (!PyArg_ParseTuple(args, has_weights ? "LLLLLLKKKKKKKK" : "LLLLLLKKKKKK", &thread, &threads, &batch, &size,
                          &labels, &is_double, &scores, &lengths, &counter, &is_constituent, &buffers, &sums, &factors,
                          &weights))
        return NULL;
    Labels b = {.batch = batch, .size = size, .labels = labels, .is_double = is_double};
    b.scores = (char *)(uintptr_t)scores, b.weights = (char *)(uintptr_t)weights;
    b.lengths = (int64_t *)(uintptr_t)lengths, b.counter = (int64_t *)(uintptr_t)counter;
    b.is_constituent = (uint8_t *)(uintptr_t)is_constituent, b.buffer = (double *)(uintptr_t)buffers;
    b.sums = (double *)(uintptr_t)sums, b.factors = (double *)(uintptr_t)factors;
    if (thread < 0 || thread >= threads || threads > LARGEST_SIZE) {
        PyErr_Format(PyExc_ValueError, "thread %lld of %lld", thread, threads);
        return NULL;
    }
    if (!check_labels(&b, has_weights)) return NULL;
    b.buffer += thread * labels * LANES;
    Py_BEGIN_ALLOW_THREADS
    run_rows(&b);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

PyObject *label_sums(PyObject *module, PyObject *args) {
    (void)module;
    return run_labels(args, 0);
}

PyObject *label_weights(PyObject *module, PyObject *args) {
    (void)module;
    return run_labels(args, 1);
}
