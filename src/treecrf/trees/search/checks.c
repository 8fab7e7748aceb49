/* Checks of the arrays that Python passes: every index is in its range before the search starts. */

#include "matcher.h"

static int is_child(const Matcher *m, i32 node, i32 parent) {
    return in_range(node, parent + 1, m->ends[parent]) && m->parents[node] == parent;
}

/* Whether a node is inside of its parent, and is the first child there or begins where the sister before it ends. */
static int is_placed(const Matcher *m, i32 node, i32 tree_start) {
    i32 parent = m->parents[node], before = m->previous[node];
    if (!in_range(parent, tree_start, node) || m->ends[node] <= node || m->ends[node] > m->ends[parent]) return 0;
    if (before == -1) return node == parent + 1;
    return in_range(before, parent + 1, node) && m->parents[before] == parent && m->ends[before] == node;
}

static int has_children(const Matcher *m, i32 node) {
    i32 last = m->last_children[node];
    if (m->ends[node] == node + 1) return last == -1 && (!m->heads || m->heads[node] == -1);
    return is_child(m, last, node) && m->ends[last] == m->ends[node] && (!m->heads || is_child(m, m->heads[node], node));
}

static int is_forest(const Matcher *m) {
    if (m->starts[0] != 0 || m->starts[m->tree_count] != m->node_count) return 0;
    for (i32 t = 0; t < m->tree_count; t++) {
        i32 start = m->starts[t], end = m->starts[t + 1];
        if (!in_range(end, start + 1, m->node_count + 1)) return 0;
        if (m->ends[start] != end || m->parents[start] != -1 || m->previous[start] != -1) return 0;
        for (i32 n = start; n < end; n++) {
            if (n > start && !is_placed(m, n, start)) return 0;
            if (!in_range(m->label_ids[n], 0, m->label_count) || !has_children(m, n)) return 0;
        }
    }
    return 1;
}

static int is_node_goal(const Matcher *m, const Goal *goal) {
    int needs_heads = goal->relation >= HEADED_BY && goal->relation <= HEAD_CHAIN_UP;
    int needs_path = goal->relation >= PATH_DOWN && goal->relation <= PATH_LEFT;
    if (!in_range(goal->relation, 0, RELATIONS) || !in_range(goal->mode, 0, MODES)) return 0;
    if ((needs_heads && !m->heads) || (needs_path && !in_range(goal->path, 0, m->table_count))) return 0;
    if (goal->mode == TABLE && !in_range(goal->label, 0, m->table_count)) return 0;
    if (goal->mode == BASIC_LINK && !m->basic_ids) return 0;
    if (goal->mode >= REFERENCE && !in_range(goal->label, 0, m->name_count)) return 0;
    if (!in_range(goal->slot, 0, m->goal_count) || !in_range(goal->context, -1, m->goal_count)) return 0;
    if (!in_range(goal->name, -1, m->name_count)) return 0;
    return goal->first_group >= 0 && goal->first_group <= goal->last_group && goal->last_group <= m->group_count;
}

/* Whether a goal has its arguments, and continues only with goals before it: then no goal comes back to itself. */
static int is_goal(const Matcher *m, i32 index) {
    const Goal *goal = m->goals + index;
    if (!in_range(goal->kind, 0, KINDS)) return 0;
    if (goal->kind > ACCEPT && !in_range(goal->following, 0, index)) return 0;
    switch (goal->kind) {
    case NODE: return is_node_goal(m, goal);
    case OR:
    case NOT_ALL:
        if (goal->first < 0 || goal->first > goal->last || goal->last > m->subgoal_count) return 0;
        for (i32 s = goal->first; s < goal->last; s++)
            if (!in_range(m->subgoals[s], 0, index)) return 0;
        return 1;
    case FIRST:
    case OPTIONAL: return in_range(goal->first, 0, index);
    case MARK: return in_range(goal->first, 0, m->goal_count);
    default: return 1;
    }
}

static int is_program(const Matcher *m) {
    if (m->goal_count > MAX_GOALS || !in_range(m->start_goal, 0, m->goal_count)) return 0;
    for (i32 g = 0; g < m->group_count; g++)
        if (!in_range(m->group_variables[g], 0, m->variable_count)) return 0;
    for (i32 g = 0; g < m->goal_count; g++)
        if (!is_goal(m, g)) return 0;
    return 1;
}

int is_consistent(const Matcher *m) { return is_forest(m) && is_program(m); }
