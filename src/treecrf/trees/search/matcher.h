/* The state of a search: the arrays of a forest, the program of goals, and the matches. */

#ifndef TREECRF_SEARCH_MATCHER_H
#define TREECRF_SEARCH_MATCHER_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t i32;

enum { EMIT, ACCEPT, NODE, OR, NOT_ALL, FIRST, OPTIONAL, MARK, KINDS };
enum { TABLE, ROOT, NOT_ROOT, REFERENCE, LINK, BASIC_LINK, MODES };
enum { /* relations, in the order of relations.py */
    EQUALS, PARENT_OF, CHILD_OF, DOMINATES, DOMINATED_BY, SISTER, LEFT_SISTER_OF, RIGHT_SISTER_OF, SISTER_BEFORE,
    SISTER_AFTER, PRECEDES, FOLLOWS, PRECEDES_AT_ONCE, FOLLOWS_AT_ONCE, FIRST_CHAIN, LAST_CHAIN, FIRST_CHAIN_UP,
    LAST_CHAIN_UP, HAS_CHILD_NUMBER, IS_CHILD_NUMBER, HAS_ONLY_CHILD, IS_ONLY_CHILD, UNARY_CHAIN, UNARY_CHAIN_UP,
    HEADED_BY, HEADS, HEAD_CHAIN, HEAD_CHAIN_UP, SELF_OR_CHILD, ANYWHERE, PATH_DOWN, PATH_UP, PATH_RIGHT, PATH_LEFT,
    RELATIONS
};

enum { OUT_OF_MEMORY = 1, FULL, INTERRUPTED };
enum { MAX_GOALS = 1024 }; /* the search recurses over the goals */

typedef struct { /* a row of the program, as in program.py */
    i32 kind, following, first, last, slot, context, relation, number, path, mode, label, name, first_group, last_group;
} Goal;

typedef struct { /* numbers on a stack that grows */
    i32 *values;
    size_t count, capacity;
} Numbers;

typedef struct {
    i32 node_count, tree_count, label_count, goal_count, subgoal_count, table_count, group_count;
    i32 name_count, variable_count, start_goal;
    const i32 *label_ids, *ends, *parents, *previous, *last_children, *heads, *starts;
    const Goal *goals;
    const i32 *subgoals;
    const unsigned char *tables; /* (tables, labels): whether a label matches */
    const i32 *group_variables; /* (groups,) */
    const i32 *group_texts; /* (groups, labels): the number of the captured text, or -1 */
    const i32 *basic_ids;   /* (labels,): the number of the basic category */
    /* computed once, if a goal needs them */
    i32 *child_numbers; /* (nodes,): 1 for a first child */
    i32 *preceding;     /* (nodes,): the highest node that ends where a subtree starts, or -1 */
    i32 *visits;        /* (nodes,): the number of the last walk along a path that reached the node */
    i32 visit_count;
    /* state of the search */
    i32 tree_start, tree_end, root_node;
    i32 *nodes;     /* (slots,): the current candidate of each goal for a node */
    i32 *bindings;  /* (names + variables,): a node or a text, or -1 */
    i32 *snapshots; /* (goals, names + variables) */
    unsigned char *is_marked; /* (goals,) */
    Numbers scratch;    /* nodes that relations have collected and not yet tried */
    Numbers unvisited;  /* nodes that a walk has still to visit */
    /* matches: rows of the node, names and variables, or of the node and its number of matches */
    Numbers rows;
    int counts_only;
    i32 match_count, max_matches; /* matches at the root node */
    int ending; /* why the search ends before its last candidate, or 0 */
    /* called after many steps; 1 interrupts the search */
    int (*is_stopped)(void *);
    void *stop_argument;
    uint64_t step_count;
} Matcher;

static inline size_t binding_count(const Matcher *m) { return (size_t)m->name_count + (size_t)m->variable_count; }

static inline int in_range(i32 value, i32 low, i32 high) { return value >= low && value < high; }

/* Counts a step of the search, and returns 1 if the search has to end. */
static inline int count_step(Matcher *m) {
    enum { STEPS_BETWEEN_CHECKS = 1 << 18 };
    if (++m->step_count % STEPS_BETWEEN_CHECKS == 0 && m->is_stopped(m->stop_argument)) m->ending = INTERRUPTED;
    return m->ending;
}

/* Appends a number; 0 if there is no memory, or if there are more than `max_count` numbers. */
int push_number(Numbers *numbers, i32 value, size_t max_count);

/* Continues a goal with a candidate, and returns 1 if the search can stop. */
int try_node(Matcher *m, i32 index, i32 node);

/* Tries every node in a goal's relation to a node. */
int try_candidates(Matcher *m, i32 index, i32 node);

/* Computes the arrays that the relations of the goals need; 0 if there is no memory. */
int prepare_relations(Matcher *m);

/* Finds the matches at nodes from `first_node` on, until there are many, and returns the node after the last one. */
i32 search(Matcher *m, i32 first_node);

/* Whether the arrays describe a forest and a program, with every index in its range. */
int is_consistent(const Matcher *m);

#endif
