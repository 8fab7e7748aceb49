/* Checks of the arrays that Python passes: every index is in its range before the search starts. */

#include "matcher.h"

/* Whether the arrays describe trees: nested subtrees with parents, sisters, last children and heads inside. */
static int is_forest(const Matcher *m) {
    if (m->starts[0] < 0 || m->starts[m->tree_count] > m->node_count) return 0;
    for (i32 t = 0; t < m->tree_count; t++) {
        i32 start = m->starts[t], end = m->starts[t + 1];
        if (start >= end || m->ends[start] != end || m->parents[start] != -1 || m->previous[start] != -1) return 0;
        for (i32 n = start; n < end; n++) {
            int word = m->ends[n] == n + 1;
            if (!in_range(m->label_ids[n], 0, m->label_count) || m->ends[n] <= n || m->ends[n] > end) return 0;
            if (n > start && !in_range(m->parents[n], start, n)) return 0;
            if (n > start && (m->ends[n] > m->ends[m->parents[n]] || !in_range(m->previous[n], -1, n))) return 0;
            if (word ? m->last_children[n] != -1 : !in_range(m->last_children[n], n + 1, m->ends[n])) return 0;
            if (m->heads && (word ? m->heads[n] != -1 : !in_range(m->heads[n], n + 1, m->ends[n]))) return 0;
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
    if (!in_range(goal->context, -1, m->goal_count) || !in_range(goal->name, -1, m->name_count)) return 0;
    return goal->first_group >= 0 && goal->first_group <= goal->last_group && goal->last_group <= m->group_count;
}

static int is_program(const Matcher *m) {
    if (!in_range(m->start_goal, 0, m->goal_count)) return 0;
    for (i32 s = 0; s < m->subgoal_count; s++)
        if (!in_range(m->subgoals[s], 0, m->goal_count)) return 0;
    for (i32 g = 0; g < m->group_count; g++)
        if (!in_range(m->group_variables[g], 0, m->variable_count)) return 0;
    for (i32 g = 0; g < m->goal_count; g++) {
        const Goal *goal = m->goals + g;
        if (!in_range(goal->kind, 0, KINDS)) return 0;
        if (goal->kind > ACCEPT && !in_range(goal->following, 0, m->goal_count)) return 0;
        if (goal->kind == NODE && !is_node_goal(m, goal)) return 0;
        if (goal->kind == OR || goal->kind == NOT_ALL) {
            if (goal->first < 0 || goal->first > goal->last || goal->last > m->subgoal_count) return 0;
        } else if (goal->kind >= NOT && !in_range(goal->first, 0, m->goal_count)) {
            return 0;
        }
    }
    return 1;
}

int is_consistent(const Matcher *m) { return is_forest(m) && is_program(m); }
