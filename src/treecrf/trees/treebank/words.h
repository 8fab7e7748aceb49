/* The words of a line: its longest parts without ASCII white space. */

#include <stddef.h>

static const unsigned char IS_SPACE[256] = {['\t'] = 1, ['\v'] = 1, ['\f'] = 1, ['\r'] = 1, [' '] = 1};

/* Moves `at` to the next word before `end`. Returns the size of the word; 0 if there are no more words. */
static size_t next_word(const unsigned char **at, const unsigned char *end) {
    while (*at < end && IS_SPACE[**at]) (*at)++;
    const unsigned char *word_end = *at;
    while (word_end < end && !IS_SPACE[*word_end]) word_end++;
    return word_end - *at;
}
