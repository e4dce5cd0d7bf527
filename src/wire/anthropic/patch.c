/* patch.c - the gateway's wishes, as edits of a body of /v1/messages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/anthropic/anthropic.h"

#define KEPT_MAX 64
#define THOUGHTS_MAX 64 /* of one message */

static str anthropic_patch_text_block(struct arena *a, str text)
{
    return json_format(a, "{'type':'text','text':%q}", text);
}

/* A system prompt of text is extended after a blank line; a prompt of blocks gets another block, so
 * that its cached part stays unchanged. */
static void anthropic_patch_add_system(const struct json *doc, str extra, struct json_edits *ed)
{
    const struct json_node *system = json_find(doc, json_root(doc), STR("system"));
    str text;

    if (json_is_array(system)) {
        json_edit_insert(ed, system, NULL, anthropic_patch_text_block(ed->arena, extra));
        return;
    }
    if (json_text(doc, system, ed->arena, &text) && text.n)
        extra = arena_join(ed->arena, text, STR("\n\n"), extra);
    json_edit_set(ed, json_root(doc), STR("system"), json_quoted(ed->arena, extra));
}

/* With thinking on, Anthropic takes no temperature and no small top_p; and newer models take only
 * one of the two. */
static void anthropic_patch_add_sampling(const struct json *doc, const struct wire_plan *plan,
                                         struct json_edits *ed)
{
    const struct json_node *root = json_root(doc);
    bool has = json_find(doc, root, STR("temperature")) || json_find(doc, root, STR("top_p"));
    struct anthropic_model m = anthropic_model_for(doc, plan);

    if (plan->drop_temperature)
        json_edit_remove(ed, root, STR("temperature"));
    if (plan->drop_top_p)
        json_edit_remove(ed, root, STR("top_p"));
    if (m.no_sampling || anthropic_will_think(doc, plan)) {
        const struct json_node *t = json_find(doc, root, STR("temperature"));
        const struct json_node *p = json_find(doc, root, STR("top_p"));
        double x;

        /* Those of the client go too, if it is the plan that turned thinking on. */
        if (!plan->set_level)
            return;
        if (t && (!json_double(doc, t, &x) || x != 1))
            json_edit_remove(ed, root, STR("temperature"));
        if (p && (!json_double(doc, p, &x) || x < 0.95))
            json_edit_remove(ed, root, STR("top_p"));
        json_edit_remove(ed, root, STR("top_k"));
        return;
    }
    if (has)
        return;
    if (plan->temperature.n)
        json_edit_set(ed,
                      root,
                      STR("temperature"),
                      part_number(plan->temperature) > 1 ? STR("1") : plan->temperature);
    else if (plan->top_p.n)
        json_edit_set(ed, root, STR("top_p"), plan->top_p);
}

/* No calls in this turn; and models that always think take no forced one. */
static void anthropic_patch_fix_choice(const struct json *doc, const struct wire_plan *plan,
                                       struct json_edits *ed)
{
    const struct json_node *root = json_root(doc);
    const struct json_node *choice = json_find(doc, root, STR("tool_choice"));

    if (plan->drop_tools) {
        if (json_find(doc, root, STR("tools")))
            json_edit_set(ed, root, STR("tool_choice"), STR("{\"type\":\"none\"}"));
        return;
    }
    if (plan->set_level && anthropic_forced(doc, plan) &&
        anthropic_model_for(doc, plan).think == ANTHROPIC_ALWAYS) {
        json_edit_remove(ed, choice, STR("name"));
        json_edit_replace(ed, json_find(doc, choice, STR("type")), STR("\"auto\""));
    }
}

static const struct json_node *anthropic_patch_last_of(const struct json *doc,
                                                       const struct json_node *array)
{
    const struct json_node *last = NULL;

    JSON_FOREACH(x, doc, array)
        last = x;
    return last;
}

/* Appends text after the messages: to the last one if it is the user's, otherwise as a new one.
 * Models cannot continue from a prefill, so prefills are dropped. */
static void anthropic_patch_add_tails(const struct json *doc, const struct wire_plan *plan,
                                      struct json_edits *ed)
{
    const struct json_node *messages = json_find(doc, json_root(doc), STR("messages"));
    const struct json_node *last = anthropic_patch_last_of(doc, messages), *content;
    bool user = json_get_is(doc, last, "role", "user");
    struct buf blocks;
    size_t n = 0;

    if (!json_is_array(messages))
        return;
    buf_init(&blocks, (size_t)64 << 20);
    for (size_t i = 0; i < plan->tail_count; i++) {
        const struct wire_tail *t = &plan->tails[i];

        if (t->prefill || t->role == CHAT_ASSISTANT || t->text.n == 0)
            continue;
        if (n++)
            buf_add_c(&blocks, ',');
        buf_add(&blocks, anthropic_patch_text_block(ed->arena, t->text));
    }
    content = json_find(doc, last, STR("content"));
    if (n && user && json_is_array(content))
        json_edit_insert(ed, content, NULL, arena_dup(ed->arena, buf_str(&blocks)));
    else if (n && user && content && content->kind == JSON_STRING)
        json_edit_replace(ed,
                          content,
                          json_format(ed->arena,
                                      "[{'type':'text','text':%j},%j]",
                                      json_raw(doc, content),
                                      buf_str(&blocks)));
    else if (n)
        json_edit_insert(
            ed,
            messages,
            NULL,
            json_format(ed->arena, "{'role':'user','content':[%j]}", buf_str(&blocks)));
    buf_release(&blocks);
}

/* ---- earlier reasoning ---- */

static bool anthropic_patch_is_thinking(const struct json *doc, const struct json_node *block)
{
    const struct json_node *type = json_find(doc, block, STR("type"));

    return json_is(doc, type, STR("thinking")) || json_is(doc, type, STR("redacted_thinking"));
}

/* Claude refuses thinking without a signature. Other makers with this API sign nothing, and some
 * of them refuse a history without its thinking. */
static bool anthropic_patch_takes_unsigned(const struct json *doc, const struct wire_plan *plan)
{
    return anthropic_model_for(doc, plan).unknown;
}

/* Whether a thinking block of the client may go to the provider. */
static bool anthropic_patch_may_go(const struct json *doc, const struct json_node *block,
                                   const struct wire_plan *plan, struct arena *a)
{
    str signature;

    if (plan->foreign_kept)
        return false;
    if (json_get_is(doc, block, "type", "redacted_thinking"))
        return true;
    signature = json_get_text(doc, block, "signature", a);
    return signature.n > 0 ? !wire_signature_ours(signature)
                           : anthropic_patch_takes_unsigned(doc, plan);
}

/* The vault's entries for a message, each once, and the call that each preceded. */
struct thoughts {
    struct {
        str text;
        const struct json_node *before;
    } all[THOUGHTS_MAX];
    size_t n;
};

static void anthropic_insert_thought(struct thoughts *t, str text, const struct json_node *before)
{
    assert(t->n <= THOUGHTS_MAX);
    for (size_t i = 0; i < t->n; i++)
        if (str_eq(t->all[i].text, text))
            return;
    if (t->n < THOUGHTS_MAX) {
        t->all[t->n].text = text;
        t->all[t->n++].before = before;
    }
}

/* Reasoning before a call is put before it again; reasoning before the first call comes first of
 * all, as Anthropic requires. */
static void anthropic_patch_find_thoughts(const struct json *doc, const struct json_node *content,
                                          const struct wire_plan *plan, struct arena *a,
                                          struct thoughts *t)
{
    bool first = true;

    assert(plan->vault && content->kind == JSON_ARRAY);
    JSON_FOREACH(b, doc, content) {
        struct wire_kept kept[KEPT_MAX];
        size_t n;

        if (!json_get_is(doc, b, "type", "tool_use"))
            continue;
        n = plan->vault->find(plan->vault->ctx, json_get_text(doc, b, "id", a), kept, KEPT_MAX);
        for (size_t i = 0; i < n && i < KEPT_MAX; i++)
            if (str_eq(kept[i].name, STR("thinking")) ||
                str_eq(kept[i].name, STR("redacted_thinking")) ||
                (str_eq(kept[i].name, STR(ANTHROPIC_UNSIGNED)) &&
                 anthropic_patch_takes_unsigned(doc, plan)))
                anthropic_insert_thought(t, kept[i].text, first ? json_first(doc, content) : b);
        first = false;
    }
}

/* Whether nothing would be left of a message. */
static bool anthropic_patch_all_goes(const struct json *doc, const struct json_node *content,
                                     const struct wire_plan *plan, struct arena *a)
{
    JSON_FOREACH(b, doc, content)
        if (!anthropic_patch_is_thinking(doc, b) || anthropic_patch_may_go(doc, b, plan, a))
            return false;
    return true;
}

/* A block that may not go was shown in part, or not as it was: then all of the message are those of
 * the vault, if it has any. */
static void anthropic_patch_content(const struct json *doc, const struct json_node *content,
                                    const struct wire_plan *plan, struct json_edits *ed)
{
    struct thoughts thoughts = {.n = 0};
    bool stays = false, goes = false, swap;

    assert(content->kind == JSON_ARRAY);
    JSON_FOREACH(b, doc, content)
        if (anthropic_patch_is_thinking(doc, b))
            *(anthropic_patch_may_go(doc, b, plan, ed->arena) ? &stays : &goes) = true;
    if (plan->vault && !plan->foreign_kept && !anthropic_thinking_disabled(doc, plan))
        anthropic_patch_find_thoughts(doc, content, plan, ed->arena, &thoughts);
    swap = thoughts.n && (goes || !stays);
    JSON_FOREACH(b, doc, content)
        if (anthropic_patch_is_thinking(doc, b) &&
            (swap || !anthropic_patch_may_go(doc, b, plan, ed->arena)))
            json_edit_drop(ed, content, b);
    for (size_t i = 0; swap && i < thoughts.n; i++)
        json_edit_insert(
            ed, content, thoughts.all[i].before, arena_dup(ed->arena, thoughts.all[i].text));
}

void anthropic_patch_history(const struct json *doc, const struct wire_plan *plan,
                             struct json_edits *ed)
{
    const struct json_node *messages = json_find(doc, json_root(doc), STR("messages"));

    JSON_FOREACH(m, doc, messages) {
        const struct json_node *content = json_find(doc, m, STR("content"));

        if (!json_is_array(content) || !json_first(doc, content) ||
            !json_get_is(doc, m, "role", "assistant"))
            continue;
        if (anthropic_patch_all_goes(doc, content, plan, ed->arena))
            json_edit_drop(ed, messages, m);
        else
            anthropic_patch_content(doc, content, plan, ed);
    }
}

/* A thread that is continued has its system prompt, and may not be given another. */
static bool anthropic_patch_goes_on(const struct json *doc)
{
    const struct json_node *thread = json_find(doc, json_root(doc), STR("thread"));

    return json_get_is(doc, thread, "type", "continue");
}

void anthropic_patch(const struct json *doc, const struct wire_plan *plan, struct json_edits *ed)
{
    const struct json_node *root = json_root(doc);
    struct patch_plan p = {doc, root, plan, ed};

    if (!json_is_object(root))
        return;
    patch_head(&p);
    if (plan->system_extra.n && !anthropic_patch_goes_on(doc))
        anthropic_patch_add_system(doc, plan->system_extra, ed);
    if (plan->max_tokens.n)
        json_edit_set(ed, root, STR("max_tokens"), plan->max_tokens);
    anthropic_patch_thinking(doc, plan, ed);
    anthropic_patch_add_sampling(doc, plan, ed);
    anthropic_patch_fix_choice(doc, plan, ed);
    anthropic_patch_history(doc, plan, ed);
    if (plan->tail_count)
        anthropic_patch_add_tails(doc, plan, ed);
    patch_merge(&p);
}
