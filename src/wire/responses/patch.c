/* patch.c - the gateway's wishes as edits of a Responses body.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/responses/responses.h"

#define KEPT_MAX 8
#define SEALED "reasoning.encrypted_content"

static void responses_patch_set_reasoning(const struct patch_plan *p, const char *key, str json)
{
    str path[] = {STR("reasoning"), str_c(key)};

    json_edit_set_path(p->ed, p->root, path, COUNT_OF(path), json);
}

/* ---- reasoning ---- */

static void responses_patch_level(const struct patch_plan *p)
{
    const struct wire_plan *plan = p->wish;
    enum chat_level level = plan->level == CHAT_LEVEL_ON ? CHAT_LEVEL_MEDIUM : plan->level;

    if (plan->think == WIRE_THINK_NONE)
        return;
    if (plan->think == WIRE_THINK_OPENROUTER && plan->budget_tokens > 0) {
        responses_patch_set_reasoning(
            p, "max_tokens", json_format(p->ed->arena, "%d", plan->budget_tokens));
        if (json_get(p->doc, patch_find(p, "reasoning"), "effort"))
            json_edit_remove(p->ed, patch_find(p, "reasoning"), STR("effort"));
        return;
    }
    if (level != CHAT_LEVEL_NOT_GIVEN)
        responses_patch_set_reasoning(
            p, "effort", json_quoted(p->ed->arena, str_c(wire_level_effort(level))));
}

/* Drops requests for reasoning output, which a reply without reasoning cannot satisfy. */
static void responses_patch_drop_reasoning_output(const struct patch_plan *p)
{
    const struct json_node *reasoning = patch_find(p, "reasoning");
    const struct json_node *list = patch_find(p, "include");

    if (json_is_object(reasoning)) {
        json_edit_remove(p->ed, reasoning, STR("summary"));
        json_edit_remove(p->ed, reasoning, STR("generate_summary"));
    }
    if (!json_is_array(list))
        return;
    if (json_count(p->doc, list) == 1 && json_is(p->doc, json_first(p->doc, list), STR(SEALED))) {
        json_edit_remove(p->ed, p->root, STR("include"));
        return;
    }
    JSON_FOREACH(v, p->doc, list)
        if (json_is(p->doc, v, STR(SEALED)))
            json_edit_drop(p->ed, list, v);
}

/* ---- the vault ---- */

static bool responses_patch_is_ours(const struct patch_plan *p, const struct json_node *item)
{
    const struct json_node *id = json_get(p->doc, item, "id"),
                           *sealed = json_get(p->doc, item, "encrypted_content");
    str text;

    if (id && id->kind == JSON_STRING &&
        str_starts(json_raw(p->doc, id), STR("\"rs" RESPONSES_OWN)) &&
        (!sealed || sealed->size == 2))
        return true;
    return json_text(p->doc, sealed, p->ed->arena, &text) && wire_signature_ours(text);
}

/* Whether the kept item is among those of this turn: one with its id or with its encrypted content.
 * Clients that have nothing stored at the provider send items without ids. */
static bool responses_patch_is_there(const struct patch_plan *p,
                                     const struct json_node *const *turn, size_t n, str kept)
{
    static const str names[] = {STR_INIT("id"), STR_INIT("encrypted_content")};
    bool there = false;
    struct json doc;
    struct err e;
    str text;

    if (json_open(&doc, kept, &e)) {
        for (size_t k = 0; k < COUNT_OF(names); k++) {
            const struct json_node *v = json_find(&doc, json_root(&doc), names[k]);

            if (json_text(&doc, v, p->ed->arena, &text) && text.n)
                for (size_t i = 0; i < n; i++)
                    there |= json_is(p->doc, json_find(p->doc, turn[i], names[k]), text);
        }
    } else {
        there = true; /* invalid JSON cannot be sent */
    }
    json_release(&doc);
    return there;
}

/* Reasoning right before its call stays as the client has it. */
static void responses_patch_put_back(const struct patch_plan *p, const struct json_node *list,
                                     const struct json_node *call,
                                     const struct json_node *const *turn, size_t n, bool before)
{
    struct wire_kept kept[KEPT_MAX];
    size_t count;
    str id;

    assert(p->wish->vault);
    if (!json_text(p->doc, json_find(p->doc, call, STR("call_id")), p->ed->arena, &id))
        return;
    count = p->wish->vault->find(p->wish->vault->ctx, id, kept, KEPT_MAX);
    for (size_t i = 0; i < count && i < KEPT_MAX && !before; i++)
        if (str_eq(kept[i].name, STR(RESPONSES_KEEP)) &&
            !responses_patch_is_there(p, turn, n, kept[i].text))
            json_edit_insert(p->ed, list, call, arena_dup(p->ed->arena, kept[i].text));
}

/* Reasoning items since the last one that was not the model's. */
#define TURN_MAX 64

static void responses_patch_items(const struct patch_plan *p, const struct json_node *list)
{
    const struct json_node *turn[TURN_MAX], *before = NULL;
    size_t n = 0;

    JSON_FOREACH(v, p->doc, list) {
        bool reasoning = json_get_is(p->doc, v, "type", "reasoning");
        bool call = json_get_is(p->doc, v, "type", "function_call") ||
                    json_get_is(p->doc, v, "type", "custom_tool_call");

        if (reasoning && (p->wish->foreign_kept || responses_patch_is_ours(p, v))) {
            json_edit_drop(p->ed, list, v);
            continue;
        }
        if (json_get_is(p->doc, v, "type", "function_call_output") ||
            json_get_is(p->doc, v, "role", "user"))
            n = 0;
        if (reasoning && n < TURN_MAX)
            turn[n++] = v;
        if (call && p->wish->vault && !p->wish->foreign_kept)
            responses_patch_put_back(
                p, list, v, turn, n, before && json_get_is(p->doc, before, "type", "reasoning"));
        before = v;
    }
}

/* ---- tails ---- */

static str responses_patch_tail_item(const struct patch_plan *p, const struct wire_tail *t)
{
    static const char *const roles[] = {"developer", "user", "assistant", "user"};

    assert((size_t)t->role < COUNT_OF(roles));
    return json_format(p->ed->arena, "{'role':%q,'content':%q}", str_c(roles[t->role]), t->text);
}

static void responses_patch_tails(const struct patch_plan *p, const struct json_node *input)
{
    const struct wire_plan *plan = p->wish;
    struct buf b;

    if (json_is_array(input)) {
        for (size_t i = 0; i < plan->tail_count; i++)
            json_edit_insert(p->ed, input, NULL, responses_patch_tail_item(p, &plan->tails[i]));
        return;
    }
    buf_init(&b, JSON_SIZE_MAX);
    buf_add_c(&b, '[');
    if (input) {
        buf_add(&b, STR("{\"role\":\"user\",\"content\":"));
        buf_add(&b, json_raw(p->doc, input));
        buf_add(&b, STR("},"));
    }
    for (size_t i = 0; i < plan->tail_count; i++) {
        buf_add(&b, i ? STR(",") : STR(""));
        buf_add(&b, responses_patch_tail_item(p, &plan->tails[i]));
    }
    buf_add_c(&b, ']');
    patch_set(p, "input", arena_move_buf(p->ed->arena, &b));
}

void responses_patch(const struct json *doc, const struct wire_plan *plan, struct json_edits *edits)
{
    struct patch_plan p = {doc, json_root(doc), plan, edits};
    const struct json_node *input;

    if (!json_is_object(p.root))
        return;
    input = patch_find(&p, "input");
    patch_head(&p);
    if (plan->whole)
        json_edit_remove(edits, p.root, STR("previous_response_id"));
    if (plan->system_extra.n)
        patch_system_member(&p, "instructions");
    patch_sampling(&p);
    if (plan->max_tokens.n)
        patch_set(&p, "max_output_tokens", plan->max_tokens);
    if (plan->drop_reasoning || plan->tail_count)
        responses_patch_drop_reasoning_output(&p);
    if (plan->drop_reasoning)
        json_edit_remove(edits, p.root, STR("reasoning"));
    else if (plan->set_level)
        responses_patch_level(&p);
    if (plan->drop_tools && patch_find(&p, "tools"))
        patch_set(&p, "tool_choice", STR("\"none\""));
    if (json_is_array(input) && (plan->vault || plan->foreign_kept))
        responses_patch_items(&p, input);
    if (plan->tail_count)
        responses_patch_tails(&p, input);
    patch_merge(&p);
}
