/* The encoder of BERT.

   A thread takes groups of whole segments through all layers, so threads do not wait for each other, and the activations
   of a segment stay in the cache of one core. The last segments form a group that all threads encode together. */

#define QUERIES 4
#define PIECE_ROWS 8    /* rows that a thread normalizes and quantizes at a time */
#define SHARED_ROWS 256 /* the most rows of several segments that threads share: more would not fit into the cache */
#define PIECES 4        /* of a product, for each thread */

typedef struct {
    const float *gain, *bias;
} Norm;

typedef struct {
    Linear qkv, out, up, down;
    Norm after_attention, after_feed_forward;
} EncoderLayer;

/* x = norm(x + y) */
static void add_and_norm(float *x, const float *y, int64_t size, Norm norm, double epsilon) {
    Floats sum = f_set(0.0f), squares = f_set(0.0f);
    for (int64_t k = 0; k < size; k += LANES) {
        Floats both = f_add(f_load(x + k), f_load(y + k));
        f_store(x + k, both);
        sum = f_add(sum, both);
    }
    Floats mean = f_set(f_sum(sum) / size);
    for (int64_t k = 0; k < size; k += LANES) {
        Floats deviation = f_sub(f_load(x + k), mean);
        squares = f_fma(deviation, deviation, squares);
    }
    Floats factor = f_set((float)(1.0 / sqrt(f_sum(squares) / size + epsilon)));
    for (int64_t k = 0; k < size; k += LANES)
        f_store(x + k, f_fma(f_mul(f_sub(f_load(x + k), mean), factor), f_load(norm.gain + k), f_load(norm.bias + k)));
}

/* Replaces a row by exp(x - max) and returns the inverse of the sum. */
INLINE float softmax_row(float *x, int64_t width) {
    Floats high = f_load(x), sum = f_set(0.0f);
    for (int64_t k = LANES; k < width; k += LANES) high = f_max(high, f_load(x + k));
    high = f_set(f_largest(high));
    for (int64_t k = 0; k < width; k += LANES) {
        Floats e = exponential(f_sub(f_load(x + k), high));
        f_store(x + k, e);
        sum = f_add(sum, e);
    }
    return 1.0f / f_sum(sum);
}

#if !HAS_TRANSPOSE
/* Up to LANES rows of LANES numbers times a factor, as columns; missing rows count as zeros. */
static void transpose(const float *x, int64_t stride, int64_t rows, float factor, float *out, int64_t width) {
    for (int r = 0; r < LANES; r++)
        for (int d = 0; d < LANES; d++) out[d * width + r] = r < rows ? x[r * stride + d] * factor : 0.0f;
}
#endif

/* The scores of the distances from 1 - rows to width - 1, given the scores of -farthest to farthest. */
static void spread_distance_scores(const float *scores, int64_t farthest, int64_t rows, int64_t width, float *out) {
    for (int64_t distance = 1 - rows; distance < width; distance++)
        *out++ = scores[farthest + (distance < -farthest ? -farthest : minimum(distance, farthest))];
}

/* One attention head: queries, keys and values are at qkv, qkv + size and qkv + 2 * size of each row.
   `distance_scores` begin with the distance 1 - rows, or are null. */
static void attend(const float *qkv, int64_t rows, int64_t size, int64_t head, const float *distance_scores,
                   float *scratch, float *out) {
    int64_t stride = 3 * size, width = padded(rows);
    float *keys = scratch, *weights = scratch + head * width, factor = 1.0f / sqrtf((float)head);
    for (int64_t j = 0; j < width; j += LANES)
        for (int64_t d = 0; d < head; d += LANES)
            transpose(qkv + j * stride + size + d, stride, rows - j, factor, keys + d * width + j, width);
    for (int64_t i = 0; i < rows; i += QUERIES) {
        const float *query[QUERIES], *scores[QUERIES];
        float inverse[QUERIES];
        UNROLL(4)
        for (int r = 0; r < QUERIES; r++) {
            int64_t row = i + r < rows ? i + r : i;
            query[r] = qkv + row * stride;
            scores[r] = distance_scores == NULL ? NULL : distance_scores + rows - 1 - row;
        }
        for (int64_t j = 0; j < width; j += LANES) {
            Floats sums[QUERIES];
            UNROLL(4)
            for (int r = 0; r < QUERIES; r++) sums[r] = distance_scores == NULL ? f_set(0.0f) : f_load(scores[r] + j);
            for (int64_t d = 0; d < head; d++) {
                Floats key = f_load(keys + d * width + j);
                UNROLL(4)
                for (int r = 0; r < QUERIES; r++) sums[r] = f_fma(f_set(query[r][d]), key, sums[r]);
            }
            UNROLL(4)
            for (int r = 0; r < QUERIES; r++) f_store(weights + r * width + j, f_first(sums[r], rows - j, -INFINITY));
        }
        for (int r = 0; r < QUERIES && i + r < rows; r++) inverse[r] = softmax_row(weights + r * width, width);
        for (int64_t d = 0; d < head; d += LANES) {
            Floats sums[QUERIES];
            UNROLL(4)
            for (int r = 0; r < QUERIES; r++) sums[r] = f_set(0.0f);
            for (int64_t j = 0; j < rows; j++) {
                Floats value = f_load(qkv + j * stride + 2 * size + d);
                UNROLL(4)
                for (int r = 0; r < QUERIES; r++) sums[r] = f_fma(f_set(weights[r * width + j]), value, sums[r]);
            }
            for (int r = 0; r < QUERIES && i + r < rows; r++)
                f_store(out + (i + r) * size + d, f_mul(sums[r], f_set(inverse[r])));
        }
    }
}

INLINE Norm norm_at(const int64_t *table) {
    Norm norm = {(const float *)(uintptr_t)table[0], (const float *)(uintptr_t)table[1]};
    return norm;
}

static EncoderLayer layer_at(const EncoderJob *job, int64_t number) {
    const int64_t *t = job->table + EMBEDDING_FIELDS + number * LAYER_FIELDS;
    EncoderLayer layer;
    layer.qkv = linear_at(t, job->size, 3 * job->size);
    layer.out = linear_at(t + PACK_FIELDS, job->size, job->size);
    layer.after_attention = norm_at(t + 2 * PACK_FIELDS);
    layer.up = linear_at(t + 2 * PACK_FIELDS + NORM_FIELDS, job->size, job->inner);
    layer.down = linear_at(t + 3 * PACK_FIELDS + NORM_FIELDS, job->inner, job->size);
    layer.after_feed_forward = norm_at(t + 4 * PACK_FIELDS + NORM_FIELDS);
    return layer;
}

typedef struct { /* segments that are encoded together, one after the other without padding */
    int64_t rows, count;
    int64_t *segments, *first_rows; /* (count,) */
    int64_t *positions;             /* (rows,): the position of a row among the pieces of all segments */
    float *x, *wide, *narrow;
    Quantized quantized;
} Group;

typedef struct { /* what a thread needs in a stage */
    const EncoderJob *job;
    const Group *group;
    EncoderLayer layer;
    int64_t number; /* of the layer */
    float *scratch;
    Team team;
} Work;

typedef void Stage(const Work *, int64_t piece);

static void run_stage(Work *w, Stage *stage, int64_t pieces) {
    for (int64_t piece = -1; (piece = claim_piece(&w->team, piece)) < pieces; complete_piece(&w->team)) stage(w, piece);
    end_stage(&w->team, pieces);
}

/* Adds the conditions of a layer to the hidden states of a row, adds them times the layer's weight to the output, and
   quantizes them for the next product. */
static void finish_hidden(const Work *w, int64_t row, int64_t layer) {
    const int64_t size = w->job->size;
    const int64_t position = w->group->positions[row], positions = w->job->segments * w->job->width;
    const float weight = w->job->mix[layer], *added = w->job->conditions;
    float *x = w->group->x + row * size, *out = w->job->out + position * size;
    for (int64_t n = 0; added != NULL && n < size; n++) x[n] += added[(layer * positions + position) * size + n];
    if (weight != 0.0f || layer == 0)
        for (int64_t n = 0; n < size; n += LANES)
            f_store(out + n, f_fma(f_load(x + n), f_set(weight), layer == 0 ? f_set(0.0f) : f_load(out + n)));
    quantize_row(x, size, w->group->quantized, row);
}

#define EACH_ROW_OF_PIECE(row) \
    for (int64_t row = piece * PIECE_ROWS; row < minimum((piece + 1) * PIECE_ROWS, w->group->rows); row++)

static void embed_rows(const Work *w, int64_t piece) {
    const EncoderJob *job = w->job;
    const float *words = (const float *)(uintptr_t)job->table[0], *places = (const float *)(uintptr_t)job->table[1];
    EACH_ROW_OF_PIECE(row) {
        int64_t position = w->group->positions[row];
        float *x = w->group->x + row * job->size, *y = w->group->narrow + row * job->size;
        memcpy(x, words + job->pieces[position] * job->size, (size_t)job->size * sizeof(float));
        memcpy(y, places + position % job->width * job->size, (size_t)job->size * sizeof(float));
        for (int64_t n = 0; job->added != NULL && n < job->size; n++) y[n] += job->added[position * job->size + n];
        add_and_norm(x, y, job->size, norm_at(job->table + 2), job->epsilon);
        finish_hidden(w, row, 0);
    }
}

/* The heads of a segment are neighbors among the pieces. */
static void attend_head(const Work *w, int64_t piece) {
    const EncoderJob *job = w->job;
    const int64_t size = job->size, head = size / job->heads, k = piece / job->heads, number = piece % job->heads;
    const int64_t row = w->group->first_rows[k], offset = number * head, rows = job->lengths[w->group->segments[k]];
    float *distance_scores = job->distance_scores == NULL ? NULL : w->scratch, *scratch = w->scratch;
    if (distance_scores != NULL) {
        const float *scores = job->distance_scores + number * (2 * job->farthest + 1);
        spread_distance_scores(scores, job->farthest, rows, padded(rows), distance_scores);
        scratch += 2 * padded(rows);
    }
    attend(w->group->wide + 3 * row * size + offset, rows, size, head, distance_scores, scratch,
           w->group->narrow + row * size + offset);
}

static void quantize_attention(const Work *w, int64_t piece) {
    EACH_ROW_OF_PIECE(row) quantize_row(w->group->narrow + row * w->job->size, w->job->size, w->group->quantized, row);
}

static void quantize_inner(const Work *w, int64_t piece) {
    EACH_ROW_OF_PIECE(row) quantize_row(w->group->wide + row * w->job->inner, w->job->inner, w->group->quantized, row);
}

static void norm_attention(const Work *w, int64_t piece) {
    const int64_t size = w->job->size;
    EACH_ROW_OF_PIECE(row) {
        float *x = w->group->x + row * size;
        add_and_norm(x, w->group->narrow + row * size, size, w->layer.after_attention, w->job->epsilon);
        quantize_row(x, size, w->group->quantized, row);
    }
}

static void norm_feed_forward(const Work *w, int64_t piece) {
    const int64_t size = w->job->size;
    EACH_ROW_OF_PIECE(row) {
        add_and_norm(w->group->x + row * size, w->group->narrow + row * size, size, w->layer.after_feed_forward,
                     w->job->epsilon);
        finish_hidden(w, row, w->number + 1);
    }
}

/* The rows of a product's pieces, in whole tiles: all of them if there are enough columns for the threads. */
static int64_t product_rows(const Work *w, const Linear *l) {
    int64_t tiles = (l->outputs + TILE - 1) / TILE, parts = (PIECES * w->team.threads + tiles - 1) / tiles;
    int64_t rows = (w->group->rows + parts - 1) / parts;
    return (rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
}

static int64_t product_pieces(const Work *w, const Linear *l) {
    int64_t rows = product_rows(w, l);
    return (l->outputs + TILE - 1) / TILE * ((w->group->rows + rows - 1) / rows);
}

INLINE void multiply_piece(const Work *w, const Linear *l, int64_t piece, float *out, int activation) {
    int64_t rows = product_rows(w, l), parts = (w->group->rows + rows - 1) / rows, row = piece % parts * rows;
    multiply_tile(l, w->group->quantized, row, minimum(row + rows, w->group->rows), piece / parts * TILE, out, activation);
}

static void multiply_qkv(const Work *w, int64_t piece) { multiply_piece(w, &w->layer.qkv, piece, w->group->wide, NO_GELU); }
static void multiply_out(const Work *w, int64_t piece) { multiply_piece(w, &w->layer.out, piece, w->group->narrow, NO_GELU); }
static void multiply_up(const Work *w, int64_t piece) { multiply_piece(w, &w->layer.up, piece, w->group->wide, GELU); }
static void multiply_down(const Work *w, int64_t piece) { multiply_piece(w, &w->layer.down, piece, w->group->narrow, NO_GELU); }

enum { LAYER_STAGES = 9 };

static void encode_group(const EncoderJob *job, const Group *g, float *scratch, Team team) {
    const int64_t row_pieces = (g->rows + PIECE_ROWS - 1) / PIECE_ROWS;
    Work w;
    w.job = job, w.group = g, w.scratch = scratch, w.team = team;
    run_stage(&w, embed_rows, row_pieces);
    for (w.number = 0; w.number < job->layers; w.number++) {
        w.layer = layer_at(job, w.number);
        run_stage(&w, multiply_qkv, product_pieces(&w, &w.layer.qkv));
        run_stage(&w, attend_head, g->count * job->heads);
        run_stage(&w, quantize_attention, row_pieces);
        run_stage(&w, multiply_out, product_pieces(&w, &w.layer.out));
        run_stage(&w, norm_attention, row_pieces);
        run_stage(&w, multiply_up, product_pieces(&w, &w.layer.up));
        run_stage(&w, quantize_inner, row_pieces);
        run_stage(&w, multiply_down, product_pieces(&w, &w.layer.down));
        run_stage(&w, norm_feed_forward, row_pieces);
    }
}

/* Adds a segment to a group. */
static void add_segment(const EncoderJob *job, Group *g, int64_t segment) {
    g->segments[g->count] = segment;
    g->first_rows[g->count++] = g->rows;
    for (int64_t p = 0; p < job->lengths[segment]; p++) g->positions[g->rows++] = segment * job->width + p;
}

/* Lays out the arrays of a group for `rows` rows; returns their bytes. */
static int64_t lay_out_group(const EncoderJob *job, Group *g, int64_t rows, char *block) {
    int64_t widest = job->inner > 3 * job->size ? job->inner : 3 * job->size, bytes = 0;
    int64_t segments = reserve(&bytes, rows * (int64_t)sizeof(int64_t));
    int64_t first_rows = reserve(&bytes, rows * (int64_t)sizeof(int64_t));
    int64_t positions = reserve(&bytes, rows * (int64_t)sizeof(int64_t));
    int64_t x = reserve(&bytes, rows * job->size * (int64_t)sizeof(float));
    int64_t narrow = reserve(&bytes, rows * job->size * (int64_t)sizeof(float));
    int64_t wide = reserve(&bytes, rows * widest * (int64_t)sizeof(float));
    QuantizedOffsets quantized = reserve_quantized(&bytes, rows, widest);
    if (block == NULL) return bytes;
    g->rows = g->count = 0;
    g->segments = (int64_t *)(block + segments);
    g->first_rows = (int64_t *)(block + first_rows);
    g->positions = (int64_t *)(block + positions);
    g->x = (float *)(block + x);
    g->narrow = (float *)(block + narrow);
    g->wide = (float *)(block + wide);
    g->quantized = quantized_at(block, quantized, layer_at(job, 0).qkv.levels);
    return bytes;
}

/* The first segment of the group that all threads encode together. */
static int64_t first_shared_segment(const EncoderJob *job, int64_t *shared_rows) {
    int64_t first = job->segments, rows = 0, most = minimum(job->threads * GROUP_ROWS, SHARED_ROWS);
    while (job->threads > 1 && first > 0 && (rows == 0 || rows + job->lengths[first - 1] <= most))
        rows += job->lengths[--first];
    *shared_rows = rows;
    return first;
}

/* Allocates the group that all threads encode together, after the counters of its stages. */
static char *allocate_shared(const EncoderJob *job, int64_t first, int64_t rows, char **block) {
    int64_t stages = (1 + job->layers * LAYER_STAGES) * ALIGNMENT;
    char *memory = allocate(stages + (int64_t)sizeof(Group) + ALIGNMENT + lay_out_group(job, NULL, rows, NULL), block);
    if (memory == NULL) return NULL;
    Group *g = (Group *)(*block + stages);
    lay_out_group(job, g, rows, *block + stages + ((int64_t)sizeof(Group) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    for (int64_t segment = first; segment < job->segments; segment++) add_segment(job, g, segment);
    return memory;
}

static void encode_shared(const EncoderJob *job, char *block, float *scratch) {
    Team team = {job->threads, (int64_t *)block};
    encode_group(job, (const Group *)(block + (1 + job->layers * LAYER_STAGES) * ALIGNMENT), scratch, team);
}

/* Encodes groups of the first `count` segments on this thread, until no segment is left. */
static void encode_own(const EncoderJob *job, Group *g, int64_t count, int64_t enough, float *scratch) {
    Team alone = {1, NULL};
    for (;;) {
        g->rows = g->count = 0;
        while (g->rows < enough) {
            int64_t segment = next_block(job->next + NEXT_ITEM, 1);
            if (segment >= count) break;
            add_segment(job, g, segment);
        }
        if (g->count == 0) break;
        encode_group(job, g, scratch, alone);
    }
}

/* What each thread does. */
static int encode_job(const EncoderJob *job) {
    int64_t own_rows = 0, longest = 0, shared_rows, first = first_shared_segment(job, &shared_rows);
    for (int64_t k = 0; k < job->segments; k++) {
        own_rows += k < first ? job->lengths[k] : 0;
        longest = job->lengths[k] > longest ? job->lengths[k] : longest;
    }
    int64_t enough = minimum((own_rows + job->threads - 1) / job->threads, GROUP_ROWS);
    int64_t scratch_bytes = 0, group_bytes = first ? lay_out_group(job, NULL, enough + longest, NULL) : 0;
    int64_t scratch_rows = job->size / job->heads + QUERIES + (job->distance_scores == NULL ? 0 : 2);
    reserve(&scratch_bytes, scratch_rows * padded(longest) * (int64_t)sizeof(float));
    char *scratch, *shared = NULL, *memory = allocate(scratch_bytes + group_bytes, &scratch);
    char *shared_memory = job->thread == 0 && shared_rows ? allocate_shared(job, first, shared_rows, &shared) : NULL;
    int is_done = memory != NULL && (shared_memory != NULL || job->thread > 0 || shared_rows == 0);
    if (job->thread == 0 && shared_rows) open_shared(job->next, is_done ? shared : NULL);
    if (is_done && first) {
        Group g;
        lay_out_group(job, &g, enough + longest, scratch + scratch_bytes);
        encode_own(job, &g, first, enough, (float *)scratch);
    }
    if (is_done && shared_rows) {
        if (job->thread > 0) shared = enter_shared(job->next);
        if (shared != NULL) encode_shared(job, shared, (float *)scratch);
        if (job->thread > 0) leave_shared(job->next);
        else close_shared(job->next, shared);
    }
    free(shared_memory);
    free(memory);
    return is_done;
}
