/* A layer of LSTMs in both directions on 8-bit integers; for the products see int8.c.

   Sequences of similar lengths advance together, so that recurrent weights meet several once they are in the cache. The
   outputs of both products are in such an order that a tile has the four gates of LANES units: its sums become the
   next states of these units at once. Hidden states are quantized like all rows, each by itself; gates and cells are
   float. Threads share out blocks of sequences and directions. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "int8.h"

typedef struct {
    int64_t sequences, width, inputs, size;
    int64_t stride;                 /* of x */
    int64_t block;                  /* so many sequences advance together */
    const int64_t *table;           /* of the Linear of inputs and that of hidden states, for each direction */
    const float *x;                 /* (sequences, width, inputs) */
    const int64_t *lengths, *order; /* (sequences,); the longest first */
    int64_t *next;                  /* the first block and direction that nobody has taken */
    float *out;                     /* (sequences, width, 2, size) */
} Job;

#if SUPPORTED
VECTOR_CODE
typedef struct { /* sequences that advance together in one direction, the longest first */
    Linear input, hidden;
    int64_t backward, count;
    const int64_t *sequences;
    int64_t units;     /* the layer's size in whole LANES */
    float *gates;      /* (GROUP_ROWS, 4 * units) of the inputs of some steps */
    float *cells;      /* (count, units) */
    Quantized x, state;
} Block;

/* How many sequences have a step: the first ones. */
static int64_t reaching(const Job *job, const Block *block, int64_t step) {
    int64_t count = block->count;
    while (count && job->lengths[block->sequences[count - 1]] <= step) count--;
    return count;
}

/* What a sequence reads in a step, among all positions. */
INLINE int64_t position(const Job *job, const Block *block, int64_t row, int64_t step) {
    int64_t sequence = block->sequences[row];
    return sequence * job->width + (block->backward ? job->lengths[sequence] - 1 - step : step);
}

/* The gates of the inputs of as many steps as there is room for, from `step` on; gives the step after them. */
static int64_t read_inputs(const Job *job, const Block *block, int64_t step) {
    int64_t rows = 0, count;
    for (; (count = reaching(job, block, step)) && rows + count <= GROUP_ROWS; step++)
        for (int64_t row = 0; row < count; row++)
            quantize_row(job->x + position(job, block, row, step) * job->stride, job->inputs, block->x, rows++);
    multiply(&block->input, block->x, rows, block->gates);
    return step;
}

INLINE Floats clamped_exponential(Floats x) {
    return exponential(_mm512_max_ps(_mm512_min_ps(x, all(40.0f)), all(-40.0f)));
}

/* sigmoid(x) tanh(y) */
INLINE Floats gated(Floats x, Floats y) {
    Floats closed = clamped_exponential(-x), e = clamped_exponential(all(-2.0f) * y), one = all(1.0f);
    return (one - e) / ((one + closed) * (one + e));
}

/* A gate of LANES units: the part of the hidden state beside that of the inputs. */
INLINE Floats gate(const Block *block, int64_t row, int64_t column, const float *inputs, __m512i sums) {
    const Linear *l = &block->hidden;
    Floats sum = _mm512_cvtepi32_ps(sums) * all(block->state.scales[row]);
    sum = _mm512_fmadd_ps(all(block->state.lows[row]), load(l->sums + column), sum);
    return _mm512_fmadd_ps(sum, load(l->scales + column), load(inputs + column));
}

/* The next cells of LANES units and, given back, their hidden states. */
INLINE Floats advance(float *cells, Floats in, Floats keep, Floats fresh, Floats out) {
    Floats kept = load(cells) / (all(1.0f) + clamped_exponential(-keep)), cell = kept + gated(in, fresh);
    store(cells, cell);
    return gated(out, cell);
}

/* The units from `unit` on, of one sequence. */
INLINE void finish_units(const Job *job, const Block *block, int64_t step, const float *gates, int64_t row,
                         int64_t unit, __m512i a, __m512i b, __m512i c, __m512i d) {
    const float *inputs = gates + row * 4 * block->units;
    int64_t column = 4 * unit;
    Floats in = gate(block, row, column, inputs, a), keep = gate(block, row, column + LANES, inputs, b);
    Floats fresh = gate(block, row, column + 2 * LANES, inputs, c);
    Floats out = gate(block, row, column + 3 * LANES, inputs, d);
    Floats hidden = advance(block->cells + row * block->units + unit, in, keep, fresh, out);
    float *to = job->out + (2 * position(job, block, row, step) + block->backward) * job->size + unit;
    _mm512_mask_storeu_ps(to, lanes(job->size - unit), hidden);
}

#define FINISH_UNITS(i) \
    if (row + i < count) finish_units(job, block, step, gates, row + i, unit, a##i, b##i, c##i, d##i);

static void advance_tile(const Job *job, const Block *block, int64_t step, const float *gates, int64_t count,
                         int64_t row, int64_t unit) {
    SUMS(EACH_ROW, &block->hidden, block->state, row, 4 * unit)
    EACH_ROW(FINISH_UNITS)
}

static void advance_row(const Job *job, const Block *block, int64_t step, const float *gates, int64_t count,
                        int64_t row, int64_t unit) {
    SUMS(ONE_ROW, &block->hidden, block->state, row, 4 * unit)
    ONE_ROW(FINISH_UNITS)
}

/* One step of the first `count` sequences. */
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

static void run(const Job *job, const Block *block) {
    memset(block->cells, 0, block->count * block->units * sizeof(float));
    memset(block->state.scales, 0, block->count * sizeof(float));
    memset(block->state.lows, 0, block->count * sizeof(float));
    for (int64_t step = 0, read = 0, count; (count = reaching(job, block, step)); step = read) {
        const float *gates = block->gates;
        for (read = read_inputs(job, block, step); step < read; step++, gates += count * 4 * block->units) {
            count = reaching(job, block, step);
            advance_block(job, block, step, gates, count);
        }
    }
}
END_OF_VECTOR_CODE

/* Lays a block's arrays out in memory, or with none, says how much it takes. */
static int64_t lay_out(const Job *job, Block *block, char *memory) {
    char *start = memory;
    block->units = padded(job->size);
    block->gates = part(&memory, GROUP_ROWS * 4 * block->units * sizeof(float));
    block->cells = part(&memory, job->block * block->units * sizeof(float));
    block->x = room(&memory, GROUP_ROWS, job->inputs);
    block->state = room(&memory, job->block, job->size);
    return memory - start + ALIGN;
}

/* What each thread does: take a block in one direction, until there is none left. */
static int work(const Job *job) {
    Block block;
    char *memory = calloc(1, lay_out(job, &block, NULL));
    if (memory == NULL) return 0;
    lay_out(job, &block, (char *)(((uintptr_t)memory + ALIGN - 1) / ALIGN * ALIGN));
    for (int64_t number; (number = take(job->next, 1)) / 2 * job->block < job->sequences;) {
        int64_t first = number / 2 * job->block;
        block.backward = number % 2;
        block.sequences = job->order + first;
        block.count = min(job->block, job->sequences - first);
        const int64_t *table = job->table + block.backward * 2 * PACK_FIELDS;
        block.input = linear(table, job->inputs, 4 * block.units);
        block.hidden = linear(table + PACK_FIELDS, job->size, 4 * block.units);
        run(job, &block);
    }
    free(memory);
    return 1;
}
#else
static int work(const Job *job) { return 0; }
#endif

/* 0 with a ValueError if a length would lead outside of x. */
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
    int done;
    if (!PyArg_ParseTuple(args, "LLLLLLLLKKKKKK", &thread, &threads, &sequences, &width, &inputs, &size, &stride,
                          &block, &table, &x, &lengths, &order, &next, &out))
        return NULL;
    Job job = {sequences, width, inputs, size, stride, block};
    job.table = (const int64_t *)(uintptr_t)table, job.x = (const float *)(uintptr_t)x;
    job.lengths = (const int64_t *)(uintptr_t)lengths, job.order = (const int64_t *)(uintptr_t)order;
    job.next = (int64_t *)(uintptr_t)next, job.out = (float *)(uintptr_t)out;
    if (!check(&job)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    done = work(&job);
    Py_END_ALLOW_THREADS
    if (!done) return PyErr_NoMemory();
    Py_RETURN_NONE;
}
