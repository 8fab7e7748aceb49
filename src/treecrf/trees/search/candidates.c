/* The candidates of each relation, in the order of relations.py.

   Nodes are positions in pre-order: `ends[n]` is the end of the subtree of n, and n + 1 its first child. */

#include "matcher.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SCRATCH = 1 << 24 }; /* nodes on a stack */

static int is_on_path(const Matcher *m, const Goal *goal, i32 node) {
    return m->tables[(size_t)goal->path * m->label_count + m->label_ids[node]];
}

#define TRY(candidate)                                  \
    do {                                                \
        if (try_node(m, index, (candidate))) return 1;  \
    } while (0)

static int is_word(const Matcher *m, i32 node) { return m->ends[node] == node + 1; }

static int has_one_child(const Matcher *m, i32 node) { return !is_word(m, node) && m->last_children[node] == node + 1; }

static i32 following(const Matcher *m, i32 node) { return m->ends[node] < m->tree_end ? m->ends[node] : -1; }

/* The child with a number, from the left or, if negative, from the right; -1 if there is none. */
static i32 child_number(Matcher *m, i32 node, i32 number) {
    if (is_word(m, node)) return -1;
    i32 child = number > 0 ? node + 1 : m->last_children[node];
    for (i32 steps = number > 0 ? number - 1 : -(number + 1); steps > 0 && child >= 0; steps--) {
        if (count_step(m)) return -1;
        if (number < 0) child = m->previous[child];
        else child = m->ends[child] < m->ends[node] ? m->ends[child] : -1;
    }
    return child;
}

static int has_child_number(const Matcher *m, i32 parent, i32 node, i32 number) {
    if (number > 0) return m->child_numbers[node] == number;
    return m->child_numbers[m->last_children[parent]] - m->child_numbers[node] == -(number + 1);
}

/* Appends a node to a stack; 0 if there is no memory. */
static int keep(Matcher *m, Numbers *numbers, i32 node) {
    if (!push_number(numbers, node, MAX_SCRATCH)) m->ending = OUT_OF_MEMORY;
    return !m->ending;
}

static int try_nodes_before(Matcher *m, i32 index, i32 ancestor) {
    for (i32 sister = m->previous[ancestor]; sister >= 0; sister = m->previous[sister])
        for (i32 other = sister; other < m->ends[sister]; other++) TRY(other);
    return 0;
}

static int try_nodes_after(Matcher *m, i32 index, i32 ancestor) {
    i32 parent = m->parents[ancestor], end = parent >= 0 ? m->ends[parent] : m->ends[ancestor];
    for (i32 other = m->ends[ancestor]; other < end; other++) TRY(other);
    return 0;
}

/* Nodes before or after a node: the sisters of its highest ancestor come first. */
static int try_precedence(Matcher *m, i32 index, i32 node) {
    int (*try_nodes)(Matcher *, i32, i32) = m->goals[index].relation == PRECEDES ? try_nodes_after : try_nodes_before;
    size_t first = m->scratch.count;
    int result = 0;
    for (i32 ancestor = node; ancestor >= 0 && !result; ancestor = m->parents[ancestor])
        result = count_step(m) || !keep(m, &m->scratch, ancestor);
    /* deeper goals use the stack above these nodes, and leave it as it was */
    for (size_t n = m->scratch.count; n-- > first && !result;)
        result = count_step(m) || try_nodes(m, index, m->scratch.values[n]);
    m->scratch.count = first;
    return result;
}

static int try_path_down(Matcher *m, i32 index, i32 node) {
    i32 end = m->ends[node];
    for (i32 other = node + 1; other < end;) {
        i32 after = is_on_path(m, m->goals + index, other) ? other + 1 : m->ends[other];
        TRY(other);
        other = after;
    }
    return 0;
}

static i32 neighbor(const Matcher *m, const Goal *goal, i32 node) {
    return goal->relation == PATH_RIGHT ? following(m, node) : m->preceding[node];
}

/* Nodes that neighbors on the path reach, each once; the last one that was reached is tried first. */
static int try_path_across(Matcher *m, i32 index, i32 node) {
    const Goal *goal = m->goals + index;
    size_t first = m->scratch.count;
    if (m->visit_count == INT32_MAX) { /* the numbers of walks start again */
        memset(m->visits, 0, (size_t)m->node_count * sizeof(i32));
        m->visit_count = 0;
    }
    i32 visit = ++m->visit_count;
    int result = !keep(m, &m->unvisited, neighbor(m, goal, node));
    while (m->unvisited.count > 0 && !result) {
        i32 other = m->unvisited.values[--m->unvisited.count];
        if (count_step(m)) result = 1;
        if (other < 0 || m->visits[other] == visit) continue;
        m->visits[other] = visit;
        if (!keep(m, &m->scratch, other) || (!is_word(m, other) && !keep(m, &m->unvisited, other + 1)) ||
            (is_on_path(m, goal, other) && !keep(m, &m->unvisited, neighbor(m, goal, other))))
            result = 1;
    }
    m->unvisited.count = 0;
    for (size_t n = m->scratch.count; n-- > first && !result;) result = try_node(m, index, m->scratch.values[n]);
    m->scratch.count = first;
    return result;
}

static int try_sisters(Matcher *m, i32 index, i32 node) {
    i32 parent = m->parents[node], relation = m->goals[index].relation;
    if (parent < 0) return 0;
    if (relation == LEFT_SISTER_OF) {
        for (i32 other = m->last_children[parent]; other != node; other = m->previous[other]) TRY(other);
        return 0;
    }
    for (i32 other = parent + 1; other < m->ends[parent]; other = m->ends[other]) {
        if (other != node) TRY(other);
        else if (relation == RIGHT_SISTER_OF) break;
    }
    return 0;
}

/* Relations to the parent or to a chain of ancestors. */
static int try_ancestors(Matcher *m, i32 index, i32 node) {
    const Goal *goal = m->goals + index;
    i32 parent;
    for (; (parent = m->parents[node]) >= 0; node = parent) {
        switch (goal->relation) {
        case FIRST_CHAIN_UP: if (node != parent + 1) return 0; break;
        case LAST_CHAIN_UP: if (node != m->last_children[parent]) return 0; break;
        case IS_CHILD_NUMBER: if (!has_child_number(m, parent, node, goal->number)) return 0; break;
        case IS_ONLY_CHILD:
        case UNARY_CHAIN_UP: if (!has_one_child(m, parent)) return 0; break;
        case HEADS:
        case HEAD_CHAIN_UP: if (m->heads[parent] != node) return 0; break;
        default: break;
        }
        TRY(parent);
        switch (goal->relation) {
        case CHILD_OF: case IS_CHILD_NUMBER: case IS_ONLY_CHILD: case HEADS: return 0;
        case PATH_UP: if (!is_on_path(m, goal, parent)) return 0; break;
        default: break;
        }
    }
    return 0;
}

static int try_descendants(Matcher *m, i32 index, i32 node) {
    i32 end = m->ends[node], other;
    switch (m->goals[index].relation) {
    case PARENT_OF:
        for (other = node + 1; other < end; other = m->ends[other]) TRY(other);
        break;
    case DOMINATES:
        for (other = node + 1; other < end; other++) TRY(other);
        break;
    case FIRST_CHAIN:
        for (other = node; !is_word(m, other);) {
            other++;
            TRY(other);
        }
        break;
    case LAST_CHAIN:
        for (other = m->last_children[node]; other >= 0; other = m->last_children[other]) TRY(other);
        break;
    case HAS_CHILD_NUMBER:
        other = child_number(m, node, m->goals[index].number);
        if (other >= 0) TRY(other);
        break;
    case HAS_ONLY_CHILD:
        if (has_one_child(m, node)) TRY(node + 1);
        break;
    case UNARY_CHAIN:
        for (other = node; has_one_child(m, other);) {
            other++;
            TRY(other);
        }
        break;
    case HEADED_BY:
        if (m->heads[node] >= 0) TRY(m->heads[node]);
        break;
    case HEAD_CHAIN:
        for (other = m->heads[node]; other >= 0; other = m->heads[other]) TRY(other);
        break;
    default: /* SELF_OR_CHILD */
        TRY(node);
        for (other = node + 1; other < end; other = m->ends[other]) TRY(other);
        break;
    }
    return 0;
}

int try_candidates(Matcher *m, i32 index, i32 node) {
    i32 other;
    switch (m->goals[index].relation) {
    case EQUALS: TRY(node); return 0;
    case CHILD_OF: case DOMINATED_BY: case FIRST_CHAIN_UP: case LAST_CHAIN_UP: case IS_CHILD_NUMBER:
    case IS_ONLY_CHILD: case UNARY_CHAIN_UP: case HEADS: case HEAD_CHAIN_UP: case PATH_UP:
        return try_ancestors(m, index, node);
    case SISTER: case LEFT_SISTER_OF: case RIGHT_SISTER_OF: return try_sisters(m, index, node);
    case SISTER_BEFORE:
        if (m->parents[node] >= 0 && m->ends[node] < m->ends[m->parents[node]]) TRY(m->ends[node]);
        return 0;
    case SISTER_AFTER:
        if (m->previous[node] >= 0) TRY(m->previous[node]);
        return 0;
    case PRECEDES: case FOLLOWS: return try_precedence(m, index, node);
    case PRECEDES_AT_ONCE:
        other = following(m, node);
        if (other >= 0) TRY(other);
        while (other >= 0 && !is_word(m, other)) {
            other++;
            TRY(other);
        }
        return 0;
    case FOLLOWS_AT_ONCE:
        for (other = m->preceding[node]; other >= 0; other = m->last_children[other]) TRY(other);
        return 0;
    case ANYWHERE:
        for (other = m->tree_start; other < m->tree_end; other++) TRY(other);
        return 0;
    case PATH_DOWN: return try_path_down(m, index, node);
    case PATH_RIGHT: case PATH_LEFT: return try_path_across(m, index, node);
    default: return try_descendants(m, index, node);
    }
}

static int uses_relation(const Matcher *m, i32 first, i32 second) {
    for (i32 g = 0; g < m->goal_count; g++)
        if (m->goals[g].kind == NODE && (m->goals[g].relation == first || m->goals[g].relation == second)) return 1;
    return 0;
}

static int allocate_nodes(const Matcher *m, i32 **array) {
    *array = calloc((size_t)m->node_count + 1, sizeof(i32));
    return *array != NULL;
}

int prepare_relations(Matcher *m) {
    if (uses_relation(m, IS_CHILD_NUMBER, IS_CHILD_NUMBER)) {
        if (!allocate_nodes(m, &m->child_numbers)) return 0;
        for (i32 n = 0; n < m->node_count; n++)
            m->child_numbers[n] = m->previous[n] >= 0 ? m->child_numbers[m->previous[n]] + 1 : 1;
    }
    if (uses_relation(m, FOLLOWS_AT_ONCE, PATH_LEFT)) {
        if (!allocate_nodes(m, &m->preceding)) return 0;
        for (i32 n = 0; n < m->node_count; n++) {
            i32 parent = m->parents[n];
            m->preceding[n] = m->previous[n] >= 0 || parent < 0 ? m->previous[n] : m->preceding[parent];
        }
    }
    return !uses_relation(m, PATH_RIGHT, PATH_LEFT) || allocate_nodes(m, &m->visits);
}
