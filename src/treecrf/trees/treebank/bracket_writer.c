/* Lines of brackets from the spans of binary trees, without tree nodes.

   The spans of a sentence are sorted by start and then end. Before word i are the openings of the spans that start at
   i, the last span first. After word i is one closing for each bracket that the spans ending at i + 1 opened. The
   opening of an intermediate label is empty. All text is UTF-8. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../extension_module.h"

typedef struct {
    const char *text;
    Py_ssize_t size, opens; /* opens: number of "(" in the text */
} Piece;

typedef struct { /* the current line, and the texts of labels and tags */
    char *text;
    Py_ssize_t size, capacity;
    int64_t *closings; /* after each word of the sentence */
    Py_ssize_t closings_capacity;
    Piece root, *labels, *tags;
    Py_ssize_t label_count, tag_count;
    long long rootless; /* the label that makes a sentence of one word a tree without a root, or -1 */
    PyObject *escape;
} Writer;

enum { PLAIN, UNSAFE, LEAD }; /* copied; needs `escape`; first byte of a character that may be white space */

static const unsigned char KIND[256] = {
    [9] = UNSAFE,   [10] = UNSAFE,  [11] = UNSAFE,  [12] = UNSAFE,  [13] = UNSAFE,   [28] = UNSAFE,
    [29] = UNSAFE,  [30] = UNSAFE,  [31] = UNSAFE,  [' '] = UNSAFE, ['('] = UNSAFE,  [')'] = UNSAFE,
    ['\\'] = UNSAFE, [0xC2] = LEAD,  [0xE1] = LEAD,  [0xE2] = LEAD,  [0xE3] = LEAD,
};

/* Whether white space outside ASCII starts here. */
static int is_space(const unsigned char *at) {
    switch (at[0]) {
    case 0xC2: return at[1] == 0x85 || at[1] == 0xA0;
    case 0xE1: return at[1] == 0x9A && at[2] == 0x80;
    case 0xE2:
        if (at[1] == 0x81) return at[2] == 0x9F;
        return at[1] == 0x80 && (at[2] <= 0x8A || at[2] == 0xA8 || at[2] == 0xA9 || at[2] == 0xAF);
    default: return at[1] == 0x80 && at[2] == 0x80;
    }
}

static int is_plain(const char *text, Py_ssize_t size) {
    const unsigned char *at = (const unsigned char *)text, *end = at + size;
    for (; at < end; at++) {
        int kind = KIND[*at];
        if (kind == UNSAFE || (kind == LEAD && is_space(at))) return 0;
    }
    return size > 0;
}

/* Makes room for `more` bytes; the text is not null afterwards, even if there are none. */
static int reserve(Writer *w, Py_ssize_t more) {
    if (w->size + more < w->capacity) return 1;
    Py_ssize_t capacity = 2 * (w->size + more) + 1;
    char *text = realloc(w->text, capacity);
    if (!text) return PyErr_NoMemory(), 0;
    w->text = text, w->capacity = capacity;
    return 1;
}

static int add(Writer *w, const char *text, Py_ssize_t size) {
    if (!reserve(w, size)) return 0;
    memcpy(w->text + w->size, text, size);
    w->size += size;
    return 1;
}

/* Adds a word or tag: most are copied, the others are escaped in Python. */
static int add_escaped(Writer *w, PyObject *word) {
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(word, &size);
    if (text && is_plain(text, size)) return add(w, text, size);
    if (!text) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return 0;
        PyErr_Clear();
    }
    PyObject *escaped = PyObject_CallFunctionObjArgs(w->escape, word, NULL);
    if (!escaped) return 0;
    text = PyUnicode_AsUTF8AndSize(escaped, &size);
    int ok = text && add(w, text, size);
    Py_DECREF(escaped);
    return ok;
}

/* Adds a preterminal, with the user's tag or, if that is NULL, the predicted one. */
static int add_leaf(Writer *w, PyObject *word, PyObject *user_tag, const Piece *tag) {
    if (!add(w, " (", 2)) return 0;
    if (!(user_tag ? add_escaped(w, user_tag) : add(w, tag->text, tag->size))) return 0;
    return add(w, " ", 1) && add_escaped(w, word) && add(w, ")", 1);
}

static int add_closings(Writer *w, int64_t count) {
    if (!reserve(w, count)) return 0;
    memset(w->text + w->size, ')', count);
    w->size += count;
    return 1;
}

static int clear_closings(Writer *w, Py_ssize_t words) {
    if (words >= w->closings_capacity) {
        int64_t *closings = realloc(w->closings, (2 * words + 1) * sizeof(int64_t));
        if (!closings) return PyErr_NoMemory(), 0;
        w->closings = closings, w->closings_capacity = 2 * words + 1;
    }
    memset(w->closings, 0, words * sizeof(int64_t));
    return 1;
}

typedef struct { /* the arrays of the current sentence and those after it */
    const int32_t *starts, *ends, *labels, *tags;
} Arrays;

/* Adds the openings of spans [first, last), which start at the same word. Returns 0 and sets an error for spans that do
   not fit the sentence. */
static int add_openings(Writer *w, Arrays a, Py_ssize_t first, Py_ssize_t last, Py_ssize_t words) {
    for (Py_ssize_t k = last - 1; k >= first; k--) {
        int32_t start = a.starts[k], end = a.ends[k], label = a.labels[k];
        int is_sorted = k == last - 1 || end < a.ends[k + 1];
        if (start < 0 || end <= start || end > words || label < 0 || label >= w->label_count || !is_sorted) {
            PyErr_Format(PyExc_ValueError,
                         "span %d-%d with label %d in a sentence of %zd words; expected spans of the sentence by start "
                         "and then end, and one of %zd labels",
                         start, end, label, words, w->label_count);
            return 0;
        }
        const Piece *opening = w->labels + label;
        if (!add(w, opening->text, opening->size)) return 0;
        w->closings[end - 1] += opening->opens;
    }
    return 1;
}

/* Writes the line of one sentence, with a space before it. */
static int write_line(Writer *w, PyObject *words, PyObject *user_tags, Arrays a) {
    Py_ssize_t count = PyTuple_Size(words), spans = 2 * count - 1, at = 0;
    int is_rootless = count == 1 && a.labels[0] == w->rootless;
    w->size = 0;
    if (!clear_closings(w, count) || !(is_rootless || add(w, w->root.text, w->root.size))) return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t first = at;
        while (at < spans && a.starts[at] == i) at++;
        if (!add_openings(w, a, first, at, count)) return 0;
        PyObject *user_tag = user_tags ? PyTuple_GetItem(user_tags, i) : Py_None;
        if (user_tag == Py_None) user_tag = NULL;
        int32_t tag = a.tags[i];
        if (!user_tag && (tag < 0 || tag >= w->tag_count)) {
            PyErr_Format(PyExc_ValueError, "tag %d of word %zd; expected one of %zd tags", tag, i, w->tag_count);
            return 0;
        }
        if (!add_leaf(w, PyTuple_GetItem(words, i), user_tag, user_tag ? NULL : w->tags + tag)) return 0;
        if (!add_closings(w, w->closings[i])) return 0;
    }
    if (at != spans) {
        PyErr_Format(PyExc_ValueError, "span %zd of %zd starts at word %d of %zd; expected spans by start and then end",
                     at, spans, a.starts[at], count);
        return 0;
    }
    return is_rootless || add_closings(w, w->root.opens);
}

static int read_piece(PyObject *text, Piece *piece) {
    piece->text = PyUnicode_AsUTF8AndSize(text, &piece->size);
    if (!piece->text) return 0;
    piece->opens = 0;
    for (Py_ssize_t k = 0; k < piece->size; k++) piece->opens += piece->text[k] == '(';
    return 1;
}

static Piece *read_pieces(PyObject *texts, Py_ssize_t *count) {
    *count = PyTuple_Size(texts);
    Piece *pieces = *count < 0 ? NULL : malloc((*count + 1) * sizeof(Piece));
    if (!pieces) return *count < 0 ? NULL : (PyErr_NoMemory(), NULL);
    for (Py_ssize_t k = 0; k < *count; k++) {
        if (read_piece(PyTuple_GetItem(texts, k), pieces + k)) continue;
        free(pieces);
        return NULL;
    }
    return pieces;
}

/* Returns the user's tags of a sentence, one per word; NULL without an error if there are none. */
static PyObject *get_user_tags(PyObject *all_tags, Py_ssize_t sentence, Py_ssize_t words) {
    if (all_tags == Py_None) return NULL;
    PyObject *tags = PySequence_GetItem(all_tags, sentence);
    if (!tags) return NULL;
    if (tags == Py_None) return Py_DECREF(tags), NULL;
    PyObject *tuple = PySequence_Tuple(tags);
    Py_DECREF(tags);
    if (tuple && PyTuple_Size(tuple) != words) {
        PyErr_Format(PyExc_ValueError, "sentence %zd has %zd words and %zd tags; expected a tag for each word",
                     sentence, words, PyTuple_Size(tuple));
        Py_CLEAR(tuple);
    }
    return tuple;
}

/* Returns the next line, and moves the arrays on to the next sentence. */
static PyObject *next_line(Writer *w, PyObject *sentences, PyObject *all_tags, Py_ssize_t sentence, Arrays *a,
                           Py_ssize_t *words_left) {
    PyObject *line = NULL, *tags = NULL, *item = PySequence_GetItem(sentences, sentence);
    PyObject *words = item ? PySequence_Tuple(item) : NULL;
    Py_XDECREF(item);
    if (!words) return NULL;
    Py_ssize_t count = PyTuple_Size(words);
    if (count < 1 || count > *words_left) {
        PyErr_Format(PyExc_ValueError, "sentence %zd has %zd words, and %zd are left; expected one or more", sentence,
                     count, *words_left);
        goto done;
    }
    tags = get_user_tags(all_tags, sentence, count);
    if (!PyErr_Occurred() && write_line(w, words, tags, *a))
        line = PyUnicode_DecodeUTF8(w->text + 1, w->size - 1, "strict");
    Py_ssize_t spans = 2 * count - 1;
    *a = (Arrays){a->starts + spans, a->ends + spans, a->labels + spans, a->tags + count};
    *words_left -= count;
done:
    Py_XDECREF(tags);
    Py_DECREF(words);
    return line;
}

/* See _bracket_writer.pyi; pointers are passed as integers. */
static PyObject *write_lines(PyObject *module, PyObject *args) {
    PyObject *sentences, *all_tags, *labels, *tags, *root, *lines = NULL;
    unsigned long long starts, ends, label_ids, tag_ids;
    Py_ssize_t words_left;
    Writer w = {0};
    if (!PyArg_ParseTuple(args, "OOnKKKKO!O!ULO", &sentences, &all_tags, &words_left, &starts, &ends, &label_ids,
                          &tag_ids, &PyTuple_Type, &labels, &PyTuple_Type, &tags, &root, &w.rootless, &w.escape))
        return NULL;
    if (words_left > 0 && !(starts && ends && label_ids && tag_ids)) {
        PyErr_SetString(PyExc_ValueError, "an address is null; expected an array");
        return NULL;
    }
    Arrays a = {(int32_t *)(uintptr_t)starts, (int32_t *)(uintptr_t)ends, (int32_t *)(uintptr_t)label_ids,
                (int32_t *)(uintptr_t)tag_ids};
    w.labels = read_pieces(labels, &w.label_count);
    w.tags = w.labels ? read_pieces(tags, &w.tag_count) : NULL;
    Py_ssize_t count = w.tags && read_piece(root, &w.root) ? PySequence_Size(sentences) : -1;
    if (count >= 0) lines = PyList_New(count);
    for (Py_ssize_t k = 0; lines && k < count; k++) {
        PyObject *line = next_line(&w, sentences, all_tags, k, &a, &words_left);
        if (!line || PyList_SetItem(lines, k, line) < 0) Py_CLEAR(lines);
    }
    if (lines && words_left) {
        PyErr_Format(PyExc_ValueError, "the sentences have %zd words less than the arrays", words_left);
        Py_CLEAR(lines);
    }
    free(w.labels), free(w.tags), free(w.text), free(w.closings);
    return lines;
}

static PyMethodDef methods[] = {{"write_lines", write_lines, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

EXTENSION_MODULE(_bracket_writer,)
