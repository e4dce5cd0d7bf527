/* patch_plan.c - what the patchers of all dialects do alike.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/patch_plan.h"

#include "wire/internal.h"

const struct json_node *patch_find(const struct patch_plan *p, const char *key)
{
    return json_get(p->doc, p->root, key);
}

void patch_set(const struct patch_plan *p, const char *key, str json)
{
    json_edit_set(p->ed, p->root, str_c(key), json);
}

void patch_head(const struct patch_plan *p)
{
    if (p->wish->model.n)
        patch_set(p, "model", json_quoted(p->ed->arena, p->wish->model));
    if (p->wish->set_stream)
        patch_set(p, "stream", p->wish->stream ? STR("true") : STR("false"));
}

void patch_sampling(const struct patch_plan *p)
{
    if (p->wish->drop_temperature)
        json_edit_remove(p->ed, p->root, STR("temperature"));
    if (p->wish->drop_top_p)
        json_edit_remove(p->ed, p->root, STR("top_p"));
    if (p->wish->temperature.n && !patch_find(p, "temperature"))
        patch_set(p, "temperature", p->wish->temperature);
    if (p->wish->top_p.n && !patch_find(p, "top_p"))
        patch_set(p, "top_p", p->wish->top_p);
}

void patch_append_system(const struct patch_plan *p, const struct json_node *text)
{
    str old = json_raw(p->doc, text), more = json_quoted(p->ed->arena, p->wish->system_extra);

    assert(text->kind == JSON_STRING && old.n >= 2 && more.n >= 2); /* with their quotes */
    json_edit_replace(p->ed,
                      text,
                      arena_printf(p->ed->arena,
                                   STR_FMT "\\n\\n" STR_FMT,
                                   STR_ARG(str_slice(old, 0, old.n - 1)),
                                   STR_ARG(str_slice(more, 1, more.n))));
}

void patch_system_member(const struct patch_plan *p, const char *name)
{
    const struct json_node *text = patch_find(p, name);

    if (text && text->kind == JSON_STRING && text->size > 2)
        patch_append_system(p, text);
    else
        patch_set(p, name, json_quoted(p->ed->arena, p->wish->system_extra));
}

void patch_merge(const struct patch_plan *p)
{
    struct json from;
    struct err e;

    if (p->wish->merge.n == 0)
        return;
    if (json_open(&from, p->wish->merge, &e))
        json_edit_merge(p->ed, p->root, &from, json_root(&from));
    json_release(&from);
}

int64_t wire_level_tokens(enum chat_level level)
{
    static const int64_t tokens[CHAT_LEVEL_COUNT] = {[CHAT_LEVEL_ON] = 8192,
                                                     [CHAT_LEVEL_MINIMAL] = 512,
                                                     [CHAT_LEVEL_LOW] = 2048,
                                                     [CHAT_LEVEL_MEDIUM] = 8192,
                                                     [CHAT_LEVEL_HIGH] = 16384,
                                                     [CHAT_LEVEL_XHIGH] = 24576,
                                                     [CHAT_LEVEL_MAX] = 32768};

    assert((size_t)level < COUNT_OF(tokens));
    return tokens[level];
}

enum chat_level wire_tokens_level(int64_t tokens)
{
    return tokens <= 2048    ? CHAT_LEVEL_LOW
           : tokens <= 8192  ? CHAT_LEVEL_MEDIUM
           : tokens <= 24576 ? CHAT_LEVEL_HIGH
                             : CHAT_LEVEL_MAX;
}

const char *wire_level_effort(enum chat_level level)
{
    assert((size_t)level < CHAT_LEVEL_COUNT);
    return level == CHAT_LEVEL_MAX ? "xhigh" : chat_level_name(level);
}
