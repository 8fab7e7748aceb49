/* The Python module `_decoding`: see module.h. */

#include "module.h"
#include "../../trees/extension_module.h"

static PyMethodDef methods[] = {{"best_trees", best_trees, METH_VARARGS, NULL},
                                {"label_utility", label_utility, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};

EXTENSION_MODULE(_decoding,)
