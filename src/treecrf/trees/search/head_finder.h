/* Finds the head child of every constituent by the rules of heads.py. */

typedef struct { /* the category of a label, the range of its rules, and whether it is a conjunction or punctuation */
    i32 category, first, last, flags;
} LabelRules;

typedef struct {
    i32 node_count, label_count, rule_count, category_count;
    const i32 *label_ids, *ends;
    i32 *heads;
    const LabelRules *labels; /* by label id */
    const i32 *rules;         /* rows of direction and range in `categories` */
    const i32 *categories;
} HeadFinder;

enum { LEFT, RIGHT, LEFT_ANY, RIGHT_ANY };
enum { CONJUNCTION = 1, PUNCTUATION = 2 };

static int has_category(const HeadFinder *h, i32 node, i32 first, i32 last) {
    i32 category = h->labels[h->label_ids[node]].category;
    for (i32 c = first; c < last; c++)
        if (h->categories[c] == category) return 1;
    return 0;
}

/* The first child in the rule's direction with one of the categories, or -1. */
static i32 find_child(const HeadFinder *h, i32 node, i32 direction, i32 first, i32 last) {
    i32 result = -1;
    for (i32 child = node + 1; child < h->ends[node]; child = h->ends[child]) {
        if (!has_category(h, child, first, last)) continue;
        result = child;
        if (direction == LEFT || direction == LEFT_ANY) break;
    }
    return result;
}

/* In a coordination the head is the first conjunct, if it is not punctuation. */
static i32 first_conjunct(const HeadFinder *h, i32 node, i32 head) {
    i32 before = -1, two_before = -1;
    for (i32 child = node + 1; child < head; child = h->ends[child]) {
        two_before = before;
        before = child;
    }
    if (two_before < 0 || !(h->labels[h->label_ids[before]].flags & CONJUNCTION)) return head;
    int is_preterminal = h->ends[two_before] == two_before + 2;
    return is_preterminal && (h->labels[h->label_ids[two_before]].flags & PUNCTUATION) ? head : two_before;
}

static i32 find_head(const HeadFinder *h, i32 node) {
    const LabelRules *range = h->labels + h->label_ids[node];
    i32 last_child = node + 1;
    while (h->ends[last_child] < h->ends[node]) last_child = h->ends[last_child];
    if (last_child == node + 1) return last_child;
    for (i32 r = range->first; r < range->last; r++) {
        const i32 *rule = h->rules + 3 * (size_t)r; /* direction, range of categories */
        i32 head = -1;
        if (rule[0] >= LEFT_ANY) head = find_child(h, node, rule[0], rule[1], rule[2]);
        else for (i32 c = rule[1]; head < 0 && c < rule[2]; c++) head = find_child(h, node, rule[0], c, c + 1);
        if (head >= 0) return first_conjunct(h, node, head);
    }
    i32 direction = h->rules[3 * (size_t)(range->last - 1)];
    return direction == LEFT || direction == LEFT_ANY ? node + 1 : last_child;
}

static int are_rules(const HeadFinder *h) {
    for (i32 r = 0; r < h->rule_count; r++) {
        const i32 *rule = h->rules + 3 * (size_t)r;
        if (!in_range(rule[0], LEFT, RIGHT_ANY + 1)) return 0;
        if (rule[1] < 0 || rule[1] > rule[2] || rule[2] > h->category_count) return 0;
    }
    for (i32 n = 0; n < h->node_count; n++) {
        if (h->ends[n] <= n || h->ends[n] > h->node_count || !in_range(h->label_ids[n], 0, h->label_count)) return 0;
        if (h->ends[n] == n + 1) continue;
        const LabelRules *range = h->labels + h->label_ids[n];
        if (range->first < 0 || range->first >= range->last || range->last > h->rule_count) return 0;
    }
    return 1;
}

/* find_heads(label_ids, ends, label_rules, rules, categories): the heads as bytes of int32, as the arguments are. */
static PyObject *py_find_heads(PyObject *self, PyObject *args) {
    HeadFinder h;
    const char *label_ids, *ends, *labels, *rules, *categories;
    Py_ssize_t id_size, end_size, label_size, rule_size, category_size, width = sizeof(i32);
    (void)self;
    if (!PyArg_ParseTuple(args, "y#y#y#y#y#", &label_ids, &id_size, &ends, &end_size, &labels, &label_size, &rules,
                          &rule_size, &categories, &category_size))
        return NULL;
    h.label_ids = (const i32 *)(const void *)label_ids;
    h.ends = (const i32 *)(const void *)ends;
    h.labels = (const LabelRules *)(const void *)labels;
    h.rules = (const i32 *)(const void *)rules;
    h.categories = (const i32 *)(const void *)categories;
    h.node_count = (i32)(end_size / width);
    h.label_count = (i32)(label_size / (Py_ssize_t)sizeof(LabelRules));
    h.rule_count = (i32)(rule_size / (3 * width));
    h.category_count = (i32)(category_size / width);
    Py_ssize_t largest = INT32_MAX;
    int is_sized = id_size == end_size && end_size / width < largest && label_size <= largest && rule_size <= largest;
    if (!is_sized || category_size > largest || end_size % width || !are_rules(&h)) {
        PyErr_SetString(PyExc_ValueError, "the arrays of the forest or of the head rules are inconsistent");
        return NULL;
    }
    PyObject *result = PyBytes_FromStringAndSize(NULL, end_size);
    h.heads = result ? (i32 *)(void *)PyBytes_AsString(result) : NULL;
    for (i32 n = 0; result && n < h.node_count; n++) h.heads[n] = h.ends[n] == n + 1 ? -1 : find_head(&h, n);
    return result;
}
