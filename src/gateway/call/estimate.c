/* estimate.c - counts the tokens of a request: roughly before the call, exactly for a report.
 *
 * A key's limits need a number for every call: four bytes of the body count as a token, and the
 * provider's count replaces that at the end. We count with a vocabulary only if the provider
 * reports no usage.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/call/internal.h"
#include "gateway/input_tokens.h"

#define ANSWER_TOKENS 4096 /* few answers are longer, even if they may be */
#define TEXT_BYTES 4       /* a token */
#define ATTACHED_MIN 4096  /* a body that is not larger is not looked through */

int64_t call_estimate(const struct call_request *r)
{
    struct input_tokens_data d = {0};

    if (r->body.n > ATTACHED_MIN)
        input_tokens_add_data(r->request, &d);
    d.bytes = d.bytes < r->body.n ? d.bytes : r->body.n; /* earlier data may be counted twice */
    return (int64_t)((r->body.n - d.bytes) / TEXT_BYTES + d.tokens);
}

int64_t call_count_input(struct call *c)
{
    if (c->input_tokens == 0)
        c->input_tokens = input_tokens_count(c->in.request, c->gl->gateway->vocab);
    assert(c->input_tokens >= 0);
    return c->input_tokens;
}

/* The highest likely cost: all of the cap for reasoning, and an answer of usual length after it. */
double call_estimate_cost(const struct call *c)
{
    struct chat_usage u = chat_usage_none;
    uint64_t max;

    u.input = c->wanted.tokens;
    assert(c->wanted.tokens >= 0 && c->chain.count > 0);
    u.output = ANSWER_TOKENS + (c->level.cap > 0 ? c->level.cap : 0);
    if (str_u64(c->in.request->max_tokens, &max) && max < (uint64_t)u.output)
        u.output = (int64_t)max;
    return call_price(c->chain.links[0].model, &u);
}
