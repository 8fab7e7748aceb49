/* Scores of spans and labels, and the mean over word pieces. */

#define DOTS 4
#define SPANS 192

typedef struct { /* spans that a thread scores together; those with the same right boundary are one row */
    const LabelsJob *job;
    Linear half;          /* from r to W [r; 1]: for each LANES classes, the factors of 1 and of each number of l */
    int64_t rows;
    int64_t *first_spans; /* (rows + 1,) */
    Quantized rights;     /* (rows, size) */
    float *sums;          /* of LANES classes of each span so far */
} SpanBlock;

static void add_spans(SpanBlock *b, int64_t begin, int64_t end) {
    const LabelsJob *job = b->job;
    b->rows = 0;
    for (int64_t k = begin; k < end; k++) {
        if (k > begin && job->rights[k] == job->rights[k - 1]) continue;
        quantize_row(job->right + job->rights[k] * job->stride, job->size, b->rights, b->rows);
        b->first_spans[b->rows++] = k;
    }
    b->first_spans[b->rows] = end;
}

/* Adds the products of one row of a tile to the scores of its spans. */
INLINE void add_products_of_row(const SpanBlock *b, int64_t row, int64_t column, const int32_t *sums) {
    const LabelsJob *job = b->job;
    const int64_t count = minimum(TILE, b->half.outputs - column) / LANES;
    Floats half[TILE / LANES];
    for (int64_t n = 0, c = column; n < count; n++, c += LANES)
        half[n] = f_fma(dequantize(&b->half, b->rights, row, c, sums + n * LANES), f_load(b->half.scales + c),
                        f_load(b->half.bias + c));
    for (int64_t span = b->first_spans[row]; span < b->first_spans[row + 1]; span++) {
        const float *left = job->left + job->lefts[span] * job->stride;
        float *sum = b->sums + (span - b->first_spans[0]) * LANES;
        int64_t k = column / LANES % (job->size + 1), class = column / LANES / (job->size + 1) * LANES;
        Floats total = f_load(sum);
        for (int64_t n = 0; n < count; n++) {
            total = k == 0 ? half[n] : f_fma(f_set(left[k - 1]), half[n], total);
            if (k++ < job->size) continue;
            f_store_first(job->out + span * job->classes + class, job->classes - class, total);
            k = 0, class += LANES;
        }
        f_store(sum, total);
    }
}

static void score_block(const SpanBlock *b) {
    int32_t sums[TILE_ROWS][TILE];
    for (int64_t column = 0; column < b->half.outputs; column += TILE)
        for (int64_t row = 0, tile_end; row < b->rows; row = tile_end) {
            tile_end = row_sums(&b->half, b->rights, row, b->rows, column, sums);
            for (int64_t r = 0; row + r < tile_end; r++) add_products_of_row(b, row + r, column, sums[r]);
        }
}

/* Threads take SPANS spans at a time, or an equal share of few spans. */
static int labels_job(const LabelsJob *job) {
    int64_t bytes = 0;
    QuantizedOffsets rights = reserve_quantized(&bytes, SPANS, job->size);
    int64_t first_spans = reserve(&bytes, (SPANS + 1) * (int64_t)sizeof(int64_t));
    int64_t sums = reserve(&bytes, SPANS * LANES * (int64_t)sizeof(float));
    char *start, *memory = allocate(bytes, &start);
    if (memory == NULL) return 0;
    SpanBlock b;
    b.job = job;
    b.half = linear_at(job->table, job->size, (job->size + 1) * padded(job->classes));
    b.first_spans = (int64_t *)(start + first_spans);
    b.rights = quantized_at(start, rights, b.half.levels);
    b.sums = (float *)(start + sums);
    const int64_t share = minimum((job->spans + job->threads - 1) / job->threads, SPANS);
    for (int64_t begin; (begin = next_block(job->next, share)) < job->spans;) {
        add_spans(&b, begin, minimum(begin + share, job->spans));
        score_block(&b);
    }
    free(memory);
    return 1;
}

/* One row of a chart: float dot products, DOTS columns at a time. */
static void chart_row(const ChartJob *job, const float *left, const float *half, float *out) {
    for (int64_t j = 0; j < job->boundaries; j += DOTS) {
        const float *row[DOTS];
        Floats sums[DOTS];
        UNROLL(4)
        for (int r = 0; r < DOTS; r++) {
            row[r] = half + minimum(j + r, job->boundaries - 1) * (job->size + 1);
            sums[r] = f_set(0.0f);
        }
        for (int64_t k = 0; k < job->size; k += LANES) {
            Floats x = f_load_first(left + k, job->size - k, 0.0f);
            UNROLL(4)
            for (int r = 0; r < DOTS; r++) sums[r] = f_fma(x, f_load_first(row[r] + k, job->size - k, 0.0f), sums[r]);
        }
        for (int r = 0; r < DOTS && j + r < job->boundaries; r++) out[j + r] = f_sum(sums[r]) + row[r][job->size];
    }
}

static void chart_job(const ChartJob *job) {
    int64_t n = job->boundaries;
    for (int64_t row; (row = next_block(job->next, n)) < job->sentences * n;)
        for (int64_t i = row; i < row + n; i++)
            chart_row(job, job->left + i * job->stride, job->half + row * (job->size + 1), job->out + i * n);
}

static void pool_job(const PoolJob *job) {
    memset(job->out, 0, (size_t)(job->positions * job->size) * sizeof(float));
    for (int64_t k = 0; k < job->pieces; k++) {
        const float *from = job->x + job->rows[k] * job->size;
        float *to = job->out + job->places[k] * job->size, share = 1.0f / job->shares[k];
        for (int64_t d = 0; d < job->size; d += LANES) {
            int64_t count = job->size - d;
            Floats sum = f_fma(f_load_first(from + d, count, 0.0f), f_set(share), f_load_first(to + d, count, 0.0f));
            f_store_first(to + d, count, sum);
        }
    }
}
