/* The expected-F1 utility of the most probable labels of each span: see expected_f1.py.

   Sums are in float32, in lanes: lane k has every LANES-th class from class k on. So all instruction sets give the same
   numbers. */

#include "module.h"

#define LANES 16
#define SPANS 192 /* spans that a thread takes at once */

#if defined(_MSC_VER) && !defined(__clang__)
#define FUSED(a, b, c) ((float)((double)(a) * (double)(b) + (double)(c))) /* the product is exact; fmaf would be a call */
#else
#define FUSED(a, b, c) fmaf(a, b, c)
#endif

typedef struct {
    int64_t spans, classes, names;
    int64_t choices; /* labels per span, at most `classes` */
    double threshold;
    const float *scores;            /* (spans, classes) */
    const float *marginals;         /* (spans,) */
    const int64_t *starts, *chains; /* names of class c: chains[starts[c]] to chains[starts[c + 1] - 1] */
    const double *counts;           /* (classes,) constituents per class */
    float *utility;                 /* (spans, choices) */
    float *probabilities;           /* (spans, choices) of the labels, given the span */
    int64_t *next;                  /* the first span that no thread has taken */
    int64_t *labels;                /* (spans, choices) */
} Job;

/* exp(x) = 2^n e^r with x = n ln 2 + r; 0 below the smallest normal number. */
INLINE float exponential(float x) {
    float n = (x * 1.44269504f + 12582912.0f) - 12582912.0f; /* rounded to an integer */
    float r = FUSED(n, 2.12194440e-4f, FUSED(n, -0.693359375f, x)), p = 1.0f / 720, power;
    p = FUSED(p, r, 1.0f / 120);
    p = FUSED(p, r, 1.0f / 24);
    p = FUSED(p, r, 1.0f / 6);
    p = FUSED(p, r, 0.5f);
    p = FUSED(p, r, 1.0f);
    p = FUSED(p, r, 1.0f);
    float exponent = n > -127.0f ? n : -127.0f; /* also for NaN */
    int32_t bits = ((int32_t)(exponent < 128.0f ? exponent : 128.0f) + 127) << 23;
    memcpy(&power, &bits, sizeof power);
    return x > -87.0f ? p * power : 0.0f;
}

/* Replaces a row, whose width is a multiple of LANES, by exp(x - max) and returns the inverse of the sum. */
CLONES_WITH_FMA
static float softmax_row(float *x, int64_t width) {
    float high[LANES], sums[LANES] = {0};
    memcpy(high, x, sizeof high);
    for (int64_t k = LANES; k < width; k += LANES)
        for (int lane = 0; lane < LANES; lane++) high[lane] = high[lane] > x[k + lane] ? high[lane] : x[k + lane];
    for (int lane = 1; lane < LANES; lane++) high[0] = high[0] > high[lane] ? high[0] : high[lane];
    for (int64_t k = 0; k < width; k++) x[k] = exponential(x[k] - high[0]);
    for (int64_t k = 0; k < width; k += LANES)
        for (int lane = 0; lane < LANES; lane++) sums[lane] += x[k + lane];
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int lane = 0; lane < half; lane++) sums[lane] += sums[lane + half];
    return 1.0f / sums[0];
}

/* The most probable labels of one span, in descending order; classes with a score of -inf are forbidden. */
static void best_labels(const Job *job, int64_t span, int64_t width, float *probabilities, double *names) {
    const float *scores = job->scores + span * job->classes;
    int64_t *labels = job->labels + span * job->choices, ranked = 0;
    for (int64_t c = 0; c < width; c++) probabilities[c] = c < job->classes ? scores[c] : -INFINITY;
    for (int64_t c = 0; c < job->classes; c++) {
        if (ranked == job->choices && !(scores[c] > scores[labels[ranked - 1]])) continue;
        int64_t rank = ranked < job->choices ? ranked++ : ranked - 1;
        for (; rank > 0 && scores[c] > scores[labels[rank - 1]]; rank--) labels[rank] = labels[rank - 1];
        labels[rank] = c;
    }
    double inverse = softmax_row(probabilities, width);
    memset(names, 0, (size_t)job->names * sizeof(double));
    for (int64_t c = 0; c < job->classes; c++)
        for (int64_t k = job->starts[c]; k < job->starts[c + 1]; k++) names[job->chains[k]] += probabilities[c];
    for (int64_t rank = 0; rank < job->choices; rank++) {
        int64_t label = labels[rank];
        double expected = 0.0;
        for (int64_t k = job->starts[label]; k < job->starts[label + 1]; k++) expected += names[job->chains[k]];
        job->utility[span * job->choices + rank] =
            (float)(inverse * job->marginals[span] * expected - job->threshold * job->counts[label]);
        job->probabilities[span * job->choices + rank] = (float)(inverse * probabilities[label]);
    }
}

/* Returns 0 if there is not enough memory. */
static int rank_labels(const Job *job) {
    int64_t width = (job->classes + LANES - 1) / LANES * LANES;
    float *probabilities = malloc((size_t)width * sizeof(float));
    double *names = malloc((size_t)(job->names + 1) * sizeof(double));
    int is_done = probabilities != NULL && names != NULL;
    for (int64_t begin; is_done && (begin = next_block(job->next, SPANS)) < job->spans;)
        for (int64_t span = begin; span < minimum(begin + SPANS, job->spans); span++)
            best_labels(job, span, width, probabilities, names);
    free(probabilities), free(names);
    return is_done;
}

#define AT(type, k) ((type *)(uintptr_t)at[k])

PyObject *label_utility(PyObject *module, PyObject *args) {
    long long thread, threads, size[5];
    unsigned long long at[9];
    double threshold;
    int is_done;
    Error error;
    (void)module;
    if (!PyArg_ParseTuple(args, "LLLLLLLdKKKKKKKKK", &thread, &threads, &size[0], &size[1], &size[2], &size[3], &size[4],
                          &threshold, &at[0], &at[1], &at[2], &at[3], &at[4], &at[5], &at[6], &at[7], &at[8]))
        return NULL;
    for (int k = 0; k < 5; k++)
        if (size[k] < 0 || size[k] > LARGEST_SIZE) return raise_error((Error){"size", k, size[k]});
    int64_t spans = size[0], classes = size[1], names = size[2], chain_names = size[3], choices = size[4];
    for (int k = 0; k < 9; k++) /* an array without elements may have no address */
        if (at[k] == 0 && (k == 2 || k == 4 || k == 7 || (k == 3 ? chain_names : spans)))
            return PyErr_Format(PyExc_ValueError, "address %d is null; expected an array", k);
    Job job = {spans, classes, names, choices, threshold, AT(const float, 0), AT(const float, 1), AT(const int64_t, 2),
               AT(const int64_t, 3), AT(const double, 4), AT(float, 5), AT(float, 6), AT(int64_t, 7), AT(int64_t, 8)};
    if (choices < 1 || choices > classes) return raise_error((Error){"number of choices", 0, choices});
    if (load_counter(job.next) < 0) return raise_error((Error){"counter", 0, load_counter(job.next)});
    if (!check_indices(&error, "chain start", job.starts, classes + 1, 0, chain_names + 1) ||
        !check_indices(&error, "name", job.chains, chain_names, 0, names))
        return raise_error(error);
    for (int64_t k = 0; k < classes; k++)
        if (job.starts[k] > job.starts[k + 1]) return raise_error((Error){"chain start", k, job.starts[k]});
    Py_BEGIN_ALLOW_THREADS is_done = rank_labels(&job);
    Py_END_ALLOW_THREADS
    if (!is_done) return PyErr_NoMemory();
    Py_RETURN_NONE;
}
