/* Exponentials of several lanes at once, and the functions of the module `_cpu_backend` in other files.

   Arrays come as addresses, see _cpu_backend.pyi: the buffer protocol is not part of the stable ABI of Python 3.10. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "portable.h"

#define LANES 8
#define LARGEST_SIZE ((int64_t)1 << 20) /* batches and sizes above this are mistakes; products of them could overflow */

/* Without the pragma, GCC unrolls such a short loop before it vectorizes, and then cannot vectorize it. */
#if defined(__GNUC__) && !defined(__clang__)
#define EACH(count) _Pragma("GCC unroll 1") for (int lane = 0; lane < count; lane++)
#else
#define EACH(count) for (int lane = 0; lane < count; lane++)
#endif
#define EACH_LANE EACH(LANES)

int check_lengths(const int64_t *lengths, int64_t batch, int64_t size);
PyObject *label_chart(PyObject *module, PyObject *args);
PyObject *label_weights(PyObject *module, PyObject *args);
PyObject *kbest(PyObject *module, PyObject *args);

/* Whether numbers of the arguments are valid; sets a ValueError if not. */
INLINE int check_numbers(int64_t batch, int64_t size, int64_t thread, int64_t threads) {
    if (batch >= 0 && batch <= LARGEST_SIZE && size > 0 && size <= LARGEST_SIZE && thread >= 0 && thread < threads &&
        threads <= LARGEST_SIZE)
        return 1;
    PyErr_Format(PyExc_ValueError, "%lld charts of size %lld on thread %lld of %lld; expected sizes from 1 to %lld",
                 (long long)batch, (long long)size, (long long)thread, (long long)threads, (long long)LARGEST_SIZE);
    return 0;
}

INLINE double double_from_bits(int64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

INLINE int64_t bits_of_double(double x) {
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* 2^x for an integer x < 1024; 0 for x < -1022 and for NaN, which comes from -inf minus -inf. */
INLINE double power_of_two(double x) {
    x = x > -1023.0 ? x : -1023.0;
    return double_from_bits((int64_t)((uint64_t)bits_of_double(x + (0x1.8p52 + 1023.0)) << 52));
}

static const double INVERSE_FACTORIAL[] = {
    1.0,         1.0,          1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,       1.0 / 720,
    1.0 / 5040,  1.0 / 40320,  1.0 / 362880,  1.0 / 3628800,  1.0 / 39916800,  1.0 / 479001600, 1.0 / 6227020800};

/* Replaces scores, which are in `exponent`, by exp(score) = mantissa * 2^exponent. The mantissa is exp(r) with
   |r| <= log(2) / 2, by its Taylor series up to r^13. */
INLINE void split_exp(double *mantissa, double *exponent) {
    EACH_LANE {
        double score = exponent[lane], x = score * 0x1.71547652b82fep0; /* log2(e) */
        double e = fabs(x) < 0x1p51 ? (x + 0x1.8p52) - 0x1.8p52 : x;
        double r = (score - e * 0x1.62e42feep-1) - e * 0x1.a39ef35793c76p-33; /* log(2), high and low part */
        r = r > 0.5 ? 0.5 : r < -0.5 ? -0.5 : r; /* needed if a score is too large to have a fraction */
        double p = INVERSE_FACTORIAL[13];
        for (int k = 12; k >= 0; k--) p = p * r + INVERSE_FACTORIAL[k];
        mantissa[lane] = score == -INFINITY ? 0.0 : p;
        exponent[lane] = e;
    }
}
