/* piece.c - text that grows, replies gathered, frames patched.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/piece.h"

#define ROOM_SPARE ((size_t)4096)
#define EXTRAS_MAX 64

bool piece_room(const struct arena *a, size_t size)
{
    size_t left = arena_left(a);

    return left > ROOM_SPARE && left - ROOM_SPARE > size;
}

str piece_dup(struct arena *a, str s)
{
    return s.n && piece_room(a, s.n + 1) ? arena_dup(a, s) : STR("");
}

static bool grow(struct piece *t, struct arena *a, size_t need)
{
    size_t cap = t->cap ? t->cap : 64;
    char *p;

    while (cap < need)
        cap *= 2;
    if (cap > PIECE_SIZE_MAX || !piece_room(a, cap))
        return false;
    p = arena_alloc(a, cap);
    if (t->n)
        memcpy(p, t->p, t->n);
    t->p = p;
    t->cap = cap;
    return true;
}

void piece_add(struct piece *t, struct arena *a, str s)
{
    if (t->full || s.n == 0)
        return;
    if (s.n > PIECE_SIZE_MAX || (t->cap - t->n < s.n && !grow(t, a, t->n + s.n))) {
        t->full = true;
        return;
    }
    memcpy(t->p + t->n, s.p, s.n);
    t->n += s.n;
}

void piece_reset(struct piece *t)
{
    t->n = 0;
    t->full = false;
}

str piece_str(const struct piece *t)
{
    return t->n ? (str){t->p, t->n} : STR("");
}

int64_t piece_count(const struct json *doc, const struct json_node *v, str key)
{
    int64_t n;

    return json_i64(doc, json_find(doc, v, key), &n) && n >= 0 ? n : -1;
}

str piece_text(const struct json *doc, const struct json_node *v, str key, struct arena *a)
{
    str text;

    return json_text(doc, json_find(doc, v, key), a, &text) ? text : STR("");
}

/* ---- gathering ---- */

static struct gather_block *add_block(struct gather *g, struct arena *a, enum gather_kind kind,
                                      const struct chat_event *ev)
{
    struct gather_block *b;

    if (g->count >= WIRE_BLOCKS_MAX || !piece_room(a, sizeof *b)) {
        g->full = true;
        return NULL;
    }
    b = arena_zero(a, 1, sizeof *b);
    b->kind = kind;
    b->choice = ev->choice;
    b->block = ev->block;
    b->id = piece_dup(a, ev->id);
    b->name = piece_dup(a, ev->name);
    if (g->last)
        g->last->next = b;
    else
        g->first = b;
    g->last = b;
    g->count++;
    return b;
}

/* The block an event goes on in: mostly the last, but calls may come interleaved. */
static struct gather_block *find_block(const struct gather *g, enum gather_kind kind,
                                       const struct chat_event *ev)
{
    struct gather_block *found = NULL;

    if (g->last && g->last->kind == kind && g->last->block == ev->block &&
        g->last->choice == ev->choice)
        return g->last;
    for (struct gather_block *b = g->first; b; b = b->next)
        if (b->kind == kind && b->block == ev->block && b->choice == ev->choice)
            found = b;
    return found;
}

static void add_text(struct gather *g, struct arena *a, enum gather_kind kind,
                     const struct chat_event *ev)
{
    struct gather_block *b;

    if (ev->text.n == 0)
        return;
    b = find_block(g, kind, ev);
    if (!b)
        b = add_block(g, a, kind, ev);
    if (!b)
        return;
    piece_add(&b->text, a, ev->text);
    g->full |= b->text.full;
}

/* Of thinking; Gemini signs text as well. */
static void add_signature(struct gather *g, struct arena *a, const struct chat_event *ev)
{
    struct gather_block *b = find_block(g, GATHER_THINK, ev);
    bool text = ev->dialect == CHAT_GEMINI;

    if (!b && text)
        b = find_block(g, GATHER_TEXT, ev);
    if (!b)
        b = add_block(g, a, text ? GATHER_TEXT : GATHER_THINK, ev);
    if (b)
        piece_add(&b->extra, a, ev->text);
}

static void add_opaque(struct gather *g, struct arena *a, const struct chat_event *ev)
{
    struct gather_block *b;

    if (!str_eq(ev->name, STR("citation"))) {
        b = add_block(g, a, GATHER_OPAQUE, ev);
        if (b)
            piece_add(&b->text, a, ev->text);
        return;
    }
    b = find_block(g, GATHER_TEXT, ev);
    if (!b)
        b = add_block(g, a, GATHER_TEXT, ev);
    if (!b)
        return;
    if (b->extra.n)
        piece_add(&b->extra, a, STR(","));
    piece_add(&b->extra, a, ev->text);
}

static void add_extra(struct gather *g, struct arena *a, const struct chat_event *ev)
{
    struct gather_extra *x;

    for (x = g->extras; x; x = x->next)
        if (str_eq(x->name, ev->name)) {
            x->json = piece_dup(a, ev->text);
            return;
        }
    if (g->extra_count >= EXTRAS_MAX || !piece_room(a, sizeof *x))
        return;
    x = arena_zero(a, 1, sizeof *x);
    x->name = piece_dup(a, ev->name);
    x->json = piece_dup(a, ev->text);
    if (g->last_extra)
        g->last_extra->next = x;
    else
        g->extras = x;
    g->last_extra = x;
    g->extra_count++;
}

/* The provider's own words are not kept: some send usage with every chunk. */
static void add_usage(struct gather *g, const struct chat_usage *usage)
{
    chat_usage_merge(&g->usage, usage);
    g->usage.raw = STR("");
}

void gather_begin(struct gather *g)
{
    if (g->begun)
        return;
    g->usage = chat_usage_none;
    g->begun = true;
    g->id = g->model = g->stop_name = STR("");
}

static void begin(struct gather *g, struct arena *a, const struct chat_event *ev)
{
    gather_begin(g);
    if (ev->kind == CHAT_START) {
        g->id = piece_dup(a, ev->id);
        g->model = piece_dup(a, ev->name);
    }
}

static void add_stop(struct gather *g, struct arena *a, const struct chat_event *ev)
{
    if (ev->choice != 0 && g->stopped)
        return;
    g->stopped = true;
    g->stop = ev->stop;
    g->stop_name = piece_dup(a, ev->name);
}

void gather_event(struct gather *g, struct arena *a, const struct chat_event *ev,
                  enum chat_dialect dialect)
{
    begin(g, a, ev);
    switch (ev->kind) {
    case CHAT_REFUSAL:
        g->refused = true;
        add_text(g, a, GATHER_TEXT, ev);
        break;
    case CHAT_TEXT:
        add_text(g, a, GATHER_TEXT, ev);
        break;
    case CHAT_REASONING:
        add_text(g, a, GATHER_THINK, ev);
        break;
    case CHAT_SIGNATURE:
        if (ev->dialect == dialect)
            add_signature(g, a, ev);
        break;
    case CHAT_REDACTED:
        if (ev->dialect == dialect)
            add_text(g, a, GATHER_REDACTED, ev);
        break;
    case CHAT_CALL:
        g->called = true;
        (void)add_block(g, a, GATHER_CALL, ev);
        break;
    case CHAT_ARGUMENTS:
        add_text(g, a, GATHER_CALL, ev);
        break;
    case CHAT_OPAQUE:
        if (ev->dialect == dialect)
            add_opaque(g, a, ev);
        break;
    case CHAT_EXTRA:
        if (ev->dialect == dialect)
            add_extra(g, a, ev);
        break;
    case CHAT_USAGE:
        add_usage(g, ev->usage);
        break;
    case CHAT_STOP:
        add_stop(g, a, ev);
        break;
    default:
        break;
    }
}

/* ---- patching ---- */

void sse_data(struct buf *out, str json)
{
    const char *end = json.p + json.n;

    for (const char *p = json.p; p < end;) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));

        if (!nl) {
            buf_add(out, (str){p, (size_t)(end - p)});
            return;
        }
        buf_add(out, (str){p, (size_t)(nl - p)});
        buf_add(out, STR("\ndata: "));
        p = nl + 1;
    }
}

static int by_place(const void *pa, const void *pb)
{
    const struct patchwork *a = pa, *b = pb;

    return a->node->at < b->node->at ? -1 : a->node->at > b->node->at;
}

void patchwork_write(const struct json *doc, struct patchwork *list, size_t n, bool sse,
                     struct buf *out)
{
    size_t at = 0;

    assert(n <= PATCHWORK_MAX);
    qsort(list, n, sizeof *list, by_place);
    for (size_t i = 0; i <= n; i++) {
        str between = str_slice(doc->src, at, i < n ? list[i].node->at : doc->src.n);

        if (sse)
            sse_data(out, between);
        else
            buf_add(out, between);
        if (i == n)
            break;
        if (list[i].quote)
            (void)json_quote(out, list[i].with);
        else if (sse)
            sse_data(out, list[i].with);
        else
            buf_add(out, list[i].with);
        at = (size_t)list[i].node->at + list[i].node->size;
    }
}
