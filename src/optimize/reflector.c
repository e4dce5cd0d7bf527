/* SPDX-License-Identifier: Apache-2.0 */
#include "optimize/reflector.h"

#include "optimize/prompt.h"

enum reflector_verdict reflector_look(const struct reflector *r, str proposed, str current,
                                      str *what)
{
    struct guard_copy copy;

    *what = STR("");
    if (proposed.n == 0)
        return REFLECTOR_EMPTY;
    if (proposed.n > OPTIMIZE_TEXT_MAX)
        return REFLECTOR_TOO_LONG;
    if (guard_loses(proposed, current, r->names, r->name_count, what))
        return REFLECTOR_LOSES;
    if (guard_copies(proposed, current, r->examples, r->example_count, &copy)) {
        *what = copy.text;
        return REFLECTOR_COPIES;
    }
    return REFLECTOR_GOOD;
}

static bool optimize_ask_model(const struct reflector *r, struct optimize_ask *ask,
                               struct buf *prompt, struct err *e)
{
    str template = r->template.n ? r->template : str_c(prompt_template);
    str current = ask->texts[ask->component], text, what;
    struct reflector_reply reply = {.text = STR("")};
    str *records = arena_alloc(ask->arena, ask->n * sizeof *records);
    enum reflector_verdict verdict;

    for (size_t i = 0; i < ask->n; i++)
        records[i] = ask->grades[i].trace;
    if (!prompt_build(template, current, records, ask->n, prompt, e) ||
        !r->complete(r->ctx, ask, buf_str(prompt), &reply, e))
        return false;
    ask->cost = reply.cost;
    text = prompt_answer(reply.text);
    verdict = reflector_look(r, text, current, &what);
    if (r->on_verdict)
        r->on_verdict(r->ctx, ask, verdict, what);
    ask->has_text = verdict == REFLECTOR_GOOD;
    ask->text = text;
    optimize_answered(ask);
    return true;
}

bool reflector_propose(const struct reflector *r, struct optimize_ask *asks, size_t n,
                       struct err *e)
{
    struct buf prompt;
    bool ok = true;

    buf_init(&prompt, REFLECTOR_PROMPT_MAX);
    for (size_t i = 0; i < n && ok; i++) {
        buf_reset(&prompt);
        ok = asks[i].done || optimize_ask_model(r, &asks[i], &prompt, e);
    }
    buf_release(&prompt);
    return ok;
}
