/* The Python module `_decoding`: see module.h. */

#include "module.h"

static PyMethodDef methods[] = {{"best_trees", best_trees, METH_VARARGS, NULL},
                                {"label_utility", label_utility, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_decoding", .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit__decoding(void) { return PyModuleDef_Init(&definition); }
