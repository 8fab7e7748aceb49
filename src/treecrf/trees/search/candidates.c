/* The candidates of each relation, in the order of relations.py.

   Nodes are positions in pre-order: `ends[n]` is the end of the subtree of n, and n + 1 its first child. */

#include "matcher.h"

#include <stdlib.h>

static int is_on_path(const Matcher *m, const Goal *goal, i32 node) {
    return m->tables[(size_t)goal->path * m->label_count + m->label_ids[node]];
}

#define TRY(candidate)                                  \
    do {                                                \
        if (try_node(m, index, (candidate))) return 1;  \
    } while (0)

static int is_word(const Matcher *m, i32 node) { return m->ends[node] == node + 1; }

static int has_one_child(const Matcher *m, i32 node) { return !is_word(m, node) && m->last_children[node] == node + 1; }

static i32 preceding(const Matcher *m, i32 node) {
    while (node >= 0 && m->previous[node] < 0) node = m->parents[node];
    return node < 0 ? -1 : m->previous[node];
}

static i32 following(const Matcher *m, i32 node) { return m->ends[node] < m->tree_end ? m->ends[node] : -1; }

static i32 child_number(const Matcher *m, i32 node, i32 number) {
    if (is_word(m, node)) return -1;
    i32 child = number > 0 ? node + 1 : m->last_children[node];
    for (i32 steps = number > 0 ? number - 1 : -(number + 1); steps > 0 && child >= 0; steps--) {
        if (number < 0) child = m->previous[child];
        else child = m->ends[child] < m->ends[node] ? m->ends[child] : -1;
    }
    return child;
}

/* The highest ancestor that was not visited yet: the child of `above` that contains the node; above < 0: the root. */
static i32 ancestor_below(const Matcher *m, i32 node, i32 above) {
    while (m->parents[node] != above) node = m->parents[node];
    return node;
}

static int try_preceded(Matcher *m, i32 index, i32 node) {
    i32 above = ancestor_below(m, node, -1);
    while (above != node) {
        i32 ancestor = ancestor_below(m, node, above);
        for (i32 other = m->ends[ancestor]; other < m->ends[above]; other++) TRY(other);
        above = ancestor;
    }
    return 0;
}

static int try_followed(Matcher *m, i32 index, i32 node) {
    i32 above = ancestor_below(m, node, -1);
    while (above != node) {
        i32 ancestor = ancestor_below(m, node, above);
        for (i32 sister = m->previous[ancestor]; sister >= 0; sister = m->previous[sister])
            for (i32 other = sister; other < m->ends[sister]; other++) TRY(other);
        above = ancestor;
    }
    return 0;
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

/* Nodes that neighbors on the path reach, each once; the last one that was reached is tried first. */
static int try_path_across(Matcher *m, i32 index, i32 node) {
    const Goal *goal = m->goals + index;
    i32 (*neighbor)(const Matcher *, i32) = goal->relation == PATH_RIGHT ? following : preceding;
    size_t size = (size_t)(m->tree_end - m->tree_start), reached_count = 0, depth = 0;
    /* a node is pushed once by its first visit and at most once more as a first child */
    i32 *reached = malloc((3 * size + 2) * sizeof(i32)), *stack = reached + size;
    unsigned char *is_reached = calloc(size, 1);
    int result = 1;
    if (reached == NULL || is_reached == NULL) {
        m->is_out_of_memory = 1;
        goto done;
    }
    stack[depth++] = neighbor(m, node);
    while (depth > 0) {
        i32 other = stack[--depth];
        if (other < 0 || is_reached[other - m->tree_start]) continue;
        is_reached[other - m->tree_start] = 1;
        reached[reached_count++] = other;
        if (!is_word(m, other)) stack[depth++] = other + 1;
        if (is_on_path(m, goal, other)) stack[depth++] = neighbor(m, other);
    }
    result = 0;
    while (reached_count > 0 && !result) result = try_node(m, index, reached[--reached_count]);
done:
    free(reached);
    free(is_reached);
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
        case IS_CHILD_NUMBER: if (child_number(m, parent, goal->number) != node) return 0; break;
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
    case PRECEDES: return try_preceded(m, index, node);
    case FOLLOWS: return try_followed(m, index, node);
    case PRECEDES_AT_ONCE:
        other = following(m, node);
        if (other >= 0) TRY(other);
        while (other >= 0 && !is_word(m, other)) {
            other++;
            TRY(other);
        }
        return 0;
    case FOLLOWS_AT_ONCE:
        for (other = preceding(m, node); other >= 0; other = m->last_children[other]) TRY(other);
        return 0;
    case ANYWHERE:
        for (other = m->tree_start; other < m->tree_end; other++) TRY(other);
        return 0;
    case PATH_DOWN: return try_path_down(m, index, node);
    case PATH_RIGHT: case PATH_LEFT: return try_path_across(m, index, node);
    default: return try_descendants(m, index, node);
    }
}
