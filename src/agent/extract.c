/* extract.c - see extract.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/extract.h"

#include "base/utf8.h"
#include "split/collect.h"
#include "split/extract.h"
#include "split/split.h"

#define PASSES 2 /* one kind of block may follow the other */

/* ---- which format a text begins with ---- */

struct extract_probe {
    bool decided, opens;
};

static void extract_probe_run(void *ctx, enum split_kind kind, str run)
{
    struct extract_probe *p = ctx;

    (void)run;
    if (kind == SPLIT_FRAMING || p->decided)
        return;
    p->decided = true;
    p->opens = kind == SPLIT_REASONING;
}

static void extract_probe_note(void *ctx, const struct split_note *note)
{
    struct extract_probe *p = ctx;

    if (note->what != SPLIT_BEGIN || p->decided)
        return;
    p->decided = true;
    p->opens = note->kind == SPLIT_REASONING;
}

/* The first of the known formats whose reasoning opens at the start of the text, or NULL. */
static const struct split_format *extract_find_format(str text)
{
    str front = utf8_cut_size(text, 2 * SPLIT_HOLD_MAX);
    const struct split_format *f;

    for (size_t i = 0; (f = split_format_at(i)); i++) {
        struct extract_probe p = {false, false};
        struct split sp;

        split_init(&sp, f, false, (struct split_sink){extract_probe_run, extract_probe_note, &p});
        split_feed(&sp, front);
        if (front.n == text.n)
            split_finish(&sp);
        if (p.opens)
            return f;
    }
    return NULL;
}

/* ---- the text ---- */

static void extract_take(struct ask_reply *reply, str answer, str reasoning, struct arena *a)
{
    reasoning = utf8_trim(reasoning);
    if (reasoning.n && reply->reasoning.n)
        reply->reasoning = arena_join(a, reply->reasoning, STR("\n"), reasoning);
    else if (reasoning.n)
        reply->reasoning = arena_dup(a, reasoning);
    reply->text = arena_dup(a, utf8_trim(answer));
}

/* Tags of a prompt first: where their nesting is unclear, split_extract finds the reading that
 * closes. */
static void extract_by_tags(struct ask_reply *reply, struct arena *a)
{
    struct split_extract x;

    split_extract(reply->text, a, &x);
    if (x.has_reasoning)
        extract_take(reply, x.final_response, x.raw_reasoning, a);
}

static void extract_by_format(struct ask_reply *reply, struct arena *a)
{
    const struct split_format *f = extract_find_format(reply->text);
    struct split_collect c;
    struct split sp;

    if (!f)
        return;
    split_collect_init(&c, f, STR("\n"), 2 * reply->text.n + 1);
    split_init(&sp, f, false, split_collect_sink(&c));
    split_feed(&sp, reply->text);
    split_finish(&sp);
    extract_take(reply, buf_str(&c.answer), buf_str(&c.reasoning), a);
    split_collect_release(&c);
}

void agent_extract_reply(struct ask_reply *reply, struct arena *a)
{
    for (int pass = 0; pass < PASSES; pass++) {
        extract_by_tags(reply, a);
        extract_by_format(reply, a);
    }
}
