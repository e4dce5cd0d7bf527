/* engine_block.c - the texts of calls into blocks.
 *
 * A block is filled in memory. What it has at the end of a batch is in call_texts as well, a row
 * for each call; once it is full it is packed into call_blocks, and those rows go. Under load most
 * calls go straight into a packed block, because a batch has more than one block of them. Daemons
 * that take turns fill the same block: each knows how full it is, and the one that packs it reads
 * what the others put.
 *
 * Two blocks are filled at a time: one with calls as they come, one with calls that an earlier
 * version of the tables had (engine_move.c). The blocks of these have the lower numbers, up to
 * moved_to, so that the order of blocks is the order of time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/engine_state.h"

#define PACKED_MAX (BLOCK_RAW_MAX + ((size_t)1 << 20))

void engine_blocks_init(struct engine *en)
{
    for (size_t i = 0; i < COUNT_OF(en->filling); i++) {
        block_init(&en->filling[i].block);
        words_set_init(&en->filling[i].words);
        buf_init(&en->filling[i].calls, BLOCK_CALLS_MAX * sizeof(int64_t));
    }
    buf_init(&en->entry, BLOCK_RAW_MAX);
    buf_init(&en->packed, PACKED_MAX);
}

void engine_blocks_release(struct engine *en)
{
    for (size_t i = 0; i < COUNT_OF(en->filling); i++) {
        block_release(&en->filling[i].block);
        words_set_release(&en->filling[i].words);
        buf_release(&en->filling[i].calls);
    }
    buf_release(&en->entry);
    buf_release(&en->packed);
}

/* ---- what the tables have ---- */

static void engine_block_begin(struct engine_filling *f, int64_t number)
{
    f->number = number;
    f->before = f->stored = 0;
    f->before_size = 0;
    buf_reset(&f->calls);
    block_reset(&f->block);
}

static void engine_block_add(struct engine_filling *f, int64_t call_n, str entry)
{
    buf_add(&f->calls, (str){(const char *)&call_n, sizeof call_n});
    block_add(&f->block, entry);
}

/* The number of the call at a place of it. */
static int64_t engine_block_call(const struct engine_filling *f, size_t place)
{
    int64_t n;

    assert((place + 1) * sizeof n <= f->calls.n);
    memcpy(&n, f->calls.p + place * sizeof n, sizeof n);
    return n;
}

static bool engine_on_open_block(void *ctx, const struct db_value *v, size_t n)
{
    struct engine *en = ctx;
    struct engine_filling *f = &en->filling[v[0].i <= en->moved_to];

    assert(n == 3);
    engine_block_begin(f, v[0].i);
    f->before = (size_t)v[1].i;
    f->before_size = (uint64_t)v[2].i;
    return true;
}

static bool engine_on_open_text(void *ctx, const struct db_value *v, size_t n)
{
    struct engine_filling *f = ctx;

    assert(n == 3);
    while (f->block.count < (size_t)v[0].i && !buf_full(&f->block.raw))
        engine_block_add(f, v[1].i, STR("")); /* erased since */
    engine_block_add(f, v[1].i, v[2].s);
    return true;
}

/* All of its entries into memory. */
static bool engine_block_load(struct engine *en, struct engine_filling *f, struct err *e)
{
    struct db_value args[] = {db_int(f->number), db_int((int64_t)f->before)};
    struct block_view own = {.count = f->block.count};
    uint32_t *ends;
    str calls;

    if (f->before == 0)
        return true;
    calls = arena_dup(&en->arena, buf_str(&f->calls));
    own.raw = arena_dup(&en->arena, buf_str(&f->block.raw));
    own.ends = ends = arena_alloc(&en->arena, (own.count + 1) * sizeof *ends);
    if (own.count > 0) /* else there may be no array */
        memcpy(ends, f->block.ends, own.count * sizeof *ends);
    block_reset(&f->block);
    buf_reset(&f->calls);
    if (!db_query(en->db,
                  "SELECT block_n, call_n, texts FROM call_texts WHERE block = $1 AND block_n < $2"
                  " ORDER BY block_n",
                  args,
                  2,
                  (struct db_rows){engine_on_open_text, f},
                  e))
        return false;
    while (f->block.count < f->before) /* damage, which `audit verify` reports */
        engine_block_add(f, en->last_n, STR(""));
    for (size_t i = 0; i < own.count; i++)
        block_add(&f->block, block_entry(&own, i));
    buf_add(&f->calls, calls);
    f->stored += f->before;
    f->before = 0;
    f->before_size = 0;
    assert(f->stored <= f->block.count);
    return true;
}

bool engine_blocks_begin(struct engine *en, struct err *e)
{
    if (en->blocks_known)
        return true;
    if (!db_query(en->db,
                  "SELECT call_n, block, moved_to, moved, tree_from FROM store_counters",
                  DB_NO_ARGS,
                  DB_ROW(db_into_i64(&en->last_n),
                         db_into_i64(&en->last_block),
                         db_into_i64(&en->moved_to),
                         db_into_i64(&en->last_moved),
                         db_into_i64(&en->tree_from)),
                  e))
        return false;
    engine_block_begin(&en->filling[ENGINE_NEW], en->last_block + 1);
    engine_block_begin(&en->filling[ENGINE_MOVED],
                       en->last_moved < en->moved_to ? en->last_moved + 1 : 0);
    if (!db_query(en->db,
                  "SELECT block, max(block_n) + 1, sum(length(texts)) FROM call_texts"
                  " GROUP BY block ORDER BY block",
                  DB_NO_ARGS,
                  (struct db_rows){engine_on_open_block, en},
                  e))
        return false;
    en->blocks_known = true;
    return true;
}

/* ---- a full block ---- */

static bool engine_block_due(const struct engine_filling *f)
{
    return block_due(&f->block) || f->before_size + block_size(&f->block) >= BLOCK_SIZE ||
           f->before + f->block.count >= BLOCK_CALLS_MAX;
}

/* The words of all entries: the daemon that packs a block reads them, once. */
static void engine_block_read_words(struct engine *en, struct engine_filling *f)
{
    struct block_view view = {buf_str(&f->block.raw), f->block.ends, f->block.count};
    struct block_texts t;
    struct err bad;

    words_set_reset(&f->words);
    for (size_t i = 0; i < view.count; i++) {
        str entry = block_entry(&view, i);

        if (entry.n > 0 && block_entry_get(entry, &en->arena, &t, &bad))
            engine_words_add(&f->words, &t);
    }
}

static bool engine_block_write(struct engine *en, struct engine_filling *f, struct err *e)
{
    struct db_value args[6] = {db_int(f->number)};

    if (!engine_block_load(en, f, e))
        return false;
    args[1] = db_int(engine_block_call(f, 0));
    args[2] = db_int(engine_block_call(f, f->block.count - 1));
    args[3] = db_int((int64_t)f->block.count);
    args[4] = db_int((int64_t)block_size(&f->block));
    engine_block_read_words(en, f);
    buf_reset(&en->packed);
    if (!block_pack(&f->block, &en->packed, e))
        return false;
    args[5] = db_blob(buf_str(&en->packed));
    return db_put(en->db,
                  "INSERT INTO call_blocks (block, first_n, last_n, calls, raw_size, texts)"
                  " VALUES ($1, $2, $3, $4, $5, $6)",
                  args,
                  COUNT_OF(args),
                  e) &&
           (f->stored == 0 ||
            db_run(en->db, "DELETE FROM call_texts WHERE block = $1", args, 1, e)) &&
           engine_words_write(en, f->number, &f->words, e);
}

bool engine_block_put(struct engine *en, enum engine_filled which, struct store_call *row,
                      struct texts_place *at, struct err *e)
{
    struct engine_filling *f = &en->filling[which];
    struct block_texts t = {0};

    assert(f->number != 0 && at->call_n > 0);
    for (size_t i = 0; i < row_field_count; i++)
        if (row_fields[i].text)
            t.text[row_fields[i].text - 1] = *row_text(row, &row_fields[i]);
    engine_request_put(en, row, at->call_n, &t);
    buf_reset(&en->entry);
    block_entry_put(&t, &en->entry);
    if (buf_full(&en->entry))
        return err_input(e, "the texts of a call are too long");
    at->block = f->number;
    at->block_n = (int64_t)(f->before + f->block.count);
    engine_block_add(f, at->call_n, buf_str(&en->entry));
    if (!engine_block_due(f))
        return true;
    if (!engine_block_write(en, f, e))
        return false;
    *(which == ENGINE_NEW ? &en->last_block : &en->last_moved) = f->number;
    engine_block_begin(f, f->number + 1);
    return true;
}

/* ---- the end of a batch ---- */

static bool engine_block_store(struct engine *en, struct engine_filling *f, struct err *e)
{
    struct block_view view = {buf_str(&f->block.raw), f->block.ends, f->block.count};

    assert(f->stored <= f->block.count);
    for (; f->stored < f->block.count; f->stored++) {
        str entry = block_entry(&view, f->stored);
        struct db_value args[] = {db_int(f->number),
                                  db_int((int64_t)(f->before + f->stored)),
                                  db_int(engine_block_call(f, f->stored)),
                                  db_blob(entry)};

        /* One without texts as well: its place is not given to another. */
        if (!db_put(en->db,
                    "INSERT INTO call_texts (block, block_n, call_n, texts) VALUES ($1, $2, $3,"
                    " $4)",
                    args,
                    COUNT_OF(args),
                    e))
            return false;
    }
    return true;
}

bool engine_blocks_commit(struct engine *en, struct err *e)
{
    return engine_block_store(en, &en->filling[ENGINE_NEW], e) &&
           engine_block_store(en, &en->filling[ENGINE_MOVED], e) &&
           db_run(en->db,
                  "UPDATE store_counters SET call_n = $1, block = $2, moved = $3 WHERE call_n <> $1"
                  " OR block <> $2 OR moved <> $3",
                  DB_ARGS(db_int(en->last_n), db_int(en->last_block), db_int(en->last_moved)),
                  e);
}

/* ---- texts that go ---- */

/* The block without the entries of some calls, whose places stay. */
static void engine_block_blank(const struct block_view *view, const bool *gone, struct arena *a,
                               struct engine_filling *out)
{
    struct block_texts t;
    struct err bad;

    for (size_t i = 0; i < view->count; i++) {
        str entry = gone[i] ? STR("") : block_entry(view, i);

        block_add(&out->block, entry);
        if (entry.n > 0 && block_entry_get(entry, a, &t, &bad))
            engine_words_add(&out->words, &t);
    }
}

static bool engine_block_blank_open(struct engine *en, struct engine_filling *f, const bool *gone,
                                    struct err *e)
{
    struct block_view view;
    size_t stored = f->stored;
    str raw = arena_dup(&en->scratch, buf_str(&f->block.raw));
    uint32_t *ends = arena_alloc(&en->scratch, (f->block.count + 1) * sizeof *ends);

    if (f->block.count > 0) /* else there may be no array */
        memcpy(ends, f->block.ends, f->block.count * sizeof *ends);
    view = (struct block_view){raw, ends, f->block.count};
    block_reset(&f->block);
    engine_block_blank(&view, gone, &en->scratch, f);
    f->stored = stored;
    for (size_t i = 0; i < stored; i++) {
        struct db_value args[] = {db_int(f->number), db_int((int64_t)i)};

        if (gone[i] &&
            !db_run(en->db, "DELETE FROM call_texts WHERE block = $1 AND block_n = $2", args, 2, e))
            return false;
    }
    return true;
}

static bool engine_block_blank_packed(struct engine *en, int64_t number,
                                      const struct block_view *view, const bool *gone,
                                      struct err *e)
{
    struct engine_filling f = {.number = number};
    struct db_value args[] = {db_int(number), db_int(0), db_null()};
    bool ok;

    block_init(&f.block);
    words_set_init(&f.words);
    engine_block_blank(view, gone, &en->scratch, &f);
    if (block_size(&f.block) == 0) {
        ok = db_run(en->db, "DELETE FROM call_blocks WHERE block = $1", args, 1, e);
    } else {
        buf_reset(&en->packed);
        ok = block_pack(&f.block, &en->packed, e);
        args[1] = db_int((int64_t)block_size(&f.block));
        args[2] = db_blob(buf_str(&en->packed));
        ok = ok && db_run(en->db,
                          "UPDATE call_blocks SET raw_size = $2, texts = $3 WHERE block = $1",
                          args,
                          COUNT_OF(args),
                          e);
    }
    ok = ok && engine_words_replace(en, number, &f.words, e);
    block_release(&f.block);
    words_set_release(&f.words);
    return ok;
}

/* A damaged block cannot be read, so dropping it loses nothing, and it may contain texts that must
 * be erased. */
static bool engine_block_give_up(struct engine *en, int64_t number, const struct err *why,
                                 struct err *e)
{
    struct words_set none;
    bool ok;

    log_error("store: a block cannot be read, and is deleted together with the erased data",
              LOG_U64("block", (uint64_t)number),
              LOG_ERR(why));
    words_set_init(&none);
    ok = db_run(en->db, "DELETE FROM call_blocks WHERE block = $1", DB_ARGS(db_int(number)), e) &&
         engine_words_replace(en, number, &none, e);
    words_set_release(&none);
    return ok;
}

static int engine_by_block(const void *a, const void *b)
{
    const struct texts_place *x = a, *y = b;

    return (x->block > y->block) - (x->block < y->block);
}

bool engine_blocks_blank(struct engine *en, struct texts_place *places, size_t n, struct err *e)
{
    size_t from = 0;

    if (n > 0)
        qsort(places, n, sizeof *places, engine_by_block);
    while (from < n && places[from].block < 0)
        from++; /* not in a block */
    while (from < n) {
        int64_t number = places[from].block;
        struct engine_filling *open = &en->filling[number <= en->moved_to];
        const struct block_view *view = NULL;
        size_t count, to = from;
        struct err why;
        bool *gone;

        arena_reset(&en->scratch);
        if (open->number != number)
            open = NULL; /* it is packed */
        if (open && !engine_block_load(en, open, e))
            return false;
        if (!open && !texts_block(&en->texts, number, &view, &why)) {
            if (!en->texts.damaged) {
                *e = why;
                return false;
            }
            if (!engine_block_give_up(en, number, &why, e))
                return false;
            while (from < n && places[from].block == number)
                from++;
            continue;
        }
        count = open ? open->block.count : view->count;
        gone = arena_zero(&en->scratch, count + 1, sizeof *gone);
        for (; to < n && places[to].block == number; to++)
            if ((size_t)places[to].block_n < count)
                gone[places[to].block_n] = true;
        if (!(open ? engine_block_blank_open(en, open, gone, e)
                   : engine_block_blank_packed(en, number, view, gone, e)))
            return false;
        from = to;
    }
    texts_forget(&en->texts);
    return true;
}
