/* Flattens trees, or their text, into the columns of a forest. */

#ifndef TREECRF_SEARCH_FLATTEN_H
#define TREECRF_SEARCH_FLATTEN_H

static int push(Numbers *numbers, i32 value) {
    if (push_number(numbers, value, SIZE_MAX / 8)) return 1;
    PyErr_NoMemory();
    return 0;
}

typedef struct {
    PyObject *children; /* a tuple; NULL if the tree is read from text */
    Py_ssize_t next;
    i32 position, last_child;
} OpenNode;

enum { LABEL_IDS, ENDS, PARENTS, PREVIOUS, LAST_CHILDREN, STARTS, COLUMNS };

typedef struct {
    Numbers columns[COLUMNS];
    OpenNode *stack; /* nodes whose children are not finished */
    size_t depth, capacity;
    PyObject *ids, *labels, *tree_type, *label_name, *children_name;
} Flattener;

static long label_number(Flattener *f, PyObject *label) {
    PyObject *number = PyDict_GetItemWithError(f->ids, label);
    if (number != NULL) return PyLong_AsLong(number);
    if (PyErr_Occurred()) return -1;
    long id = (long)PyList_Size(f->labels);
    number = PyLong_FromLong(id);
    int is_set = number && PyDict_SetItem(f->ids, label, number) == 0 && PyList_Append(f->labels, label) == 0;
    Py_XDECREF(number);
    return is_set ? id : -1;
}

/* Appends a row for a node below the innermost open node. */
static int push_row(Flattener *f, long id) {
    if (id < 0) return 0;
    if (f->columns[ENDS].count >= INT32_MAX - 1) {
        PyErr_SetString(PyExc_ValueError, "a forest has at most 2**31 - 2 nodes; search fewer trees at a time");
        return 0;
    }
    i32 position = (i32)f->columns[ENDS].count;
    OpenNode *parent = f->depth > 0 ? f->stack + f->depth - 1 : NULL;
    i32 row[] = {(i32)id, position + 1, parent ? parent->position : -1, parent ? parent->last_child : -1, -1};
    if (parent) parent->last_child = position;
    for (int c = LABEL_IDS; c < STARTS; c++)
        if (!push(&f->columns[c], row[c])) return 0;
    return 1;
}

static int open_node(Flattener *f, PyObject *children) {
    if (f->depth == f->capacity) {
        size_t capacity = 2 * f->capacity + 64;
        OpenNode *stack = realloc(f->stack, capacity * sizeof(OpenNode));
        if (stack == NULL) {
            PyErr_NoMemory();
            return 0;
        }
        f->stack = stack;
        f->capacity = capacity;
    }
    Py_XINCREF(children);
    f->stack[f->depth++] = (OpenNode){children, 0, (i32)f->columns[ENDS].count - 1, -1};
    return 1;
}

static void close_node(Flattener *f) {
    OpenNode *top = f->stack + --f->depth;
    f->columns[ENDS].values[top->position] = (i32)f->columns[ENDS].count;
    f->columns[LAST_CHILDREN].values[top->position] = top->last_child;
    Py_XDECREF(top->children);
}

static void free_flattener(Flattener *f) {
    while (f->depth > 0) Py_XDECREF(f->stack[--f->depth].children);
    Py_XDECREF(f->ids);
    Py_XDECREF(f->labels);
    Py_XDECREF(f->label_name);
    Py_XDECREF(f->children_name);
    for (int c = 0; c < COLUMNS; c++) free(f->columns[c].values);
    free(f->stack);
}

/* Appends a word or a constituent, whose children follow. */
static int push_node(Flattener *f, PyObject *node) {
    if (PyUnicode_Check(node)) return push_row(f, label_number(f, node));
    if ((PyObject *)Py_TYPE(node) != f->tree_type) {
        PyErr_Format(PyExc_TypeError, "found %R, expected a Tree", node);
        return 0;
    }
    PyObject *label = PyObject_GetAttr(node, f->label_name);
    PyObject *children = label ? PyObject_GetAttr(node, f->children_name) : NULL;
    int is_tuple = children && PyTuple_Check(children);
    if (children && !is_tuple) PyErr_Format(PyExc_TypeError, "found %R, expected the children of a Tree", children);
    int is_open = is_tuple && push_row(f, label_number(f, label)) && open_node(f, children);
    Py_XDECREF(label);
    Py_XDECREF(children);
    return is_open;
}

static int flatten_tree(Flattener *f, PyObject *tree) {
    if (!push_node(f, tree)) return 0;
    while (f->depth > 0) {
        OpenNode *top = f->stack + f->depth - 1;
        if (top->next < PyTuple_Size(top->children)) {
            if (!push_node(f, PyTuple_GetItem(top->children, top->next++))) return 0;
            continue;
        }
        close_node(f);
    }
    return push(&f->columns[STARTS], (i32)f->columns[ENDS].count);
}

static PyObject *flat_arrays(const Flattener *f) {
    PyObject *result = PyTuple_New(COLUMNS + 1);
    for (int c = 0; result && c < COLUMNS; c++) {
        const Numbers *column = &f->columns[c];
        Py_ssize_t size = (Py_ssize_t)(column->count * sizeof(i32));
        PyObject *bytes = PyBytes_FromStringAndSize((const char *)column->values, size);
        if (bytes == NULL) {
            Py_DECREF(result);
            return NULL;
        }
        PyTuple_SetItem(result, c, bytes); /* takes the reference */
    }
    if (result) {
        Py_INCREF(f->labels);
        PyTuple_SetItem(result, COLUMNS, f->labels);
    }
    return result;
}

/* flatten(trees, tree_type): the columns as bytes of int32, and the list of labels. */
static PyObject *py_flatten(PyObject *self, PyObject *args) {
    Flattener f = {0};
    PyObject *trees;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!O", &PyList_Type, &trees, &f.tree_type)) return NULL;
    f.ids = PyDict_New();
    f.labels = PyList_New(0);
    f.label_name = PyUnicode_FromString("label");
    f.children_name = PyUnicode_FromString("children");
    int is_flat = f.ids && f.labels && f.label_name && f.children_name && push(&f.columns[STARTS], 0);
    for (Py_ssize_t t = 0; is_flat && t < PyList_Size(trees); t++) is_flat = flatten_tree(&f, PyList_GetItem(trees, t));
    PyObject *result = is_flat ? flat_arrays(&f) : NULL;
    free_flattener(&f);
    return result;
}

#endif
