/* The trees of maximal utility under a grammar: see label_grammar.py, whose Python code is the definition.

   All sizes and indices are checked before the search starts. */

#include "module.h"

#define NO_CONTEXT 0
#define NO_LABEL (-1)
#define NONE (-1)
#define ANY_END 0
#define ADVANCES 4096 /* a power of two */
#define BLOCK 8 /* sentences that a thread takes at once */
#define LARGEST_CELL 4e18

enum { COMPLETE = 1, NO_MEMORY = 0, NO_TREE = -1, WRONG_ARGUMENT = -2 };

typedef struct {
    int64_t sentences, size, spans, choices, words, tag_choices, labels, states, arcs, symbols, root_state, empty_label,
        has_all_tags; /* 0: a tree has the first tags, unless a constituent lacks a child that it needs */
    double weight, log_uniform, lack; /* lack: the cost of a constituent without a child that it needs */
    const int64_t *lengths, *tags; /* (words, tag choices) symbols */
    const float *tag_utility;
    const int64_t *first_spans, *cells, *span_labels;
    const float *utility;
    const uint8_t *required; /* (spans,) */
    const int64_t *sentence_labels, *top_symbols, *inner_states;
    const int64_t *needs, *gives; /* bits: of the labels, and of the symbols of children */
    const double *chain_log_probs;
    const int64_t *first_arcs, *arc_symbols;
    const double *arc_log_probs;
    const int64_t *arc_targets, *shorter;
    const double *log_left_over;
    int64_t *next; /* the first sentence that no thread has taken */
    int64_t *out_starts, *out_ends, *out_labels, *out_tags; /* out_tags (words,) has the chosen columns of `tags` */
    double *out_utility; /* (sentences,) */
} Job;

typedef struct { /* the result of `advance` */
    int64_t state, symbol, target;
    double log_prob;
} Advance;

typedef struct { /* a word with a tag (NO_LABEL), or the best subtree of a candidate */
    double utility;
    int64_t start, end, symbol, label;
    int64_t last;      /* point: the end of the path through its children; of a word, the column of its tag */
    int64_t same_end;  /* the next edge with this end */
} Edge;

typedef struct { /* the end of a path from the start of a constituent */
    double utility;
    int64_t state, given; /* given: bits of the children; 0 if a lack costs nothing */
    int64_t edge, before; /* the last edge, and the point before it */
    int64_t same_place;   /* the next point of the same constituent and position */
} Point;

typedef struct {
    int64_t state; /* before the first child */
    int64_t last;  /* position: paths end there */
    int64_t end;   /* of the constituent, if spans are required; ANY_END: of the root, or constituents share paths */
} Parent;

typedef struct {
    int64_t first_edge;              /* the latest edge that ends here */
    int64_t first_span;              /* the first span that starts here */
    int64_t edge_count, point_count; /* of the search from here to the end */
} Position;

typedef struct {
    const Job *job;
    int64_t length, tag_choices, has_required;
    int64_t latest, latest_word; /* the latest sentence, or NONE, and its first word */
    int has_cost; /* whether constituents pay for children that they lack */
    Advance *advances; /* (ADVANCES,) the latest results, by a hash of their arguments */
    Edge *edges;
    int64_t edge_count, edge_capacity;
    Point *points;
    int64_t point_count, point_capacity;
    Parent *parents;
    int64_t parent_count, parent_capacity;
    int64_t *first_points; /* (parents, length + 1) */
    int64_t first_point_capacity;
    Position *positions; /* (length + 1,) */
    int64_t position_capacity;
    int64_t *stack; /* edges whose spans are not written */
    int64_t stack_capacity;
} Search;

static int grow(void **array, int64_t *capacity, int64_t needed, size_t size) {
    if (needed <= *capacity) return 1;
    int64_t more = needed > 2 * *capacity ? needed : 2 * *capacity;
    void *larger = realloc(*array, (size_t)more * size);
    if (larger == NULL) return 0;
    *array = larger, *capacity = more;
    return 1;
}

/* The arc of a state for a symbol, or NONE. */
static int64_t find_arc(const Job *job, int64_t state, int64_t symbol) {
    int64_t low = job->first_arcs[state], high = job->first_arcs[state + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (job->arc_symbols[middle] < symbol) low = middle + 1;
        else high = middle;
    }
    return low < job->first_arcs[state + 1] && job->arc_symbols[low] == symbol ? low : NONE;
}

static Advance compute_advance(const Job *job, int64_t state, int64_t symbol) {
    double log_prob = 0.0;
    int64_t current = state, label_state = state, arc;
    while ((arc = find_arc(job, current, symbol)) == NONE) {
        log_prob += job->log_left_over[current];
        if (current == NO_CONTEXT) return (Advance){state, symbol, label_state, log_prob + job->log_uniform};
        label_state = current, current = job->shorter[current];
    }
    return (Advance){state, symbol, current == NO_CONTEXT ? label_state : job->arc_targets[arc],
                     log_prob + job->arc_log_probs[arc]};
}

/* The log-probability of a child; `state` becomes the state after it. */
static double advance(const Search *s, int64_t *state, int64_t symbol) {
    Advance *latest = s->advances + (((uint64_t)*state * 31 + (uint64_t)symbol) & (ADVANCES - 1));
    if (latest->state != *state || latest->symbol != symbol) *latest = compute_advance(s->job, *state, symbol);
    *state = latest->target;
    return latest->log_prob;
}

/* Adds a point, in place of one with the same state and children if it is better. The old point stays in memory: paths contain it. */
static int add_point(Search *s, int64_t parent, int64_t position, Point point) {
    if (!grow((void **)&s->points, &s->point_capacity, s->point_count + 1, sizeof(Point))) return 0;
    int64_t *link = s->first_points + parent * (s->length + 1) + position;
    while (*link != NONE && (s->points[*link].state != point.state || s->points[*link].given != point.given))
        link = &s->points[*link].same_place;
    if (*link != NONE && !(point.utility > s->points[*link].utility)) return 1;
    point.same_place = *link == NONE ? NONE : s->points[*link].same_place;
    *link = s->point_count;
    s->points[s->point_count++] = point;
    return 1;
}

static int64_t span_start(const Job *job, int64_t span) { return job->cells[span] / job->size % job->size; }

static int64_t span_end(const Job *job, int64_t span) { return job->cells[span] % job->size; }

/* Whether an edge skips no required span: the longest one inside the parent that starts with the edge must be the edge, or
   in it. */
static int is_allowed(const Search *s, const Parent *parent, int64_t start, const Edge *edge) {
    int64_t span = s->positions[edge->start + 1].first_span;
    while (span-- > s->positions[edge->start].first_span) {
        int64_t end = span_end(s->job, span);
        if (s->job->required[span] && end <= parent->last && !(edge->start == start && end == parent->end))
            return edge->end > end || (edge->end == end && edge->label != NO_LABEL);
    }
    return 1;
}

/* Extends the paths of a parent, which begin at `start`, that end where an edge starts. */
static int extend(Search *s, int64_t parent, int64_t start, int64_t edge) {
    int64_t k = s->first_points[parent * (s->length + 1) + s->edges[edge].start];
    if (k == NONE || (s->has_required && !is_allowed(s, s->parents + parent, start, s->edges + edge))) return 1;
    while (k != NONE) {
        Point before = s->points[k];
        int64_t state = before.state;
        double log_prob = advance(s, &state, s->edges[edge].symbol);
        int64_t given = s->has_cost ? before.given | s->job->gives[s->edges[edge].symbol] : 0;
        Point point = {before.utility + s->edges[edge].utility + s->job->weight * log_prob, state, given, edge, k, NONE};
        if (!add_point(s, parent, s->edges[edge].end, point)) return 0;
        k = before.same_place;
    }
    return 1;
}

/* The end of the best complete path of a parent, which needs some children, to a position, or NONE. */
static int64_t best_end(const Search *s, int64_t parent, int64_t position, int64_t needs, double *utility) {
    int64_t best = NONE;
    for (int64_t k = s->first_points[parent * (s->length + 1) + position]; k != NONE; k = s->points[k].same_place) {
        int64_t state = s->points[k].state;
        double total = s->points[k].utility + s->job->weight * advance(s, &state, s->job->symbols - 1);
        if (s->has_cost && (needs & ~s->points[k].given)) total -= s->job->lack;
        if (best == NONE || total > *utility) best = k, *utility = total;
    }
    return best;
}

static int add_edge(Search *s, Edge edge) {
    if (!grow((void **)&s->edges, &s->edge_capacity, s->edge_count + 1, sizeof(Edge))) return 0;
    edge.same_end = NONE;
    s->edges[s->edge_count++] = edge;
    return 1;
}

/* The parent with this state and end, which is added if there is none; NONE without memory. */
static int64_t find_parent(Search *s, int64_t state, int64_t end, int64_t start, int64_t last) {
    int64_t k = 0, width = s->length + 1;
    if (!s->has_required) end = ANY_END;
    while (k < s->parent_count && (s->parents[k].state != state || s->parents[k].end != end)) k++;
    if (k == s->parent_count) {
        Point origin = {0.0, state, 0, NONE, NONE, NONE};
        if (!grow((void **)&s->parents, &s->parent_capacity, k + 1, sizeof(Parent)) ||
            !grow((void **)&s->first_points, &s->first_point_capacity, (k + 1) * width, sizeof(int64_t)))
            return NONE;
        for (int64_t position = start; position < width; position++) s->first_points[k * width + position] = NONE;
        s->parents[s->parent_count++] = (Parent){state, last, end};
        if (!add_point(s, k, start, origin)) return NONE;
    }
    if (last > s->parents[k].last) s->parents[k].last = last;
    return k;
}

/* Adds the subtrees of the candidates over one span, and extends all paths by them. */
static int add_subtrees(Search *s, int64_t span) {
    const Job *job = s->job;
    int64_t first = s->edge_count, start = span_start(job, span), end = span_end(job, span);
    for (int64_t choice = 0; choice < job->choices; choice++) {
        int64_t label = job->span_labels[span * job->choices + choice];
        if (label == NO_LABEL) continue;
        double utility = 0.0;
        int64_t parent = find_parent(s, job->inner_states[label], end, start, end);
        int64_t last = best_end(s, parent, end, job->needs[label], &utility);
        if (last == NONE) continue;
        utility = utility + job->utility[span * job->choices + choice] + job->chain_log_probs[label];
        if (!add_edge(s, (Edge){utility, start, end, job->top_symbols[label], label, last, NONE})) return 0;
    }
    for (int64_t edge = first; edge < s->edge_count; edge++)
        for (int64_t parent = 0; parent < s->parent_count; parent++)
            if (s->parents[parent].last >= end && !extend(s, parent, start, edge)) return 0;
    return 1;
}

/* Finds the best subtree of each candidate from one position: spans `span` to `last_span` - 1. */
static int find_subtrees(Search *s, int64_t start, int64_t span, int64_t last_span, int64_t word, int has_free_root) {
    const Job *job = s->job;
    int64_t last = start + 1, own_edges = s->edge_count;
    s->parent_count = 0;
    for (int64_t k = span * job->choices; k < last_span * job->choices; k++) {
        int64_t label = job->span_labels[k], end = span_end(job, k / job->choices);
        if (label == NO_LABEL) continue;
        if (find_parent(s, job->inner_states[label], end, start, end) == NONE) return 0;
        if (end > last) last = end;
    }
    if (has_free_root && find_parent(s, job->root_state, ANY_END, start, s->length) == NONE) return 0;
    if (has_free_root) last = s->length;
    for (int64_t position = start + 1; position <= last; position++) {
        for (int64_t parent = 0; parent < s->parent_count; parent++)
            if (s->parents[parent].last >= position)
                for (int64_t edge = s->positions[position].first_edge; edge != NONE; edge = s->edges[edge].same_end)
                    if (!extend(s, parent, start, edge)) return 0;
        for (int64_t tag = 0; position == start + 1 && tag < s->tag_choices; tag++) {
            int64_t k = word * job->tag_choices + tag;
            if (job->tags[k] == NONE) continue;
            if (!add_edge(s, (Edge){job->tag_utility[k], start, position, job->tags[k], NO_LABEL, tag, NONE})) return 0;
            for (int64_t parent = 0; parent < s->parent_count; parent++)
                if (!extend(s, parent, start, s->edge_count - 1)) return 0;
        }
        while (span < last_span && span_end(job, span) < position) span++;
        if (span < last_span && span_end(job, span) == position && !add_subtrees(s, span)) return 0;
    }
    for (int64_t edge = own_edges; edge < s->edge_count; edge++) {
        int64_t *first = &s->positions[s->edges[edge].end].first_edge;
        s->edges[edge].same_end = *first, *first = edge;
    }
    return 1;
}

typedef struct {
    int64_t *starts, *ends, *labels, *tags, count, missing; /* missing: bits that a constituent needs and lacks */
} Out;

static void write_span(Out *out, int64_t start, int64_t end, int64_t label) {
    int64_t k = out->count++;
    for (; k > 0 && (out->starts[k - 1] > start || (out->starts[k - 1] == start && out->ends[k - 1] > end)); k--)
        out->starts[k] = out->starts[k - 1], out->ends[k] = out->ends[k - 1], out->labels[k] = out->labels[k - 1];
    out->starts[k] = start, out->ends[k] = end, out->labels[k] = label;
}

/* Writes the spans below a constituent, given its path, and its own if it has a label; binarized to the left. Subtrees
   go onto the stack. */
static int64_t write_children(Search *s, Out *out, int64_t last, int64_t start, int64_t end, int64_t label, int64_t depth) {
    int64_t empty = s->job->empty_label, children = 0, given = 0;
    if (label != NO_LABEL) write_span(out, start, end, label);
    for (int64_t k = last; s->points[k].edge != NONE; k = s->points[k].before) children++;
    for (int64_t k = last, child = children; child > 0; k = s->points[k].before, child--) {
        const Edge *edge = s->edges + s->points[k].edge;
        given |= s->job->gives[edge->symbol];
        if (child > 1 && child < children) write_span(out, start, edge->end, empty);
        if (edge->label != NO_LABEL) s->stack[depth++] = s->points[k].edge;
        else {
            out->tags[edge->start] = edge->last;
            if (children > 1 || label == NO_LABEL) write_span(out, edge->start, edge->end, empty);
        }
    }
    if (label != NO_LABEL) out->missing |= s->job->needs[label] & ~given;
    return depth;
}

/* Whether two words have the same tags. */
static int is_same_word(const Job *job, int64_t word, int64_t other) {
    int64_t count = job->tag_choices;
    return !memcmp(job->tags + word * count, job->tags + other * count, (size_t)count * sizeof(int64_t)) &&
           !memcmp(job->tag_utility + word * count, job->tag_utility + other * count, (size_t)count * sizeof(float));
}

/* Whether two spans of different sentences have the same place and choices. */
static int is_same_span(const Job *job, int64_t span, int64_t other) {
    int64_t count = job->choices;
    return span_start(job, span) == span_start(job, other) && span_end(job, span) == span_end(job, other) &&
           job->required[span] == job->required[other] &&
           !memcmp(job->span_labels + span * count, job->span_labels + other * count, (size_t)count * sizeof(int64_t)) &&
           !memcmp(job->utility + span * count, job->utility + other * count, (size_t)count * sizeof(float));
}

/* Keeps the edges and points of the latest search from those positions on that are followed by the same words and spans
   in this sentence, and returns the first one. Sentences are alike if they are trees of one sentence: see fit_words. */
static int64_t continue_search(Search *s, int64_t sentence, int64_t first_word) {
    const Job *job = s->job;
    int64_t n = s->length, kept = n;
    if (s->latest != NONE) {
        int64_t span = job->first_spans[sentence + 1] - 1, other = job->first_spans[s->latest + 1] - 1;
        int64_t first = job->first_spans[sentence], other_first = job->first_spans[s->latest];
        while (span >= first && other >= other_first && is_same_span(job, span, other)) span--, other--;
        int64_t start = 1; /* the root may differ */
        if (span >= first) start = span_start(job, span) + 1;
        if (other >= other_first && span_start(job, other) >= start) start = span_start(job, other) + 1;
        while (kept > start && is_same_word(job, first_word + kept - 1, s->latest_word + kept - 1)) kept--;
    }
    s->edge_count = kept < n ? s->positions[kept].edge_count : 0;
    s->point_count = kept < n ? s->positions[kept].point_count : 0;
    for (int64_t position = 0; position <= n; position++) {
        int64_t *edge = &s->positions[position].first_edge;
        if (kept == n) *edge = NONE;
        while (*edge >= s->edge_count) *edge = s->edges[*edge].same_end;
    }
    s->latest = sentence, s->latest_word = first_word;
    return kept;
}

/* Finds the best tree with the first tag of each word, or any; `missing` becomes the bits that its constituents need
   and lack, which costs something if words may have any tag. */
static int find_tree(Search *s, int64_t sentence, int64_t first_word, int has_all_tags, int64_t *missing) {
    const Job *job = s->job;
    int64_t tag_choices = has_all_tags ? job->tag_choices : minimum(1, job->tag_choices);
    int64_t n = job->lengths[sentence], span = job->first_spans[sentence + 1], label = job->sentence_labels[sentence];
    int64_t has_required = 0;
    for (int64_t k = job->first_spans[sentence]; k < span; k++) has_required |= job->required[k];
    if (s->length != n || s->has_cost != has_all_tags || s->has_required != has_required) s->latest = NONE;
    s->length = n, s->tag_choices = tag_choices, s->has_cost = has_all_tags, s->has_required = has_required;
    if (!grow((void **)&s->positions, &s->position_capacity, n + 1, sizeof(Position)) ||
        !grow((void **)&s->stack, &s->stack_capacity, 2 * n + 2, sizeof(int64_t)))
        return 0;
    int64_t kept = continue_search(s, sentence, first_word);
    s->positions[n].first_span = span;
    for (int64_t start = n - 1; start >= 0; start--) {
        int64_t last = span;
        while (span > job->first_spans[sentence] && span_start(job, span - 1) == start) span--;
        s->positions[start].first_span = span;
        if (start >= kept) continue;
        if (!find_subtrees(s, start, span, last, first_word + start, start == 0 && label != NO_LABEL)) return 0;
        s->positions[start].edge_count = s->edge_count, s->positions[start].point_count = s->point_count;
    }
    if (label == NO_LABEL) { /* the root has one child, a candidate */
        s->parent_count = 0;
        if (find_parent(s, job->root_state, ANY_END, 0, n) == NONE) return 0;
        for (int64_t edge = s->positions[n].first_edge; edge != NONE; edge = s->edges[edge].same_end)
            if (s->edges[edge].start == 0 && s->edges[edge].label != NO_LABEL && !extend(s, 0, 0, edge)) return 0;
    }
    double utility = 0.0;
    int64_t root = 0, depth;
    while (root < s->parent_count && (s->parents[root].state != job->root_state || s->parents[root].end != ANY_END)) root++;
    int64_t end = root < s->parent_count ? best_end(s, root, n, 0, &utility) : NONE;
    int64_t offset = 2 * first_word - sentence;
    Out out = {job->out_starts + offset, job->out_ends + offset, job->out_labels + offset, job->out_tags + first_word,
               0, 0};
    if (end == NONE) return NO_TREE;
    job->out_utility[sentence] = utility;
    depth = write_children(s, &out, end, 0, n, label, 0);
    while (depth > 0) {
        const Edge edge = s->edges[s->stack[--depth]];
        depth = write_children(s, &out, edge.last, edge.start, edge.end, edge.label, depth);
    }
    *missing = out.missing;
    return 1;
}

static int search_sentence(Search *s, int64_t sentence, int64_t first_word) {
    const Job *job = s->job;
    int64_t missing = 0;
    int result = find_tree(s, sentence, first_word, job->has_all_tags != 0, &missing);
    return result == 1 && missing && !job->has_all_tags ? find_tree(s, sentence, first_word, 1, &missing) : result;
}


static int check_grammar(const Job *job, Error *error) {
    if (!check_indices(error, "first arc", job->first_arcs, job->states + 1, 0, job->arcs + 1) ||
        !check_indices(error, "arc target", job->arc_targets, job->arcs, 0, job->states) ||
        !check_indices(error, "top symbol", job->top_symbols, job->labels, 0, job->symbols) ||
        !check_indices(error, "inner state", job->inner_states, job->labels, NO_LABEL, job->states))
        return 0;
    for (int64_t k = 0; k < job->states; k++) {
        if (job->first_arcs[k] > job->first_arcs[k + 1]) return refuse(error, "first arc", k + 1, job->first_arcs[k + 1]);
        if (job->shorter[k] < 0 || (k > 0 && job->shorter[k] >= k))
            return refuse(error, "shorter state", k, job->shorter[k]);
    }
    return 1;
}

static int check_sizes(const Job *job, Error *error) {
    int64_t words = 0;
    for (int64_t k = 0; k < job->sentences; k++) {
        if (job->lengths[k] < 1 || job->lengths[k] > job->words - words || job->lengths[k] >= job->size)
            return refuse(error, "length", k, job->lengths[k]);
        words += job->lengths[k];
    }
    if (words != job->words) return refuse(error, "number of words", 0, job->words);
    return check_indices(error, "first span", job->first_spans, job->sentences + 1, 0, job->spans + 1) &&
           check_indices(error, "sentence label", job->sentence_labels, job->sentences, NO_LABEL, job->labels);
}

static int check_sentence(const Job *job, int64_t sentence, int64_t first_word, Error *error) {
    int64_t n = job->lengths[sentence], first = job->first_spans[sentence], last = job->first_spans[sentence + 1];
    if (first > last) return refuse(error, "first span", sentence + 1, last);
    if (!check_indices(error, "tag", job->tags + first_word * job->tag_choices, n * job->tag_choices, NONE, job->symbols) ||
        !check_indices(error, "label", job->span_labels + first * job->choices, (last - first) * job->choices, NO_LABEL,
               job->labels))
        return 0;
    for (int64_t k = first * job->choices; k < last * job->choices; k++)
        if (job->span_labels[k] != NO_LABEL && job->inner_states[job->span_labels[k]] == NO_LABEL)
            return refuse(error, "label", k, job->span_labels[k]);
    for (int64_t k = first; k < last; k++) {
        int64_t cell = job->cells[k] - sentence * job->size * job->size, start = cell / job->size;
        if (cell < 0 || start >= cell % job->size || cell % job->size > n || start >= n)
            return refuse(error, "cell", k, job->cells[k]);
        if (k > first && job->cells[k] <= job->cells[k - 1]) return refuse(error, "cell order", k, job->cells[k]);
        int has_two_roots = cell == n && job->sentence_labels[sentence] != NO_LABEL; /* if the span has a label, too */
        for (int64_t choice = k * job->choices; has_two_roots && choice < (k + 1) * job->choices; choice++)
            if (job->span_labels[choice] != NO_LABEL)
                return refuse(error, "label of the sentence", choice, job->span_labels[choice]);
    }
    return 1;
}

/* Threads take blocks of sentences; one thread alone completes all. */
static int search_sentences(const Job *job, Error *error) {
    Search search = {.job = job, .latest = NONE, .advances = malloc(ADVANCES * sizeof(Advance))};
    int64_t sentence = 0, first_word = 0;
    int result = search.advances == NULL ? NO_MEMORY : COMPLETE;
    if (!check_grammar(job, error) || !check_sizes(job, error)) result = WRONG_ARGUMENT;
    for (int64_t k = 0; k < ADVANCES && result == COMPLETE; k++) search.advances[k].state = NONE;
    for (int64_t first; result == COMPLETE && (first = next_block(job->next, BLOCK)) < job->sentences;) {
        for (; sentence < first; sentence++) first_word += job->lengths[sentence];
        for (; sentence < minimum(first + BLOCK, job->sentences) && result == COMPLETE; sentence++) {
            result = check_sentence(job, sentence, first_word, error) ? search_sentence(&search, sentence, first_word)
                                                                      : WRONG_ARGUMENT;
            first_word += job->lengths[sentence];
        }
    }
    free(search.edges), free(search.points), free(search.parents), free(search.first_points);
    free(search.positions), free(search.stack), free(search.advances);
    return result;
}

#define SIZES 13
#define ARRAYS 26
#define AT(type, k) ((type *)(uintptr_t)at[k])

PyObject *best_trees(PyObject *module, PyObject *args) {
    long long thread, threads, size[SIZES];
    double weight, log_uniform, lack;
    unsigned long long at[ARRAYS];
    int result;
    (void)module;
    if (!PyArg_ParseTuple(args, "LLLLLLLLLLLLLLLdddKKKKKKKKKKKKKKKKKKKKKKKKKK", &thread, &threads, &size[0], &size[1],
                          &size[2], &size[3], &size[4], &size[5], &size[6], &size[7], &size[8], &size[9], &size[10],
                          &size[11], &size[12], &weight, &log_uniform, &lack, &at[0], &at[1], &at[2], &at[3], &at[4], &at[5],
                          &at[6], &at[7], &at[8], &at[9], &at[10], &at[11], &at[12], &at[13], &at[14], &at[15],
                          &at[16], &at[17], &at[18], &at[19], &at[20], &at[21], &at[22], &at[23], &at[24], &at[25]))
        return NULL;
    for (int k = 0; k < SIZES; k++)
        if (size[k] < 0 || size[k] > LARGEST_SIZE) return raise_error((Error){"size", k, size[k]});
    for (int k = 0; k < ARRAYS; k++)
        if (at[k] == 0) return PyErr_Format(PyExc_ValueError, "address %d is null; expected an array", k);
    Job job = {size[0], size[1], size[2], size[3], size[4], size[5], size[6], size[7], size[8], size[9], size[10],
               size[11], size[12], weight, log_uniform, lack, AT(const int64_t, 0), AT(const int64_t, 1), AT(const float, 2),
               AT(const int64_t, 3), AT(const int64_t, 4), AT(const int64_t, 5), AT(const float, 6),
               AT(const uint8_t, 7), AT(const int64_t, 8), AT(const int64_t, 9), AT(const int64_t, 10),
               AT(const int64_t, 11), AT(const int64_t, 12), AT(const double, 13), AT(const int64_t, 14),
               AT(const int64_t, 15), AT(const double, 16), AT(const int64_t, 17), AT(const int64_t, 18),
               AT(const double, 19), AT(int64_t, 20), AT(int64_t, 21), AT(int64_t, 22), AT(int64_t, 23),
               AT(int64_t, 24), AT(double, 25)};
    Error error = {"counter", 0, load_counter(job.next)};
    if (error.value < 0) return raise_error(error);
    if (job.root_state >= job.states) return raise_error((Error){"root state", 0, job.root_state});
    if (job.empty_label >= job.labels) return raise_error((Error){"empty label", 0, job.empty_label});
    if (job.symbols < 1) return raise_error((Error){"number of symbols", 0, job.symbols});
    if (job.size < 1 || (double)job.sentences * job.size * job.size > LARGEST_CELL)
        return raise_error((Error){"size of the chart", 0, job.size});
    Py_BEGIN_ALLOW_THREADS result = search_sentences(&job, &error);
    Py_END_ALLOW_THREADS
    if (result == NO_MEMORY) return PyErr_NoMemory();
    if (result == WRONG_ARGUMENT) return raise_error(error);
    if (result == NO_TREE)
        return PyErr_SetString(PyExc_ValueError, "a sentence has no candidate over all of its words"), NULL;
    Py_RETURN_NONE;
}
