/* SPDX-License-Identifier: Apache-2.0 */
#include "split/extract.h"

#include "base/utf8.h"
#include "split/split.h"

struct extract_parts {
    str text; /* all of it, and how much has come out of the splitter */
    size_t at;
    char *reasoning, *answer;
    size_t reasoning_size, answer_size;
    size_t answer_then; /* before the closer that is in doubt */
    bool newline;       /* another block begins */
};

static void extract_add_reasoning(struct extract_parts *p, str run)
{
    assert(p->reasoning_size + run.n <= p->text.n + 1);
    if (p->newline && p->reasoning_size > 0)
        p->reasoning[p->reasoning_size++] = '\n';
    p->newline = false;
    memcpy(p->reasoning + p->reasoning_size, run.p, run.n);
    p->reasoning_size += run.n;
}

static void extract_run(void *ctx, enum split_kind kind, str run)
{
    struct extract_parts *p = ctx;

    assert(p->at + run.n <= p->text.n);
    p->at += run.n;
    if (kind == SPLIT_REASONING) {
        extract_add_reasoning(p, run);
    } else if (kind == SPLIT_ANSWER) {
        memcpy(p->answer + p->answer_size, run.p, run.n);
        p->answer_size += run.n;
    }
}

static void extract_note(void *ctx, const struct split_note *note)
{
    struct extract_parts *p = ctx;

    p->newline |= note->what == SPLIT_BEGIN && note->kind == SPLIT_REASONING;
    if (note->what == SPLIT_AMBIGUOUS)
        p->answer_then = p->answer_size;
    if (note->what == SPLIT_RECLASSIFY) {
        assert(note->size <= p->at && p->answer_then <= p->answer_size);
        p->answer_size = p->answer_then;
        extract_add_reasoning(p, str_slice(p->text, p->at - note->size, p->at));
    }
}

static enum split_state extract_split(const struct split_format *f, struct extract_parts *p)
{
    struct split sp;

    p->at = p->reasoning_size = p->answer_size = 0;
    p->newline = false;
    split_init(&sp, f, false, (struct split_sink){extract_run, extract_note, p});
    split_feed(&sp, p->text);
    split_finish(&sp);
    return sp.state;
}

/* A text that begins with a special token belongs to that token's family. In other texts, the tags
 * that prompts ask for count anywhere. A tag that a block only mentions, or a closer that happens
 * to be between two quotes, would swallow the answer; so a reading in which the reasoning is closed
 * is preferred.
 */
static enum split_state extract_read(struct extract_parts *p)
{
    enum split_state state = SPLIT_UNCLOSED;
    const struct split_format *picked;

    if (split_pick(p->text, false, &picked) == SPLIT_FULL_MATCH && !split_format_is_tag(picked))
        return extract_split(picked, p);
    for (enum split_prompted r = 0; r < SPLIT_PROMPTED_COUNT && state == SPLIT_UNCLOSED; r++)
        state = extract_split(split_format_prompted(r), p);
    return state;
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
    struct extract_parts p = {
        .text = text,
        .reasoning = arena_alloc(a, text.n + 1),
        .answer = arena_alloc(a, text.n + 1),
    };
    enum split_state state = extract_read(&p);

    *out = (struct split_extract){
        .has_reasoning = state != SPLIT_NONE,
        .unclosed = state == SPLIT_UNCLOSED,
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
