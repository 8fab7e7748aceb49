/* The functions of the module `_decoding`, and the checks of their arguments.

   Arrays come as addresses, see _decoding.pyi: the buffer protocol is not part of the stable ABI of Python 3.10. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "../../chart/portable.h"

#define LARGEST_SIZE ((int64_t)1 << 30) /* sizes above this are mistakes, and their products could overflow */

PyObject *best_trees(PyObject *module, PyObject *args);
PyObject *label_utility(PyObject *module, PyObject *args);

typedef struct { /* the first argument that is out of range */
    const char *what;
    int64_t number, value;
} Error;

INLINE int refuse(Error *error, const char *what, int64_t number, int64_t value) {
    *error = (Error){what, number, value};
    return 0;
}

/* Whether all of some indices are at least `least` and below `end`. */
INLINE int check_indices(Error *error, const char *what, const int64_t *indices, int64_t count, int64_t least,
                         int64_t end) {
    for (int64_t k = 0; k < count; k++)
        if (indices[k] < least || indices[k] >= end) return refuse(error, what, k, indices[k]);
    return 1;
}

INLINE PyObject *raise_error(Error error) {
    return PyErr_Format(PyExc_ValueError, "%s %lld is %lld, which is out of range", error.what, (long long)error.number,
                        (long long)error.value);
}
