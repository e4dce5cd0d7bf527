/* responses_patch.c - the gateway's wishes as edits of a Responses body.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/responses.h"

#define KEPT_MAX 8
#define SEALED "reasoning.encrypted_content"

struct patch {
    const struct json *doc;
    const struct json_node *root;
    const struct wire_plan *plan;
    struct json_edits *ed;
};

static const struct json_node *get(struct patch *p, const struct json_node *v, const char *key)
{
    const struct json_node *m = json_find(p->doc, v, str_c(key));

    return m && m->kind != JSON_NULL ? m : NULL;
}

/* JSON written with a buf, kept in the edits' arena. */
static str keep(struct patch *p, struct buf *b)
{
    str s = arena_dup(p->ed->arena, buf_str(b));

    buf_release(b);
    return s;
}

static str quoted(struct patch *p, str text)
{
    struct buf b;

    buf_init(&b, JSON_SIZE_MAX);
    json_quote(&b, text);
    return keep(p, &b);
}

static void set(struct patch *p, const char *key, str json)
{
    json_edit_set(p->ed, p->root, str_c(key), json);
}

static void set_reasoning(struct patch *p, const char *key, str json)
{
    str path[] = {STR("reasoning"), str_c(key)};

    json_edit_set_path(p->ed, p->root, path, COUNT_OF(path), json);
}

static void patch_system(struct patch *p)
{
    const struct json_node *old = get(p, p->root, "instructions");
    str raw, extra = quoted(p, p->plan->system_extra);

    if (!old || old->kind != JSON_STRING || old->size == 2) {
        set(p, "instructions", extra);
        return;
    }
    raw = json_raw(p->doc, old);
    json_edit_replace(p->ed,
                      old,
                      arena_printf(p->ed->arena,
                                   STR_FMT "\\n\\n" STR_FMT,
                                   STR_ARG(str_slice(raw, 0, raw.n - 1)),
                                   STR_ARG(str_slice(extra, 1, extra.n))));
}

/* ---- reasoning ---- */

static void patch_level(struct patch *p)
{
    const struct wire_plan *plan = p->plan;
    enum chat_level level = plan->level == CHAT_LEVEL_ON ? CHAT_LEVEL_MEDIUM : plan->level;

    if (plan->think == WIRE_THINK_NONE)
        return;
    if (plan->think == WIRE_THINK_OPENROUTER && plan->budget_tokens > 0) {
        set_reasoning(
            p, "max_tokens", arena_printf(p->ed->arena, "%lld", (long long)plan->budget_tokens));
        if (get(p, get(p, p->root, "reasoning"), "effort"))
            json_edit_remove(p->ed, get(p, p->root, "reasoning"), STR("effort"));
        return;
    }
    if (level != CHAT_LEVEL_NOT_GIVEN)
        set_reasoning(p, "effort", quoted(p, str_c(chat_level_name(level))));
}

static void patch_drop_reasoning(struct patch *p)
{
    const struct json_node *list = get(p, p->root, "include");

    json_edit_remove(p->ed, p->root, STR("reasoning"));
    if (!list || list->kind != JSON_ARRAY)
        return;
    if (json_count(p->doc, list) == 1 && json_is(p->doc, json_first(p->doc, list), STR(SEALED))) {
        json_edit_remove(p->ed, p->root, STR("include"));
        return;
    }
    for (const struct json_node *v = json_first(p->doc, list); v; v = json_next(p->doc, list, v))
        if (json_is(p->doc, v, STR(SEALED)))
            json_edit_drop(p->ed, list, v);
}

/* ---- the vault ---- */

static bool is_type(struct patch *p, const struct json_node *item, const char *type)
{
    return json_is(p->doc, json_find(p->doc, item, STR("type")), str_c(type));
}

static bool is_ours(struct patch *p, const struct json_node *item)
{
    const struct json_node *id = get(p, item, "id"), *sealed = get(p, item, "encrypted_content");
    str text;

    if (id && id->kind == JSON_STRING &&
        str_starts(json_raw(p->doc, id), STR("\"rs" RESPONSES_OWN)) &&
        (!sealed || sealed->size == 2))
        return true;
    return json_text(p->doc, sealed, p->ed->arena, &text) && wire_signature_ours(text);
}

/* Whether the kept item stands among those of this turn, by its id. */
static bool is_there(struct patch *p, const struct json_node *const *turn, size_t n, str kept)
{
    const struct json_node *id;
    bool there = false;
    struct json doc;
    struct err e;
    str text;

    json_init(&doc);
    if (json_parse(&doc, kept, &e)) {
        id = json_find(&doc, json_root(&doc), STR("id"));
        if (json_text(&doc, id, p->ed->arena, &text) && text.n)
            for (size_t i = 0; i < n; i++)
                there |= json_is(p->doc, json_find(p->doc, turn[i], STR("id")), text);
    } else {
        there = true; /* what is no JSON cannot go anywhere */
    }
    json_release(&doc);
    return there;
}

static void put_back(struct patch *p, const struct json_node *list, const struct json_node *call,
                     const struct json_node *const *turn, size_t n)
{
    struct wire_kept kept[KEPT_MAX];
    size_t count;
    str id;

    if (!json_text(p->doc, json_find(p->doc, call, STR("call_id")), p->ed->arena, &id))
        return;
    count = p->plan->vault->find(p->plan->vault->ctx, id, kept, KEPT_MAX);
    for (size_t i = 0; i < count && i < KEPT_MAX; i++)
        if (str_eq(kept[i].name, STR(RESPONSES_KEEP)) && !is_there(p, turn, n, kept[i].text))
            json_edit_insert(p->ed, list, call, arena_dup(p->ed->arena, kept[i].text));
}

/* Reasoning items since the last one that was not the model's. */
#define TURN_MAX 64

static void patch_items(struct patch *p, const struct json_node *list)
{
    const struct json_node *turn[TURN_MAX], *before = NULL;
    size_t n = 0;

    for (const struct json_node *v = json_first(p->doc, list); v; v = json_next(p->doc, list, v)) {
        bool reasoning = is_type(p, v, "reasoning");
        bool call = is_type(p, v, "function_call") || is_type(p, v, "custom_tool_call");

        if (reasoning && (p->plan->foreign_kept || is_ours(p, v))) {
            json_edit_drop(p->ed, list, v);
            continue;
        }
        if (is_type(p, v, "function_call_output") ||
            json_is(p->doc, json_find(p->doc, v, STR("role")), STR("user")))
            n = 0;
        if (reasoning && n < TURN_MAX)
            turn[n++] = v;
        if (call && p->plan->vault && !p->plan->foreign_kept &&
            !(before && is_type(p, before, "reasoning")))
            put_back(p, list, v, turn, n);
        before = v;
    }
}

/* ---- tails ---- */

static str tail_item(struct patch *p, const struct wire_tail *t)
{
    static const char *const roles[] = {"developer", "user", "assistant", "user"};
    struct json_out o;
    struct buf b;

    buf_init(&b, JSON_SIZE_MAX);
    json_out_init(&o, &b);
    json_out_object(&o);
    json_out_key(&o, STR("role"));
    json_out_str(&o, str_c(roles[t->role]));
    json_out_key(&o, STR("content"));
    json_out_str(&o, t->text);
    json_out_end(&o);
    return keep(p, &b);
}

static void patch_tails(struct patch *p, const struct json_node *input)
{
    const struct wire_plan *plan = p->plan;
    struct buf b;

    if (input && input->kind == JSON_ARRAY) {
        for (size_t i = 0; i < plan->tail_count; i++)
            json_edit_insert(p->ed, input, NULL, tail_item(p, &plan->tails[i]));
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
        buf_add(&b, tail_item(p, &plan->tails[i]));
    }
    buf_add_c(&b, ']');
    set(p, "input", keep(p, &b));
}

static void patch_merge(struct patch *p)
{
    struct json doc;
    struct err e;

    json_init(&doc);
    if (json_parse(&doc, p->plan->merge, &e))
        json_edit_merge(p->ed, p->root, &doc, json_root(&doc));
    json_release(&doc);
}

void responses_patch(const struct json *doc, const struct wire_plan *plan, struct json_edits *edits)
{
    struct patch p = {.doc = doc, .root = json_root(doc), .plan = plan, .ed = edits};
    const struct json_node *input;

    if (!p.root || p.root->kind != JSON_OBJECT)
        return;
    input = get(&p, p.root, "input");
    if (plan->model.n)
        set(&p, "model", quoted(&p, plan->model));
    if (plan->set_stream)
        set(&p, "stream", plan->stream ? STR("true") : STR("false"));
    if (plan->system_extra.n)
        patch_system(&p);
    if (plan->temperature.n && !get(&p, p.root, "temperature"))
        set(&p, "temperature", plan->temperature);
    if (plan->top_p.n && !get(&p, p.root, "top_p"))
        set(&p, "top_p", plan->top_p);
    if (plan->max_tokens.n)
        set(&p, "max_output_tokens", plan->max_tokens);
    if (plan->drop_reasoning)
        patch_drop_reasoning(&p);
    else if (plan->set_level)
        patch_level(&p);
    if (plan->drop_tools && get(&p, p.root, "tools"))
        set(&p, "tool_choice", STR("\"none\""));
    if (input && input->kind == JSON_ARRAY && (plan->vault || plan->foreign_kept))
        patch_items(&p, input);
    if (plan->tail_count)
        patch_tails(&p, input);
    if (plan->merge.n)
        patch_merge(&p);
}
