/* Runs a program of goals by depth-first search.

   `solve` runs a goal and the goals after it. It returns 1 if a chain reached ACCEPT and the search can stop, and 0 if
   all candidates were tried. Goals never come back to themselves, so each goal can keep its state in an array. */

#include "matcher.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_BETWEEN_CHECKS (1 << 18)

static int solve(Matcher *m, i32 index);

static int is_ended(const Matcher *m) { return m->is_out_of_memory || m->is_interrupted; }

static int emit(Matcher *m) {
    size_t width = 1 + binding_count(m);
    if (m->row_count == m->row_capacity) {
        size_t capacity = 2 * m->row_capacity + 64;
        int is_too_large = capacity > SIZE_MAX / (width * sizeof(i32));
        i32 *rows = is_too_large ? NULL : realloc(m->rows, capacity * width * sizeof(i32));
        if (rows == NULL) {
            m->is_out_of_memory = 1;
            return 1; /* stops the search */
        }
        m->rows = rows;
        m->row_capacity = capacity;
    }
    i32 *row = m->rows + m->row_count++ * width;
    row[0] = m->root_node;
    memcpy(row + 1, m->bindings, (width - 1) * sizeof(i32));
    return 0;
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
    if (++m->step_count % STEPS_BETWEEN_CHECKS == 0 && m->is_stopped(m->stop_argument)) m->is_interrupted = 1;
    if (m->is_interrupted) return 1;
    if (!matches_label(m, goal, node)) return 0;
    int has_bindings = goal->name >= 0 || goal->last_group > goal->first_group;
    m->nodes[index] = node;
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
    switch (goal->kind) {
    case EMIT: return emit(m);
    case ACCEPT: return 1;
    case NODE: return try_candidates(m, index, goal->context < 0 ? m->root_node : m->nodes[goal->context]);
    case OR: return solve_alternatives(m, goal);
    case NOT:
    case NOT_ALL:
        save(m, index);
        result = goal->kind == NOT ? solve(m, goal->first) : all_match(m, goal);
        restore(m, index);
        return is_ended(m) || (!result && solve(m, goal->following));
    case FIRST:
        save(m, index);
        solve(m, goal->first);
        if (is_ended(m) || solve(m, goal->following)) return 1;
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

void search(Matcher *m) {
    const Goal *start = m->goals + m->start_goal;
    const unsigned char *first_labels = NULL; /* most nodes fail at the first label: tests it before anything else */
    if (start->kind == NODE && start->relation == EQUALS && start->mode == TABLE)
        first_labels = m->tables + (size_t)start->label * m->label_count;
    for (size_t b = 0; b < binding_count(m); b++) m->bindings[b] = -1;
    for (i32 tree = 0; tree < m->tree_count && !is_ended(m); tree++) {
        m->tree_start = m->starts[tree];
        m->tree_end = m->starts[tree + 1];
        for (m->root_node = m->tree_start; m->root_node < m->tree_end; m->root_node++) {
            if (first_labels && !first_labels[m->label_ids[m->root_node]]) continue;
            if (solve(m, m->start_goal)) return;
        }
    }
}
