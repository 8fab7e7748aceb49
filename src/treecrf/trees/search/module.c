/* The extension module: searches flat trees, flattens and reads trees, and finds heads. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>

#include "matcher.h"

#include "bracket_reader.h"
#include "flatten.h"
#include "head_finder.h"

static int allocate(Matcher *m) {
    size_t width = binding_count(m) + 1, goals = (size_t)m->goal_count;
    m->nodes = calloc(goals, sizeof(i32));
    m->bindings = calloc(width, sizeof(i32));
    m->snapshots = calloc(goals * width, sizeof(i32));
    m->is_marked = calloc(goals, 1);
    return m->nodes && m->bindings && m->snapshots && m->is_marked;
}

static void release(Matcher *m) {
    free(m->nodes);
    free(m->bindings);
    free(m->snapshots);
    free(m->is_marked);
    free(m->rows);
}

/* Runs the handlers of signals, such as Ctrl-C; 1 if one of them has raised an exception. */
static int check_signals(void *argument) {
    PyThreadState **state = argument;
    PyEval_RestoreThread(*state);
    int is_raised = PyErr_CheckSignals() != 0;
    *state = PyEval_SaveThread();
    return is_raised;
}

/* search(forest, program, tables, group_texts, basic_ids): the forest and the program are tuples of counts and
   addresses, the others bytes; returns the rows of the matches as bytes. */
static PyObject *py_search(PyObject *self, PyObject *args) {
    Matcher m = {0};
    unsigned long long address[10];
    const char *tables, *group_texts, *basic_ids;
    Py_ssize_t table_size, group_size, basic_size;
    (void)self;
    if (!PyArg_ParseTuple(
            args, "(iiiKKKKKKK)(iiiiiiiKKK)y#y#y#", &m.node_count, &m.tree_count, &m.label_count, &address[0],
            &address[1], &address[2], &address[3], &address[4], &address[5], &address[6], &m.start_goal, &m.goal_count,
            &m.subgoal_count, &m.table_count, &m.group_count, &m.name_count, &m.variable_count, &address[7],
            &address[8], &address[9], &tables, &table_size, &group_texts, &group_size, &basic_ids, &basic_size))
        return NULL;
    const i32 **arrays[] = {&m.label_ids, &m.ends, &m.parents, &m.previous, &m.last_children, &m.starts, &m.heads};
    for (int a = 0; a < 7; a++) *arrays[a] = (const i32 *)(uintptr_t)address[a];
    m.goals = (const Goal *)(uintptr_t)address[7];
    m.subgoals = (const i32 *)(uintptr_t)address[8];
    m.group_variables = (const i32 *)(uintptr_t)address[9];
    m.tables = (const unsigned char *)tables;
    m.group_texts = (const i32 *)(const void *)group_texts;
    Py_ssize_t labels = m.label_count, width = sizeof(i32);
    if (basic_size == labels * width) m.basic_ids = (const i32 *)(const void *)basic_ids;
    if (table_size != m.table_count * labels || group_size != m.group_count * labels * width ||
        !is_consistent(&m)) {
        PyErr_SetString(PyExc_ValueError, "the arrays of the forest or of the program are inconsistent");
        return NULL;
    }
    if (allocate(&m)) {
        PyThreadState *state = PyEval_SaveThread();
        m.is_stopped = check_signals;
        m.stop_argument = &state;
        search(&m);
        PyEval_RestoreThread(state);
    } else {
        m.is_out_of_memory = 1;
    }
    PyObject *rows = NULL;
    size_t size = m.row_count * (1 + binding_count(&m)) * sizeof(i32);
    if (m.is_out_of_memory) PyErr_NoMemory();
    else if (!m.is_interrupted) rows = PyBytes_FromStringAndSize((const char *)m.rows, (Py_ssize_t)size);
    release(&m);
    return rows;
}

static PyMethodDef METHODS[] = {
    {"search", py_search, METH_VARARGS, NULL},
    {"flatten", py_flatten, METH_VARARGS, NULL},
    {"parse", py_parse, METH_VARARGS, NULL},
    {"find_heads", py_find_heads, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_matcher", NULL, -1, METHODS, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__matcher(void) { return PyModule_Create(&MODULE); }
