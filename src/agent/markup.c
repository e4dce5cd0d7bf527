/* markup.c - see markup.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/markup.h"

#define CALLS_MAX TOOL_CALLS_MAX

static const struct {
    const char *marker;
    enum split_call_style style;
} markup_styles[] = {
    {"<tool_call>", SPLIT_CALLS_TAGGED},
    {"<function=", SPLIT_CALLS_TAGGED},
    {"<invoke name=", SPLIT_CALLS_INVOKE},
    {"<function name=", SPLIT_CALLS_FUNCTION},
    {"[TOOL_CALLS]", SPLIT_CALLS_MISTRAL},
    {"<|tool_call_begin|>", SPLIT_CALLS_KIMI_K2},
    {"<｜tool▁call▁begin｜>", SPLIT_CALLS_DEEPSEEK},
};

struct markup_found {
    const struct toolbox *tools;
    struct arena *arena;
    struct ask_call calls[CALLS_MAX];
    size_t n;
    bool unknown; /* a call names no tool in the box, or there are too many calls */
};

static void markup_on_call(void *ctx, const struct split_call *call)
{
    struct markup_found *f = ctx;

    assert(f->n <= CALLS_MAX);
    if (f->n == CALLS_MAX || !toolbox_find(f->tools, call->name)) {
        f->unknown = true;
        return;
    }
    f->calls[f->n++] = (struct ask_call){
        STR(""), arena_dup(f->arena, call->name), arena_dup(f->arena, call->arguments)};
}

static bool markup_in_fence(str before)
{
    size_t fences = 0, at;

    while ((at = str_find(before, STR("```"))) != STR_NONE) {
        fences++;
        before = str_slice(before, at + 3, before.n);
    }
    return fences % 2 == 1;
}

/* The first marker in the text, or STR_NONE. */
static size_t markup_begin(str text, enum split_call_style *style)
{
    size_t first = STR_NONE;

    for (size_t i = 0; i < COUNT_OF(markup_styles); i++) {
        size_t at = str_find(text, str_c(markup_styles[i].marker));

        if (at != STR_NONE && (first == STR_NONE || at < first)) {
            first = at;
            *style = markup_styles[i].style;
        }
    }
    return first;
}

void agent_markup_read(struct ask_reply *reply, const struct toolbox *tools, struct arena *a)
{
    struct markup_found f = {.tools = tools, .arena = a};
    enum split_call_style style;
    struct arena scratch;
    size_t at;

    if (reply->call_count || !toolbox_count(tools))
        return;
    at = markup_begin(reply->text, &style);
    if (at == STR_NONE || markup_in_fence(str_slice(reply->text, 0, at)))
        return;
    assert(at < reply->text.n);
    arena_init(&scratch, SPLIT_CALLS_ARENA_MAX(reply->text.n));
    (void)split_calls(style,
                      STR(""),
                      str_slice(reply->text, at, reply->text.n),
                      &scratch,
                      (struct split_call_sink){markup_on_call, &f});
    arena_release(&scratch);
    if (!f.n || f.unknown)
        return;
    reply->calls = arena_zero(a, f.n, sizeof *reply->calls);
    memcpy(reply->calls, f.calls, f.n * sizeof *reply->calls);
    reply->call_count = f.n;
    reply->text = str_trim(str_slice(reply->text, 0, at));
}
