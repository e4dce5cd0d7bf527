/* SPDX-License-Identifier: Apache-2.0 */
#include "optimize/prompt.h"

#include "base/json.h"

#define FENCE "```"

const char prompt_template[] =
    "An assistant works under the following text:\n\n"
    "```\n" PROMPT_CURRENT "\n```\n\n"
    "It was run on a few examples. For each of them, this is what it was given, what it did, and "
    "what was right or wrong about it:\n\n" PROMPT_RECORDS "\n\n"
    "Write a better text for the assistant.\n\n"
    "- Read all the feedback first and find what the failures have in common: a rule that is "
    "missing, a rule that is misread, a fact of the field that the assistant cannot know.\n"
    "- Say it as a general rule. Do not copy the examples or their answers into the text; it will "
    "be used on others.\n"
    "- Keep what works. Keep every name, every status and the form of the output exactly as they "
    "are. A small change is better than a new text.\n\n"
    "Answer with the whole new text between ``` and ```, and nothing else in such a block.\n";

/* ---- records ---- */

static void optimize_prompt_add_heading(struct buf *out, unsigned level, str words)
{
    assert(level > 0);
    for (unsigned i = 0; i < level && i < PROMPT_LEVEL_MAX; i++)
        buf_add_c(out, '#');
    buf_add_c(out, ' ');
    buf_add(out, words);
    buf_add_c(out, '\n');
}

static void optimize_prompt_plain(struct buf *out, str text)
{
    buf_add(out, str_trim(text));
    buf_add(out, STR("\n\n"));
}

/* A string's text without its quotes and escapes, any other scalar as written. */
static str optimize_prompt_scalar(const struct json *doc, const struct json_node *v,
                                  struct arena *a)
{
    str text;

    return json_text(doc, v, a, &text) ? text : json_raw(doc, v);
}

static void optimize_prompt_value(struct buf *out, const struct json *doc,
                                  const struct json_node *v, unsigned level, struct arena *a)
{
    size_t i = 0;
    char item[32];

    if (v->kind < JSON_ARRAY) {
        optimize_prompt_plain(out, optimize_prompt_scalar(doc, v, a));
        return;
    }
    if (v->span == 1)
        buf_add(out, STR("(none)\n\n"));
    JSON_FOREACH(x, doc, v) {
        bool member = v->kind == JSON_OBJECT;

        (void)snprintf(item, sizeof item, "Item %zu", ++i);
        optimize_prompt_add_heading(
            out, level, member ? optimize_prompt_scalar(doc, x, a) : str_c(item));
        optimize_prompt_value(out, doc, member ? json_value(x) : x, level + 1, a);
    }
}

static void optimize_prompt_record(struct buf *out, struct json *doc, str text)
{
    struct arena a;
    struct err e;

    if (!json_parse(doc, text, &e) || json_root(doc)->kind < JSON_ARRAY) {
        optimize_prompt_plain(out, text);
        return;
    }
    arena_init(&a,
               text.n * 4 + ((size_t)1 << 16)); /* texts unescaped are no longer than they were */
    optimize_prompt_value(out, doc, json_root(doc), 2, &a);
    arena_release(&a);
}

void prompt_records(const str *records, size_t n, struct buf *out)
{
    struct json doc;
    char title[32];

    json_init(&doc);
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(title, sizeof title, "Example %zu", i + 1);
        optimize_prompt_add_heading(out, 1, str_c(title));
        optimize_prompt_record(out, &doc, records[i]);
    }
    json_release(&doc);
}

/* ---- the prompt ---- */

bool prompt_build(str template, str current, const str *records, size_t n, struct buf *out,
                  struct err *e)
{
    static const str marks[] = {STR_INIT(PROMPT_CURRENT), STR_INIT(PROMPT_RECORDS)};

    for (size_t i = 0; i < COUNT_OF(marks); i++)
        if (str_find(template, marks[i]) == STR_NONE)
            return err_input(
                e, "the reflection template has no place for " STR_FMT, STR_ARG(marks[i]));
    while (template.n > 0) {
        size_t at[] = {str_find(template, marks[0]), str_find(template, marks[1])};
        size_t next = at[1] < at[0]; /* STR_NONE is the largest value */

        buf_add(out, str_slice(template, 0, at[next]));
        if (at[next] == STR_NONE)
            break;
        if (next == 0)
            buf_add(out, current);
        else
            prompt_records(records, n, out);
        template = str_slice(template, at[next] + marks[next].n, template.n);
    }
    return buf_ok(out, "the reflection prompt", e);
}

/* ---- the answer ---- */

static size_t optimize_last_fence(str s)
{
    for (size_t i = s.n; i >= 3; i--)
        if (memcmp(s.p + i - 3, FENCE, 3) == 0)
            return i - 3;
    return STR_NONE;
}

/* Without the word right after the fence, if its line has nothing else. */
static str optimize_drop_language(str s)
{
    size_t i = 0;

    while (i < s.n && s.p[i] != '\n' && s.p[i] != '\r' && s.p[i] != ' ' && s.p[i] != '\t')
        i++;
    while (i < s.n && (s.p[i] == ' ' || s.p[i] == '\t' || s.p[i] == '\r'))
        i++;
    return i < s.n && s.p[i] == '\n' ? str_slice(s, i, s.n) : s;
}

str prompt_answer(str reply)
{
    size_t first, last;

    reply = str_trim(reply);
    first = str_find(reply, STR(FENCE));
    last = optimize_last_fence(reply);
    if (first == STR_NONE)
        return reply;
    if (last >= first + 3)
        return str_trim(optimize_drop_language(str_slice(reply, first + 3, last)));
    if (first > 0 && first + 3 == reply.n) /* closed, but never opened */
        return str_trim(str_slice(reply, 0, first));
    return str_trim(optimize_drop_language(str_slice(reply, first + 3, reply.n)));
}
