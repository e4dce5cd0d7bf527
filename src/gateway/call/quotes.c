/* quotes.c - redacts errors that quote reasoning which the client, or a viewer, may not see.
 *
 * An error quotes reasoning if one of its texts has QUOTE_SIZE bytes in a row of this call's
 * reasoning, or of the reasoning of earlier turns in the request, or begins with the marker that
 * opens reasoning: some providers repeat the model's output (failed_generation). Such an error
 * keeps its status, type and code, and gets a message of ours. So does an error that cannot be
 * checked: if it is very long, or follows more reasoning than the call keeps.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/call/internal.h"
#include "wire/redact_reasoning.h"

#define QUOTE_SIZE 16    /* bytes in a row; less is a coincidence */
#define QUOTE_SIZE_MIN 4 /* of reasoning that is shorter than that, all of it */
#define QUOTE_BITS_MIN 10
#define QUOTE_SAID_MAX ((size_t)1 << 20) /* of an error: a longer one is not searched */

/* The texts of an error, and a hash table of each QUOTE_SIZE bytes in a row of them. The hash has a
 * random seed: nobody can choose texts that are all in one slot. */
struct quotes {
    struct arena *arena; /* for one text at a time */
    struct buf said;
    uint64_t seed[2];
    unsigned bits;
    uint32_t *slots; /* by hash: 1 + a position in `said`, or 0 */
    uint32_t *next;  /* by position: 1 + another position in the same slot, or 0 */
    bool marked;     /* a text begins with a marker */
};

static size_t quotes_hash(const struct quotes *q, const char *p)
{
    uint64_t a, b;

    memcpy(&a, p, sizeof a);
    memcpy(&b, p + sizeof a, sizeof b);
    a = (a ^ q->seed[0]) * 0x9E3779B97F4A7C15u;
    return (size_t)((a ^ a >> 32 ^ b ^ q->seed[1]) * 0xC2B2AE3D27D4EB4Fu >> (64 - q->bits));
}

/* Whether the error has these QUOTE_SIZE bytes in a row. */
static bool quotes_has(const struct quotes *q, const char *p, size_t hash)
{
    for (uint32_t at = q->slots[hash]; at; at = q->next[at - 1])
        if (memcmp(q->said.p + at - 1, p, QUOTE_SIZE) == 0)
            return true;
    return false;
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
    assert(q->said.n <= QUOTE_SAID_MAX);
    rand_os(q->seed, sizeof q->seed);
    for (q->bits = QUOTE_BITS_MIN; (size_t)1 << q->bits < q->said.n; q->bits++)
        ;
    q->slots = base_alloc(sizeof *q->slots << q->bits);
    memset(q->slots, 0, sizeof *q->slots << q->bits);
    q->next = base_alloc((q->said.n + 1) * sizeof *q->next);
    for (size_t i = 0; i + QUOTE_SIZE <= q->said.n; i++) {
        size_t hash = quotes_hash(q, q->said.p + i);

        if (quotes_has(q, q->said.p + i, hash))
            continue; /* so that repeated texts make no long slot */
        q->next[i] = q->slots[hash];
        q->slots[hash] = (uint32_t)i + 1;
    }
}

/* Whether the error has QUOTE_SIZE bytes in a row of this reasoning. */
static bool quotes_some(void *ctx, str reasoning)
{
    const struct quotes *q = ctx;

    for (size_t i = 0; i + QUOTE_SIZE <= reasoning.n; i++)
        if (quotes_has(q, reasoning.p + i, quotes_hash(q, reasoning.p + i)))
            return true;
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

    found = json_open(&doc, body, &e) && redact_history_has(&doc, q->arena, quotes_some, q);
    json_release(&doc);
    return found;
}

/* Whether the error "quotes" reasoning or "may quote" it; NULL: it does not. */
static const char *quotes_verdict(struct call *c, struct quotes *q)
{
    if (q->marked)
        return "quotes";
    if (q->said.n > QUOTE_SAID_MAX)
        return "may quote";
    quotes_index(q);
    if (quotes_call(q, call_get_reasoning(c)) || quotes_request(q, buf_str(&c->sent)))
        return "quotes";
    /* The call keeps only the beginning of long reasoning, and none of it if it is not needed. */
    return (c->thought ? buf_full(&c->thought->text) : c->pipe.reasoning.any) ? "may quote" : NULL;
}

void call_redact_error(struct call *c, struct chat_error *error)
{
    size_t said = error->message.n + error->param.n + error->raw.n + error->frame.n;
    size_t size = 2 * said + 64;
    struct arena arena;
    struct quotes q = {.arena = &arena};
    const char *how;

    if (c->failure)
        c->failure->quotes = false;
    if ((!c->client.hides && !c->live.hub) || !said)
        return;
    arena_init(&arena, size + c->sent.n);
    arena_reserve(&arena, size + c->sent.n); /* any text fits after a reset */
    buf_init(&q.said, size);
    quotes_add_text(&q, error->message);
    quotes_add_text(&q, error->param);
    if (error->raw.n)
        quotes_add_json(&q, error->raw);
    if (error->frame.n)
        quotes_add_json(&q, error->frame);
    assert(!buf_full(&q.said));
    how = quotes_verdict(c, &q);
    if (how && !c->client.hides) { /* some viewers may not see what the client may */
        call_make_failure(c);
        c->failure->quotes = true;
    } else if (how) {
        error->message = arena_printf(&c->arena,
                                      "the provider \"" STR_FMT
                                      "\" failed; its message %s reasoning, which is hidden",
                                      STR_ARG(call_provider(c)->name),
                                      how);
        error->param = error->raw = error->frame = STR("");
    }
    free(q.slots);
    free(q.next);
    buf_release(&q.said);
    arena_release(&arena);
}
