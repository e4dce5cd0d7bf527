/* turn_approval.c - asks a person before calls that need approval are made.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/turn_state.h"

#include "base/json_get.h"
#include "base/utf8.h"

static bool turn_wait_for_decision(struct run *r, const struct turn_call *c, int64_t seq, str why)
{
    r->out->end = AGENT_WAITING;
    r->out->reason = STR("approval_needed");
    r->out->detail = arena_printf(
        r->arena, "a person is asked about the call of " STR_FMT, STR_ARG(c->tool->name));
    r->out->pending =
        (struct agent_pending){seq, c->tool->name, arena_dup(r->arena, c->arguments), why};
    return false;
}

/* False: nobody has decided yet, or the run is broken. */
bool turn_ask_person(struct turn *t, struct turn_call *c, int64_t seq, str why,
                     struct turn_word *said)
{
    struct run *r = t->r;
    struct agent_effect *f;
    str key = effect_key(r, seq, STR("approval"), c->tool->name, c->asked->arguments);
    enum known known = effect_find(r, seq, STR("approval"), key, &f);

    assert(c->tool && !c->settled);
    if (r->broken)
        return false;
    if (known == KNOWN_DONE) {
        said->word = json_copy_member(f->result, "word", r->arena);
        said->note = json_copy_member(f->result, "note", r->arena);
        if (str_eq(said->word, STR("change")))
            c->arguments = json_copy_member(f->result, "arguments", r->arena);
        return true;
    }
    if (known == KNOWN_BEGUN && f->result.n)
        why = f->result;
    if (known == KNOWN_NOT &&
        !effect_flush(r,
                      &(struct agent_effect){.run = r->o->run,
                                             .seq = seq,
                                             .kind = STR("approval"),
                                             .name = c->tool->name,
                                             .key = key,
                                             .request = effect_masked(r, c->arguments),
                                             .result = why,
                                             .started_us = run_now_us(r)},
                      1,
                      NULL))
        return false;
    return turn_wait_for_decision(r, c, seq, why);
}

/* The model's own reason, as the log may have it. While the question is open, it is the result of
 * the question's effect; the decision replaces it. */
static str turn_reason(struct run *r)
{
    str said = str_trim(r->why);
    struct buf masked;

    if (!said.n)
        return STR("approval");
    buf_init(&masked, 4 * said.n + 65536);
    if (r->o->mask && mask_text(r->o->mask, said, &masked, NULL))
        said = arena_dup(r->arena, buf_str(&masked));
    buf_release(&masked);
    return utf8_cut_count(said, AGENT_WHY_SIZE);
}

static str turn_denied(struct run *r, str note)
{
    str said = STR("denied: a person did not allow this call");

    if (note.n)
        said = arena_join(r->arena, said, STR(": "), note);
    return turn_error(r, said);
}

/* Asks all questions before the run waits. */
bool turn_approve(struct turn *t)
{
    struct agent_result *out = t->r->out;
    struct agent_pending first = out->pending;
    struct turn_word said;
    bool waits = false;

    for (size_t i = 0; i < t->n; i++) {
        struct turn_call *c = &t->calls[i];

        if (!c->valid || !(c->tool->flags & TOOL_APPROVAL))
            continue;
        if (!turn_ask_person(t, c, t->r->seq++, turn_reason(t->r), &said)) {
            if (t->r->broken)
                return false;
            first = waits ? first : out->pending;
            waits = true;
        } else if (str_eq(said.word, STR("deny"))) {
            turn_settle(t, c, false, turn_denied(t->r, said.note));
        } else if (str_eq(said.word, STR("change"))) {
            turn_check(t, c);
        }
    }
    assert(!waits || (first.tool.n && out->end == AGENT_WAITING));
    if (waits)
        out->pending = first;
    return !waits;
}
