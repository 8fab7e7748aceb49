/* The end of an extension module with the functions `methods`; the other arguments are slots, each with a comma. */

#ifdef Py_GIL_DISABLED
#define GIL_SLOT {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#else
#define GIL_SLOT
#endif

#define EXTENSION_MODULE(name, ...)                                                      \
    static PyModuleDef_Slot slots[] = {__VA_ARGS__ GIL_SLOT{0, NULL}};                   \
    static struct PyModuleDef definition = {                                             \
        PyModuleDef_HEAD_INIT, .m_name = #name, .m_methods = methods, .m_slots = slots}; \
    PyMODINIT_FUNC PyInit_##name(void) { return PyModuleDef_Init(&definition); }
