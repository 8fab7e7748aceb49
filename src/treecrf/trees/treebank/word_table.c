/* Lines of words to rows of a word table, without the interpreter's lock. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "../extension_module.h"
#include "word_table.h"
#include "words.h"

static const char NAME[] = "treecrf.WordTable";

static void free_table(PyObject *capsule) {
    Table *t = PyCapsule_GetPointer(capsule, NAME);
    if (!t) return;
    free(t->text), free(t->entries), free(t->slots), free(t);
}

static PyObject *new_table(PyObject *module, PyObject *args) {
    unsigned long long seed;
    if (!PyArg_ParseTuple(args, "K", &seed)) return NULL;
    Table *t = calloc(1, sizeof(Table));
    if (!t) return PyErr_NoMemory();
    t->seed = seed;
    PyObject *capsule = PyCapsule_New(t, NAME, free_table);
    if (!capsule) free(t);
    return capsule;
}

typedef struct {
    int64_t max_lines, max_bytes, longest_line, most_words; /* limits of a block, of a line and of a sentence */
    int64_t *starts, *ends, *lengths;                       /* of each line: its bytes and its number of words */
    int32_t *rows;                                          /* of each word */
    int64_t lines, words, bytes;
} Block;

enum { PLAIN_LINES, ODD_LINE = 1 };

/* Adds the words of a line. Returns ODD_LINE for a line that Python has to read, or NO_MEMORY. */
static int split_line(Table *t, Block *b, const unsigned char *at, const unsigned char *end) {
    int64_t first = b->words;
    if (end - at > b->longest_line) return ODD_LINE;
    for (size_t size; (size = next_word(&at, end)); at += size) {
        int32_t row = find_row(t, at, size);
        if (row < 0) return row == NO_TEXT ? ODD_LINE : NO_MEMORY;
        b->rows[b->words++] = row;
    }
    b->lengths[b->lines] = b->words - first;
    return b->words - first > b->most_words ? ODD_LINE : PLAIN_LINES;
}

/* Splits the lines of a block; after an odd line, the others are only counted. */
static int split_block(Table *t, Block *b, const unsigned char *data, int64_t size) {
    int result = PLAIN_LINES;
    while (b->bytes < size && b->lines < b->max_lines && b->bytes < b->max_bytes) {
        const unsigned char *line = data + b->bytes, *feed = memchr(line, '\n', size - b->bytes);
        const unsigned char *end = feed ? feed : data + size;
        b->bytes = end - data + (feed != NULL);
        if (end > line && end[-1] == '\r') end--;
        b->starts[b->lines] = line - data, b->ends[b->lines] = end - data;
        if (!result) result = split_line(t, b, line, end);
        if (result == NO_MEMORY) return result;
        b->lines++;
    }
    return result;
}

/* See _word_table.pyi; arrays are passed as integers. */
static PyObject *split(PyObject *module, PyObject *args) {
    PyObject *capsule;
    const char *data;
    Py_ssize_t size;
    unsigned long long starts, ends, lengths, rows;
    Block b = {0};
    if (!PyArg_ParseTuple(args, "Oy#(LLLL)(KKKK)", &capsule, &data, &size, &b.max_lines, &b.max_bytes, &b.longest_line,
                          &b.most_words, &starts, &ends, &lengths, &rows))
        return NULL;
    Table *t = PyCapsule_GetPointer(capsule, NAME);
    if (!t) return NULL;
    if (!(starts && ends && lengths && rows)) {
        PyErr_SetString(PyExc_ValueError, "an address is null; expected an array");
        return NULL;
    }
    b.starts = (int64_t *)(uintptr_t)starts, b.ends = (int64_t *)(uintptr_t)ends;
    b.lengths = (int64_t *)(uintptr_t)lengths, b.rows = (int32_t *)(uintptr_t)rows;
    int result;
    Py_BEGIN_ALLOW_THREADS
    result = split_block(t, &b, (const unsigned char *)data, size);
    Py_END_ALLOW_THREADS
    if (result == NO_MEMORY) return PyErr_NoMemory();
    return Py_BuildValue("LLLO", (long long)b.lines, (long long)b.words, (long long)b.bytes,
                         result == ODD_LINE ? Py_True : Py_False);
}

static PyObject *words(PyObject *module, PyObject *args) {
    PyObject *capsule;
    Py_ssize_t first;
    if (!PyArg_ParseTuple(args, "On", &capsule, &first)) return NULL;
    Table *t = PyCapsule_GetPointer(capsule, NAME);
    if (!t) return NULL;
    if (first < 0 || first > t->count)
        return PyErr_Format(PyExc_ValueError, "first row %zd; expected one of %d rows", first, (int)t->count);
    PyObject *list = PyList_New(t->count - first);
    for (Py_ssize_t row = first; list && row < t->count; row++) {
        const Entry *entry = t->entries + row;
        PyObject *word = PyUnicode_DecodeUTF8(t->text + entry->start, entry->size, "strict");
        if (!word || PyList_SetItem(list, row - first, word) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *size(PyObject *module, PyObject *capsule) {
    Table *t = PyCapsule_GetPointer(capsule, NAME);
    if (!t) return NULL;
    long long bytes = t->capacity + t->entry_capacity * sizeof(Entry) + t->slot_count * sizeof(int32_t);
    return Py_BuildValue("iL", (int)t->count, bytes);
}

static PyMethodDef methods[] = {
    {"new_table", new_table, METH_VARARGS, NULL},
    {"split", split, METH_VARARGS, NULL},
    {"words", words, METH_VARARGS, NULL},
    {"size", size, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

EXTENSION_MODULE(_word_table,)
