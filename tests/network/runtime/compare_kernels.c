/* Compares the kernels of two instruction sets on random jobs, bit for bit: compare_kernels REFERENCE OTHER JOBS.

   Prints the number of jobs that agree; the exit status is 1 if one does not. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../src/treecrf/network/runtime/cpu_features.h"
#include "../../../src/treecrf/network/runtime/kernels.h"

static uint64_t state = 88172645463325252ull;

static uint64_t next_random(void) { /* xorshift */
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}
static int64_t between(int64_t low, int64_t high) { return low + (int64_t)(next_random() % (uint64_t)(high - low + 1)); }
static float uniform(void) { return (float)(next_random() >> 40) / (float)(1 << 23) - 1.0f; }

/* Random floats; freed at exit. Some arrays are constant or have an outlier. */
static float *floats(int64_t count) {
    float *x = malloc((size_t)(count ? count : 1) * sizeof(float)), scale = between(0, 4) ? 1.0f : 30.0f;
    for (int64_t k = 0; k < count; k++) x[k] = scale * uniform();
    if (count && between(0, 9) == 0) x[between(0, count - 1)] = 100.0f;
    return x;
}
static int64_t *integers(int64_t count, int64_t low, int64_t high) {
    int64_t *x = malloc((size_t)(count ? count : 1) * sizeof(int64_t));
    for (int64_t k = 0; k < count; k++) x[k] = between(low, high);
    return x;
}
static int64_t levels; /* of quantized rows */
static int64_t address(const void *pointer) { return (int64_t)(uintptr_t)pointer; }

static void packed(const Kernels *kernels, int64_t outputs, int64_t inputs, int64_t *table) {
    int64_t columns = (outputs + TILE - 1) / TILE * TILE, width = (inputs + LANES - 1) / LANES * LANES;
    float *weights = floats(outputs * inputs), *bias = floats(columns);
    for (int64_t k = 0, power = 4 * between(0, 2); k < outputs * inputs; k++) weights[k] *= powf(weights[k], (float)power);
    PackJob job = {outputs, inputs, weights, calloc((size_t)(columns * width), 1),
                   calloc((size_t)columns, sizeof(float)), calloc((size_t)columns, sizeof(float))};
    kernels->pack(&job);
    free(weights);
    uint8_t *is_large = malloc((size_t)(columns * width / STEP_BYTES));
    find_large_sums(columns * width / STEP_BYTES, job.tiles, is_large);
    table[0] = address(job.tiles), table[1] = address(is_large), table[2] = address(job.scales);
    table[3] = address(job.sums), table[4] = address(bias), table[5] = address(&levels);
}

static int is_equal(const char *what, const void *a, const void *b, size_t bytes) {
    if (memcmp(a, b, bytes) == 0) return 1;
    printf("%s differs\n", what);
    return 0;
}

static int compare_linear(const Kernels *a, const Kernels *b) {
    int64_t table[PACK_FIELDS], next = 0, rows = between(1, 130), inputs = between(1, 200), outputs = between(1, 200);
    packed(a, outputs, inputs, table);
    float *x = floats(rows * inputs), *one = floats(rows * outputs), *other = floats(rows * outputs);
    LinearJob job = {rows, inputs, outputs, inputs, between(0, 1) ? 1.0 : 0.1, table, x, &next, one};
    a->multiply(&job);
    next = 0, job.out = other;
    b->multiply(&job);
    return is_equal("multiply", one, other, (size_t)(rows * outputs) * sizeof(float));
}

static int compare_lstm(const Kernels *a, const Kernels *b) {
    int64_t table[4 * PACK_FIELDS], next = 0, sequences = between(1, 30), width = between(1, 12);
    int64_t inputs = between(1, 60), size = between(1, 50), units = (size + LANES - 1) / LANES * LANES;
    for (int direction = 0; direction < 2; direction++) {
        packed(a, 4 * units, inputs, table + 2 * direction * PACK_FIELDS);
        packed(a, 4 * units, size, table + (2 * direction + 1) * PACK_FIELDS);
    }
    int64_t *lengths = integers(sequences, 0, width), *order = integers(sequences, 0, 0), numbers = sequences * width * 2 * size;
    for (int64_t k = 0; k < sequences; k++) order[k] = k;
    for (int64_t k = 1; k < sequences; k++) /* the longest first */
        for (int64_t n = k; n > 0 && lengths[order[n]] > lengths[order[n - 1]]; n--) {
            int64_t swapped = order[n];
            order[n] = order[n - 1], order[n - 1] = swapped;
        }
    float *x = floats(sequences * width * inputs), *one = calloc((size_t)numbers, sizeof(float));
    float *other = calloc((size_t)numbers, sizeof(float));
    LstmJob job = {sequences, width, inputs, size, inputs, between(1, 12), table, x, lengths, order, &next, one};
    a->lstm(&job);
    next = 0, job.out = other;
    b->lstm(&job);
    return is_equal("lstm", one, other, (size_t)numbers * sizeof(float));
}

static int compare_encoder(const Kernels *a, const Kernels *b) {
    enum { LAYERS = 2 };
    int64_t table[EMBEDDING_FIELDS + LAYERS * LAYER_FIELDS], next[JOB_COUNTERS] = {0}, heads = between(1, 3), size = 16 * heads;
    int64_t inner = 16 * between(1, 8), segments = between(1, 9), width = between(1, 40), words = 50, numbers;
    int64_t farthest = between(0, 50);
    table[0] = address(floats(words * size)), table[1] = address(floats(width * size));
    table[2] = address(floats(size)), table[3] = address(floats(size));
    for (int layer = 0; layer < LAYERS; layer++) {
        int64_t *t = table + EMBEDDING_FIELDS + layer * LAYER_FIELDS;
        packed(a, 3 * size, size, t), packed(a, size, size, t + PACK_FIELDS);
        t[2 * PACK_FIELDS] = address(floats(size)), t[2 * PACK_FIELDS + 1] = address(floats(size));
        packed(a, inner, size, t + 2 * PACK_FIELDS + NORM_FIELDS);
        packed(a, size, inner, t + 3 * PACK_FIELDS + NORM_FIELDS);
        t[4 * PACK_FIELDS + NORM_FIELDS] = address(floats(size)), t[4 * PACK_FIELDS + NORM_FIELDS + 1] = address(floats(size));
    }
    numbers = segments * width * size;
    float *one = calloc((size_t)numbers, sizeof(float)), *other = calloc((size_t)numbers, sizeof(float));
    EncoderJob job = {0, between(1, 3), segments, width, LAYERS, size, heads, inner, 1e-12, integers(segments * width, 0, words - 1),
                      integers(segments, 1, width), table, floats(LAYERS + 1), farthest,
                      between(0, 1) ? floats(heads * (2 * farthest + 1)) : NULL, between(0, 1) ? floats(numbers) : NULL,
                      between(0, 1) ? floats((LAYERS + 1) * numbers) : NULL, next, one};
    a->encode(&job);
    memset(next, 0, sizeof next), job.out = other;
    b->encode(&job);
    return is_equal("encode", one, other, (size_t)numbers * sizeof(float));
}

static int compare_labels(const Kernels *a, const Kernels *b) {
    int64_t table[PACK_FIELDS], next = 0, size = between(1, 40), classes = between(1, 60), boundaries = between(1, 50);
    int64_t width = (classes + LANES - 1) / LANES * LANES, spans = between(0, 400);
    packed(a, (size + 1) * width, size, table);
    int64_t *lefts = integers(spans, 0, boundaries - 1), *rights = integers(spans, 0, boundaries - 1);
    for (int64_t k = 1; k < spans; k++)
        if (between(0, 2)) rights[k] = rights[k - 1];
    float *one = floats(spans * classes), *other = floats(spans * classes);
    LabelsJob job = {between(1, 3), spans, size, classes, boundaries, size, table, floats(boundaries * size), floats(boundaries * size),
                     lefts, rights, &next, one};
    a->score_labels(&job);
    next = 0, job.out = other;
    b->score_labels(&job);
    return is_equal("score_labels", one, other, (size_t)(spans * classes) * sizeof(float));
}

static int compare_chart(const Kernels *a, const Kernels *b) {
    int64_t next = 0, sentences = between(1, 5), n = between(1, 40), size = between(1, 70);
    float *one = floats(sentences * n * n), *other = floats(sentences * n * n);
    ChartJob job = {sentences, n, size, size, floats(sentences * n * size), floats(sentences * n * (size + 1)), &next, one};
    a->score_chart(&job);
    next = 0, job.out = other;
    b->score_chart(&job);
    return is_equal("score_chart", one, other, (size_t)(sentences * n * n) * sizeof(float));
}

static int compare_pool(const Kernels *a, const Kernels *b) {
    int64_t pieces = between(1, 90), size = between(1, 50), positions = between(1, 60), rows = between(1, 90);
    float *one = floats(positions * size), *other = floats(positions * size);
    PoolJob job = {pieces, size, positions, floats(rows * size), integers(pieces, 0, rows - 1),
                   integers(pieces, 0, positions - 1), integers(pieces, 1, 4), one};
    a->pool(&job);
    job.out = other;
    b->pool(&job);
    return is_equal("pool", one, other, (size_t)(positions * size) * sizeof(float));
}

static const Kernels *find(const char *name) {
    const Kernels *const all[] = {
#if defined(__x86_64__) || defined(_M_X64)
        &kernels_avx512vnni,
#if HAS_AVXVNNI
        &kernels_avxvnni,
#endif
        &kernels_avx2,
#elif defined(__aarch64__) || defined(_M_ARM64)
        &kernels_neon_i8mm, &kernels_neon,
#endif
        &kernels_scalar};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        if (strcmp(all[k]->name, name) == 0) return all[k];
    fprintf(stderr, "no kernels are called '%s'\n", name);
    exit(2);
}

int main(int count, char **names) {
    int (*const compare[])(const Kernels *, const Kernels *) = {compare_linear, compare_lstm,  compare_encoder,
                                                                compare_labels, compare_chart, compare_pool};
    if (count != 4) return fprintf(stderr, "usage: compare_kernels REFERENCE OTHER JOBS\n"), 2;
    if (!cpu_supports(names[2])) return printf("this processor does not have %s\n", names[2]), 3;
    const Kernels *reference = find(names[1]), *other = find(names[2]);
    long jobs = atol(names[3]), equal = 0;
    for (long job = 0; job < jobs; job++) {
        levels = job / 6 % 2 ? NARROW_LEVELS : WIDE_LEVELS;
        equal += compare[job % 6](reference, other);
    }
    printf("%ld of %ld jobs agree\n", equal, jobs);
    return equal < jobs;
}
