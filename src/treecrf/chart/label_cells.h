/* The labels of one cell, for scores of the type REAL: sums of exponentials, and weights. Included once for each type. */

#define EACH_LABEL_LANE EACH(NAME(LABEL_LANES))

/* exp(x) of LABEL_LANES numbers up to LARGEST_EXPONENT; 0 below SMALLEST_EXPONENT */
INLINE void NAME(exponentials)(REAL *x) {
    EACH_LABEL_LANE {
        REAL score = x[lane] > NAME(LARGEST_EXPONENT) ? NAME(LARGEST_EXPONENT) : x[lane];
        score = score < NAME(SMALLEST_EXPONENT) ? NAME(SMALLEST_EXPONENT) : score;
        REAL e = (score * (REAL)0x1.71547652b82fep0 + NAME(ROUNDING)) - NAME(ROUNDING);
        REAL r = (score - e * NAME(LOG_2_HIGH)) - e * NAME(LOG_2_LOW), p = (REAL)INVERSE_FACTORIAL[NAME(LAST_POWER)];
        for (int k = NAME(LAST_POWER) - 1; k >= 0; k--) p = p * r + (REAL)INVERSE_FACTORIAL[k];
        x[lane] = p * NAME(two_to)(e);
    }
}

/* The scores of some labels, and -inf in the lanes after the last one. */
INLINE void NAME(read_labels)(const REAL *scores, int64_t labels, REAL *x) {
    EACH_LABEL_LANE x[lane] = lane < labels ? scores[lane] : -INFINITY;
}

/* The largest score of a group. */
static REAL NAME(largest_score)(const Labels *b, const REAL *scores, int group) {
    REAL largest = -INFINITY;
    for (int64_t l = 0; l < b->labels; l++)
        if (b->is_constituent[l] == !group && scores[l] > largest) largest = scores[l];
    return largest;
}

/* totals[group] = sum over the labels of a group of exp(score - shift) */
INLINE void NAME(sum_exponentials)(const Labels *b, const REAL *scores, REAL shift, double *totals) {
    REAL constituents[NAME(LABEL_LANES)], free_labels[NAME(LABEL_LANES)];
    EACH_LABEL_LANE constituents[lane] = free_labels[lane] = 0;
    for (int64_t l = 0; l < b->labels; l += NAME(LABEL_LANES)) {
        REAL x[NAME(LABEL_LANES)];
        const REAL *is_free = (const REAL *)b->is_free + l;
        NAME(read_labels)(scores + l, b->labels - l, x);
        EACH_LABEL_LANE x[lane] -= shift;
        NAME(exponentials)(x);
        EACH_LABEL_LANE constituents[lane] += is_free[lane] == 0 ? x[lane] : 0;
        EACH_LABEL_LANE free_labels[lane] += is_free[lane] == 0 ? 0 : x[lane];
    }
    for (int lane = 4; lane < NAME(LABEL_LANES); lane++) {
        constituents[lane % 4] += constituents[lane];
        free_labels[lane % 4] += free_labels[lane];
    }
    totals[0] = (constituents[0] + constituents[1]) + (constituents[2] + constituents[3]);
    totals[1] = (free_labels[0] + free_labels[1]) + (free_labels[2] + free_labels[3]);
}

/* The sums of both groups of a cell, as exp(maximum) * total. The maximum is 0 unless numbers get too large or small. */
INLINE void NAME(sum_cell)(const Labels *b, int64_t cell, double *maxima, double *totals) {
    const REAL *scores = (const REAL *)b->scores + cell * b->labels;
    double sums[2], own[2];
    NAME(sum_exponentials)(b, scores, 0, sums);
    for (int group = 0; group < 2; group++) {
        REAL maximum = 0;
        if (!(sums[group] > NAME(SMALLEST_TOTAL) && sums[group] < 1 / NAME(SMALLEST_TOTAL))) {
            maximum = NAME(largest_score)(b, scores, group);
            if (maximum == -INFINITY) maximum = 0, own[group] = sums[group] == sums[group] ? 0.0 : NAN;
            else NAME(sum_exponentials)(b, scores, maximum, own);
            sums[group] = own[group];
        }
        maxima[group * b->row_length] = maximum;
        totals[group * b->row_length] = sums[group];
    }
}

/* weight = exp(score - sum of the group) * factor of the group. A sum is subtracted in two parts, high and low. */
INLINE void NAME(weigh_cell)(const Labels *b, int64_t cell, const double *sums, const double *factors) {
    const REAL *scores = (const REAL *)b->scores + cell * b->labels;
    REAL *weights = (REAL *)b->weights + cell * b->labels, high[2], low[2], factor[2];
    for (int group = 0; group < 2; group++) {
        high[group] = (REAL)sums[group * b->row_length], low[group] = (REAL)(sums[group * b->row_length] - high[group]);
        factor[group] = (REAL)factors[group * b->row_length];
    }
    for (int64_t l = 0; l < b->labels; l += NAME(LABEL_LANES)) {
        REAL x[NAME(LABEL_LANES)];
        const REAL *is_free = (const REAL *)b->is_free + l;
        int64_t labels = b->labels - l;
        NAME(read_labels)(scores + l, labels, x);
        EACH_LABEL_LANE x[lane] = is_free[lane] == 0 ? (x[lane] - high[0]) - low[0] : (x[lane] - high[1]) - low[1];
        NAME(exponentials)(x);
        EACH_LABEL_LANE x[lane] *= is_free[lane] == 0 ? factor[0] : factor[1];
        EACH_LABEL_LANE if (lane < labels) weights[l + lane] = x[lane];
    }
}

/* Sets the marks of free labels. */
INLINE void NAME(mark_free_labels)(const Labels *b) {
    REAL *is_free = (REAL *)b->is_free;
    for (int64_t l = 0; l < b->labels + NAME(LABEL_LANES); l++) is_free[l] = l < b->labels && !b->is_constituent[l];
}

#undef EACH_LABEL_LANE
#undef REAL
#undef NAME
