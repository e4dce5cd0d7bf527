/* SPDX-License-Identifier: Apache-2.0 */
#include "store/texts.h"

#include "store/row.h"

#include <zlib.h>

#define TEXTS_ARENA_MAX ((size_t)1 << 30)
#define TEXTS_SLOT_KEPT ((size_t)4 << 20) /* a larger block is not kept */
#define TEXTS_REQUEST_MAX ((size_t)256 << 20)
#define TEXTS_REQUESTS 1024u
#define TEXTS_REQUESTS_SIZE ((size_t)64 << 20) /* of all that are kept, but for one */
#define TEXTS_BODY_MAX ((int64_t)256 << 20)
#define TEXTS_CHAIN_MAX 1000u

static void texts_keep_count(struct texts *t, size_t n)
{
    assert(n >= t->request_count);
    t->requests = base_realloc(t->requests, n * sizeof t->requests[0]);
    for (; t->request_count < n; t->request_count++) {
        t->requests[t->request_count].call_n = 0;
        buf_init(&t->requests[t->request_count].bytes, TEXTS_REQUEST_MAX);
    }
}

void texts_init(struct texts *t, struct db *db)
{
    *t = (struct texts){.db = db};
    for (size_t i = 0; i < TEXTS_CACHE; i++)
        arena_init(&t->slots[i].arena, TEXTS_ARENA_MAX);
    arena_init(&t->links, TEXTS_ARENA_MAX);
    for (size_t i = 0; i < COUNT_OF(t->forms); i++)
        arena_init(&t->forms[i], TEXTS_ARENA_MAX);
    texts_keep_count(t, 1);
}

void texts_keep_many(struct texts *t)
{
    texts_keep_count(t, TEXTS_REQUESTS);
}

static void texts_release_forms(struct texts *t)
{
    arena_release(&t->links);
    for (size_t i = 0; i < COUNT_OF(t->forms); i++)
        arena_release(&t->forms[i]);
}

void texts_release(struct texts *t)
{
    for (size_t i = 0; i < TEXTS_CACHE; i++)
        arena_release(&t->slots[i].arena);
    texts_release_forms(t);
    for (size_t i = 0; i < t->request_count; i++)
        buf_release(&t->requests[i].bytes);
    free(t->requests);
}

void texts_forget(struct texts *t)
{
    for (size_t i = 0; i < TEXTS_CACHE; i++)
        t->slots[i].block = 0;
    for (size_t i = 0; i < t->request_count; i++)
        t->requests[i].call_n = 0;
}

static bool texts_dup(struct arena *a, str text, str *out, struct err *e)
{
    if (!block_arena_check(a, text.n + 1, e))
        return false;
    *out = arena_dup(a, text);
    return true;
}

/* If the query succeeds, later errors are about damaged bytes (t->damaged), not about the
 * database. */
static bool texts_query(struct texts *t, const char *sql, const struct db_value *args, size_t n,
                        struct db_rows rows, struct err *e)
{
    t->damaged = db_query(t->db, sql, args, n, rows, e);
    return t->damaged;
}

/* ---- blocks ---- */

struct texts_loading {
    struct texts_slot *slot;
    bool found, ok;
    struct err *e;
};

static bool texts_on_block(void *ctx, const struct db_value *v, size_t n)
{
    struct texts_loading *l = ctx;

    assert(n == 1);
    l->found = true;
    l->ok = block_open(v[0].s, &l->slot->arena, &l->slot->view, l->e);
    return false;
}

static struct texts_slot *texts_slot_for(struct texts *t, int64_t block)
{
    struct texts_slot *oldest = &t->slots[0];

    for (size_t i = 0; i < TEXTS_CACHE; i++) {
        if (t->slots[i].block == block)
            return &t->slots[i];
        if (t->slots[i].used < oldest->used)
            oldest = &t->slots[i];
    }
    return oldest;
}

bool texts_block(struct texts *t, int64_t block, const struct block_view **out, struct err *e)
{
    struct texts_slot *slot = texts_slot_for(t, block);
    struct texts_loading l = {.slot = slot, .e = e};

    assert(t->db && slot >= t->slots && slot < t->slots + TEXTS_CACHE);
    slot->used = ++t->uses;
    *out = &slot->view;
    if (slot->block == block)
        return true;
    slot->block = 0;
    if (slot->view.raw.n > TEXTS_SLOT_KEPT) {
        arena_release(&slot->arena);
        arena_init(&slot->arena, TEXTS_ARENA_MAX);
    }
    arena_reset(&slot->arena);
    slot->view = (struct block_view){0};
    if (!texts_query(t,
                     "SELECT texts FROM call_blocks WHERE block = $1",
                     DB_ARGS(db_int(block)),
                     (struct db_rows){texts_on_block, &l},
                     e))
        return false;
    if (!l.found)
        return err_set(e, ERR_NOT_FOUND, "block %lld is not packed", (long long)block);
    if (!l.ok)
        return err_prefix(e, "block %lld: ", (long long)block);
    slot->block = block;
    return true;
}

struct texts_copy {
    struct arena *a;
    str entry;
    bool ok;
    struct err *e;
};

static bool texts_on_entry(void *ctx, const struct db_value *v, size_t n)
{
    struct texts_copy *c = ctx;

    assert(n == 1);
    c->ok = texts_dup(c->a, v[0].s, &c->entry, c->e);
    return false;
}

/* The bytes of an entry, in the arena; "" if it was erased. A block may be packed between the two
 * looks, so a packed one is looked for twice. */
bool texts_entry(struct texts *t, const struct texts_place *at, struct arena *a, str *out,
                 struct err *e)
{
    struct db_value args[] = {db_int(at->block), db_int(at->block_n)};
    struct texts_copy c = {a, STR(""), true, e};
    const struct block_view *view;

    *out = STR("");
    for (int tries = 0; tries < 2 && at->block >= 0; tries++) {
        if (texts_block(t, at->block, &view, e))
            return texts_dup(a, block_entry(view, (size_t)at->block_n), out, e);
        if (e->code != ERR_NOT_FOUND)
            return false;
        if (!texts_query(t,
                         "SELECT texts FROM call_texts WHERE block = $1 AND block_n = $2",
                         args,
                         2,
                         (struct db_rows){texts_on_entry, &c},
                         e) ||
            !c.ok)
            return false;
        if (c.entry.n) {
            *out = c.entry;
            return true;
        }
    }
    return true;
}

/* ---- requests ---- */

static bool texts_old(struct texts *t, struct arena *a, struct store_call *row, struct err *e);

struct texts_link {
    struct block_delta from;
    str own, answer;
    int64_t call_n;
};

/* A call's part of a request: its own bytes, the earlier call that they are inserted into, and the
 * answer, which the next request repeats. */
static bool texts_link_read(struct texts *t, int64_t call_n, struct arena *a,
                            struct texts_link *out, struct err *e)
{
    struct texts_place place = {.call_n = call_n, .block = -1};
    struct store_call row = {.id = STR("")};
    struct block_texts texts;
    str entry;

    *out = (struct texts_link){.call_n = call_n, .own = STR(""), .answer = STR("")};
    if (!texts_query(
            t,
            "SELECT block, block_n, interaction_id FROM llm_interactions WHERE call_n = $1",
            DB_ARGS(db_int(call_n)),
            DB_ROW(
                db_into_i64(&place.block), db_into_i64(&place.block_n), db_into_text(a, &row.id)),
            e))
        return false;
    if (row.id.n == 0)
        return true; /* erased since */
    if (place.block < 0) {
        if (!texts_old(t, a, &row, e))
            return false;
        out->own = row.request;
        out->answer = row.answer;
        return true;
    }
    if (!texts_entry(t, &place, a, &entry, e))
        return false;
    if (entry.n == 0)
        return true;
    if (!block_entry_get(entry, a, &texts, e))
        return false;
    out->from = texts.request_from;
    out->own = texts.text[BLOCK_REQUEST];
    out->answer = texts.text[BLOCK_ANSWER];
    return true;
}

static struct texts_request *texts_kept_request(struct texts *t, int64_t call_n)
{
    for (size_t i = 0; call_n && i < t->request_count; i++)
        if (t->requests[i].call_n == call_n)
            return &t->requests[i];
    return NULL;
}

/* Caches a request, in place of the cached request that it continues, if any. */
static void texts_keep_request(struct texts *t, struct texts_request *base, int64_t call_n,
                               const struct block_base *call)
{
    size_t size = call->request.n + call->answer.n;
    struct texts_request *r = base ? base : &t->requests[t->request_next++ % t->request_count];

    assert(t->request_count > 0 && t->requests_size >= r->bytes.n);
    t->requests_size -= r->bytes.n;
    buf_reset(&r->bytes);
    r->call_n = 0;
    for (size_t i = 0; i < t->request_count && t->requests_size + size > TEXTS_REQUESTS_SIZE; i++) {
        struct texts_request *old = &t->requests[t->request_next++ % t->request_count];

        assert(t->requests_size >= old->bytes.n);
        t->requests_size -= old->bytes.n;
        buf_release(&old->bytes);
        buf_init(&old->bytes, TEXTS_REQUEST_MAX);
        old->call_n = 0;
    }
    buf_add(&r->bytes, call->request);
    buf_add(&r->bytes, call->answer);
    r->size = call->request.n;
    t->requests_size += r->bytes.n;
    r->call_n = buf_full(&r->bytes) ? 0 : call_n;
    r->depth = t->depth;
}

/* Reads the calls that the last one builds on, up to one that is stored whole or kept: *base. */
static bool texts_read_chain(struct texts *t, struct texts_link *chain, size_t *n,
                             struct texts_request **base, struct err *e)
{
    int64_t from;

    *base = NULL;
    while ((from = chain[*n - 1].from.call_n) && !(*base = texts_kept_request(t, from))) {
        if (*n == TEXTS_CHAIN_MAX)
            return err_set(e, ERR_SYSTEM, "a request has too many others before it");
        if (!texts_link_read(t, from, &t->links, &chain[*n], e))
            return false;
        ++*n;
    }
    assert(*n > 0 && *n <= TEXTS_CHAIN_MAX);
    return true;
}

/* Rebuilds requests from the first one of the chain, which is stored whole, to the wanted one. */
static bool texts_assemble(struct texts *t, const struct texts_link *last, struct arena *a,
                           str *out, struct err *e)
{
    struct texts_link *chain = arena_alloc(&t->links, TEXTS_CHAIN_MAX * sizeof *chain);
    struct texts_request *base;
    struct block_base call;
    size_t n = 1;

    chain[0] = *last;
    if (!texts_read_chain(t, chain, &n, &base, e))
        return false;
    t->depth = base ? base->depth + (unsigned)n : (unsigned)n - 1;
    if (base) {
        call.request = str_slice(buf_str(&base->bytes), 0, base->size);
        call.answer = str_slice(buf_str(&base->bytes), base->size, base->bytes.n);
    } else {
        n--;
        call = (struct block_base){chain[n].own, chain[n].answer};
    }
    while (n-- > 0) {
        struct arena *form = &t->forms[n % COUNT_OF(t->forms)]; /* call is not in this one */

        arena_reset(form);
        if (!block_delta_apply(&call, &chain[n].from, chain[n].own, form, &call.request, e))
            return err_prefix(e, "the request of call %lld: ", (long long)chain[n].call_n);
        call.answer = chain[n].answer;
    }
    texts_keep_request(t, base, last->call_n, &call);
    return texts_dup(a, call.request, out, e);
}

static bool texts_request(struct texts *t, const struct texts_link *last, struct arena *a, str *out,
                          struct err *e)
{
    bool ok = texts_assemble(t, last, a, out, e);

    texts_release_forms(t);
    return ok;
}

/* ---- before there were blocks ---- */

struct texts_old_row {
    struct arena *a;
    struct store_call *row;
    bool ok;
    struct err *e;
};

static bool texts_unpack(struct arena *a, const struct db_value *body, int64_t size, str *out,
                         struct err *e)
{
    uLongf n = (uLongf)size;
    char *p;

    *out = STR("");
    if (body->type == DB_NULL)
        return true;
    if ((int64_t)body->s.n == size)
        return texts_dup(a, body->s, out, e);
    if (size < 0 || size > TEXTS_BODY_MAX)
        return err_set(e, ERR_SYSTEM, "a body claims to be %lld bytes", (long long)size);
    if (!block_arena_check(a, (uint64_t)size, e))
        return false;
    p = arena_alloc(a, (size_t)size);
    if (uncompress((Bytef *)p, &n, (const Bytef *)body->s.p, (uLong)body->s.n) != Z_OK ||
        n != (uLongf)size)
        return err_set(e, ERR_SYSTEM, "a packed body is damaged");
    *out = (str){p, (size_t)size};
    return true;
}

static bool texts_on_old(void *ctx, const struct db_value *v, size_t n)
{
    struct texts_old_row *o = ctx;
    size_t at = 2;

    (void)n;
    o->ok = texts_unpack(o->a, &v[0], v[1].i, &o->row->request, o->e);
    for (size_t i = 0; i < row_field_count; i++) {
        const struct row_field *f = &row_fields[i];

        if (!f->text || f->text == 1 + BLOCK_REQUEST)
            continue;
        if (f->kind == ROW_BODY) {
            o->ok &= texts_unpack(o->a, &v[at], v[at + 1].i, row_text(o->row, f), o->e);
            at += 2;
        } else {
            *row_text(o->row, f) = STR("");
            o->ok &= v[at].type == DB_NULL || texts_dup(o->a, v[at].s, row_text(o->row, f), o->e);
            at++;
        }
    }
    assert(at == n);
    return false;
}

static bool texts_old(struct texts *t, struct arena *a, struct store_call *row, struct err *e)
{
    struct texts_old_row o = {.a = a, .row = row, .ok = true, .e = e};
    struct buf sql;
    bool ok;

    buf_init(&sql, 4096);
    buf_add(&sql, STR("SELECT request, request_size"));
    for (size_t i = 0; i < row_field_count; i++) {
        const struct row_field *f = &row_fields[i];

        if (f->text && f->text != 1 + BLOCK_REQUEST)
            buf_printf(&sql, ", %s", f->column);
        if (f->kind == ROW_BODY && f->text != 1 + BLOCK_REQUEST)
            buf_printf(&sql, ", %s_size", f->column);
    }
    buf_add(&sql, STR(" FROM old_interactions WHERE interaction_id = $1"));
    buf_add_c(&sql, '\0');
    ok = texts_query(t, sql.p, DB_ARGS(db_text(row->id)), (struct db_rows){texts_on_old, &o}, e) &&
         o.ok;
    buf_release(&sql);
    return ok;
}

/* ---- a row ---- */

bool texts_read_up_to(struct texts *t, const struct texts_place *at, size_t request_max,
                      struct arena *a, struct store_call *row, struct err *e)
{
    struct block_texts texts;
    struct texts_link link;
    size_t size;
    str entry;

    for (size_t i = 0; i < row_field_count; i++)
        if (row_fields[i].text)
            *row_text(row, &row_fields[i]) = STR("");
    if (at->block < 0) {
        if (!texts_old(t, a, row, e))
            return false;
        if (row->request.n > request_max)
            row->request = STR("");
        return true;
    }
    if (!texts_entry(t, at, a, &entry, e))
        return false;
    if (entry.n == 0)
        return true;
    if (!block_entry_get(entry, a, &texts, e))
        return err_prefix(e, "call " STR_FMT ": ", STR_ARG(row->id));
    for (size_t i = 0; i < row_field_count; i++)
        if (row_fields[i].text)
            *row_text(row, &row_fields[i]) = texts.text[row_fields[i].text - 1];
    size = row->request.n + texts.request_from.front + texts.request_from.back +
           texts.request_from.answer.n;
    if (size > request_max)
        row->request = STR("");
    t->depth = 0;
    if (size > request_max || !texts.request_from.call_n)
        return true;
    link = (struct texts_link){
        texts.request_from, texts.text[BLOCK_REQUEST], texts.text[BLOCK_ANSWER], at->call_n};
    return texts_request(t, &link, a, &row->request, e);
}

bool texts_read(struct texts *t, const struct texts_place *at, struct arena *a,
                struct store_call *row, struct err *e)
{
    return texts_read_up_to(t, at, SIZE_MAX, a, row, e);
}

bool texts_read_reply(struct texts *t, const struct texts_place *at, struct arena *a,
                      struct store_call *row, struct err *e)
{
    return texts_read_up_to(t, at, 0, a, row, e);
}
