/* mask.c - masks the secrets in everything that leaves a call for the store, a log or a watcher.
 *
 * The client and the provider get texts as they are, with one exception: an error of the provider
 * may repeat the provider's key, which the client must not see.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/call/internal.h"
#include "gateway/provider.h"

#define SPARE ((size_t)64 << 10)
#define SLICE_NS (5 * CLOCK_NS_PER_MS) /* of patterns of the user's own at once in the loop, and */
#define BYTE_NS 200u                   /* for each byte of the text */

struct mask_budget call_mask_slice(uint64_t left_ns, size_t size)
{
    uint64_t slice = SLICE_NS + BYTE_NS * size;

    return (struct mask_budget){slice < left_ns ? slice : left_ns, false};
}

static struct mask_budget call_mask_budget(const struct call *c, size_t size)
{
    return call_mask_slice(c->recorded ? c->record.mask_ns : CALL_MASK_NS, size);
}

static void call_mask_charge(struct call *c, size_t size, const struct mask_budget *b)
{
    uint64_t took = call_mask_budget(c, size).left_ns - b->left_ns;

    assert(b->left_ns <= call_mask_budget(c, size).left_ns);
    mask_budget_set(NULL);
    assert(!c->recorded || took <= c->record.mask_ns);
    if (c->recorded)
        c->record.mask_ns -= took;
}

void call_mask_count(struct call *c, const struct mask_counts *counts)
{
    const struct mask *m = c->in.setup->mask;

    assert(!counts->all || mask_rule_count(m) <= COUNT_OF(counts->n));
    for (size_t i = 0; counts->all && i < mask_rule_count(m); i++)
        if (counts->n[i])
            metrics_redacted(c->gl->metrics, mask_rule_name(m, i), counts->n[i]);
}

static void call_mask_count_loop(struct call *c)
{
    if (!c->gl->redacted.all)
        return;
    call_mask_count(c, &c->gl->redacted);
    c->gl->redacted = (struct mask_counts){{0}, 0};
}

/* The masked text, or the text itself if nothing was masked. */
static str call_mask_result(struct call *c, bool found, str text, struct buf *out, str left_out)
{
    call_mask_count_loop(c);
    if (found)
        text = buf_full(out) ? left_out : arena_dup(&c->arena, buf_str(out));
    buf_release(out);
    return text;
}

void call_clean_error(struct call *c, struct chat_error *error)
{
    const struct call_watch *w = c->in.watch;

    provider_clean_error(secret_reveal(&call_provider(c)->key), &c->arena, error);
    for (size_t i = 0; w && i < w->secret_count; i++)
        provider_clean_error(w->secrets[i], &c->arena, error);
}

str call_mask_text(struct call *c, str text)
{
    struct mask_budget b = call_mask_budget(c, text.n);
    struct buf out;
    bool found;

    if (!c->in.setup->mask || text.n == 0)
        return text;
    buf_init(&out, 4 * text.n + SPARE);
    mask_budget_set(&b);
    found = mask_text(c->in.setup->mask, text, &out, &c->gl->redacted);
    call_mask_charge(c, text.n, &b);
    return call_mask_result(c, found, text, &out, STR(MASK_LEFT_OUT));
}

/* The client's body is parsed already. */
static bool call_mask_is_body(const struct call *c, str json)
{
    const struct json *doc = c->in.request->doc;

    return doc && doc->src.p == json.p && doc->src.n == json.n;
}

/* `sound`: it is JSON for certain. */
static str call_mask_some_json(struct call *c, str json, bool sound)
{
    const struct mask *m = c->in.setup->mask;
    struct mask_counts *counts = &c->gl->redacted;
    struct mask_budget b = call_mask_budget(c, json.n);
    bool body = call_mask_is_body(c, json), found;
    struct buf out;

    if (!m || json.n == 0)
        return json;
    call_parse_request(c);
    if (body && (c->masks.body_clean = mask_json_doc_clean(m, c->in.request->doc)))
        return json;
    buf_init(&out, 4 * json.n + SPARE);
    mask_budget_set(&b);
    found = body    ? mask_json_doc(m, c->in.request->doc, &out, counts)
            : sound ? mask_json_sound(m, json, &out, counts)
                    : mask_json(m, json, &out, counts);
    call_mask_charge(c, json.n, &b);
    return call_mask_result(c, found, json, &out, STR("\"" MASK_LEFT_OUT "\""));
}

str call_mask_json(struct call *c, str json)
{
    return call_mask_some_json(c, json, false);
}

str call_mask_valid_json(struct call *c, str json)
{
    return call_mask_some_json(c, json, true);
}

/* Whether the text is a slice of the body between quotes, so a whole string without escapes. */
static bool call_mask_is_of_body(const struct call *c, str text)
{
    str body = c->in.request->doc ? c->in.request->doc->src : STR("");
    uintptr_t at = (uintptr_t)text.p - (uintptr_t)body.p;

    return at > 0 && at < body.n && text.n < body.n - at && body.p[at - 1] == '"' &&
           body.p[at + text.n] == '"';
}

str call_mask_asked(struct call *c, str text)
{
    str masked;

    assert(c->masks.count <= CALL_MASKED_MAX && (c->masks.texts || !c->masks.count));
    if (c->masks.body_clean && call_mask_is_of_body(c, text))
        return text;
    for (size_t i = 0; i < c->masks.count; i++)
        if (c->masks.texts[i].raw.n == text.n && c->masks.texts[i].raw.p == text.p)
            return c->masks.texts[i].masked;
    masked = call_mask_text(c, text);
    if (text.n && c->masks.count < CALL_MASKED_MAX) {
        if (!c->masks.texts)
            c->masks.texts = arena_alloc(&c->arena, CALL_MASKED_MAX * sizeof *c->masks.texts);
        c->masks.texts[c->masks.count].raw = text;
        c->masks.texts[c->masks.count++].masked = masked;
    }
    return masked;
}

str call_mask_error(struct call *c)
{
    return c->failure ? call_mask_text(c, c->failure->error.message) : STR("");
}

void call_mask_init(struct call *c)
{
    mask_stream_init(&c->record.mask_answer, c->in.setup->mask);
    mask_stream_init(&c->record.mask_reasoning, c->in.setup->mask);
}

void call_mask_release(struct call *c)
{
    mask_stream_release(&c->record.mask_answer);
    mask_stream_release(&c->record.mask_reasoning);
}

void call_mask_some(struct call *c, struct mask_stream *s, str text, bool last, struct buf *out)
{
    struct mask_counts *counts = &c->gl->redacted;
    struct mask_budget b = call_mask_budget(c, text.n);

    assert(c->recorded);
    if (!s->m) {
        buf_add(out, text);
        return;
    }
    mask_budget_set(&b);
    if (last)
        mask_stream_last(s, text, out, counts);
    else
        mask_stream_feed(s, text, out, counts);
    call_mask_charge(c, text.n, &b);
    call_mask_count_loop(c);
}
