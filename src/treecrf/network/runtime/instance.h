/* Compiles the algorithms for the instruction set whose simd_*.h header was included, as the table `KERNELS`. */

#include "linear.h"
#include "team.h"
#include "encoder.h"
#include "lstm.h"
#include "scorers.h"

const Kernels KERNELS = {ISA_NAME,   pack,        encode_job, multiply_job, lstm_job,
                         labels_job, chart_job,   pool_job};
