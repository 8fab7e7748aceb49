/* One layer of LSTMs in both directions.

   Sequences of similar lengths advance together, so that the recurrent weights serve several sequences once they are in
   the cache. The outputs of both products are ordered so that a tile has the four gates i, f, g, o of LANES units: its
   sums become the next states of these units at once. Hidden states are quantized row by row; gates and cells are float.
   Threads share out blocks of sequences and directions. */

typedef struct { /* sequences that advance together in one direction, the longest first */
    Linear input, hidden;
    int64_t backward, count;
    const int64_t *sequences;
    int64_t units; /* the layer's size in whole LANES */
    float *gates;  /* (GROUP_ROWS, 4 * units) of the inputs of some steps */
    float *cells;  /* (count, units) */
    Quantized x, state;
} Block;

/* The number of sequences that have a step; they come first. */
static int64_t active_sequences(const LstmJob *job, const Block *block, int64_t step) {
    int64_t count = block->count;
    while (count && job->lengths[block->sequences[count - 1]] <= step) count--;
    return count;
}

/* The position that a sequence reads in a step, among all positions. */
INLINE int64_t position_at(const LstmJob *job, const Block *block, int64_t row, int64_t step) {
    int64_t sequence = block->sequences[row];
    return sequence * job->width + (block->backward ? job->lengths[sequence] - 1 - step : step);
}

/* Computes the input gates of as many steps as fit, from `step` on; returns the step after them. */
static int64_t compute_input_gates(const LstmJob *job, const Block *block, int64_t step) {
    int64_t rows = 0, count;
    for (; (count = active_sequences(job, block, step)) && rows + count <= GROUP_ROWS; step++)
        for (int64_t row = 0; row < count; row++)
            quantize_row(job->x + position_at(job, block, row, step) * job->stride, job->inputs, block->x, rows++);
    multiply(&block->input, block->x, rows, block->gates);
    return step;
}

INLINE Floats clamped_exponential(Floats x) { return exponential(f_max(f_min(x, f_set(40.0f)), f_set(-40.0f))); }
INLINE Floats negative(Floats x) { return f_sub(f_set(0.0f), x); }

/* sigmoid(x) tanh(y) */
INLINE Floats sigmoid_tanh(Floats x, Floats y) {
    Floats a = clamped_exponential(negative(x)), b = clamped_exponential(f_mul(f_set(-2.0f), y)), one = f_set(1.0f);
    return f_div(f_sub(one, b), f_mul(f_add(one, a), f_add(one, b)));
}

/* A gate of LANES units: the sum of the hidden state's part and the inputs' part. */
INLINE Floats gate(const Block *block, int64_t row, int64_t column, const float *inputs, const int32_t *sums) {
    const Linear *l = &block->hidden;
    return f_fma(dequantize(l, block->state, row, column, sums), f_load(l->scales + column), f_load(inputs + column));
}

/* The next states of LANES units of one sequence, from the sums of a tile's row. */
INLINE void advance_units(const LstmJob *job, const Block *block, int64_t step, const float *gates, int64_t row,
                          int64_t unit, const int32_t *sums) {
    const float *inputs = gates + row * 4 * block->units;
    int64_t column = 4 * unit;
    Floats i = gate(block, row, column, inputs, sums), f = gate(block, row, column + LANES, inputs, sums + LANES);
    Floats g = gate(block, row, column + 2 * LANES, inputs, sums + 2 * LANES);
    Floats o = gate(block, row, column + 3 * LANES, inputs, sums + 3 * LANES);
    float *cells = block->cells + row * block->units + unit;
    Floats kept = f_div(f_load(cells), f_add(f_set(1.0f), clamped_exponential(negative(f))));
    Floats cell = f_add(kept, sigmoid_tanh(i, g));
    f_store(cells, cell);
    float *to = job->out + (2 * position_at(job, block, row, step) + block->backward) * job->size + unit;
    f_store_first(to, job->size - unit, sigmoid_tanh(o, cell));
}

/* One step of the first `count` sequences. */
static void advance_block(const LstmJob *job, const Block *block, int64_t step, const float *gates, int64_t count) {
    int32_t sums[TILE_ROWS][TILE];
    for (int64_t unit = 0; unit < block->units; unit += LANES)
        for (int64_t row = 0, tile_end; row < count; row = tile_end) {
            tile_end = row_sums(&block->hidden, block->state, row, count, 4 * unit, sums);
            for (int64_t r = 0; row + r < tile_end; r++) advance_units(job, block, step, gates, row + r, unit, sums[r]);
        }
    for (int64_t row = 0; row < count; row++)
        quantize_row(job->out + (2 * position_at(job, block, row, step) + block->backward) * job->size, job->size,
                     block->state, row);
}

static void run_block(const LstmJob *job, const Block *block) {
    memset(block->cells, 0, (size_t)(block->count * block->units) * sizeof(float));
    memset(block->state.scales, 0, (size_t)block->count * sizeof(float));
    memset(block->state.lows, 0, (size_t)block->count * sizeof(float));
    for (int64_t step = 0, computed = 0, count; (count = active_sequences(job, block, step)); step = computed) {
        const float *gates = block->gates;
        computed = compute_input_gates(job, block, step);
        for (; step < computed; step++, gates += count * 4 * block->units) {
            count = active_sequences(job, block, step);
            advance_block(job, block, step, gates, count);
        }
    }
}

/* What each thread does: takes a block in one direction, until there is none left. */
static int lstm_job(const LstmJob *job) {
    Block block;
    int64_t bytes = 0;
    block.units = padded(job->size);
    int64_t gates = reserve(&bytes, GROUP_ROWS * 4 * block.units * (int64_t)sizeof(float));
    int64_t cells = reserve(&bytes, job->block * block.units * (int64_t)sizeof(float));
    QuantizedOffsets x = reserve_quantized(&bytes, GROUP_ROWS, job->inputs);
    QuantizedOffsets state = reserve_quantized(&bytes, job->block, job->size);
    char *start, *memory = allocate(bytes, &start);
    if (memory == NULL) return 0;
    block.gates = (float *)(start + gates);
    block.cells = (float *)(start + cells);
    const int64_t levels = linear_at(job->table, job->inputs, job->size).levels;
    block.x = quantized_at(start, x, levels);
    block.state = quantized_at(start, state, levels);
    const int64_t blocks = (job->sequences + job->block - 1) / job->block;
    for (int64_t number; (number = next_block(job->next, 1)) / 2 < blocks;) {
        int64_t first = number / 2 * job->block;
        block.backward = number % 2;
        block.sequences = job->order + first;
        block.count = minimum(job->block, job->sequences - first);
        const int64_t *table = job->table + block.backward * 2 * PACK_FIELDS;
        block.input = linear_at(table, job->inputs, 4 * block.units);
        block.hidden = linear_at(table + PACK_FIELDS, job->size, 4 * block.units);
        run_block(job, &block);
    }
    free(memory);
    return 1;
}
