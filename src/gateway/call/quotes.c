/* quotes.c - redacts errors that quote reasoning which the client may not see.
 *
 * An error quotes reasoning if one of its texts has QUOTE_SIZE bytes in a row of this call's
 * reasoning, or of the reasoning of earlier turns in the request, or begins with the marker that
 * opens reasoning: some providers repeat the model's output (failed_generation). Such an error
 * keeps its status, type and code, and gets a message of ours.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/call/internal.h"
#include "wire/redact_reasoning.h"

#define QUOTE_SIZE 16    /* bytes in a row; less is a coincidence */
#define QUOTE_SIZE_MIN 4 /* of reasoning that is shorter than that, all of it */
#define QUOTE_BITS 19
#define QUOTE_BYTES (((size_t)1 << QUOTE_BITS) / 8)

/* The texts of an error, and a bit for the hash of each QUOTE_SIZE bytes in a row of them. */
struct quotes {
    struct arena *arena; /* for one text at a time */
    struct buf said;
    uint64_t *seen;
    bool marked; /* a text begins with a marker */
};

static size_t quotes_hash(const char *p)
{
    uint64_t a, b;

    memcpy(&a, p, sizeof a);
    memcpy(&b, p + sizeof a, sizeof b);
    return (size_t)((a * 0x9E3779B97F4A7C15u ^ b * 0xC2B2AE3D27D4EB4Fu) >> (64 - QUOTE_BITS));
}

static void quotes_add_text(struct quotes *q, str text)
{
    const struct split_format *picked;

    q->marked = q->marked || split_pick(text, false, &picked) == SPLIT_FULL_MATCH;
    buf_add(&q->said, text);
    buf_add_c(&q->said, '\0');
}

/* All texts of a JSON value; if the bytes are not JSON, the bytes. */
static void quotes_add_json(struct quotes *q, str bytes)
{
    struct json doc;
    struct err e;
    size_t from = str_find(bytes, STR("{")), to = bytes.n;
    str text;

    while (to > 0 && bytes.p[to - 1] != '}')
        to--;
    json_init(&doc);
    if (from < to && json_parse(&doc, str_slice(bytes, from, to), &e)) {
        for (const struct json_node *v = json_root(&doc);
             v < json_root(&doc) + json_root(&doc)->span;
             v++) {
            arena_reset(q->arena);
            if (v->kind == JSON_STRING && json_text(&doc, v, q->arena, &text))
                quotes_add_text(q, text);
        }
    } else {
        quotes_add_text(q, bytes);
    }
    json_release(&doc);
}

static void quotes_index(struct quotes *q)
{
    memset(q->seen, 0, QUOTE_BYTES);
    for (size_t i = 0; i + QUOTE_SIZE <= q->said.n; i++) {
        size_t hash = quotes_hash(q->said.p + i);

        q->seen[hash / 64] |= (uint64_t)1 << hash % 64;
    }
}

/* Whether the error has QUOTE_SIZE bytes in a row of this reasoning. */
static bool quotes_some(void *ctx, str reasoning)
{
    const struct quotes *q = ctx;

    for (size_t i = 0; i + QUOTE_SIZE <= reasoning.n; i++) {
        size_t hash = quotes_hash(reasoning.p + i);

        if (q->seen[hash / 64] >> hash % 64 & 1 &&
            str_find(buf_str(&q->said), str_slice(reasoning, i, i + QUOTE_SIZE)) != STR_NONE)
            return true;
    }
    return false;
}

static bool quotes_call(struct quotes *q, str reasoning)
{
    reasoning = str_trim(reasoning);
    if (reasoning.n >= QUOTE_SIZE)
        return quotes_some(q, reasoning);
    return reasoning.n >= QUOTE_SIZE_MIN && str_find(buf_str(&q->said), reasoning) != STR_NONE;
}

static bool quotes_request(struct quotes *q, str body)
{
    struct json doc;
    struct err e;
    bool found;

    json_init(&doc);
    found = json_parse(&doc, body, &e) && redact_history_has(&doc, q->arena, quotes_some, q);
    json_release(&doc);
    return found;
}

void call_redact_error(struct call *c, struct chat_error *error)
{
    size_t size = 2 * (error->message.n + error->param.n + error->raw.n + error->frame.n) + 64;
    struct arena arena;
    struct quotes q = {.arena = &arena};

    if (!c->client.hides || !error->message.n)
        return;
    q.seen = base_alloc(QUOTE_BYTES);
    arena_init(&arena, size + c->sent.body.n);
    arena_reserve(&arena, size + c->sent.body.n); /* any text fits after a reset */
    buf_init(&q.said, size);
    quotes_add_text(&q, error->message);
    quotes_add_text(&q, error->param);
    if (error->raw.n)
        quotes_add_json(&q, error->raw);
    if (error->frame.n)
        quotes_add_json(&q, error->frame);
    assert(!buf_full(&q.said));
    quotes_index(&q);
    if (q.marked || quotes_call(&q, call_get_reasoning(c)) ||
        quotes_request(&q, buf_str(&c->sent.body))) {
        error->message = arena_printf(&c->arena,
                                      "the provider \"" STR_FMT
                                      "\" failed; its message quotes reasoning, which is hidden",
                                      STR_ARG(call_provider(c)->name));
        error->param = error->raw = error->frame = STR("");
    }
    free(q.seen);
    buf_release(&q.said);
    arena_release(&arena);
}
