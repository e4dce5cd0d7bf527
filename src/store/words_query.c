/* words_query.c - matches a search text against the texts of a call.
 *
 * All phrases are matched at once, with a bit for each part (the shift-and algorithm): after each
 * word of the text, a bit is set if its part and those before it in the phrase are the last words.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "store/words.h"

static bool words_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0';
}

static bool words_next_typed(str *rest, str *word)
{
    size_t from = 0, to;

    while (from < rest->n && words_is_space(rest->p[from]))
        from++;
    for (to = from; to < rest->n && !words_is_space(rest->p[to]);)
        to++;
    *word = str_slice(*rest, from, to);
    *rest = str_slice(*rest, to, rest->n);
    return word->n > 0;
}

static unsigned words_take_scope(str *word, const struct words_scope *scopes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_starts(*word, scopes[i].prefix)) {
            *word = str_slice(*word, scopes[i].prefix.n, word->n);
            return scopes[i].field;
        }
    return WORDS_ANY_FIELD;
}

/* The parts of one typed word; false if it has none. */
static bool words_query_add(struct words_query *q, str word, unsigned field)
{
    struct words_reader r;
    unsigned parts = 0;
    size_t characters = 0;

    assert(q->part_count <= WORDS_PARTS_MAX && q->typed_count < WORDS_TYPED_MAX);
    words_read_init(&r, word);
    while (q->part_count < WORDS_PARTS_MAX && words_read(&r)) {
        struct words_part *p = &q->parts[q->part_count++];

        *p = (struct words_part){.n = r.n};
        memcpy(p->folded, r.folded, r.n);
        p->key = words_key((str){r.folded, r.n});
        characters += utf8_count((str){r.folded, r.n});
        parts++;
    }
    if (parts == 0)
        return false;
    assert(q->part_count >= parts && q->part_count <= WORDS_PARTS_MAX);
    q->firsts |= UINT64_C(1) << (q->part_count - parts);
    q->lasts |= UINT64_C(1) << (q->part_count - 1);
    q->typed[q->typed_count].field = field;
    q->typed[q->typed_count++].parts = parts;
    q->may_be_front = characters >= WORDS_FRONT_MIN;
    return true;
}

bool words_query_parse(str typed, const struct words_scope *scopes, size_t n, struct arena *a,
                       struct words_query *out)
{
    str rest = typed, word;

    *out = (struct words_query){.parts = NULL};
    out->parts = arena_alloc(a, WORDS_PARTS_MAX * sizeof *out->parts);
    while (out->typed_count < WORDS_TYPED_MAX && words_next_typed(&rest, &word)) {
        unsigned field = words_take_scope(&word, scopes, n);

        (void)words_query_add(out, word, field);
    }
    return out->typed_count > 0;
}

void words_query_range(const struct words_query *q, size_t part, bool last_is_front, uint64_t *lo,
                       uint64_t *hi)
{
    const struct words_part *p = &q->parts[part];

    assert(part < q->part_count);
    if (last_is_front && q->may_be_front && part + 1 == q->part_count)
        words_front_range((str){p->folded, p->n}, lo, hi);
    else
        *lo = *hi = p->key;
}

/* One call that is being matched. */
struct words_matching {
    const struct words_query *q;
    bool front;     /* the last part is the front of a word */
    uint64_t found; /* of q->lasts */
    struct words_hit *hit;
};

/* The parts that are the word just read. */
static uint64_t words_parts_of(const struct words_matching *m, const struct words_reader *r)
{
    const struct words_query *q = m->q;
    uint64_t out = 0, head, part_head;

    memcpy(&head, r->folded, sizeof head);
    for (size_t i = 0; i < q->part_count; i++) {
        const struct words_part *p = &q->parts[i];

        memcpy(&part_head, p->folded, sizeof part_head);
        if (head == part_head && r->n == p->n && str_same(r->folded, p->folded, p->n))
            out |= UINT64_C(1) << i;
    }
    if (m->front) {
        const struct words_part *p = &q->parts[q->part_count - 1];

        if (r->n >= p->n && r->folded[0] == p->folded[0] && !memcmp(r->folded, p->folded, p->n))
            out |= UINT64_C(1) << (q->part_count - 1);
    }
    return out;
}

/* The last parts of the typed words that this field may have. */
static uint64_t words_wanted_in(const struct words_query *q, unsigned field)
{
    uint64_t out = 0;
    size_t part = 0;

    for (size_t i = 0; i < q->typed_count; i++) {
        part += q->typed[i].parts;
        if (q->typed[i].field == field || q->typed[i].field == WORDS_ANY_FIELD)
            out |= UINT64_C(1) << (part - 1);
    }
    assert(part == q->part_count);
    return out;
}

/* How many parts the phrase has that ends with this part. */
static unsigned words_phrase_size(const struct words_query *q, unsigned last)
{
    unsigned n = 1;

    assert(last < q->part_count);
    while (!(q->firsts >> (last + 1 - n) & 1))
        n++;
    return n;
}

static void words_match_field(struct words_matching *m, str text, unsigned field)
{
    uint64_t state = 0, want = words_wanted_in(m->q, field) & ~m->found, got;
    size_t starts[WORDS_PARTS_MAX], count = 0; /* where the last words begin */
    struct words_reader r;

    words_read_init(&r, text);
    while (want && words_read(&r)) {
        starts[count++ % WORDS_PARTS_MAX] = (size_t)(r.start - text.p);
        state = (state << 1 | m->q->firsts) & words_parts_of(m, &r);
        got = state & want;
        if (got && !m->found) {
            unsigned size = words_phrase_size(m->q, (unsigned)__builtin_ctzll(got));

            assert(size <= count);
            *m->hit = (struct words_hit){field, starts[(count - size) % WORDS_PARTS_MAX]};
        }
        m->found |= got;
        want &= ~got;
    }
}

bool words_match(const struct words_query *q, const str fields[], unsigned allowed,
                 bool last_is_front, struct words_hit *hit)
{
    struct words_hit first = {0};
    struct words_matching m = {
        .q = q,
        .front = last_is_front && q->may_be_front,
        .hit = &first,
    };

    for (unsigned f = 0; f < WORDS_FIELDS_MAX && allowed >> f; f++)
        if (allowed >> f & 1)
            words_match_field(&m, fields[f], f);
    if (q->typed_count == 0 || m.found != q->lasts)
        return false;
    *hit = first;
    return true;
}

/* Where the character before `at` begins. */
static size_t words_step_back(str text, size_t at)
{
    size_t from = at - 1;

    assert(at > 0 && at <= text.n);
    while (from > 0 && at - from < UTF8_SIZE_MAX && ((unsigned char)text.p[from] & 0xC0) == 0x80)
        from--;
    return from;
}

static bool words_separates(str text, size_t at)
{
    uint32_t c;

    return utf8_decode(str_slice(text, at, text.n), &c) == 0 || words_fold(c) == 0;
}

/* The start of the word `count` words before `at`, or of the text, at most size_max bytes away. */
static size_t words_snippet_from(str text, size_t at, unsigned count, size_t size_max)
{
    size_t from = at, start = at;
    bool inside = false;

    while (from > 0 && count > 0) {
        size_t before = words_step_back(text, from);
        bool letter = !words_separates(text, before);

        if (at - before > size_max)
            return start;
        if (inside && !letter) {
            start = from;
            count--;
        }
        inside = letter;
        from = before;
    }
    return count > 0 ? 0 : start;
}

/* The end of the word `count` words after `from`, or of the text. A word beyond size_max bytes is
 * cut. */
static size_t words_snippet_to(str text, size_t from, unsigned count, size_t size_max)
{
    str rest = utf8_cut_size(str_slice(text, from, text.n), size_max);
    struct words_reader r;
    size_t to = from;

    words_read_init(&r, rest);
    for (; words_read(&r); count--) {
        if (count == 0)
            return to;
        to = (size_t)(r.at - text.p);
    }
    return from + rest.n;
}

str words_snippet(str text, size_t at, unsigned words_max, struct arena *a)
{
    size_t from, to;
    struct buf b;

    at = at < text.n ? at : text.n;
    from = words_snippet_from(text, at, words_max / 3, WORDS_SNIPPET_MAX / 3);
    to = words_snippet_to(text, from, words_max, WORDS_SNIPPET_MAX);
    assert(from <= at && from <= to && to <= text.n);
    buf_init(&b, 3 * (to - from) + 8);
    if (from > 0)
        buf_add(&b, STR("..."));
    (void)utf8_copy(&b, str_slice(text, from, to));
    if (to < text.n)
        buf_add(&b, STR("..."));
    return arena_move_buf(a, &b);
}
