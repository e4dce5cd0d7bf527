/* engine_words.c - which words are in which block: word_pages, see word_pages.h.
 *
 * A segment of level 0 is one block. Sixteen of them, from a multiple of sixteen on, become one of
 * level 1 once the last of their blocks is packed, and sixteen of level 1 become one of level 2.
 * Which segments there are follows from the number of the last packed block alone: see
 * store/word_search.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "store/engine_state.h"
#include "store/word_search.h"

#define WORDS_FAN 16

/* A decision is "[DIRECT] " or "[TOOL_CALL] names: ", then often the beginning of the reasoning or
 * of the answer, whose words are in the set already. Returns the size of that copy without its last
 * word, which may be cut off; 0 if there is none. */
static size_t words_decision_copy(str copy, str other)
{
    if (str_ends(copy, STR("...")))
        copy.n -= 3;
    if (!str_starts(utf8_trim(other), copy))
        return 0;
    while (copy.n > 0 && copy.p[copy.n - 1] != ' ')
        copy.n--;
    return copy.n;
}

static void words_add_decision(struct words_set *words, const struct block_texts *t)
{
    static const enum block_text copied[] = {BLOCK_REASONING, BLOCK_ANSWER};
    str decision = t->text[BLOCK_DECISION];
    str mark = str_starts(decision, STR("[DIRECT]")) ? STR("] ") : STR(": ");
    size_t at = str_find(decision, mark), size = 0;

    at = at == STR_NONE ? decision.n : at + mark.n;
    for (size_t i = 0; i < COUNT_OF(copied) && size == 0; i++)
        size = words_decision_copy(str_slice(decision, at, decision.n), t->text[copied[i]]);
    words_set_add_text(words, str_slice(decision, 0, at));
    words_set_add_text(words, str_slice(decision, at + size, decision.n));
}

void engine_words_add(struct words_set *words, const struct block_texts *t)
{
    static const enum block_text indexed[] = {
        BLOCK_ASKED, BLOCK_ANSWER, BLOCK_REASONING, BLOCK_ERROR};

    for (size_t i = 0; i < COUNT_OF(indexed); i++)
        words_set_add_text(words, t->text[indexed[i]]);
    words_add_decision(words, t);
}

/* ---- pages in and out ---- */

struct words_segment {
    struct engine *en;
    int64_t level, first;
};

static bool words_put_page(void *to, uint64_t first_key, str page, struct err *e)
{
    const struct words_segment *s = to;

    return db_put(
        s->en->db,
        "INSERT INTO word_pages (level, first_block, first_key, page)"
        " VALUES ($1, $2, $3, $4)",
        DB_ARGS(db_int(s->level), db_int(s->first), db_int((int64_t)first_key), db_blob(page)),
        e);
}

static bool words_drop(const struct words_segment *s, struct err *e)
{
    return db_run(s->en->db,
                  "DELETE FROM word_pages WHERE level = $1 AND first_block = $2",
                  DB_ARGS(db_int(s->level), db_int(s->first)),
                  e);
}

struct words_pages {
    struct arena *arena;
    str *items;
    size_t count, cap;
};

static bool words_on_page(void *ctx, const struct db_value *v, size_t n)
{
    struct words_pages *p = ctx;

    assert(n == 1);
    p->items = base_grow(p->items, p->count, &p->cap, sizeof p->items[0]);
    p->items[p->count++] = arena_dup(p->arena, v[0].s);
    return true;
}

static bool words_keep_page(void *to, uint64_t first_key, str page, struct err *e)
{
    struct db_value v = db_blob(page);

    (void)first_key;
    (void)e;
    return words_on_page(to, &v, 1);
}

/* The words of a packed block; none if all of its calls were erased, or it cannot be read. */
static bool words_of_block(struct engine *en, int64_t block, struct arena *a,
                           struct words_set *words, struct err *e)
{
    const struct block_view *view;
    struct block_texts t;
    struct err why;

    words_set_reset(words);
    if (!texts_block(&en->texts, block, &view, &why)) {
        *e = why;
        return en->texts.damaged;
    }
    for (size_t i = 0; i < view->count; i++)
        if (block_entry_get(block_entry(view, i), a, &t, &why))
            engine_words_add(words, &t);
    return true;
}

static unsigned words_span(const struct words_segment *s)
{
    unsigned span = 1;

    assert(s->level >= 0 && s->level < WORD_LEVELS);
    for (int64_t i = 0; i < s->level; i++)
        span *= WORDS_FAN;
    return span;
}

/* The pages of a segment from the texts of its blocks. */
static bool words_make_again(const struct words_segment *s, struct words_pages *out, struct err *e)
{
    struct words_pages fresh = {.arena = out->arena}, merged = {.arena = out->arena}, before;
    unsigned span = words_span(s);
    struct words_set words;
    bool ok = true;

    words_set_init(&words);
    texts_forget(&s->en->texts); /* they may be from before an erasure */
    out->count = 0;
    for (unsigned i = 0; ok && i < span; i++) {
        struct word_pages_source sources[2];
        struct word_pages_writer w;
        const uint64_t *keys;
        size_t n;

        fresh.count = merged.count = 0;
        ok = words_of_block(s->en, s->first + i, out->arena, &words, e);
        keys = words_set_sorted(&words, &n);
        ok = ok && word_pages_write_block(keys, n, words_keep_page, &fresh, e);
        sources[0] = (struct word_pages_source){out->items, out->count, 0, NULL};
        sources[1] = (struct word_pages_source){fresh.items, fresh.count, i, NULL};
        word_pages_begin(&w, span, words_keep_page, &merged);
        ok = ok && word_pages_merge(sources, COUNT_OF(sources), &w, e);
        before = *out;
        *out = merged;
        merged = before;
    }
    words_set_release(&words);
    free(fresh.items);
    free(merged.items);
    return ok;
}

/* A damaged page affects only the index: records are still stored and erased. */
static bool words_read_pages(const struct words_segment *s, struct words_pages *out, struct err *e)
{
    struct err bad;

    if (!db_query(s->en->db,
                  "SELECT page FROM word_pages WHERE level = $1 AND first_block = $2"
                  " ORDER BY first_key",
                  DB_ARGS(db_int(s->level), db_int(s->first)),
                  (struct db_rows){words_on_page, out},
                  e))
        return false;
    for (size_t i = 0; i < out->count; i++)
        if (!word_pages_check(out->items[i], &bad)) {
            log_error("store: a page of the word index is damaged; its blocks are read again",
                      LOG_U64("block", (uint64_t)s->first),
                      LOG_ERR(&bad));
            return words_make_again(s, out, e);
        }
    return true;
}

/* ---- a packed block ---- */

/* Segments [first, first + 16 * span) of one level as one of the next; span is how many blocks each
 * has. */
static bool words_merge(struct engine *en, int64_t level, int64_t first, int64_t span,
                        struct err *e)
{
    struct words_segment whole = {en, level + 1, first};
    struct words_pages pages[WORDS_FAN] = {0};
    struct word_pages_source sources[WORDS_FAN];
    struct word_pages_writer w;
    struct arena arena;
    bool ok = true;

    assert(span > 0 && WORDS_FAN * span <= WORD_PAGES_BLOCKS_MAX &&
           first % (WORDS_FAN * span) == 0);
    arena_init(&arena, ENGINE_ARENA_MAX);
    for (size_t i = 0; i < WORDS_FAN; i++) {
        struct words_segment part = {en, level, first + (int64_t)i * span};

        pages[i].arena = &arena;
        ok = ok && words_read_pages(&part, &pages[i], e) && words_drop(&part, e);
        sources[i] = (struct word_pages_source){
            pages[i].items, pages[i].count, (unsigned)((int64_t)i * span), NULL};
    }
    word_pages_begin(&w, (unsigned)(WORDS_FAN * span), words_put_page, &whole);
    ok = ok && word_pages_merge(sources, WORDS_FAN, &w, e);
    for (size_t i = 0; i < WORDS_FAN; i++)
        free(pages[i].items);
    arena_release(&arena);
    return ok;
}

bool engine_words_write(struct engine *en, int64_t block, struct words_set *words, struct err *e)
{
    struct words_segment s = {en, 0, block};
    const uint64_t *keys;
    int64_t span = 1;
    size_t n;

    keys = words_set_sorted(words, &n);
    if (!word_pages_write_block(keys, n, words_put_page, &s, e))
        return false;
    for (int64_t level = 0; level < WORD_LEVELS - 1; level++, span *= WORDS_FAN) {
        if ((block + 1) % (span * WORDS_FAN) != 0)
            break;
        if (!words_merge(en, level, block + 1 - span * WORDS_FAN, span, e))
            return false;
    }
    return true;
}

/* ---- words that go ---- */

/* The segment that has the block, whichever level it is of; level -1: no words of it are kept. */
static bool words_find_segment(struct engine *en, int64_t block, struct words_segment *out,
                               struct err *e)
{
    int64_t span = 1;

    for (int64_t level = 0; level < WORD_LEVELS; level++, span *= WORDS_FAN) {
        struct db_value args[] = {db_int(level), db_int(block - block % span)};
        int64_t there;

        if (!db_number(en->db,
                       "SELECT 1 FROM word_pages WHERE level = $1 AND first_block = $2 LIMIT 1",
                       args,
                       COUNT_OF(args),
                       &there,
                       e))
            return false;
        *out = (struct words_segment){en, level, args[1].i};
        if (there)
            return true;
    }
    out->level = -1;
    return true;
}

bool engine_words_replace(struct engine *en, int64_t block, struct words_set *words, struct err *e)
{
    struct words_pages old = {.arena = NULL}, fresh = {.arena = NULL};
    struct word_blocks without = {{0}};
    struct word_pages_source sources[2];
    struct word_pages_writer w;
    struct words_segment s;
    struct arena arena;
    const uint64_t *keys;
    unsigned span;
    bool ok;
    size_t n;

    if (!words_find_segment(en, block, &s, e))
        return false;
    if (s.level < 0)
        return true;
    span = words_span(&s);
    assert(block >= s.first && block - s.first < span);
    keys = words_set_sorted(words, &n);
    word_blocks_set(&without, (unsigned)(block - s.first));
    arena_init(&arena, ENGINE_ARENA_MAX);
    old.arena = fresh.arena = &arena;
    ok = words_read_pages(&s, &old, e) && words_drop(&s, e) &&
         word_pages_write_block(keys, n, words_keep_page, &fresh, e);
    sources[0] = (struct word_pages_source){old.items, old.count, 0, &without};
    sources[1] =
        (struct word_pages_source){fresh.items, fresh.count, (unsigned)(block - s.first), NULL};
    word_pages_begin(&w, span, words_put_page, &s);
    ok = ok && word_pages_merge(sources, 2, &w, e);
    free(old.items);
    free(fresh.items);
    arena_release(&arena);
    return ok;
}
