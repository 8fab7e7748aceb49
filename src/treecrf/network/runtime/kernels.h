/* Jobs of the CPU runtime, and the table of functions that each instruction set provides.

   Weights are int8 with a scale for each output. Each row that is multiplied by them is quantized by itself between its
   own smallest and largest number: x = low + scale * q. So a row's result never depends on the other rows of a batch. A
   narrow row has q from 0 to 255, which is one byte and one product for each weight. A wide row has q from 0 to 16,383,
   for which instruction sets that multiply bytes need two products. Everything else is float32.

   The algorithms are written once, in linear.h, encoder.h, lstm.h and scorers.h, on top of vectors of LANES floats.
   kernels_*.c compile them for one instruction set each; module.c chooses one at run time. All instruction sets give the
   same numbers, bit for bit. */

#ifndef TREECRF_KERNELS_H
#define TREECRF_KERNELS_H

#include <stdint.h>

#define LANES 16
#define TILE (4 * LANES) /* columns of a tile */
#define NARROW_LEVELS 255 /* the largest value of a narrow row */
#define WIDE_LEVELS 16383
#define LOW_BITS 7       /* of a quantized value that is split into two bytes */

#define JOB_COUNTERS 3   /* zeros that the threads of a job share: the first is the first item that no thread has taken */

#define STEP_INPUTS 8    /* inputs that tile_sums multiplies at a time; the rest of a row is zero */
#define STEP_BYTES (STEP_INPUTS * LANES) /* their weights of LANES columns */

/* A packed linear layer: weights; for each STEP_BYTES of them, whether the sum of four products with bytes may need more
   than 16 bits (see find_large_sums); scales, column sums, bias, and the largest value of quantized rows, by address. */
enum { PACK_FIELDS = 6, NORM_FIELDS = 2 };

/* The table of an encoder: word vectors, position vectors and norm of the embeddings; then of each layer four products and
   two norms. */
enum { EMBEDDING_FIELDS = 2 + NORM_FIELDS, LAYER_FIELDS = 4 * PACK_FIELDS + 2 * NORM_FIELDS };

/* For each step of some columns, whether a sum may need more than 16 bits that maddubs of AVX2 adds: of the products of
   inputs 2n, 2n + 1, 2n + 4 and 2n + 5 of a column with bytes. */
static inline void find_large_sums(int64_t steps, const int8_t *weights, uint8_t *out) {
    for (int64_t k = 0; k < steps; k++, weights += STEP_BYTES) {
        int is_large = 0;
        for (int lane = 0; lane < 2 * LANES; lane++) {
            int positive = 0, negative = 0;
            for (int n = 0; n < 4; n++) {
                int weight = weights[n / 2 * STEP_BYTES / 2 + 2 * lane + n % 2];
                positive += weight > 0 ? weight : 0;
                negative += weight < 0 ? weight : 0;
            }
            is_large |= positive * NARROW_LEVELS > INT16_MAX || negative * NARROW_LEVELS < INT16_MIN;
        }
        out[k] = (uint8_t)is_large;
    }
}

typedef struct { /* BERT: a weighted sum of its hidden states */
    int64_t thread, threads, segments, width;
    int64_t layers, size, heads, inner;
    double epsilon;
    const int64_t *pieces, *lengths; /* (segments, width), (segments,) */
    const int64_t *table;            /* addresses: see encoder.h */
    const float *mix;                /* (layers + 1,) */
    int64_t farthest;                /* pieces beyond this distance have its score */
    const float *distance_scores;    /* (heads, 2 * farthest + 1): of distances from -farthest to farthest; or null */
    const float *added;              /* (segments, width, size) added to the pieces' vectors, or null */
    const float *conditions;         /* (layers + 1, segments, width, size) added to the hidden states, or null */
    int64_t *next;                   /* JOB_COUNTERS zeros: see team.h */
    float *out;                      /* (segments, width, size) */
} EncoderJob;

typedef struct { /* leaky_relu(x W' + bias) */
    int64_t rows, inputs, outputs;
    int64_t stride; /* of x */
    double slope;
    const int64_t *table; /* of one linear layer */
    const float *x;       /* (rows, inputs) */
    int64_t *next;        /* the first row that no thread has taken */
    float *out;           /* (rows, outputs) */
} LinearJob;

typedef struct { /* one bidirectional LSTM layer */
    int64_t sequences, width, inputs, size;
    int64_t stride;                 /* of x */
    int64_t block;                  /* sequences that advance together */
    const int64_t *table;           /* the linear layers of inputs and of hidden states, for each direction */
    const float *x;                 /* (sequences, width, inputs) */
    const int64_t *lengths, *order; /* (sequences,); order: the longest first */
    int64_t *next;                  /* the first block and direction that no thread has taken */
    float *out;                     /* (sequences, width, 2, size) */
} LstmJob;

typedef struct { /* [l; 1]' W [r; 1] of chosen spans, for each class */
    int64_t threads, spans, size, classes, boundaries;
    int64_t stride;                /* of boundaries */
    const int64_t *table;          /* of the linear layer from r to W [r; 1]: see SpanBlock in scorers.h */
    const float *left, *right;     /* (boundaries, size) */
    const int64_t *lefts, *rights; /* (spans,) boundary ids; spans with the same right boundary are neighbors */
    int64_t *next;                 /* the first span that no thread has taken */
    float *out;                    /* (spans, classes) */
} LabelsJob;

typedef struct { /* left[i] . half[j] + bias[j] of all pairs of boundaries */
    int64_t sentences, boundaries, size;
    int64_t stride;    /* of left */
    const float *left; /* (sentences, boundaries, size) */
    const float *half; /* (sentences, boundaries, size + 1), the bias last */
    int64_t *next;     /* the first boundary that no thread has taken */
    float *out;        /* (sentences, boundaries, boundaries) */
} ChartJob;

typedef struct { /* the mean over the pieces of each position */
    int64_t pieces, size, positions;
    const float *x;                        /* (., size) */
    const int64_t *rows, *places, *shares; /* (pieces,): row of x, position, pieces of that position */
    float *out;                            /* (positions, size) */
} PoolJob;

typedef struct { /* weights (outputs, inputs) to tiles of integers; the rest of tiles, scales and sums is zero */
    int64_t outputs, inputs;
    const float *weights;
    int8_t *tiles;
    float *scales, *sums;
} PackJob;

/* Functions that return int return 0 if there is not enough memory. */
typedef struct {
    const char *name;
    void (*pack)(const PackJob *);
    int (*encode)(const EncoderJob *);
    int (*multiply)(const LinearJob *);
    int (*lstm)(const LstmJob *);
    int (*score_labels)(const LabelsJob *);
    void (*score_chart)(const ChartJob *);
    void (*pool)(const PoolJob *);
} Kernels;

extern const Kernels kernels_scalar;
#if defined(__x86_64__) || defined(_M_X64)
extern const Kernels kernels_avx2, kernels_avx2_bytes, kernels_avx512vnni; /* bytes: only its encoder is used */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 11
#define HAS_AVXVNNI 0 /* this compiler does not know it */
#else
#define HAS_AVXVNNI 1
extern const Kernels kernels_avxvnni;
#endif
#elif defined(__aarch64__) || defined(_M_ARM64)
extern const Kernels kernels_neon, kernels_neon_i8mm;
#endif

#endif
