/* decide.c - the entry of a call in the decision log.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "chat/decision.h"
#include "gateway/call/internal.h"
#include "split/extract.h"

#define DECISION_MAX ((size_t)256 << 10)
#define ROOM 1024 /* for most entries */

/* A model may reason in tags that are not configured. The client got that text unchanged, but
 * the decision entry separates the reasoning in the tags from the answer after them. */
static void decide_by_tags(struct call *c, struct decision *d)
{
    struct split_extract x;

    if (!c->record.pieces.let_go)
        d->answer = buf_str(&c->record.answer);
    d->answer = utf8_trim(d->answer);
    if (c->pipe.reasoning.any || !str_starts(d->answer, STR("<")))
        return;
    split_extract(utf8_cut_size(d->answer, DECISION_WHY_MAX), &c->arena, &x);
    if (!x.has_reasoning)
        return;
    if (c->config->keep != CONFIG_KEEP_NONE)
        d->why = c->config->keep == CONFIG_KEEP_TEXT ? x.raw_reasoning : x.summary;
    d->answer = x.final_response;
}

/* The caller knows calls that the model wrote as text, and the names of its tools. A reason that
 * the model wrote as text is reasoning: the policy decides how much of it is kept, and the answer
 * is shown without it. */
static void decide_by_reader(struct call *c, struct decision *d)
{
    enum config_keep keep = c->config->keep;
    struct decision read = *d;

    if (!c->in.reader.read)
        return;
    c->in.reader.read(c->in.reader.ctx, d->answer, &c->arena, &read);
    if (read.calls.p != d->calls.p)
        d->calls = call_mask_json(c, read.calls);
    if (read.why.p == d->why.p)
        return;
    if (keep != CONFIG_KEEP_NONE)
        d->why = call_mask_text(c, read.why);
    if (keep == CONFIG_KEEP_SUMMARY)
        d->why = split_summary(d->why, &c->arena);
    d->answer = read.answer.p == d->answer.p ? STR("") : call_mask_text(c, read.answer);
}

void call_decide(struct call *c, str thought, struct store_call *row)
{
    struct decision d = {
        .why = c->config->keep == CONFIG_KEEP_TEXT      ? thought
               : c->config->keep == CONFIG_KEEP_SUMMARY ? row->reasoning_summary
                                                        : STR(""),
        .answer = c->record.front_n ? (str){c->record.front, c->record.front_n} : STR(""),
        .calls = row->tool_calls,
    };
    struct buf out, tools;

    assert(c->recorded && c->record.front_n <= CALL_FRONT_MAX);
    if (!c->sum.complete && !c->pipe.cap.answered && !c->pipe.cap.called)
        return;
    decide_by_tags(c, &d);
    decide_by_reader(c, &d);
    buf_init(&out, DECISION_MAX);
    buf_reserve(&out, ROOM);
    buf_init(&tools, DECISION_MAX);
    decision_write(&out, &tools, &d);
    row->decision = arena_move_buf(&c->arena, &out);
    row->tools = arena_dup(&c->arena, buf_full(&tools) ? STR("") : buf_str(&tools));
    buf_release(&tools);
}
