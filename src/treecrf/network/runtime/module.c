/* The Python module of the CPU runtime: checks arguments, and runs a job with the kernels of one instruction set.

   Arrays come as addresses, see _kernels.pyi: the buffer protocol is not part of the stable ABI of Python 3.10. Every
   function checks sizes and indices before it starts, so that no argument leads outside of the arrays it describes. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "cpu_features.h"
#include "kernels.h"
#include "../../chart/portable.h"
#include "../../trees/extension_module.h"

#define LARGEST_SIZE ((int64_t)1 << 40) /* sizes above this are mistakes, and their products could overflow */

static const Kernels *selected;

static const Kernels *const ALL_KERNELS[] = { /* the best first */
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

enum { KERNEL_COUNT = sizeof ALL_KERNELS / sizeof ALL_KERNELS[0] };

static int fail(const char *what, int64_t number, int64_t value, int64_t least, int64_t most) {
    PyErr_Format(PyExc_ValueError, "%s %lld is %lld; expected %lld to %lld", what, (long long)number, (long long)value,
                 (long long)least, (long long)most);
    return 0;
}

/* Whether sizes are at least `least` and not absurd. */
static int check_sizes(int64_t least, int count, const int64_t *sizes) {
    int64_t product = 1;
    for (int k = 0; k < count; k++) {
        if (sizes[k] < least || sizes[k] > LARGEST_SIZE) return fail("size", k, sizes[k], least, LARGEST_SIZE);
        if (sizes[k] && product > LARGEST_SIZE / sizes[k]) {
            PyErr_SetString(PyExc_ValueError, "the sizes are too large");
            return 0;
        }
        product *= sizes[k] ? sizes[k] : 1;
    }
    return 1;
}

#define SIZES(least, ...)                                                                             \
    check_sizes(least, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

/* Whether all of some indices are at least `least` and below `end`. */
static int check_indices(const char *what, const int64_t *indices, int64_t count, int64_t least, int64_t end) {
    for (int64_t k = 0; k < count; k++)
        if (indices[k] < least || indices[k] >= end) return fail(what, k, indices[k], least, end - 1);
    return 1;
}

static int check_addresses(int count, const unsigned long long *addresses) {
    for (int k = 0; k < count; k++)
        if (addresses[k] == 0) {
            PyErr_Format(PyExc_ValueError, "address %d is null; expected an array", k);
            return 0;
        }
    return 1;
}

/* Whether the addresses of a table of parameters are not null. */
static int check_table(unsigned long long table, int64_t count) {
    const int64_t *addresses = (const int64_t *)(uintptr_t)table;
    for (int64_t k = 0; k < count; k++)
        if (addresses[k] == 0) {
            PyErr_Format(PyExc_ValueError, "parameter %lld is null; expected an array", (long long)k);
            return 0;
        }
    return 1;
}

/* Whether the counter of a job is not negative. */
static int check_counter(unsigned long long next) {
    int64_t count = load_counter((int64_t *)(uintptr_t)next);
    return count >= 0 || fail("counter", 0, count, 0, LARGEST_SIZE);
}

#define ADDRESSES(...)                                                                                 \
    check_addresses((int)(sizeof((unsigned long long[]){__VA_ARGS__}) / sizeof(unsigned long long)),   \
                    (unsigned long long[]){__VA_ARGS__})
#define AT(type, address) ((type *)(uintptr_t)(address))

#define RUN(statement)                     \
    Py_BEGIN_ALLOW_THREADS statement;      \
    Py_END_ALLOW_THREADS

static PyObject *finished(int is_done) {
    if (!is_done) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *encode(PyObject *module, PyObject *args) {
    unsigned long long pieces, lengths, table, mix, distance_scores, added, conditions, next, out;
    long long thread, threads, segments, width, layers, size, heads, inner, words, positions, farthest;
    double epsilon;
    int is_done = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "LLLLLLLLLLLdKKKKKKKKK", &thread, &threads, &segments, &width, &layers, &size, &heads,
                          &inner, &words, &positions, &farthest, &epsilon, &table, &pieces, &lengths, &mix,
                          &distance_scores, &added, &conditions, &next, &out))
        return NULL;
    if (!SIZES(1, threads, segments, width, size) || !SIZES(1, layers, size, inner) || !SIZES(1, words, size) ||
        !SIZES(1, positions, heads) || !SIZES(0, farthest) || !SIZES(1, heads, 2 * farthest + 1) ||
        !ADDRESSES(table, pieces, lengths, mix, next, out) || !check_counter(next) ||
        !check_table(table, EMBEDDING_FIELDS + layers * LAYER_FIELDS))
        return NULL;
    if (size % LANES || inner % LANES || size % heads || size / heads % LANES) {
        PyErr_Format(PyExc_ValueError, "sizes %lld and %lld with %lld heads; expected multiples of %d", size, inner, heads,
                     LANES);
        return NULL;
    }
    if (thread < 0 || thread >= threads) return fail("thread", 0, thread, 0, threads - 1), NULL;
    EncoderJob job = {thread, threads, segments, width, layers, size, heads, inner, epsilon, AT(const int64_t, pieces),
                      AT(const int64_t, lengths), AT(const int64_t, table), AT(const float, mix), farthest,
                      AT(const float, distance_scores), AT(const float, added), AT(const float, conditions),
                      AT(int64_t, next), AT(float, out)};
    if (!check_indices("length", job.lengths, segments, 1, (width < positions ? width : positions) + 1)) return NULL;
    for (int64_t k = 0; k < segments; k++)
        if (!check_indices("piece", job.pieces + k * width, job.lengths[k], 0, words)) return NULL;
    RUN(is_done = selected->encode(&job))
    return finished(is_done);
}

static PyObject *linear(PyObject *module, PyObject *args) {
    unsigned long long table, x, next, out;
    long long thread, threads, rows, inputs, outputs, stride;
    double slope;
    int is_done = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "LLLLLLdKKKK", &thread, &threads, &rows, &inputs, &outputs, &stride, &slope, &table, &x,
                          &next, &out))
        return NULL;
    if (!SIZES(0, rows, stride) || !SIZES(0, rows, outputs) || !SIZES(1, inputs, outputs) ||
        !ADDRESSES(table, next) || (rows && !ADDRESSES(x, out)) || !check_counter(next) || !check_table(table, PACK_FIELDS))
        return NULL;
    LinearJob job = {rows, inputs, outputs, stride, slope, AT(const int64_t, table), AT(const float, x),
                     AT(int64_t, next), AT(float, out)};
    RUN(is_done = selected->multiply(&job))
    return finished(is_done);
}

static PyObject *lstm(PyObject *module, PyObject *args) {
    unsigned long long table, x, lengths, order, next, out;
    long long thread, threads, sequences, width, inputs, size, stride, block;
    int is_done = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "LLLLLLLLKKKKKK", &thread, &threads, &sequences, &width, &inputs, &size, &stride, &block,
                          &table, &x, &lengths, &order, &next, &out))
        return NULL;
    if (!SIZES(0, sequences, width, stride) || !SIZES(0, sequences, width, 2, size) || !SIZES(1, inputs, size, block) ||
        !ADDRESSES(table, next) || (sequences && !ADDRESSES(lengths, order)) ||
        (sequences && width && !ADDRESSES(x, out)) || !check_counter(next) || !check_table(table, 4 * PACK_FIELDS))
        return NULL;
    LstmJob job = {sequences, width, inputs, size, stride, block, AT(const int64_t, table), AT(const float, x),
                   AT(const int64_t, lengths), AT(const int64_t, order), AT(int64_t, next), AT(float, out)};
    if (!check_indices("length", job.lengths, sequences, 0, width + 1) ||
        !check_indices("order", job.order, sequences, 0, sequences))
        return NULL;
    for (int64_t k = 1; k < sequences; k++)
        if (job.lengths[job.order[k]] > job.lengths[job.order[k - 1]])
            return fail("length in order", k, job.lengths[job.order[k]], 0, job.lengths[job.order[k - 1]]), NULL;
    RUN(is_done = selected->lstm(&job))
    return finished(is_done);
}

static PyObject *score_labels(PyObject *module, PyObject *args) {
    unsigned long long table, left, right, lefts, rights, next, out;
    long long thread, threads, spans, size, classes, boundaries, stride;
    int is_done = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "LLLLLLLKKKKKKK", &thread, &threads, &spans, &size, &classes, &boundaries, &stride, &table,
                          &left, &right, &lefts, &rights, &next, &out))
        return NULL;
    if (!SIZES(1, threads) || !SIZES(0, spans, classes) || !SIZES(1, size, classes) || !SIZES(0, boundaries, stride) ||
        !ADDRESSES(table, next) || (spans && !ADDRESSES(left, right, lefts, rights, out)) || !check_counter(next) ||
        !check_table(table, PACK_FIELDS))
        return NULL;
    LabelsJob job = {threads, spans, size, classes, boundaries, stride, AT(const int64_t, table), AT(const float, left),
                     AT(const float, right), AT(const int64_t, lefts), AT(const int64_t, rights), AT(int64_t, next),
                     AT(float, out)};
    if (!check_indices("left boundary", job.lefts, spans, 0, boundaries) ||
        !check_indices("right boundary", job.rights, spans, 0, boundaries))
        return NULL;
    RUN(is_done = selected->score_labels(&job))
    return finished(is_done);
}

static PyObject *score_chart(PyObject *module, PyObject *args) {
    unsigned long long left, half, next, out;
    long long thread, threads, sentences, boundaries, size, stride;
    (void)module;
    if (!PyArg_ParseTuple(args, "LLLLLLKKKK", &thread, &threads, &sentences, &boundaries, &size, &stride, &left, &half,
                          &next, &out))
        return NULL;
    if (!SIZES(0, sentences, boundaries, boundaries) || !SIZES(0, sentences, boundaries, stride) ||
        !SIZES(1, size) || !SIZES(0, sentences, boundaries, size + 1) || !ADDRESSES(next) ||
        (sentences && boundaries && !ADDRESSES(left, half, out)) || !check_counter(next))
        return NULL;
    if (boundaries == 0) Py_RETURN_NONE;
    ChartJob job = {sentences, boundaries, size, stride, AT(const float, left), AT(const float, half),
                    AT(int64_t, next), AT(float, out)};
    RUN(selected->score_chart(&job))
    Py_RETURN_NONE;
}

static PyObject *mean_pool(PyObject *module, PyObject *args) {
    unsigned long long x, rows, places, shares, out;
    long long pieces, size, positions, x_rows;
    (void)module;
    if (!PyArg_ParseTuple(args, "LLLLKKKKK", &pieces, &size, &positions, &x_rows, &x, &rows, &places, &shares, &out))
        return NULL;
    if (!SIZES(0, pieces) || !SIZES(0, positions, size) || !SIZES(0, x_rows, size) ||
        (pieces && !ADDRESSES(x, rows, places, shares)) || (positions && size && !ADDRESSES(out)))
        return NULL;
    PoolJob job = {pieces, size, positions, AT(const float, x), AT(const int64_t, rows), AT(const int64_t, places),
                   AT(const int64_t, shares), AT(float, out)};
    if (!check_indices("row", job.rows, pieces, 0, x_rows) || !check_indices("position", job.places, pieces, 0, positions) ||
        !check_indices("share", job.shares, pieces, 1, LARGEST_SIZE))
        return NULL;
    if (positions == 0 || size == 0) Py_RETURN_NONE;
    RUN(selected->pool(&job))
    Py_RETURN_NONE;
}

static PyObject *find_large(PyObject *module, PyObject *args) {
    unsigned long long tiles, out;
    long long steps;
    (void)module;
    if (!PyArg_ParseTuple(args, "LKK", &steps, &tiles, &out)) return NULL;
    if (!SIZES(1, steps, STEP_BYTES) || !ADDRESSES(tiles, out)) return NULL;
    RUN(find_large_sums(steps, AT(int8_t, tiles), AT(uint8_t, out)))
    Py_RETURN_NONE;
}

static PyObject *pack(PyObject *module, PyObject *args) {
    unsigned long long weights, tiles, scales, sums;
    long long outputs, inputs;
    (void)module;
    if (!PyArg_ParseTuple(args, "LLKKKK", &outputs, &inputs, &weights, &tiles, &scales, &sums)) return NULL;
    if (!SIZES(1, outputs, inputs) || !ADDRESSES(weights, tiles, scales, sums)) return NULL;
    PackJob job = {outputs, inputs, AT(const float, weights), AT(int8_t, tiles), AT(float, scales), AT(float, sums)};
    RUN(selected->pack(&job))
    Py_RETURN_NONE;
}

/* The instruction sets of this processor, the best first. */
static PyObject *instruction_sets(PyObject *module, PyObject *args) {
    PyObject *names = PyList_New(0);
    (void)module, (void)args;
    for (int k = 0; names != NULL && k < KERNEL_COUNT; k++) {
        if (!cpu_supports(ALL_KERNELS[k]->name)) continue;
        PyObject *name = PyUnicode_FromString(ALL_KERNELS[k]->name);
        if (name == NULL || PyList_Append(names, name) < 0) Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

static PyObject *select_instruction_set(PyObject *module, PyObject *args) {
    const char *name;
    (void)module;
    if (!PyArg_ParseTuple(args, "s", &name)) return NULL;
    for (int k = 0; k < KERNEL_COUNT; k++)
        if (strcmp(ALL_KERNELS[k]->name, name) == 0 && cpu_supports(name)) {
            selected = ALL_KERNELS[k];
            return PyLong_FromLong(WIDE_LEVELS);
        }
    PyErr_Format(PyExc_ValueError, "this processor does not have the instruction set '%s'", name);
    return NULL;
}

static PyObject *selected_instruction_set(PyObject *module, PyObject *args) {
    (void)module, (void)args;
    return PyUnicode_FromString(selected->name);
}

static int initialize(PyObject *module) {
    (void)module;
    for (int k = KERNEL_COUNT - 1; k >= 0; k--)
        if (cpu_supports(ALL_KERNELS[k]->name)) selected = ALL_KERNELS[k];
    return 0;
}

static PyMethodDef methods[] = {{"encode", encode, METH_VARARGS, NULL},
                                {"linear", linear, METH_VARARGS, NULL},
                                {"lstm", lstm, METH_VARARGS, NULL},
                                {"score_labels", score_labels, METH_VARARGS, NULL},
                                {"score_chart", score_chart, METH_VARARGS, NULL},
                                {"mean_pool", mean_pool, METH_VARARGS, NULL},
                                {"pack", pack, METH_VARARGS, NULL},
                                {"find_large_sums", find_large, METH_VARARGS, NULL},
                                {"instruction_sets", instruction_sets, METH_NOARGS, NULL},
                                {"selected", selected_instruction_set, METH_NOARGS, NULL},
                                {"select", select_instruction_set, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};

EXTENSION_MODULE(_kernels, {Py_mod_exec, (void *)initialize},)
