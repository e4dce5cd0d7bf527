/* SPDX-License-Identifier: Apache-2.0 */
#include "split/extract.h"

#include "base/utf8.h"
#include "split/split.h"

struct parts {
    char *reasoning, *answer;
    size_t reasoning_size, answer_size;
    bool newline; /* another block begins */
};

static void on_run(void *ctx, enum split_kind kind, str run)
{
    struct parts *p = ctx;

    if (kind == SPLIT_REASONING) {
        if (p->newline && p->reasoning_size > 0)
            p->reasoning[p->reasoning_size++] = '\n';
        p->newline = false;
        memcpy(p->reasoning + p->reasoning_size, run.p, run.n);
        p->reasoning_size += run.n;
    } else if (kind == SPLIT_ANSWER) {
        memcpy(p->answer + p->answer_size, run.p, run.n);
        p->answer_size += run.n;
    }
}

static void on_note(void *ctx, const struct split_note *note)
{
    struct parts *p = ctx;

    p->newline |= note->what == SPLIT_BEGIN;
}

static enum split_state split_all(str text, enum split_prompted reading, struct parts *p)
{
    struct split sp;

    p->reasoning_size = p->answer_size = 0;
    p->newline = false;
    split_init(&sp, split_format_prompted(reading), false, (struct split_sink){on_run, on_note, p});
    split_feed(&sp, text);
    split_finish(&sp);
    return sp.state;
}

str split_summary(str reasoning, struct arena *a)
{
    str front;
    char *p;

    reasoning = utf8_trim(reasoning);
    front = utf8_cut_count(reasoning, SPLIT_SUMMARY_CHARACTERS);
    if (front.n == reasoning.n)
        return reasoning;
    p = arena_alloc(a, front.n + 3);
    memcpy(p, front.p, front.n);
    memcpy(p + front.n, "...", 3);
    return (str){p, front.n + 3};
}

void split_extract(str text, struct arena *a, struct split_extract *out)
{
    struct parts p = {
        .reasoning = arena_alloc(a, text.n + 1),
        .answer = arena_alloc(a, text.n + 1),
    };
    enum split_state state = SPLIT_UNCLOSED;

    /* A tag that is only talked about inside a block, or a closer that stands between two quotes by
     * chance, would swallow the answer: a reading that closes is the better one. */
    for (enum split_prompted r = 0; r < SPLIT_PROMPTED_COUNT && state == SPLIT_UNCLOSED; r++)
        state = split_all(text, r, &p);
    *out = (struct split_extract){
        .has_reasoning = state != SPLIT_NONE,
        .raw_reasoning = STR(""),
        .summary = STR(""),
        .final_response = text,
    };
    if (!out->has_reasoning)
        return;
    out->raw_reasoning = utf8_trim((str){p.reasoning, p.reasoning_size});
    out->summary = split_summary(out->raw_reasoning, a);
    out->final_response = utf8_trim((str){p.answer, p.answer_size});
}
