/* Runs a program of goals by depth-first search.

   `solve` runs a goal and the goals after it. It returns 1 if a chain reached ACCEPT and the search can stop, and 0 if
   all candidates were tried. A goal continues only with goals of smaller numbers, so each goal can keep its state in an
   array. */

#include "matcher.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_VALUES = 1 << 16, MAX_VALUES = 1 << 24 };

static int solve(Matcher *m, i32 index);

int push_number(Numbers *numbers, i32 value, size_t max_count) {
    if (numbers->count == numbers->capacity) {
        size_t capacity = 2 * numbers->capacity + 256;
        i32 *values = numbers->count < max_count ? realloc(numbers->values, capacity * sizeof(i32)) : NULL;
        if (values == NULL) return 0;
        numbers->values = values;
        numbers->capacity = capacity;
    }
    numbers->values[numbers->count++] = value;
    return 1;
}

/* Appends a value of a row; 1 stops the search. */
static int push_value(Matcher *m, i32 value) {
    if (!push_number(&m->rows, value, m->counts_only ? SIZE_MAX / 8 : MAX_VALUES)) m->ending = OUT_OF_MEMORY;
    return m->ending;
}

/* Records the number of matches at the root node. */
static int push_count(Matcher *m) {
    int is_failed = m->match_count && (push_value(m, m->root_node) || push_value(m, m->match_count));
    m->match_count = 0;
    return is_failed;
}

static int emit(Matcher *m) {
    if (m->counts_only) return m->match_count++ == INT32_MAX - 1 && push_count(m);
    if (push_value(m, m->root_node)) return 1;
    for (size_t b = 0; b < binding_count(m); b++)
        if (push_value(m, m->bindings[b])) return 1;
    if (++m->match_count == m->max_matches) m->ending = FULL;
    return m->ending;
}

static int matches_label(const Matcher *m, const Goal *goal, i32 node) {
    i32 label = m->label_ids[node], other;
    switch (goal->mode) {
    case TABLE: return m->tables[(size_t)goal->label * m->label_count + label];
    case ROOT: return node == m->tree_start;
    case NOT_ROOT: return node != m->tree_start;
    case REFERENCE: return m->bindings[goal->label] == node;
    default:
        other = m->bindings[goal->label];
        if (other < 0) return 0;
        if (goal->mode == LINK) return m->label_ids[other] == label;
        return m->basic_ids[m->label_ids[other]] == m->basic_ids[label];
    }
}

/* Sets the variables of a goal's groups; 0 if one has another value. */
static int bind_groups(Matcher *m, const Goal *goal, i32 node) {
    i32 *variables = m->bindings + m->name_count;
    for (i32 g = goal->first_group; g < goal->last_group; g++) {
        i32 text = m->group_texts[(size_t)g * m->label_count + m->label_ids[node]];
        i32 *value = variables + m->group_variables[g];
        if (*value >= 0 && *value != text) return 0;
        *value = text;
    }
    return 1;
}

static i32 *snapshot_of(Matcher *m, i32 index) { return m->snapshots + (size_t)index * binding_count(m); }

static void save(Matcher *m, i32 index) {
    memcpy(snapshot_of(m, index), m->bindings, binding_count(m) * sizeof(i32));
}

static void restore(Matcher *m, i32 index) {
    memcpy(m->bindings, snapshot_of(m, index), binding_count(m) * sizeof(i32));
}

/* Continues with a candidate; its bindings stay if the search stops, because FIRST needs them. */
int try_node(Matcher *m, i32 index, i32 node) {
    const Goal *goal = m->goals + index;
    if (count_step(m)) return 1;
    if (!matches_label(m, goal, node)) return 0;
    int has_bindings = goal->name >= 0 || goal->last_group > goal->first_group;
    m->nodes[goal->slot] = node;
    if (!has_bindings) return solve(m, goal->following);
    save(m, index);
    if (bind_groups(m, goal, node)) {
        if (goal->name >= 0) m->bindings[goal->name] = node;
        if (solve(m, goal->following)) return 1;
    }
    restore(m, index);
    return 0;
}

static int solve_alternatives(Matcher *m, const Goal *goal) {
    for (i32 s = goal->first; s < goal->last; s++)
        if (solve(m, m->subgoals[s])) return 1;
    return 0;
}

/* Whether every chain has a match, each with the bindings of the first match of those before. */
static int all_match(Matcher *m, const Goal *goal) {
    for (i32 s = goal->first; s < goal->last; s++)
        if (!solve(m, m->subgoals[s])) return 0;
    return 1;
}

static int solve(Matcher *m, i32 index) {
    const Goal *goal = m->goals + index;
    int result;
    if (goal->kind >= OR && count_step(m)) return 1; /* candidates count themselves */
    switch (goal->kind) {
    case EMIT: return emit(m);
    case ACCEPT: return 1;
    case NODE: return try_candidates(m, index, goal->context < 0 ? m->root_node : m->nodes[goal->context]);
    case OR: return solve_alternatives(m, goal);
    case NOT_ALL:
        save(m, index);
        result = all_match(m, goal);
        restore(m, index);
        return m->ending || (!result && solve(m, goal->following));
    case FIRST:
        save(m, index);
        solve(m, goal->first);
        if (m->ending || solve(m, goal->following)) return 1;
        restore(m, index);
        return 0;
    case OPTIONAL:
        m->is_marked[index] = 0;
        if (solve(m, goal->first)) return 1;
        return !m->is_marked[index] && solve(m, goal->following);
    default: /* MARK */
        m->is_marked[goal->first] = 1;
        return solve(m, goal->following);
    }
}

i32 search(Matcher *m, i32 first_node) {
    const Goal *start = m->goals + m->start_goal;
    const unsigned char *first_labels = NULL; /* most nodes fail at the first label: tests it before anything else */
    if (start->kind == NODE && start->relation == EQUALS && start->mode == TABLE)
        first_labels = m->tables + (size_t)start->label * m->label_count;
    for (size_t b = 0; b < binding_count(m); b++) m->bindings[b] = -1;
    i32 tree = -1;
    m->tree_end = m->starts[0];
    for (m->root_node = first_node; m->root_node < m->node_count; m->root_node++) {
        if (m->rows.count >= PIECE_VALUES && !m->counts_only) break;
        while (m->root_node >= m->tree_end) m->tree_end = m->starts[++tree + 1];
        m->tree_start = m->starts[tree];
        if (first_labels && !first_labels[m->label_ids[m->root_node]]) continue;
        m->match_count = 0;
        if (solve(m, m->start_goal)) break;
        if (m->counts_only && push_count(m)) break;
    }
    return m->root_node;
}
