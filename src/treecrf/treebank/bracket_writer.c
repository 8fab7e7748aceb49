/* Bracket lines straight from the spans of binary trees, without a node in between.

   A sentence's spans come by start and then end, so that before word i stand the openings of the spans that start at i,
   the last of them first, and after it as many closings as spans that end at i + 1 have opened. A span whose label
   stands for a part opens nothing. Every text here is UTF-8. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *text;
    Py_ssize_t size, opens; /* opens: how many parentheses it holds */
} Piece;

typedef struct { /* the line that is being written, and what lines are made of */
    char *text;
    Py_ssize_t size, room;
    int64_t *closings; /* after each word of the sentence */
    Py_ssize_t closings_room;
    Piece root, *labels, *tags;
    Py_ssize_t label_count, tag_count;
    long long bare; /* the label under which a lone word has no root, or -1 */
    PyObject *spell;
} Writer;

enum { PLAIN, ODD, LOOK }; /* fine as it is; for `spell` to see; odd or not by the bytes that follow */

static const unsigned char KIND[256] = {
    [9] = ODD,    [10] = ODD,   [11] = ODD,   [12] = ODD,    [13] = ODD,    [28] = ODD,    [29] = ODD,   [30] = ODD,
    [31] = ODD,   [' '] = ODD,  ['('] = ODD,  [')'] = ODD,   ['\\'] = ODD,  [0xC2] = LOOK, [0xE1] = LOOK,
    [0xE2] = LOOK, [0xE3] = LOOK,
};

/* Whether white space beyond ASCII begins here. */
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
        if (kind == ODD || (kind == LOOK && is_space(at))) return 0;
    }
    return size > 0;
}

static int make_room(Writer *w, Py_ssize_t more) {
    if (w->size + more <= w->room) return 1;
    Py_ssize_t room = 2 * (w->size + more);
    char *text = realloc(w->text, room);
    if (!text) return PyErr_NoMemory(), 0;
    w->text = text, w->room = room;
    return 1;
}

static int add(Writer *w, const char *text, Py_ssize_t size) {
    if (!make_room(w, size)) return 0;
    memcpy(w->text + w->size, text, size);
    w->size += size;
    return 1;
}

/* A word or tag as brackets can hold it: most are copied, others Python spells. */
static int add_spelled(Writer *w, PyObject *word) {
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(word, &size);
    if (text && is_plain(text, size)) return add(w, text, size);
    if (!text) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return 0;
        PyErr_Clear();
    }
    PyObject *spelled = PyObject_CallFunctionObjArgs(w->spell, word, NULL);
    if (!spelled) return 0;
    text = PyUnicode_AsUTF8AndSize(spelled, &size);
    int added = text && add(w, text, size);
    Py_DECREF(spelled);
    return added;
}

static int add_leaf(Writer *w, PyObject *word, PyObject *tag, const Piece *known) {
    if (!add(w, " (", 2)) return 0;
    if (!(tag ? add_spelled(w, tag) : add(w, known->text, known->size))) return 0;
    return add(w, " ", 1) && add_spelled(w, word) && add(w, ")", 1);
}

static int add_closings(Writer *w, int64_t count) {
    if (!make_room(w, count)) return 0;
    memset(w->text + w->size, ')', count);
    w->size += count;
    return 1;
}

static int clear_closings(Writer *w, Py_ssize_t words) {
    if (words > w->closings_room) {
        int64_t *closings = realloc(w->closings, 2 * words * sizeof(int64_t));
        if (!closings) return PyErr_NoMemory(), 0;
        w->closings = closings, w->closings_room = 2 * words;
    }
    memset(w->closings, 0, words * sizeof(int64_t));
    return 1;
}

typedef struct { /* where a sentence's numbers begin */
    const int32_t *starts, *ends, *labels, *tags;
} Numbers;

/* The openings before word i, whose spans are at [first, last); 0 with an error if they are no spans of the sentence. */
static int add_openings(Writer *w, Numbers n, Py_ssize_t first, Py_ssize_t last, Py_ssize_t words) {
    for (Py_ssize_t k = last - 1; k >= first; k--) {
        int32_t start = n.starts[k], end = n.ends[k], label = n.labels[k];
        int is_sorted = k == last - 1 || end < n.ends[k + 1];
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

/* The line of one sentence, with a space before it. */
static int write_line(Writer *w, PyObject *words, PyObject *tags, Numbers n) {
    Py_ssize_t count = PyTuple_Size(words), spans = 2 * count - 1, at = 0;
    int is_bare = count == 1 && n.labels[0] == w->bare;
    w->size = 0;
    if (!clear_closings(w, count) || !(is_bare || add(w, w->root.text, w->root.size))) return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t first = at;
        while (at < spans && n.starts[at] == i) at++;
        if (!add_openings(w, n, first, at, count)) return 0;
        PyObject *tag = tags && PyTuple_GetItem(tags, i) != Py_None ? PyTuple_GetItem(tags, i) : NULL;
        int32_t known = n.tags[i];
        if (!tag && (known < 0 || known >= w->tag_count)) {
            PyErr_Format(PyExc_ValueError, "tag %d of word %zd; expected one of %zd tags", known, i, w->tag_count);
            return 0;
        }
        if (!add_leaf(w, PyTuple_GetItem(words, i), tag, tag ? NULL : w->tags + known) || !add_closings(w, w->closings[i])) return 0;
    }
    if (at != spans) {
        PyErr_Format(PyExc_ValueError, "span %zd of %zd starts at word %d of %zd; expected spans by start and then end",
                     at, spans, n.starts[at], count);
        return 0;
    }
    return is_bare || add_closings(w, w->root.opens);
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

/* A sentence's own tags, as many as it has words; NULL, and no error, where there are none. */
static PyObject *own_tags(PyObject *given, Py_ssize_t sentence, Py_ssize_t words) {
    if (given == Py_None) return NULL;
    PyObject *tags = PySequence_GetItem(given, sentence);
    if (!tags) return NULL;
    if (tags == Py_None) return Py_DECREF(tags), NULL;
    PyObject *all = PySequence_Tuple(tags);
    Py_DECREF(tags);
    if (all && PyTuple_Size(all) != words) {
        PyErr_Format(PyExc_ValueError, "sentence %zd has %zd words and %zd tags; expected a tag for each word", sentence,
                     words, PyTuple_Size(all));
        Py_CLEAR(all);
    }
    return all;
}

/* The next line; the numbers move on to the next sentence. */
static PyObject *next_line(Writer *w, PyObject *sentences, PyObject *given, Py_ssize_t sentence, Numbers *n,
                           Py_ssize_t *left) {
    PyObject *line = NULL, *tags = NULL, *item = PySequence_GetItem(sentences, sentence);
    PyObject *words = item ? PySequence_Tuple(item) : NULL;
    Py_XDECREF(item);
    if (!words) return NULL;
    Py_ssize_t count = PyTuple_Size(words);
    if (count < 1 || count > *left) {
        PyErr_Format(PyExc_ValueError, "sentence %zd has %zd words, and %zd are left; expected one or more", sentence,
                     count, *left);
        goto done;
    }
    tags = own_tags(given, sentence, count);
    if (!PyErr_Occurred() && write_line(w, words, tags, *n))
        line = PyUnicode_DecodeUTF8(w->text + 1, w->size - 1, "strict");
    Py_ssize_t spans = 2 * count - 1;
    *n = (Numbers){n->starts + spans, n->ends + spans, n->labels + spans, n->tags + count};
    *left -= count;
done:
    Py_XDECREF(tags);
    Py_DECREF(words);
    return line;
}

/* See _bracket_writer.pyi; pointers come as integers. */
static PyObject *write_lines(PyObject *module, PyObject *args) {
    PyObject *sentences, *given, *labels, *tags, *root, *lines = NULL;
    unsigned long long starts, ends, label_ids, tag_ids;
    Py_ssize_t left;
    Writer w = {0};
    if (!PyArg_ParseTuple(args, "OOnKKKKO!O!ULO", &sentences, &given, &left, &starts, &ends, &label_ids, &tag_ids,
                          &PyTuple_Type, &labels, &PyTuple_Type, &tags, &root, &w.bare, &w.spell))
        return NULL;
    Numbers n = {(int32_t *)(uintptr_t)starts, (int32_t *)(uintptr_t)ends, (int32_t *)(uintptr_t)label_ids,
                 (int32_t *)(uintptr_t)tag_ids};
    w.labels = read_pieces(labels, &w.label_count);
    w.tags = w.labels ? read_pieces(tags, &w.tag_count) : NULL;
    Py_ssize_t count = w.tags && read_piece(root, &w.root) ? PySequence_Size(sentences) : -1;
    if (count >= 0) lines = PyList_New(count);
    for (Py_ssize_t k = 0; lines && k < count; k++) {
        PyObject *line = next_line(&w, sentences, given, k, &n, &left);
        if (!line || PyList_SetItem(lines, k, line) < 0) Py_CLEAR(lines);
    }
    if (lines && left) {
        PyErr_Format(PyExc_ValueError, "the sentences have %zd words less than the numbers are for", left);
        Py_CLEAR(lines);
    }
    free(w.labels), free(w.tags), free(w.text), free(w.closings);
    return lines;
}

static PyMethodDef methods[] = {{"write_lines", write_lines, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_bracket_writer", .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit__bracket_writer(void) { return PyModuleDef_Init(&definition); }
