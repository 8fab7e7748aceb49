/* Lines of brackets from the spans of binary trees, without tree nodes.

   The spans of a sentence are sorted by start and then end. Before word i are the openings of the spans that start at
   i, the last span first. After word i is one closing for each bracket that the spans ending at i + 1 opened. The
   opening of an intermediate label is empty. All text is UTF-8. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../extension_module.h"
#include "words.h"

typedef struct {
    const char *text;
    Py_ssize_t size, opens; /* opens: number of "(" in the text */
} Piece;

enum { ERROR_BYTES = 300 };

typedef struct { /* the current line or lines, and the texts of labels and tags */
    char *text;
    Py_ssize_t size, capacity;
    int64_t *closings; /* after each word of the sentence */
    Py_ssize_t closings_capacity;
    Piece root, *labels, *tags;
    Py_ssize_t label_count, tag_count;
    long long rootless; /* the label that makes a sentence of one word a tree without a root, or -1 */
    PyObject *escape; /* NULL: parentheses are escaped as in treebanks if `is_exact` is 0 */
    int is_exact, is_full; /* is_full: no memory is left */
    char error[ERROR_BYTES]; /* of arrays that form no trees */
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

/* Keeps an error for `set_error`: this thread may not hold the interpreter's lock. */
static int fail(Writer *w, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(w->error, ERROR_BYTES, format, values);
    va_end(values);
    return 0;
}

static PyObject *set_error(const Writer *w) {
    if (w->is_full) return PyErr_NoMemory();
    if (w->error[0]) PyErr_SetString(PyExc_ValueError, w->error);
    return NULL;
}

/* Makes room for `more` bytes; the text is not null afterwards, even if there are none. */
static int reserve(Writer *w, Py_ssize_t more) {
    if (w->size + more < w->capacity) return 1;
    Py_ssize_t capacity = 2 * (w->size + more) + 1;
    char *text = realloc(w->text, capacity);
    if (!text) return w->is_full = 1, 0;
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

/* The size of the character at `at` if brackets need an escape for it, else 0. */
static int unsafe_size(const unsigned char *at, const unsigned char *end) {
    if (KIND[*at] == LEAD && is_space(at)) return *at == 0xC2 ? 2 : 3;
    if (KIND[*at] != UNSAFE) return 0;
    if (*at != '\\') return 1;
    if (end - at < 3 || at[1] != 'u' || at[2] != '{') return 0;
    for (at += 3; at < end && ((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f')); at++) {}
    return at < end && *at == '}';
}

/* Adds a word of UTF-8, escaped like `escape` and `escape_for_treebanks` do. */
static int add_text(Writer *w, const char *text, Py_ssize_t size) {
    if (is_plain(text, size)) return add(w, text, size);
    const unsigned char *at = (const unsigned char *)text, *end = at + size;
    for (int unsafe; at < end; at += unsafe ? unsafe : 1) {
        char escaped[16] = {*(const char *)at};
        unsafe = unsafe_size(at, end);
        if (unsafe && !w->is_exact && (*at == '(' || *at == ')')) {
            snprintf(escaped, sizeof escaped, "-%cRB-", *at == '(' ? 'L' : 'R');
        } else if (unsafe) {
            unsigned code = unsafe == 1 ? *at : unsafe == 2 ? (*at & 31u) << 6 | (at[1] & 63u)
                                              : (*at & 15u) << 12 | (at[1] & 63u) << 6 | (at[2] & 63u);
            snprintf(escaped, sizeof escaped, "\\u{%x}", code);
        }
        if (!add(w, escaped, unsafe ? (Py_ssize_t)strlen(escaped) : 1)) return 0;
    }
    return 1;
}

typedef struct { /* the words of a sentence: strings with tags of the user or NULL, or a line of UTF-8 */
    PyObject *words, *user_tags;
    const unsigned char *at, *end;
} Leaves;

/* Adds the preterminal of word `i`, with the user's tag or else the predicted one. */
static int add_leaf(Writer *w, Leaves *leaves, Py_ssize_t i, int32_t tag) {
    PyObject *user_tag = leaves->user_tags ? PyTuple_GetItem(leaves->user_tags, i) : Py_None;
    int is_predicted = user_tag == Py_None;
    if (is_predicted && (tag < 0 || tag >= w->tag_count))
        return fail(w, "tag %d of word %lld; expected one of %lld tags", tag, (long long)i, (long long)w->tag_count);
    const Piece *name = w->tags + (is_predicted ? tag : 0);
    if (!add(w, " (", 2) || !(is_predicted ? add(w, name->text, name->size) : add_escaped(w, user_tag))) return 0;
    if (!add(w, " ", 1)) return 0;
    if (leaves->words) return add_escaped(w, PyTuple_GetItem(leaves->words, i)) && add(w, ")", 1);
    size_t size = next_word(&leaves->at, leaves->end);
    if (!size) return fail(w, "a line has %lld words; expected more", (long long)i);
    const char *word = (const char *)leaves->at;
    leaves->at += size;
    return add_text(w, word, size) && add(w, ")", 1);
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
        if (!closings) return w->is_full = 1, 0;
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
            return fail(w, "span %d-%d with label %d in a sentence of %lld words; expected spans of the sentence by "
                        "start and then end, and one of %lld labels",
                        start, end, label, (long long)words, (long long)w->label_count);
        }
        const Piece *opening = w->labels + label;
        if (!add(w, opening->text, opening->size)) return 0;
        w->closings[end - 1] += opening->opens;
    }
    return 1;
}

/* Adds the line of a sentence with this number of words, with a space before it. */
static int write_line(Writer *w, Leaves *leaves, Py_ssize_t count, Arrays a) {
    Py_ssize_t spans = 2 * count - 1, at = 0;
    int is_rootless = count == 1 && a.labels[0] == w->rootless;
    if (!clear_closings(w, count) || !(is_rootless || add(w, w->root.text, w->root.size))) return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t first = at;
        while (at < spans && a.starts[at] == i) at++;
        if (!add_openings(w, a, first, at, count) || !add_leaf(w, leaves, i, a.tags[i])) return 0;
        if (!add_closings(w, w->closings[i])) return 0;
    }
    if (at != spans)
        return fail(w, "span %lld of %lld starts at word %d of %lld; expected spans by start and then end",
                    (long long)at, (long long)spans, a.starts[at], (long long)count);
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

/* Returns the next line, and moves the arrays on to the next sentence. Each of the `later` sentences has a word. */
static PyObject *next_line(Writer *w, PyObject *sentences, PyObject *all_tags, Py_ssize_t sentence, Py_ssize_t later,
                           Arrays *a, Py_ssize_t *words_left) {
    PyObject *line = NULL, *tags = NULL, *item = PySequence_GetItem(sentences, sentence);
    PyObject *words = item ? PySequence_Tuple(item) : NULL;
    Py_XDECREF(item);
    if (!words) return NULL;
    Py_ssize_t count = PyTuple_Size(words);
    if (count < 1 || count > *words_left - later) {
        PyErr_Format(PyExc_ValueError, "sentence %zd has %zd words, and %zd are left; expected one or more", sentence,
                     count, *words_left);
        goto done;
    }
    tags = get_user_tags(all_tags, sentence, count);
    Leaves leaves = {.words = words, .user_tags = tags};
    w->size = 0;
    if (!PyErr_Occurred())
        line = write_line(w, &leaves, count, *a) ? PyUnicode_DecodeUTF8(w->text + 1, w->size - 1, "strict") : set_error(w);
    Py_ssize_t spans = 2 * count - 1;
    *a = (Arrays){a->starts + spans, a->ends + spans, a->labels + spans, a->tags + count};
    *words_left -= count;
done:
    Py_XDECREF(tags);
    Py_DECREF(words);
    return line;
}

typedef struct { /* arguments that both functions have */
    unsigned long long starts, ends, labels, tags; /* addresses */
    PyObject *label_names, *tag_names, *root;
} Trees;

/* Reads the arrays and names of trees; returns 0 and sets an error if there are none. */
static int read_trees(Writer *w, const Trees *trees, Py_ssize_t words, Arrays *a) {
    if (words > 0 && !(trees->starts && trees->ends && trees->labels && trees->tags)) {
        PyErr_SetString(PyExc_ValueError, "an address is null; expected an array");
        return 0;
    }
    *a = (Arrays){(int32_t *)(uintptr_t)trees->starts, (int32_t *)(uintptr_t)trees->ends,
                  (int32_t *)(uintptr_t)trees->labels, (int32_t *)(uintptr_t)trees->tags};
    w->labels = read_pieces(trees->label_names, &w->label_count);
    w->tags = w->labels ? read_pieces(trees->tag_names, &w->tag_count) : NULL;
    return w->tags && read_piece(trees->root, &w->root);
}

static void free_writer(Writer *w) { free(w->labels), free(w->tags), free(w->text), free(w->closings); }

/* See _bracket_writer.pyi; pointers are passed as integers. */
static PyObject *write_lines(PyObject *module, PyObject *args) {
    PyObject *sentences, *all_tags, *lines = NULL;
    Py_ssize_t words_left;
    Trees t;
    Arrays a;
    Writer w = {0};
    if (!PyArg_ParseTuple(args, "OOnKKKKO!O!ULO", &sentences, &all_tags, &words_left, &t.starts, &t.ends, &t.labels,
                          &t.tags, &PyTuple_Type, &t.label_names, &PyTuple_Type, &t.tag_names, &t.root, &w.rootless,
                          &w.escape))
        return NULL;
    Py_ssize_t count = read_trees(&w, &t, words_left, &a) ? PySequence_Size(sentences) : -1;
    if (count >= 0) lines = PyList_New(count);
    for (Py_ssize_t k = 0; lines && k < count; k++) {
        PyObject *line = next_line(&w, sentences, all_tags, k, count - k - 1, &a, &words_left);
        if (!line || PyList_SetItem(lines, k, line) < 0) Py_CLEAR(lines);
    }
    if (lines && words_left) {
        PyErr_Format(PyExc_ValueError, "the sentences have %zd words less than the arrays", words_left);
        Py_CLEAR(lines);
    }
    free_writer(&w);
    return lines;
}

typedef struct { /* lines of UTF-8 in `data`: their starts, ends and numbers of words */
    const char *data;
    Py_ssize_t size, count, words;
    const int64_t *starts, *ends, *lengths;
} Lines;

/* Writes the brackets of all lines one after the other, and sets the end of each one. */
static int write_all(Writer *w, const Lines *in, Arrays a, Py_ssize_t *text_ends) {
    const unsigned char *data = (const unsigned char *)in->data;
    Py_ssize_t words_left = in->words;
    for (Py_ssize_t k = 0; k < in->count; k++) {
        int64_t start = in->starts[k], end = in->ends[k], count = in->lengths[k];
        int64_t most = words_left - (in->count - k - 1); /* each later line has a word */
        if (count < 1 || count > most || start < 0 || start > end || end > in->size)
            return fail(w, "line %lld has %lld words, and %lld are left; expected a line of the data with one or more",
                        (long long)k, (long long)count, (long long)words_left);
        Leaves leaves = {.at = data + start, .end = data + end};
        if (!write_line(w, &leaves, count, a)) return 0;
        if (next_word(&leaves.at, leaves.end)) return fail(w, "line %lld has more than %lld words", (long long)k, (long long)count);
        Py_ssize_t spans = 2 * count - 1;
        a = (Arrays){a.starts + spans, a.ends + spans, a.labels + spans, a.tags + count};
        words_left -= count;
        text_ends[k] = w->size;
    }
    return !words_left || fail(w, "the lines have %lld words less than the arrays", (long long)words_left);
}

/* The text between the ends of lines, without the space before each line. */
static PyObject *list_lines(const Writer *w, const Py_ssize_t *ends, Py_ssize_t count) {
    PyObject *lines = PyList_New(count);
    Py_ssize_t start = 1;
    for (Py_ssize_t k = 0; lines && k < count; k++) {
        PyObject *line = PyUnicode_DecodeUTF8(w->text + start, ends[k] - start, "strict");
        if (!line || PyList_SetItem(lines, k, line) < 0) Py_CLEAR(lines);
        start = ends[k] + 1;
    }
    return lines;
}

static PyObject *write_text(PyObject *module, PyObject *args) {
    PyObject *lines = NULL;
    unsigned long long starts, ends, lengths;
    Lines in;
    Trees t;
    Arrays a;
    Writer w = {0};
    if (!PyArg_ParseTuple(args, "y#nKKKnKKKKO!O!ULp", &in.data, &in.size, &in.count, &starts, &ends, &lengths, &in.words,
                          &t.starts, &t.ends, &t.labels, &t.tags, &PyTuple_Type, &t.label_names, &PyTuple_Type,
                          &t.tag_names, &t.root, &w.rootless, &w.is_exact))
        return NULL;
    if (in.count < 0 || in.count > in.words || (in.count && !(starts && ends && lengths)))
        return PyErr_Format(PyExc_ValueError, "%zd lines of %zd words; expected their arrays", in.count, in.words);
    in.starts = (int64_t *)(uintptr_t)starts, in.ends = (int64_t *)(uintptr_t)ends;
    in.lengths = (int64_t *)(uintptr_t)lengths;
    Py_ssize_t *text_ends = malloc((in.count + 1) * sizeof(Py_ssize_t));
    if (!text_ends) return PyErr_NoMemory();
    if (read_trees(&w, &t, in.words, &a)) {
        int is_written;
        Py_BEGIN_ALLOW_THREADS is_written = write_all(&w, &in, a, text_ends);
        Py_END_ALLOW_THREADS
        lines = is_written ? list_lines(&w, text_ends, in.count) : set_error(&w);
    }
    free(text_ends);
    free_writer(&w);
    return lines;
}

static PyMethodDef methods[] = {
    {"write_lines", write_lines, METH_VARARGS, NULL},
    {"write_text", write_text, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

EXTENSION_MODULE(_bracket_writer,)
