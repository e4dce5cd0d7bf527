/* patch.c - what the gateway wants of a Chat Completions body, as edits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai/openai.h"

#define KEPT_MAX 16

struct patch {
    struct patch_plan base;
    const struct json *doc;
    const struct json_node *root;
    const struct wire_plan *plan;
    struct json_edits *ed;
    struct arena *a;
    bool mistral;
    struct json_fields m; /* openai_request_fields of the root */
};

static void openai_patch_set(struct patch *p, const char *key, str json)
{
    patch_set(&p->base, key, json);
}

/* ---- parameters ---- */

static void openai_patch_max_tokens(struct patch *p)
{
    bool old = json_fields_present(&p->m, OPENAI_ASK_MAX_TOKENS) != NULL;
    bool new = json_fields_present(&p->m, OPENAI_ASK_MAX_COMPLETION_TOKENS) != NULL;
    /* Hosts that know only the old name. */
    bool only_old = p->mistral || p->plan->think == WIRE_THINK_DEEPSEEK ||
                    p->plan->think == WIRE_THINK_LLAMACPP;
    str value = p->plan->max_tokens;

    if (value.n == 0 && !(only_old && new && !old))
        return;
    if (value.n == 0)
        value = json_raw(p->doc, json_fields_present(&p->m, OPENAI_ASK_MAX_COMPLETION_TOKENS));
    if (only_old && new) {
        json_edit_remove(p->ed, p->root, STR("max_completion_tokens"));
        new = false;
        old = true;
    }
    if (old)
        openai_patch_set(p, "max_tokens", value);
    if (new)
        openai_patch_set(p, "max_completion_tokens", value);
    if (!old && !new)
        openai_patch_set(p,
                         p->plan->think == WIRE_THINK_DEFAULT && !p->mistral
                             ? "max_completion_tokens"
                             : "max_tokens",
                         value);
}

static void openai_patch_stream(struct patch *p)
{
    const struct json_node *options = json_fields_present(&p->m, OPENAI_ASK_STREAM_OPTIONS);
    const struct json_node *stream = json_fields_get(&p->m, OPENAI_ASK_STREAM);
    str path[2] = {STR("stream_options"), STR("include_usage")};
    bool streams = stream && stream->kind == JSON_TRUE;

    if (p->plan->set_stream) {
        openai_patch_set(p, "stream", p->plan->stream ? STR("true") : STR("false"));
        streams = p->plan->stream;
    }
    if (!streams || p->mistral) {
        if (options && (p->mistral || p->plan->set_stream))
            json_edit_remove(p->ed, p->root, STR("stream_options"));
        return;
    }
    if (p->plan->want_usage)
        json_edit_set_path(p->ed, p->root, path, 2, STR("true"));
    else if (options && p->plan->set_stream)
        json_edit_remove(p->ed, p->root, STR("stream_options"));
}

static void openai_patch_tools(struct patch *p)
{
    const struct json_node *tools = json_fields_present(&p->m, OPENAI_ASK_TOOLS);

    if (!p->plan->drop_tools)
        return;
    if (tools && tools->span > 1)
        openai_patch_set(p, "tool_choice", STR("\"none\""));
    if (json_fields_present(&p->m, OPENAI_ASK_FUNCTIONS))
        openai_patch_set(p, "function_call", STR("\"none\""));
}

/* ---- system prompt ---- */

static bool openai_patch_is_system(struct patch *p, const struct json_node *m)
{
    const struct json_node *role = json_find(p->doc, m, STR("role"));

    return json_is(p->doc, role, STR("system")) || json_is(p->doc, role, STR("developer"));
}

static bool openai_patch_says(struct patch *p, const struct json_node *content, str extra)
{
    str text;

    if (json_text(p->doc, content, p->a, &text))
        return str_find(text, extra) != STR_NONE;
    JSON_FOREACH(v, p->doc, content)
        if (json_text(p->doc, json_find(p->doc, v, STR("text")), p->a, &text) &&
            str_find(text, extra) != STR_NONE)
            return true;
    return false;
}

static void openai_patch_append_system(struct patch *p, const struct json_node *m)
{
    const struct json_node *content = json_find(p->doc, m, STR("content"));
    str extra = p->plan->system_extra, text;

    if (openai_patch_says(p, content, extra))
        return;
    if (json_text(p->doc, content, p->a, &text))
        json_edit_replace(
            p->ed,
            content,
            json_quoted(p->a, arena_join(p->a, text, text.n ? STR("\n\n") : STR(""), extra)));
    else if (json_is_array(content))
        json_edit_insert(p->ed,
                         content,
                         NULL,
                         json_format(p->a,
                                     "{'type':'text','text':%q}",
                                     arena_join(p->a, STR("\n\n"), extra, STR(""))));
    else
        json_edit_set(p->ed, m, STR("content"), json_quoted(p->a, extra));
}

static void openai_patch_system(struct patch *p, const struct json_node *messages)
{
    if (p->plan->system_extra.n == 0)
        return;
    JSON_FOREACH(m, p->doc, messages)
        if (m->kind == JSON_OBJECT && openai_patch_is_system(p, m)) {
            openai_patch_append_system(p, m);
            return;
        }
    json_edit_insert(p->ed,
                     messages,
                     json_first(p->doc, messages),
                     json_format(p->a, "{'role':'system','content':%q}", p->plan->system_extra));
}

/* ---- messages after those of the client ---- */

/* Engines that render a template can continue inside the last message if the request says so. */
static str openai_patch_engine_text(struct patch *p, const struct wire_tail *t)
{
    if (t->reasoning.n == 0 && !t->closed)
        return t->text;
    return arena_join(p->a,
                      arena_join(p->a, STR("<think>\n"), t->reasoning, STR("")),
                      t->closed ? STR("\n</think>\n\n") : STR(""),
                      t->text);
}

static str openai_patch_mistral_prefill(struct patch *p, const struct wire_tail *t)
{
    if (t->reasoning.n == 0)
        return json_format(p->a, "{'role':'assistant','content':%q,'prefix':true}", t->text);
    return json_format(p->a,
                       "{'role':'assistant','content':[{'type':'thinking','thinking':[{'type':"
                       "'text','text':%q}],'closed':%j}%j],'prefix':true}",
                       t->reasoning,
                       t->closed ? STR("true") : STR("false"),
                       t->text.n ? json_format(p->a, ",{'type':'text','text':%q}", t->text)
                                 : STR(""));
}

static str openai_patch_prefill(struct patch *p, const struct wire_tail *t)
{
    if (p->mistral)
        return openai_patch_mistral_prefill(p, t);
    switch (p->plan->think) {
    case WIRE_THINK_VLLM:
    case WIRE_THINK_SGLANG:
        openai_patch_set(p, "continue_final_message", STR("true"));
        openai_patch_set(p, "add_generation_prompt", STR("false"));
        break;
    case WIRE_THINK_LLAMACPP:
        break;
    case WIRE_THINK_DEEPSEEK:
        return json_format(p->a,
                           "{'role':'assistant','content':%q,'reasoning_content':%q,'prefix':true}",
                           t->text,
                           t->reasoning);
    default:
        return json_format(p->a, "{'role':'assistant','content':%q}", t->text);
    }
    return json_format(p->a, "{'role':'assistant','content':%q}", openai_patch_engine_text(p, t));
}

static void openai_patch_tails(struct patch *p, const struct json_node *messages)
{
    static const char *const roles[] = {[CHAT_SYSTEM] = "system",
                                        [CHAT_USER] = "user",
                                        [CHAT_ASSISTANT] = "assistant",
                                        [CHAT_TOOL] = "user"};

    for (size_t i = 0; i < p->plan->tail_count; i++) {
        const struct wire_tail *t = &p->plan->tails[i];

        json_edit_insert(
            p->ed,
            messages,
            NULL,
            t->prefill
                ? openai_patch_prefill(p, t)
                : json_format(p->a, "{'role':%q,'content':%q}", str_c(roles[t->role]), t->text));
    }
}

/* ---- the vault ---- */

/* JSON as it was kept; text that is none is a string. */
static str openai_patch_as_json(struct patch *p, str kept)
{
    struct json doc;
    struct err e;
    bool good;

    json_init(&doc);
    good = kept.n > 0 && json_parse(&doc, kept, &e);
    json_release(&doc);
    return good ? arena_dup(p->a, kept) : json_quoted(p->a, kept);
}

/* Whether the client sent reasoning back. null and "" do not count: a client that was shown no
 * reasoning writes them to satisfy providers that require the member. */
static bool openai_patch_has_thoughts(struct patch *p, const struct json_node *m)
{
    for (size_t i = 0; i < OPENAI_THOUGHT_COUNT; i++) {
        const struct json_node *v = json_get(p->doc, m, openai_thought_name(i).p);

        if (v && v->kind != JSON_NULL && v->size > STR("\"\"").n)
            return true;
    }
    return false;
}

/* Mistral's thinking goes before the content, in one list with it. */
static void openai_patch_put_chunks(struct patch *p, const struct json_node *m, str chunks)
{
    const struct json_node *content = json_get(p->doc, m, "content");
    str inner = str_slice(str_trim(chunks), 1, str_trim(chunks).n - 1);

    if (json_is_array(content))
        return; /* the client kept its chunks */
    json_edit_set(
        p->ed,
        m,
        STR("content"),
        content && content->size > 2
            ? json_format(p->a, "[%j,{'type':'text','text':%j}]", inner, json_raw(p->doc, content))
            : arena_dup(p->a, chunks));
}

static void openai_patch_put_back(struct patch *p, const struct json_node *m,
                                  const struct json_node *call, const struct wire_kept *kept)
{
    bool words = false;

    for (size_t i = 0; i < OPENAI_THOUGHT_COUNT; i++)
        words = words || str_eq(kept->name, openai_thought_name(i));
    if (p->mistral) {
        if (str_eq(kept->name, STR("thinking")) && str_starts(kept->text, STR("[")))
            openai_patch_put_chunks(p, m, kept->text);
        return;
    }
    if (str_starts(kept->name, STR("call."))) {
        str name = str_slice(kept->name, 5, kept->name.n);

        if (!json_find(p->doc, call, name))
            json_edit_set(p->ed, call, arena_dup(p->a, name), openai_patch_as_json(p, kept->text));
        return;
    }
    /* Clients drop or shorten unknown members; the vault has the provider's complete value. */
    if (words ? openai_patch_has_thoughts(p, m)
              : json_find(p->doc, m, kept->name) && !str_eq(kept->name, STR("reasoning_details")))
        return;
    json_edit_set(p->ed, m, arena_dup(p->a, kept->name), openai_patch_as_json(p, kept->text));
}

static void openai_patch_restore(struct patch *p, const struct json_node *m)
{
    const struct json_node *calls = json_get(p->doc, m, "tool_calls");
    struct wire_kept kept[KEPT_MAX];
    str id;

    if (!json_is_array(calls) || p->plan->foreign_kept)
        return;
    JSON_FOREACH(c, p->doc, calls) {
        size_t n;

        if (c->kind != JSON_OBJECT ||
            !json_text(p->doc, json_find(p->doc, c, STR("id")), p->a, &id))
            continue;
        n = p->plan->vault->find(p->plan->vault->ctx, id, kept, KEPT_MAX);
        for (size_t i = 0; i < n && i < KEPT_MAX; i++)
            openai_patch_put_back(p, m, c, &kept[i]);
    }
}

/* Signatures of another model, or of this gateway, are useless to this one. */
static void openai_patch_unsign(struct patch *p, const struct json_node *m)
{
    static const char *const signed_members[] = {"reasoning_details",
                                                 "thinking_blocks",
                                                 "extra_content",
                                                 "thought_signature",
                                                 "reasoning_opaque",
                                                 "reasoning_signature",
                                                 "encrypted_content"};
    const struct json_node *calls = json_get(p->doc, m, "tool_calls");
    const struct json_node *details = json_get(p->doc, m, "reasoning_details");
    bool ours = false;

    JSON_FOREACH(v, p->doc, details)
        ours = ours || wire_signature_ours(json_get_text(p->doc, v, "signature", p->a)) ||
               wire_signature_ours(json_get_text(p->doc, v, "data", p->a));
    if (!p->plan->foreign_kept) {
        if (ours)
            json_edit_remove(p->ed, m, STR("reasoning_details"));
        return;
    }
    for (size_t i = 0; i < COUNT_OF(signed_members); i++)
        json_edit_remove(p->ed, m, str_c(signed_members[i]));
    JSON_FOREACH(c, p->doc, calls)
        if (c->kind == JSON_OBJECT)
            json_edit_remove(p->ed, c, STR("extra_content"));
}

static void openai_patch_history(struct patch *p, const struct json_node *messages)
{
    if (!p->plan->vault && !p->plan->foreign_kept)
        return;
    JSON_FOREACH(m, p->doc, messages) {
        if (m->kind != JSON_OBJECT || !json_get_is(p->doc, m, "role", "assistant"))
            continue;
        openai_patch_unsign(p, m);
        if (p->plan->vault)
            openai_patch_restore(p, m);
    }
}

void openai_patch_kin(const struct json *doc, const struct wire_plan *plan, bool mistral,
                      struct json_edits *edits)
{
    const struct json_node *root = json_root(doc), *messages;
    struct patch p;

    if (!json_is_object(root))
        return;
    p.base = (struct patch_plan){doc, root, plan, edits};
    p.doc = doc;
    p.root = root;
    p.plan = plan;
    p.ed = edits;
    p.a = edits->arena;
    p.mistral = mistral;
    json_fields_read(&openai_request_fields, doc, root, 0, &p.m);
    messages = json_fields_get(&p.m, OPENAI_ASK_MESSAGES);
    if (plan->model.n)
        openai_patch_set(&p, "model", json_quoted(p.a, plan->model));
    openai_patch_stream(&p);
    patch_sampling(&p.base);
    openai_patch_max_tokens(&p);
    openai_patch_tools(&p);
    openai_patch_thinking(doc, plan, mistral, edits);
    if (json_is_array(messages)) {
        openai_patch_system(&p, messages);
        openai_patch_history(&p, messages);
        openai_patch_tails(&p, messages);
    }
    if (!plan->drop_reasoning)
        patch_merge(&p.base);
}

void openai_patch(const struct json *doc, const struct wire_plan *plan, struct json_edits *edits)
{
    openai_patch_kin(doc, plan, false, edits);
}
