/* A hash table from the bytes of words to rows, which are numbered in the order in which words are added. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1 << 12, MAX_ROWS = 1 << 28 };

typedef struct {
    size_t start, size; /* in `text` */
    uint64_t hash;
} Entry;

typedef struct {
    uint64_t seed; /* secret, so that nobody can write words that meet in one slot */
    char *text;    /* all words */
    size_t size, capacity;
    Entry *entries; /* by row */
    int32_t count, entry_capacity;
    int32_t *slots; /* rows, or -1 */
    size_t slot_count; /* a power of two, more than twice the rows */
} Table;

static uint64_t mix(uint64_t hash, uint64_t bits) {
    hash = (hash ^ bits) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
}

static uint64_t hash_word(uint64_t seed, const unsigned char *word, size_t size) {
    uint64_t hash = mix(seed, size), bits;
    for (; size >= 8; size -= 8, word += 8) {
        memcpy(&bits, word, 8);
        hash = mix(hash, bits);
    }
    bits = 0;
    memcpy(&bits, word, size);
    return mix(mix(hash, bits), seed);
}

/* Returns the slot of a word, or the free slot where it belongs. */
static size_t find_slot(const Table *t, const unsigned char *word, size_t size, uint64_t hash) {
    size_t slot = hash & (t->slot_count - 1);
    for (;; slot = (slot + 1) & (t->slot_count - 1)) {
        if (t->slots[slot] < 0) return slot;
        const Entry *entry = t->entries + t->slots[slot];
        if (entry->hash == hash && entry->size == size && !memcmp(t->text + entry->start, word, size)) return slot;
    }
}

static int grow_slots(Table *t) {
    size_t count = t->slot_count ? 2 * t->slot_count : FIRST_SLOTS;
    int32_t *slots = malloc(count * sizeof(int32_t));
    if (!slots) return 0;
    memset(slots, -1, count * sizeof(int32_t));
    for (int32_t row = 0; row < t->count; row++) {
        size_t slot = t->entries[row].hash & (count - 1);
        while (slots[slot] >= 0) slot = (slot + 1) & (count - 1);
        slots[slot] = row;
    }
    free(t->slots);
    t->slots = slots, t->slot_count = count;
    return 1;
}

static int grow_entries(Table *t) {
    if (t->count < t->entry_capacity) return 1;
    int32_t capacity = t->entry_capacity ? 2 * t->entry_capacity : FIRST_SLOTS / 2;
    Entry *entries = capacity <= MAX_ROWS ? realloc(t->entries, capacity * sizeof(Entry)) : NULL;
    if (!entries) return 0;
    t->entries = entries, t->entry_capacity = capacity;
    return 1;
}

static int grow_text(Table *t, size_t more) {
    if (t->size + more <= t->capacity) return 1;
    size_t capacity = 2 * (t->size + more);
    char *text = realloc(t->text, capacity);
    if (!text) return 0;
    t->text = text, t->capacity = capacity;
    return 1;
}

enum { NO_MEMORY = -1, NO_TEXT = -2 };

/* Whether bytes are UTF-8, without surrogates, and have no zero. */
static int is_text(const unsigned char *at, size_t size) {
    const unsigned char *end = at + size;
    while (at < end) {
        unsigned lead = *at, count = lead < 0x80 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
        if (!lead || (lead >= 0x80 && lead < 0xC2) || lead > 0xF4 || (size_t)(end - at) <= count) return 0;
        for (unsigned k = 1; k <= count; k++)
            if ((at[k] & 0xC0) != 0x80) return 0;
        if ((lead == 0xE0 && at[1] < 0xA0) || (lead == 0xED && at[1] > 0x9F)) return 0;
        if ((lead == 0xF0 && at[1] < 0x90) || (lead == 0xF4 && at[1] > 0x8F)) return 0;
        at += count + 1;
    }
    return 1;
}

/* Returns the row of a word, which is added if it is new; NO_TEXT if it is not UTF-8, or has a zero byte. */
static int32_t find_row(Table *t, const unsigned char *word, size_t size) {
    uint64_t hash = hash_word(t->seed, word, size);
    size_t slot = t->slot_count ? find_slot(t, word, size, hash) : 0;
    if (t->slot_count && t->slots[slot] >= 0) return t->slots[slot];
    if (!is_text(word, size)) return NO_TEXT;
    if (2 * ((size_t)t->count + 1) >= t->slot_count) {
        if (!grow_slots(t)) return NO_MEMORY;
        slot = find_slot(t, word, size, hash);
    }
    if (!grow_entries(t) || !grow_text(t, size)) return NO_MEMORY;
    memcpy(t->text + t->size, word, size);
    t->entries[t->count] = (Entry){t->size, size, hash};
    t->size += size;
    t->slots[slot] = t->count;
    return t->count++;
}
