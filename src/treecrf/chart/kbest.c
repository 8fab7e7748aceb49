/* The k best trees of each sentence.

   Every span has three ranked lists, from short spans to long ones: its k best pairs of children over all splits, and its
   k best trees as a left child (or whole sentence) and as a right child, which are a choice, such as a label, over one of
   these pairs. All three are the k largest sums of an item of one list and an item of another. */

#include "cpu_backend.h"

typedef struct {
    double score;
    int32_t source, first, second; /* the number of the pair of lists, and the ranks in both */
} Item;

typedef struct { /* two lists in descending order; `score` is added to each sum */
    const Item *first, *second;
    int32_t first_count, second_count;
    double score;
} Source;

typedef struct {
    int64_t batch, size, choices, k;
    double *values, *split_scores; /* (batch, size, size, choices); (batch, size, size, size) or null */
    int64_t *lengths, *counter;    /* counter: one zero; the next sentence */
    uint8_t *is_right_choice;
    double *scores; /* (k, batch) */
    int64_t *trees; /* (k, batch, size, size) */
    Item *pairs, *left, *right, *heap, *ranked; /* lists of k items for each span; scratch for this thread */
    int32_t *counts;                            /* items in the three lists of each span */
    Source *sources;
} Ranking;

static int is_better(const Item *a, const Item *b) {
    if (a->score != b->score) return a->score > b->score;
    return a->source != b->source ? a->source < b->source : a->first < b->first;
}

static void push(Item *heap, int64_t *count, Item item) {
    int64_t place = (*count)++;
    for (; place && is_better(&item, heap + (place - 1) / 2); place = (place - 1) / 2) heap[place] = heap[(place - 1) / 2];
    heap[place] = item;
}

static Item pop(Item *heap, int64_t *count) {
    Item top = heap[0], last = heap[--*count];
    int64_t place = 0;
    for (int64_t child = 1; child < *count; child = 2 * place + 1) {
        if (child + 1 < *count && is_better(heap + child + 1, heap + child)) child++;
        if (!is_better(heap + child, &last)) break;
        heap[place] = heap[child], place = child;
    }
    heap[place] = last;
    return top;
}

static void push_pair(const Ranking *r, int64_t *count, int32_t number, int32_t first, int32_t second) {
    const Source *source = r->sources + number;
    if (first >= source->first_count || second >= source->second_count) return;
    double score = source->first[first].score + source->second[second].score + source->score;
    if (score > -INFINITY) push(r->heap, count, (Item){score, number, first, second});
}

/* Writes the k largest sums of all sources to `out`; returns their number. Rank (a, b) brings (a, b + 1) to the heap, and
   (a, 0) also (a + 1, 0), so that each pair of ranks is in it once. */
static int32_t rank_sums(const Ranking *r, int32_t sources, Item *out) {
    int64_t waiting = 0;
    int32_t found = 0;
    for (int32_t number = 0; number < sources; number++) push_pair(r, &waiting, number, 0, 0);
    while (waiting && found < r->k) {
        Item best = pop(r->heap, &waiting);
        out[found++] = best;
        push_pair(r, &waiting, best.source, best.first, best.second + 1);
        if (best.second == 0) push_pair(r, &waiting, best.source, best.first + 1, 0);
    }
    return found;
}

/* Ranks the trees of a span by its pairs of children and its choices; the rank of a choice becomes its number. */
static int32_t rank_trees(const Ranking *r, int64_t span, const double *values, int only_right_choices, Item *out) {
    int64_t waiting = 0;
    int32_t count = 0;
    for (int64_t choice = 0; choice < r->choices; choice++)
        if (values[choice] > -INFINITY && !(only_right_choices && !r->is_right_choice[choice]))
            push(r->heap, &waiting, (Item){values[choice], (int32_t)choice, 0, 0});
    while (waiting && count < r->k) r->ranked[count++] = pop(r->heap, &waiting);
    r->sources[0] = (Source){r->ranked, r->pairs + span * r->k, count, r->counts[3 * span], 0.0};
    count = rank_sums(r, 1, out);
    for (int32_t rank = 0; rank < count; rank++) out[rank].first = r->ranked[out[rank].first].source;
    return count;
}

static void rank_span(const Ranking *r, int64_t sentence, int64_t i, int64_t j) {
    int64_t span = i * r->size + j, cell = sentence * r->size * r->size + span;
    int32_t *counts = r->counts + 3 * span;
    const double *values = r->values + cell * r->choices;
    if (j == i + 1) {
        r->pairs[span * r->k] = (Item){0.0, 0, 0, 0};
        counts[0] = 1;
    } else {
        for (int64_t m = i + 1; m < j; m++) {
            int64_t left = i * r->size + m, right = m * r->size + j;
            double score = r->split_scores ? r->split_scores[(sentence * r->size + i) * r->size * r->size + right] : 0.0;
            r->sources[m - i - 1] =
                (Source){r->left + left * r->k, r->right + right * r->k, r->counts[3 * left + 1], r->counts[3 * right + 2], score};
        }
        counts[0] = rank_sums(r, (int32_t)(j - i - 1), r->pairs + span * r->k);
    }
    counts[1] = rank_trees(r, span, values, 0, r->left + span * r->k);
    if (r->is_right_choice && j > i + 1) counts[2] = rank_trees(r, span, values, 1, r->right + span * r->k);
    else {
        counts[2] = counts[1];
        memcpy(r->right + span * r->k, r->left + span * r->k, counts[1] * sizeof(Item));
    }
}

/* Writes the choices of a tree. The recursion is for the shorter child, so its depth is log2(n). */
static void write_tree(const Ranking *r, int64_t *tree, int64_t i, int64_t j, int32_t rank, int is_right) {
    while (1) {
        int64_t span = i * r->size + j;
        const Item *item = (is_right ? r->right : r->left) + span * r->k + rank;
        tree[span] = item->first;
        if (j == i + 1) return;
        const Item *pair = r->pairs + span * r->k + item->second;
        int64_t split = i + 1 + pair->source;
        if (split - i < j - split) {
            write_tree(r, tree, i, split, pair->first, 0);
            i = split, rank = pair->second, is_right = 1;
        } else {
            write_tree(r, tree, split, j, pair->second, 1);
            j = split, rank = pair->first, is_right = 0;
        }
    }
}

static void run_sentences(const Ranking *r) {
    int64_t cells = r->size * r->size;
    for (int64_t sentence; (sentence = next_block(r->counter, 1)) < r->batch;) {
        int64_t length = r->lengths[sentence];
        for (int64_t width = 1; width <= length; width++)
            for (int64_t i = 0; i + width <= length; i++) rank_span(r, sentence, i, i + width);
        for (int64_t rank = 0; rank < r->k; rank++) {
            int64_t place = rank * r->batch + sentence, *tree = r->trees + place * cells;
            int exists = rank < r->counts[3 * length + 1];
            for (int64_t cell = 0; cell < cells; cell++) tree[cell] = -1;
            r->scores[place] = exists ? r->left[length * r->k + rank].score : -INFINITY;
            if (exists) write_tree(r, tree, 0, length, (int32_t)rank, 0);
        }
    }
}

/* Whether numbers, addresses and lengths are valid; sets an error if not. */
static int check_ranking(const Ranking *r) {
    if (r->choices < 0 || r->choices > LARGEST_SIZE || r->k < 1 || r->k > LARGEST_SIZE) {
        PyErr_Format(PyExc_ValueError, "%lld choices and k = %lld; expected numbers up to %lld", (long long)r->choices,
                     (long long)r->k, (long long)LARGEST_SIZE);
        return 0;
    }
    if (!r->values || !r->counter || !r->lengths || !r->scores || !r->trees) {
        PyErr_SetString(PyExc_ValueError, "an address is null; expected an array");
        return 0;
    }
    if (load_counter(r->counter) < 0) {
        PyErr_SetString(PyExc_ValueError, "the counter is negative; expected zero");
        return 0;
    }
    if ((double)r->size * r->size * r->k < 1e12) return check_lengths(r->lengths, r->batch, r->size);
    PyErr_NoMemory();
    return 0;
}

PyObject *kbest(PyObject *module, PyObject *args) {
    unsigned long long values, lengths, counter, is_right_choice, split_scores, scores, trees;
    long long thread, threads, batch, size, choices, k;
    (void)module;
    if (!PyArg_ParseTuple(args, "LLLLLLKKKKKKK", &thread, &threads, &batch, &size, &choices, &k, &values, &lengths, &counter,
                          &is_right_choice, &split_scores, &scores, &trees))
        return NULL;
    Ranking r = {.batch = batch, .size = size, .choices = choices, .k = k};
    r.values = (double *)(uintptr_t)values, r.split_scores = (double *)(uintptr_t)split_scores;
    r.lengths = (int64_t *)(uintptr_t)lengths, r.counter = (int64_t *)(uintptr_t)counter;
    r.is_right_choice = (uint8_t *)(uintptr_t)is_right_choice;
    r.scores = (double *)(uintptr_t)scores, r.trees = (int64_t *)(uintptr_t)trees;
    if (!check_numbers(batch, size, thread, threads) || !check_ranking(&r)) return NULL;
    size_t items = (size_t)size * size * k, heap = (size_t)size + choices + k + 2;
    r.pairs = malloc((3 * items + heap + k) * sizeof(Item));
    r.counts = malloc(3 * (size_t)size * size * sizeof(int32_t));
    r.sources = malloc(size * sizeof(Source));
    int has_memory = r.pairs && r.counts && r.sources;
    if (has_memory) {
        r.left = r.pairs + items, r.right = r.left + items, r.heap = r.right + items, r.ranked = r.heap + heap;
        Py_BEGIN_ALLOW_THREADS
        run_sentences(&r);
        Py_END_ALLOW_THREADS
    }
    free(r.pairs), free(r.counts), free(r.sources);
    if (!has_memory) return PyErr_NoMemory();
    Py_RETURN_NONE;
}
