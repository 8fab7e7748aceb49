/* Scores of spans and labels, their expected-F1 utility, and the mean over word pieces. */

#define DOTS 4
#define SPANS 192
#define LEFTS 16

/* The classes of one span: the sum over k of right[k] times row k of [l; 1]' W, and its last row. */
static void score_span(const float *half, const float *right, int64_t size, int64_t classes, float *out) {
    int64_t width = padded(classes);
    for (int64_t c = 0; c < classes; c += LANES) {
        Floats sum = f_load(half + size * width + c);
        for (int64_t k = 0; k < size; k++) sum = f_fma(f_set(right[k]), f_load(half + k * width + c), sum);
        f_store_first(out + c, classes - c, sum);
    }
}

/* Spans with the same left boundary share their [l; 1]' W; threads take SPANS spans at a time, or an equal share of few
   spans. */
static int labels_job(const LabelsJob *job) {
    Linear l = linear_at(job->table, job->size, (job->size + 1) * padded(job->classes));
    int64_t bytes = 0;
    QuantizedOffsets offsets = reserve_quantized(&bytes, LEFTS, job->size, NARROW);
    int64_t products = reserve(&bytes, LEFTS * l.outputs * (int64_t)sizeof(float));
    char *block, *memory = allocate(bytes, &block);
    if (memory == NULL) return 0;
    Quantized x = quantized_at(block, offsets);
    float *half = (float *)(block + products);
    const int64_t share = minimum((job->spans + job->threads - 1) / job->threads, SPANS);
    for (int64_t begin; (begin = next_block(job->next, share)) < job->spans;) {
        int64_t last = minimum(begin + share, job->spans), scored = begin;
        while (scored < last) {
            int64_t rows = 0, end = scored;
            for (; end < last; end++) {
                if (end > scored && job->lefts[end] == job->lefts[end - 1]) continue;
                if (rows == LEFTS) break;
                quantize_row(job->left + job->lefts[end] * job->stride, job->size, x, rows++);
            }
            multiply(&l, x, rows, half);
            for (int64_t k = scored, row = 0; k < end; k++) {
                row += k > scored && job->lefts[k] != job->lefts[k - 1];
                score_span(half + row * l.outputs, job->right + job->rights[k] * job->stride, job->size, job->classes,
                           job->out + k * job->classes);
            }
            scored = end;
        }
    }
    free(memory);
    return 1;
}

/* The best label of one span; classes with a score of -inf are forbidden. */
static void best_label(const UtilityJob *job, int64_t span, float *probabilities, double *names) {
    const float *scores = job->scores + span * job->classes;
    int64_t width = padded(job->classes), best = 0;
    for (int64_t c = 0; c < width; c++) probabilities[c] = c < job->classes ? scores[c] : -INFINITY;
    for (int64_t c = 1; c < job->classes; c++) best = scores[c] > scores[best] ? c : best;
    double inverse = softmax_row(probabilities, width), expected = 0.0;
    memset(names, 0, (size_t)job->names * sizeof(double));
    for (int64_t c = 0; c < job->classes; c++)
        for (int64_t k = job->starts[c]; k < job->starts[c + 1]; k++) names[job->chains[k]] += probabilities[c];
    for (int64_t k = job->starts[best]; k < job->starts[best + 1]; k++) expected += names[job->chains[k]];
    double utility = inverse * job->marginals[span] * expected - job->threshold * job->counts[best];
    int is_dropped = utility < 0 && scores[job->empty_label] > -INFINITY;
    job->utility[span] = is_dropped ? 0.0f : (float)utility;
    job->out[span] = is_dropped ? job->empty_label : best;
}

static int utility_job(const UtilityJob *job) {
    int64_t bytes = 0, probabilities = reserve(&bytes, padded(job->classes) * (int64_t)sizeof(float));
    int64_t names = reserve(&bytes, job->names * (int64_t)sizeof(double));
    char *block, *memory = allocate(bytes, &block);
    if (memory == NULL) return 0;
    for (int64_t begin; (begin = next_block(job->next, SPANS)) < job->spans;)
        for (int64_t span = begin; span < minimum(begin + SPANS, job->spans); span++)
            best_label(job, span, (float *)(block + probabilities), (double *)(block + names));
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
