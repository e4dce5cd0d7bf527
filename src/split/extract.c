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

static bool is_blank(uint32_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= 0x1F) || c == 0x85 ||
           c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

/* Without white space at the ends, that of other scripts included: what a reader would not see. */
static str trim(str s)
{
    uint32_t code;
    size_t size;

    while ((size = utf8_decode(s, &code)) > 0 && is_blank(code))
        s = str_slice(s, size, s.n);
    while (s.n > 0) {
        size = 1;
        while (size < UTF8_SIZE_MAX && size < s.n && (s.p[s.n - size] & 0xC0) == 0x80)
            size++;
        if (utf8_decode(str_slice(s, s.n - size, s.n), &code) != size || !is_blank(code))
            break;
        s.n -= size;
    }
    return s;
}

static str summary_of(str reasoning, struct arena *a)
{
    str front = utf8_cut_count(reasoning, SPLIT_SUMMARY_CHARACTERS);
    char *p;

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
    out->raw_reasoning = trim((str){p.reasoning, p.reasoning_size});
    out->summary = summary_of(out->raw_reasoning, a);
    out->final_response = trim((str){p.answer, p.answer_size});
}
