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

typedef bool masking(const struct mask *m, str in, struct buf *out, struct mask_counts *counts);

static str masked(struct call *c, str text, masking *by, str left_out)
{
    struct mask_counts counts = {{0}};
    struct buf out;

    if (!c->in.setup->mask || text.n == 0)
        return text;
    buf_init(&out, 4 * text.n + SPARE);
    if (by(c->in.setup->mask, text, &out, &counts)) {
        count(c, &counts);
        text = buf_full(&out) ? left_out : arena_dup(&c->arena, buf_str(&out));
    }
    buf_release(&out);
    return text;
}

str call_mask_text(struct call *c, str text)
{
    return masked(c, text, mask_text, STR(MASK_LEFT_OUT));
}

str call_mask_json(struct call *c, str json)
{
    return masked(c, json, mask_json, STR("\"" MASK_LEFT_OUT "\""));
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
    mask_stream_feed(s, text, out, &counts);
    if (last)
        mask_stream_finish(s, out, &counts);
    count(c, &counts);
}
