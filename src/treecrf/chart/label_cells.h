/* The labels of some cells, for scores of the type REAL: sums of exponentials, and weights. Included once for each type. */

#define EACH_LABEL_LANE EACH(NAME(LABEL_LANES))

/* exp(x) for x up to LARGEST_EXPONENT; 0 below SMALLEST_EXPONENT */
INLINE REAL NAME(exponential)(REAL x) {
    x = x > NAME(LARGEST_EXPONENT) ? NAME(LARGEST_EXPONENT) : x;
    x = x < NAME(SMALLEST_EXPONENT) ? NAME(SMALLEST_EXPONENT) : x;
    REAL e = (x * (REAL)0x1.71547652b82fep0 + NAME(ROUNDING)) - NAME(ROUNDING);
    REAL r = (x - e * NAME(LOG_2_HIGH)) - e * NAME(LOG_2_LOW), p = (REAL)INVERSE_FACTORIAL[NAME(LAST_POWER)];
    for (int k = NAME(LAST_POWER) - 1; k >= 0; k--) p = p * r + (REAL)INVERSE_FACTORIAL[k];
    return p * NAME(two_to)(e);
}

/* The largest score of a group. */
static REAL NAME(largest_score)(const Labels *b, const REAL *scores, int group) {
    REAL largest = -INFINITY;
    for (int64_t l = 0; l < b->labels; l++)
        if (b->is_constituent[l] == !group && scores[l] > largest) largest = scores[l];
    return largest;
}

/* exps[l] = exp(scores[l] - shift) for 0 <= l < count; overwrites less than LABEL_LANES numbers after them. */
INLINE void NAME(exponentiate)(const REAL *scores, int64_t count, REAL shift, REAL *exps) {
    for (; count >= NAME(LABEL_LANES); count -= NAME(LABEL_LANES)) {
        PREFETCH((const char *)scores + PREFETCH_DISTANCE);
        EACH_LABEL_LANE exps[lane] = NAME(exponential)(scores[lane] - shift);
        scores += NAME(LABEL_LANES), exps += NAME(LABEL_LANES);
    }
    if (count == 0) return;
    EACH_LABEL_LANE exps[lane] = lane < count ? scores[lane] : 0;
    EACH_LABEL_LANE exps[lane] = NAME(exponential)(exps[lane] - shift);
}

/* The sum of LABEL_LANES numbers, in pairs. */
INLINE REAL NAME(sum_lanes)(REAL *x) {
    if (NAME(LABEL_LANES) == 16) EACH(8) x[lane] += x[lane + 8];
    EACH(4) x[lane] += x[lane + 4];
    return (x[0] + x[1]) + (x[2] + x[3]);
}

/* totals[group * LANES] = sum over the labels of a group of their exponentials */
INLINE void NAME(sum_groups)(const Labels *b, const REAL *exps, double *totals) {
    REAL constituents[NAME(LABEL_LANES)], free_labels[NAME(LABEL_LANES)];
    EACH_LABEL_LANE constituents[lane] = free_labels[lane] = 0;
    for (int64_t l = 0; l < b->labels; l += NAME(LABEL_LANES)) {
        const REAL *x = exps + l, *group = (const REAL *)b->groups + l;
        EACH_LABEL_LANE constituents[lane] += group[lane] == 1 ? x[lane] : 0;
        EACH_LABEL_LANE free_labels[lane] += group[lane] == 2 ? x[lane] : 0;
    }
    totals[0] = NAME(sum_lanes)(constituents), totals[LANES] = NAME(sum_lanes)(free_labels);
}

/* The sums of both groups of up to LANES cells, as exp(maximum) * total. Maxima are 0 unless numbers get too large or
   small; returns whether any did. */
INLINE int NAME(sum_cells)(const Labels *b, int64_t cell, int64_t count, double *maxima, double *totals) {
    const REAL *scores = (const REAL *)b->scores + cell * b->labels;
    REAL *exps = (REAL *)b->exps;
    double shifted_totals[2 * LANES];
    int is_extreme = 0;
    EACH(2 * LANES) maxima[lane] = 0.0;
    EACH(2 * LANES) totals[lane] = 1.0;
    NAME(exponentiate)(scores, count * b->labels, 0, exps);
    for (int64_t k = 0; k < count; k++) NAME(sum_groups)(b, exps + k * b->labels, totals + k);
    EACH(2 * LANES) is_extreme |= !(totals[lane] > NAME(SMALLEST_TOTAL)) | !(totals[lane] < 1 / NAME(SMALLEST_TOTAL));
    for (int64_t k = 0; is_extreme && k < 2 * LANES; k++) {
        if (totals[k] > NAME(SMALLEST_TOTAL) && totals[k] < 1 / NAME(SMALLEST_TOTAL)) continue;
        const REAL *cell_scores = scores + k % LANES * b->labels;
        REAL maximum = NAME(largest_score)(b, cell_scores, k >= LANES);
        if (maximum == -INFINITY) {
            maxima[k] = maximum, totals[k] = totals[k] == totals[k] ? 0.0 : NAN;
            continue;
        }
        NAME(exponentiate)(cell_scores, b->labels, maximum, exps);
        NAME(sum_groups)(b, exps, shifted_totals);
        maxima[k] = maximum, totals[k] = shifted_totals[k / LANES * LANES];
    }
    return is_extreme;
}

/* The sums of both groups of a cell, in two parts, and their factors. */
typedef struct {
    REAL high[2], low[2], factor[2];
} NAME(Cell);

/* The weight of a label: exp(score - sum of its group) * factor of its group */
INLINE REAL NAME(weigh_label)(const NAME(Cell) *cell, REAL group, REAL score) {
    REAL high = group == 1 ? cell->high[0] : cell->high[1], low = group == 1 ? cell->low[0] : cell->low[1];
    return NAME(exponential)((score - high) - low) * (group == 1 ? cell->factor[0] : cell->factor[1]);
}

INLINE void NAME(weigh_labels)(const Labels *b, NAME(Cell) cell, const REAL *scores, REAL *weights) {
    const REAL *groups = (const REAL *)b->groups;
    int64_t count = b->labels;
    for (; count >= NAME(LABEL_LANES); count -= NAME(LABEL_LANES)) {
        PREFETCH((const char *)scores + PREFETCH_DISTANCE);
        EACH_LABEL_LANE weights[lane] = NAME(weigh_label)(&cell, groups[lane], scores[lane]);
        scores += NAME(LABEL_LANES), groups += NAME(LABEL_LANES), weights += NAME(LABEL_LANES);
    }
    if (count == 0) return;
    REAL x[NAME(LABEL_LANES)];
    EACH_LABEL_LANE x[lane] = lane < count ? scores[lane] : 0;
    EACH_LABEL_LANE x[lane] = NAME(weigh_label)(&cell, groups[lane], x[lane]);
    EACH_LABEL_LANE if (lane < count) weights[lane] = x[lane];
}

/* The weights of up to LANES cells. The factor of a group is `factors`, plus the share of the group in the sum of all labels
   times `label_factors`. */
INLINE void NAME(weigh_cells)(const Labels *b, int64_t cell, int64_t count, const double *sums, const double *log_shares,
                              const double *label_factors, const double *factors) {
    REAL high[2 * LANES], low[2 * LANES], factor[2 * LANES];
    EACH(2 * LANES) high[lane] = (REAL)sums[lane];
    EACH(2 * LANES) low[lane] = (REAL)(sums[lane] - high[lane]);
    EACH(2 * LANES) factor[lane] = NAME(exponential)((REAL)log_shares[lane]);
    EACH(2 * LANES) factor[lane] = (REAL)(factors[lane] + label_factors[lane] * factor[lane]);
    for (int64_t k = 0; k < count; k++) {
        NAME(Cell) terms = {{high[k], high[LANES + k]}, {low[k], low[LANES + k]}, {factor[k], factor[LANES + k]}};
        int64_t first = (cell + k) * b->labels;
        NAME(weigh_labels)(b, terms, (const REAL *)b->scores + first, (REAL *)b->weights + first);
    }
}

/* Sets the groups of labels: 1 for constituents, 2 for free labels, and 0 after the last label. */
INLINE void NAME(set_groups)(const Labels *b) {
    REAL *groups = (REAL *)b->groups;
    for (int64_t l = 0; l < b->labels + NAME(LABEL_LANES); l++)
        groups[l] = (REAL)(l >= b->labels ? 0 : b->is_constituent[l] ? 1 : 2);
}

#undef EACH_LABEL_LANE
#undef REAL
#undef NAME
