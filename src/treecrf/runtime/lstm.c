/* A bidirectional LSTM layer on 8-bit integers. int8.c describes the products.

   Sequences of similar lengths advance in one block, so that recurrent weights in the cache serve several sequences.
   The outputs of both products are ordered so that a tile holds the four gates of LANES units: its sums become the
   next states of these units at once. Each hidden state is quantized on its own, like every row; gates and cells are
   floats. Threads claim one block of sequences in one direction at a time. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "int8.h"

typedef struct {
    int64_t sequences, width, inputs, size;
    int64_t stride;                 /* between rows of x */
    int64_t block;                  /* sequences per block */
    const int64_t *table;           /* for each direction: the Linear of inputs, then the Linear of hidden states */
    const float *x;                 /* (sequences, width, inputs) */
    const int64_t *lengths, *order; /* (sequences,); order: longest sequence first */
    int64_t *next;                  /* counter of the blocks and directions that threads have claimed */
    float *out;                     /* (sequences, width, 2, size) */
} Job;

#if SUPPORTED
VECTOR_CODE
typedef struct { /* sequences that advance in one direction at once, longest first */
    Linear input, hidden;
    int64_t backward, count;
    const int64_t *sequences;
    int64_t units; /* the layer's size, padded to a multiple of LANES */
    float *gates;  /* (GROUP_ROWS, 4 * units): the input part of the gates of several steps */
    float *cells;  /* (count, units) */
    Quantized x, state;
} Block;

/* The number of sequences longer than `step`, which come first in the block. */
static int64_t count_active(const Job *job, const Block *block, int64_t step) {
    int64_t count = block->count;
    while (count && job->lengths[block->sequences[count - 1]] <= step) count--;
    return count;
}

/* The position, in the whole batch, that a sequence of the block reads in a step. */
INLINE int64_t position(const Job *job, const Block *block, int64_t row, int64_t step) {
    int64_t sequence = block->sequences[row];
    return sequence * job->width + (block->backward ? job->lengths[sequence] - 1 - step : step);
}

/* Computes the input part of the gates of as many steps as fit, from `step` on. Returns the step after the last. */
static int64_t read_inputs(const Job *job, const Block *block, int64_t step) {
    int64_t rows = 0, count;
    for (; (count = count_active(job, block, step)) && rows + count <= GROUP_ROWS; step++)
        for (int64_t row = 0; row < count; row++)
            quantize_row(job->x + position(job, block, row, step) * job->stride, job->inputs, block->x, rows++);
    multiply(&block->input, block->x, rows, block->gates);
    return step;
}

INLINE Floats clamped_exponential(Floats x) {
    return exponential(_mm512_max_ps(_mm512_min_ps(x, broadcast(40.0f)), broadcast(-40.0f)));
}

/* sigmoid(x) tanh(y) */
INLINE Floats sigmoid_tanh(Floats x, Floats y) {
    Floats exp_x = clamped_exponential(-x), exp_y = clamped_exponential(broadcast(-2.0f) * y), one = broadcast(1.0f);
    return (one - exp_y) / ((one + exp_x) * (one + exp_y));
}

/* A gate of LANES units: the hidden state's part, from its integer sums, plus the input's part. */
INLINE Floats gate(const Block *block, int64_t row, int64_t column, const float *inputs, __m512i sums) {
    const Linear *l = &block->hidden;
    Floats sum = _mm512_cvtepi32_ps(sums) * broadcast(block->state.scales[row]);
    sum = _mm512_fmadd_ps(broadcast(block->state.offsets[row]), load(l->sums + column), sum);
    return _mm512_fmadd_ps(sum, load(l->scales + column), load(inputs + column));
}

/* Updates the cells of LANES units and returns their hidden states: c = sigmoid(f) c + sigmoid(i) tanh(g),
   h = sigmoid(o) tanh(c). */
INLINE Floats advance(float *cells, Floats i, Floats f, Floats g, Floats o) {
    Floats remembered = load(cells) / (broadcast(1.0f) + clamped_exponential(-f));
    Floats cell = remembered + sigmoid_tanh(i, g);
    store(cells, cell);
    return sigmoid_tanh(o, cell);
}

/* Computes and stores the next states of LANES units, from `unit` on, of one sequence. */
INLINE void advance_units(const Job *job, const Block *block, int64_t step, const float *gates, int64_t row,
                          int64_t unit, __m512i a, __m512i b, __m512i c, __m512i d) {
    const float *inputs = gates + row * 4 * block->units;
    int64_t column = 4 * unit;
    Floats i = gate(block, row, column, inputs, a), f = gate(block, row, column + LANES, inputs, b);
    Floats g = gate(block, row, column + 2 * LANES, inputs, c);
    Floats o = gate(block, row, column + 3 * LANES, inputs, d);
    Floats hidden = advance(block->cells + row * block->units + unit, i, f, g, o);
    float *out = job->out + (2 * position(job, block, row, step) + block->backward) * job->size + unit;
    _mm512_mask_storeu_ps(out, lane_mask(job->size - unit), hidden);
}

#define ADVANCE_UNITS(i) \
    if (row + i < count) advance_units(job, block, step, gates, row + i, unit, a##i, b##i, c##i, d##i);

static void advance_tile(const Job *job, const Block *block, int64_t step, const float *gates, int64_t count,
                         int64_t row, int64_t unit) {
    SUMS(EACH_ROW, &block->hidden, block->state, row, 4 * unit)
    EACH_ROW(ADVANCE_UNITS)
}

static void advance_row(const Job *job, const Block *block, int64_t step, const float *gates, int64_t count,
                        int64_t row, int64_t unit) {
    SUMS(ONE_ROW, &block->hidden, block->state, row, 4 * unit)
    ONE_ROW(ADVANCE_UNITS)
}

/* Runs one step of the block's first `count` sequences. */
static void advance_block(const Job *job, const Block *block, int64_t step, const float *gates, int64_t count) {
    for (int64_t unit = 0; unit < block->units; unit += LANES)
        for (int64_t row = 0; row < count; row += TILE_ROWS)
            if (row + 1 < count)
                advance_tile(job, block, step, gates, count, row, unit);
            else
                advance_row(job, block, step, gates, count, row, unit);
    for (int64_t row = 0; row < count; row++)
        quantize_row(job->out + (2 * position(job, block, row, step) + block->backward) * job->size, job->size,
                     block->state, row);
}

static void run_block(const Job *job, const Block *block) {
    memset(block->cells, 0, block->count * block->units * sizeof(float));
    memset(block->state.scales, 0, block->count * sizeof(float));
    memset(block->state.offsets, 0, block->count * sizeof(float));
    for (int64_t step = 0, end = 0, count; (count = count_active(job, block, step)); step = end) {
        const float *gates = block->gates;
        for (end = read_inputs(job, block, step); step < end; step++, gates += count * 4 * block->units) {
            count = count_active(job, block, step);
            advance_block(job, block, step, gates, count);
        }
    }
}
END_OF_VECTOR_CODE

/* Places a block's arrays in memory. Returns how much memory they need; with NULL it only computes that. */
static int64_t lay_out(const Job *job, Block *block, char *memory) {
    char *start = memory;
    block->units = padded_size(job->size);
    block->gates = allocate(&memory, GROUP_ROWS * 4 * block->units * sizeof(float));
    block->cells = allocate(&memory, job->block * block->units * sizeof(float));
    block->x = allocate_quantized(&memory, GROUP_ROWS, job->inputs);
    block->state = allocate_quantized(&memory, job->block, job->size);
    return memory - start + ALIGN;
}

/* Runs on each thread: claims blocks in one direction until none is left. Returns 0 if memory runs out. */
static int run_lstm(const Job *job) {
    Block block;
    char *memory = calloc(1, lay_out(job, &block, NULL));
    if (memory == NULL) return 0;
    lay_out(job, &block, (char *)(((uintptr_t)memory + ALIGN - 1) / ALIGN * ALIGN));
    for (int64_t number; (number = next_block(job->next, 1)) / 2 * job->block < job->sequences;) {
        int64_t first = number / 2 * job->block;
        block.backward = number % 2;
        block.sequences = job->order + first;
        block.count = min(job->block, job->sequences - first);
        const int64_t *table = job->table + block.backward * 2 * LINEAR_FIELDS;
        block.input = read_linear(table, job->inputs, 4 * block.units);
        block.hidden = read_linear(table + LINEAR_FIELDS, job->size, 4 * block.units);
        run_block(job, &block);
    }
    free(memory);
    return 1;
}
#else
static int run_lstm(const Job *job) { return 0; }
#endif

/* Returns 0 and sets a ValueError if a length is outside of x. */
static int check(const Job *job) {
    for (int64_t k = 0; k < job->sequences; k++) {
        if (job->lengths[k] >= 0 && job->lengths[k] <= job->width) continue;
        PyErr_Format(PyExc_ValueError, "sequence %lld has %lld positions; expected 0 to %lld", (long long)k,
                     (long long)job->lengths[k], (long long)job->width);
        return 0;
    }
    return 1;
}

PyObject *lstm(PyObject *module, PyObject *args) {
    unsigned long long table, x, lengths, order, next, out;
    long long thread, threads, sequences, width, inputs, size, stride, block;
    int is_complete;
    if (!PyArg_ParseTuple(args, "LLLLLLLLKKKKKK", &thread, &threads, &sequences, &width, &inputs, &size, &stride,
                          &block, &table, &x, &lengths, &order, &next, &out))
        return NULL;
    Job job = {sequences, width, inputs, size, stride, block};
    job.table = (const int64_t *)(uintptr_t)table, job.x = (const float *)(uintptr_t)x;
    job.lengths = (const int64_t *)(uintptr_t)lengths, job.order = (const int64_t *)(uintptr_t)order;
    job.next = (int64_t *)(uintptr_t)next, job.out = (float *)(uintptr_t)out;
    if (!check(&job)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    is_complete = run_lstm(&job);
    Py_END_ALLOW_THREADS
    if (!is_complete) return PyErr_NoMemory();
    Py_RETURN_NONE;
}
