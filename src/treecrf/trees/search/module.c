/* The extension module: searches flat trees, flattens and reads trees, and finds heads. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>

#include "matcher.h"

#include "bracket_reader.h"
#include "flatten.h"
#include "head_finder.h"
#include "../extension_module.h"

static int allocate(Matcher *m) {
    size_t width = binding_count(m) + 1, goals = (size_t)m->goal_count;
    m->nodes = calloc(goals, sizeof(i32));
    m->bindings = calloc(width, sizeof(i32));
    m->snapshots = calloc(goals * width, sizeof(i32));
    m->is_marked = calloc(goals, 1);
    return m->nodes && m->bindings && m->snapshots && m->is_marked && prepare_relations(m);
}

static void release(Matcher *m) {
    i32 *arrays[] = {m->nodes, m->bindings, m->snapshots, m->child_numbers, m->preceding, m->visits,
                     m->scratch.values, m->unvisited.values, m->rows.values};
    for (size_t a = 0; a < sizeof(arrays) / sizeof(arrays[0]); a++) free(arrays[a]);
    free(m->is_marked);
}

/* Runs the handlers of signals, such as Ctrl-C; 1 if one of them has raised an exception. */
static int check_signals(void *argument) {
    PyThreadState **state = argument;
    PyEval_RestoreThread(*state);
    int is_raised = PyErr_CheckSignals() != 0;
    *state = PyEval_SaveThread();
    return is_raised;
}

typedef struct { /* an argument of bytes with int32 */
    const char *data;
    Py_ssize_t size;
} Bytes;

static i32 int_count(const Bytes *bytes) { return (i32)(bytes->size / (Py_ssize_t)sizeof(i32)); }

/* Sets the arrays and counts from the arguments; 0 if their sizes do not fit together. */
static int set_arrays(Matcher *m, const Bytes *columns, const Bytes *program, i32 label_count) {
    const i32 **arrays[] = {&m->label_ids, &m->ends, &m->parents, &m->previous, &m->last_children, &m->starts, &m->heads};
    Py_ssize_t node_bytes = columns[0].size, labels = label_count, width = sizeof(i32);
    if (node_bytes / width >= INT32_MAX || node_bytes % width || label_count < 0) return 0;
    for (int c = 0; c < 7; c++) {
        if (c < 5 && columns[c].size != node_bytes) return 0;
        *arrays[c] = (const i32 *)(const void *)columns[c].data;
    }
    if (columns[5].size < width || columns[5].size > node_bytes + width || columns[5].size % width) return 0;
    if (columns[6].size == 0) m->heads = NULL;
    else if (columns[6].size != node_bytes) return 0;
    m->node_count = int_count(&columns[0]);
    m->tree_count = int_count(&columns[5]) - 1;
    m->label_count = label_count;
    const Bytes *goals = program, *subgoals = program + 1, *variables = program + 2;
    const Bytes *tables = program + 3, *texts = program + 4, *basic_ids = program + 5;
    for (int p = 0; p < 3; p++)
        if (program[p].size > INT32_MAX || program[p].size % width) return 0;
    m->goals = (const Goal *)(const void *)goals->data;
    m->subgoals = (const i32 *)(const void *)subgoals->data;
    m->group_variables = (const i32 *)(const void *)variables->data;
    m->tables = (const unsigned char *)tables->data;
    m->group_texts = (const i32 *)(const void *)texts->data;
    if (basic_ids->size == labels * width) m->basic_ids = (const i32 *)(const void *)basic_ids->data;
    if (goals->size % (Py_ssize_t)sizeof(Goal) || m->name_count < 0 || m->variable_count < 0) return 0;
    if (m->name_count > MAX_GOALS || m->variable_count > MAX_GOALS || m->max_matches < 1) return 0;
    m->goal_count = (i32)(goals->size / (Py_ssize_t)sizeof(Goal));
    m->subgoal_count = int_count(subgoals);
    m->group_count = int_count(variables);
    m->table_count = labels ? (i32)(tables->size / labels) : 0;
    return tables->size == m->table_count * labels && texts->size == m->group_count * labels * width;
}

/* search(columns, label_count, program, tables, group_texts, basic_ids, first_node, max_matches, counts_only): the
   columns of a forest and a program as bytes; returns rows of matches as bytes, and the node to go on with, which is the
   node of the last row if it has `max_matches`. */
static PyObject *py_search(PyObject *self, PyObject *args) {
    Matcher m = {0};
    Bytes columns[7], program[6];
    i32 label_count, first_node;
    (void)self;
    if (!PyArg_ParseTuple(
            args, "(y#y#y#y#y#y#y#)i(iiiy#y#y#)y#y#y#iip", &columns[0].data, &columns[0].size, &columns[1].data,
            &columns[1].size, &columns[2].data, &columns[2].size, &columns[3].data, &columns[3].size, &columns[4].data,
            &columns[4].size, &columns[5].data, &columns[5].size, &columns[6].data, &columns[6].size, &label_count,
            &m.start_goal, &m.name_count, &m.variable_count, &program[0].data, &program[0].size, &program[1].data,
            &program[1].size, &program[2].data, &program[2].size, &program[3].data, &program[3].size, &program[4].data,
            &program[4].size, &program[5].data, &program[5].size, &first_node, &m.max_matches, &m.counts_only))
        return NULL;
    if (!set_arrays(&m, columns, program, label_count) || !in_range(first_node, 0, m.node_count + 1) ||
        !is_consistent(&m)) {
        PyErr_SetString(PyExc_ValueError, "the arrays of the forest or of the program are inconsistent");
        return NULL;
    }
    i32 next_node = first_node;
    if (allocate(&m)) {
        PyThreadState *state = PyEval_SaveThread();
        m.is_stopped = check_signals;
        m.stop_argument = &state;
        next_node = search(&m, first_node);
        PyEval_RestoreThread(state);
    } else {
        m.ending = OUT_OF_MEMORY;
    }
    PyObject *result = NULL;
    Py_ssize_t size = (Py_ssize_t)(m.rows.count * sizeof(i32));
    if (m.ending == OUT_OF_MEMORY)
        PyErr_SetString(PyExc_MemoryError, "the search needs too much memory; expected a pattern with fewer relations");
    else if (m.ending != INTERRUPTED)
        result = Py_BuildValue("(y#i)", size ? (const char *)m.rows.values : "", size, next_node);
    release(&m);
    return result;
}

static PyMethodDef methods[] = {{"search", py_search, METH_VARARGS, NULL},
                                {"flatten", py_flatten, METH_VARARGS, NULL},
                                {"parse", py_parse, METH_VARARGS, NULL},
                                {"find_heads", py_find_heads, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};

EXTENSION_MODULE(_matcher,)
