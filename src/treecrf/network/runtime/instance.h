/* Compiles the algorithms for the instruction set whose simd_*.h header was included, as the table `KERNELS`. */

#include "linear.h"
#ifndef ENCODE /* it has an encoder of its own */
#include "team.h"
#include "encoder.h"
#define ENCODE encode_job
#endif
#include "lstm.h"
#include "scorers.h"

const Kernels KERNELS = {ISA_NAME, pack, ENCODE, multiply_job, lstm_job, labels_job, chart_job, pool_job};
