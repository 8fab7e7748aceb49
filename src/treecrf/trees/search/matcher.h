/* The state of a search: the arrays of a forest, the program of goals, and the matches. */

#ifndef TREECRF_SEARCH_MATCHER_H
#define TREECRF_SEARCH_MATCHER_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t i32;

enum { EMIT, ACCEPT, NODE, OR, NOT, NOT_ALL, FIRST, OPTIONAL, MARK, KINDS };
enum { TABLE, ROOT, NOT_ROOT, REFERENCE, LINK, BASIC_LINK, MODES };
enum { /* relations, in the order of relations.py */
    EQUALS, PARENT_OF, CHILD_OF, DOMINATES, DOMINATED_BY, SISTER, LEFT_SISTER_OF, RIGHT_SISTER_OF, SISTER_BEFORE,
    SISTER_AFTER, PRECEDES, FOLLOWS, PRECEDES_AT_ONCE, FOLLOWS_AT_ONCE, FIRST_CHAIN, LAST_CHAIN, FIRST_CHAIN_UP,
    LAST_CHAIN_UP, HAS_CHILD_NUMBER, IS_CHILD_NUMBER, HAS_ONLY_CHILD, IS_ONLY_CHILD, UNARY_CHAIN, UNARY_CHAIN_UP,
    HEADED_BY, HEADS, HEAD_CHAIN, HEAD_CHAIN_UP, SELF_OR_CHILD, ANYWHERE, PATH_DOWN, PATH_UP, PATH_RIGHT, PATH_LEFT,
    RELATIONS
};

typedef struct { /* a row of the program, as in program.py */
    i32 kind, following, first, last, context, relation, number, path, mode, label, name, first_group, last_group;
} Goal;

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
    /* state of the search */
    i32 tree_start, tree_end, root_node;
    i32 *nodes;     /* (goals,): the current candidate of each goal */
    i32 *bindings;  /* (names + variables,): a node or a text, or -1 */
    i32 *snapshots; /* (goals, names + variables) */
    unsigned char *is_marked; /* (goals,) */
    /* matches: rows of the node, names and variables */
    i32 *rows;
    size_t row_count, row_capacity;
    int is_out_of_memory;
    /* called after many candidates; 1 ends the search, and then is_interrupted is set */
    int (*is_stopped)(void *);
    void *stop_argument;
    uint64_t step_count;
    int is_interrupted;
} Matcher;

static inline size_t binding_count(const Matcher *m) { return (size_t)m->name_count + (size_t)m->variable_count; }

static inline int in_range(i32 value, i32 low, i32 high) { return value >= low && value < high; }

/* Continues a goal with a candidate, and returns 1 if the search can stop. */
int try_node(Matcher *m, i32 index, i32 node);

/* Tries every node in a goal's relation to a node. */
int try_candidates(Matcher *m, i32 index, i32 node);

/* Finds all matches. */
void search(Matcher *m);

/* Whether the arrays describe a forest and a program, with every index in its range. */
int is_consistent(const Matcher *m);

#endif
