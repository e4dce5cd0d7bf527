/* mask.c - what a call keeps, without the secrets in it.
 *
 * Everything that leaves a call for the store, a log or a watcher goes through here first; what
 * goes to the client and to the provider does not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/call/internal.h"

#define SPARE ((size_t)64 << 10)

static void count(struct call *c, const struct mask_counts *counts)
{
    const struct mask *m = c->in.setup->mask;

    for (size_t i = 0; i < mask_rule_count(m); i++)
        if (counts->n[i])
            metrics_redacted(c->gl->metrics, mask_rule_name(m, i), counts->n[i]);
}

/* What came out, or the text if nothing had to go. */
static str result(struct call *c, bool found, str text, struct buf *out,
                  const struct mask_counts *counts, str left_out)
{
    if (found) {
        count(c, counts);
        text = buf_full(out) ? left_out : arena_dup(&c->arena, buf_str(out));
    }
    buf_release(out);
    return text;
}

str call_mask_text(struct call *c, str text)
{
    struct mask_counts counts = {{0}};
    struct buf out;
    bool found;

    if (!c->in.setup->mask || text.n == 0)
        return text;
    buf_init(&out, 4 * text.n + SPARE);
    found = mask_text(c->in.setup->mask, text, &out, &counts);
    return result(c, found, text, &out, &counts, STR(MASK_LEFT_OUT));
}

/* The client's body is parsed already. */
static bool is_body(const struct call *c, str json)
{
    const struct json *doc = c->in.request->doc;

    return doc && doc->src.p == json.p && doc->src.n == json.n;
}

/* `sound`: it is JSON for certain. */
static str mask_some_json(struct call *c, str json, bool sound)
{
    const struct mask *m = c->in.setup->mask;
    struct mask_counts counts = {{0}};
    struct buf out;
    bool found;

    if (!m || json.n == 0)
        return json;
    buf_init(&out, 4 * json.n + SPARE);
    found = is_body(c, json) ? mask_json_doc(m, c->in.request->doc, &out, &counts)
            : sound          ? mask_json_sound(m, json, &out, &counts)
                             : mask_json(m, json, &out, &counts);
    return result(c, found, json, &out, &counts, STR("\"" MASK_LEFT_OUT "\""));
}

str call_mask_json(struct call *c, str json)
{
    return mask_some_json(c, json, false);
}

str call_mask_sound(struct call *c, str json)
{
    return mask_some_json(c, json, true);
}

str call_mask_asked(struct call *c, str text)
{
    struct call_masked *known = c->masked;

    for (size_t i = 0; i < CALL_MASKED_MAX; i++) {
        if (known[i].raw.n == text.n && known[i].raw.p == text.p)
            return known[i].masked;
        if (known[i].raw.n == 0) {
            known[i] = (struct call_masked){text, call_mask_text(c, text)};
            return known[i].masked;
        }
    }
    return call_mask_text(c, text);
}

void call_mask_init(struct call *c)
{
    mask_stream_init(&c->mask_answer, c->in.setup->mask);
    mask_stream_init(&c->mask_reasoning, c->in.setup->mask);
}

void call_mask_release(struct call *c)
{
    mask_stream_release(&c->mask_answer);
    mask_stream_release(&c->mask_reasoning);
}

void call_mask_some(struct call *c, struct mask_stream *s, str text, bool last, struct buf *out)
{
    struct mask_counts counts = {{0}};

    if (!s->m) {
        buf_add(out, text);
        return;
    }
    if (last)
        mask_stream_last(s, text, out, &counts);
    else
        mask_stream_feed(s, text, out, &counts);
    count(c, &counts);
}
