/* Reads the brackets of trees into the columns of a forest, without tree objects.

   The text is UTF-8. Labels and words keep their escapes, which Python restores. */

#include "flatten.h"

#include <string.h>

typedef struct { /* a slot of the hash table: a label or a word in the text */
    Py_ssize_t start, size;
    uint64_t hash;
    long id; /* -1: the slot is empty */
} Slot;

typedef struct {
    const char *text;
    Py_ssize_t size, at;
    Slot *slots;
    size_t slot_count, used; /* slot_count is a power of two */
    Flattener columns;
} Reader;

static int is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static void skip_space(Reader *r) {
    while (r->at < r->size && is_space(r->text[r->at])) r->at++;
}

/* The character at the position, or 0 at the end. */
static char peek(const Reader *r) { return r->at < r->size ? r->text[r->at] : 0; }

static int grow_slots(Reader *r) {
    size_t count = r->slot_count ? 2 * r->slot_count : 1024;
    Slot *slots = malloc(count * sizeof(Slot));
    if (slots == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    for (size_t s = 0; s < count; s++) slots[s].id = -1;
    for (size_t s = 0; s < r->slot_count; s++) {
        if (r->slots[s].id < 0) continue;
        size_t place = r->slots[s].hash & (count - 1);
        while (slots[place].id >= 0) place = (place + 1) & (count - 1);
        slots[place] = r->slots[s];
    }
    free(r->slots);
    r->slots = slots;
    r->slot_count = count;
    return 1;
}

/* The number of a label or word; -1 after an error. */
static long text_number(Reader *r, Py_ssize_t start, Py_ssize_t size) {
    if (2 * r->used >= r->slot_count && !grow_slots(r)) return -1;
    uint64_t hash = 14695981039346656037ULL; /* FNV-1a */
    for (Py_ssize_t c = 0; c < size; c++) hash = (hash ^ (unsigned char)r->text[start + c]) * 1099511628211ULL;
    hash ^= hash >> 32;
    size_t place = hash & (r->slot_count - 1);
    for (; r->slots[place].id >= 0; place = (place + 1) & (r->slot_count - 1)) {
        const Slot *slot = r->slots + place;
        if (slot->hash == hash && slot->size == size && memcmp(r->text + slot->start, r->text + start, (size_t)size) == 0)
            return slot->id;
    }
    PyObject *label = PyUnicode_DecodeUTF8(r->text + start, size, "surrogatepass");
    int is_appended = label && PyList_Append(r->columns.labels, label) == 0;
    Py_XDECREF(label);
    if (!is_appended) return -1;
    r->slots[place] = (Slot){start, size, hash, (long)r->used};
    return (long)r->used++;
}

static int push_text(Reader *r) {
    Py_ssize_t start = r->at;
    while (r->at < r->size && r->text[r->at] != '(' && r->text[r->at] != ')' && !is_space(r->text[r->at])) r->at++;
    return push_row(&r->columns, text_number(r, start, r->at - start));
}

/* Reads "(", a label, and either a word with its ")" or the beginning of the children; 0 after an error. */
static int read_opening(Reader *r) {
    r->at++;
    skip_space(r);
    if (!push_text(r) || !open_node(&r->columns, NULL)) return 0;
    skip_space(r);
    char next = peek(r);
    if (next == '(') return 1;
    if (next == ')' || r->at >= r->size || !push_text(r)) return 0;
    skip_space(r);
    if (peek(r) != ')') return 0;
    r->at++;
    close_node(&r->columns);
    return 1;
}

/* 1 if the whole text is trees; 0 if it is not, or with an exception. */
static int read_brackets(Reader *r) {
    if (!push(&r->columns.columns[STARTS], 0)) return 0;
    for (skip_space(r); r->at < r->size; skip_space(r)) {
        if (peek(r) == '(') {
            if (!read_opening(r)) return 0;
        } else if (peek(r) == ')' && r->columns.depth > 0) {
            r->at++;
            close_node(&r->columns);
        } else {
            return 0;
        }
        i32 end = (i32)r->columns.columns[ENDS].count;
        if (r->columns.depth == 0 && !push(&r->columns.columns[STARTS], end)) return 0;
    }
    return r->columns.depth == 0;
}

/* parse(text): what flatten returns for the trees of the text, or None if it is not well-formed. */
static PyObject *py_parse(PyObject *self, PyObject *args) {
    Reader r = {0};
    PyObject *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y#", &r.text, &r.size)) return NULL;
    r.columns.labels = PyList_New(0);
    int is_read = r.columns.labels && read_brackets(&r);
    if (is_read) {
        result = flat_arrays(&r.columns);
    } else if (!PyErr_Occurred()) {
        Py_INCREF(Py_None);
        result = Py_None;
    }
    free(r.slots);
    free_flattener(&r.columns);
    return result;
}
