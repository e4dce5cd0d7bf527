/* write.c - a chat request as a body of /api/chat, and the gateway's wishes as edits of one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/ollama/ollama.h"

#define KEPT_MAX 8

str ollama_think(str model, enum chat_level level)
{
    static const char *const levels[CHAT_LEVEL_COUNT] = {"",
                                                         "\"low\"",
                                                         "\"medium\"",
                                                         "\"low\"",
                                                         "\"low\"",
                                                         "\"medium\"",
                                                         "\"high\"",
                                                         "\"high\"",
                                                         "\"high\""};

    assert(level < CHAT_LEVEL_COUNT);
    if (level == CHAT_LEVEL_NOT_GIVEN)
        return STR("");
    if (str_find(model, STR("gpt-oss")) != STR_NONE)
        return str_c(levels[level]);
    return level == CHAT_LEVEL_NONE ? STR("false") : STR("true");
}

/* ---- messages ---- */

static void ollama_write_texts(struct json_out *o, const char *key, const struct chat_part *parts,
                               size_t n, enum chat_part_kind kind)
{
    struct buf b;
    bool some = false;

    buf_init(&b, JSON_SIZE_MAX);
    for (size_t i = 0; i < n; i++) {
        bool text =
            parts[i].kind == kind || (kind == CHAT_PART_TEXT && parts[i].kind == CHAT_PART_REFUSAL);

        if (!text || parts[i].redacted)
            continue;
        if (some)
            buf_add(&b, STR("\n\n")); /* separate parts must not run together */
        buf_add(&b, parts[i].text);
        some = true;
    }
    if (kind == CHAT_PART_TEXT || b.n)
        json_member_str(o, key, buf_str(&b));
    buf_release(&b);
}

static void ollama_write_images(struct json_out *o, const struct chat_part *parts, size_t n)
{
    bool some = false;

    for (size_t i = 0; i < n; i++) {
        if (parts[i].kind != CHAT_PART_IMAGE || !parts[i].data.n)
            continue;
        if (!some) {
            json_member_array(o, "images");
        }
        some = true;
        json_out_str(o, parts[i].data);
    }
    if (some)
        json_out_end(o);
}

static void ollama_write_calls(struct json_out *o, const struct chat_message *m)
{
    bool some = false;

    for (size_t i = 0; i < m->part_count; i++) {
        const struct chat_part *p = &m->parts[i];

        if (p->kind != CHAT_PART_TOOL_CALL)
            continue;
        if (!some) {
            json_member_array(o, "tool_calls");
        }
        some = true;
        json_out_object(o);
        json_write_text(o, "id", p->id);
        json_member_object(o, "function");
        json_member_str(o, "name", p->name);
        json_write_raw(o, "arguments", p->json.n ? p->json : STR("{}"));
        json_out_close(o, 2);
    }
    if (some)
        json_out_end(o);
}

static void ollama_write_results(struct json_out *o, const struct chat_request *r, size_t at)
{
    const struct chat_message *m = &r->messages[at];

    assert(at < r->message_count);
    for (size_t i = 0; i < m->part_count; i++) {
        const struct chat_part *p = &m->parts[i];
        str name;

        if (p->kind != CHAT_PART_TOOL_RESULT)
            continue;
        name = p->name.n ? p->name : part_call_name(r, at, p->id);
        json_out_object(o);
        json_member_str(o, "role", STR("tool"));
        ollama_write_texts(o, "content", p->parts, p->part_count, CHAT_PART_TEXT);
        ollama_write_images(o, p->parts, p->part_count);
        json_write_text(o, "tool_name", name);
        json_write_text(o, "tool_call_id", p->id);
        json_out_end(o);
    }
}

static bool ollama_write_says_more(const struct chat_message *m)
{
    for (size_t i = 0; i < m->part_count; i++)
        if (m->parts[i].kind != CHAT_PART_TOOL_RESULT && m->parts[i].kind != CHAT_PART_OPAQUE &&
            (m->parts[i].kind != CHAT_PART_REASONING || m->parts[i].text.n))
            return true;
    return m->part_count == 0 && m->role != CHAT_TOOL;
}

static void ollama_write_messages(struct json_out *o, const struct chat_request *r)
{
    static const char *const roles[] = {"system", "user", "assistant", "tool"};

    json_member_array(o, "messages");
    for (size_t i = 0; i < r->message_count; i++) {
        const struct chat_message *m = &r->messages[i];

        assert(m->role < COUNT_OF(roles));
        ollama_write_results(o, r, i);
        if (!ollama_write_says_more(m))
            continue;
        json_out_object(o);
        json_member_str(o, "role", str_c(roles[m->role]));
        ollama_write_texts(o, "content", m->parts, m->part_count, CHAT_PART_TEXT);
        ollama_write_texts(o, "thinking", m->parts, m->part_count, CHAT_PART_REASONING);
        ollama_write_images(o, m->parts, m->part_count);
        ollama_write_calls(o, m);
        json_out_end(o);
    }
    json_out_end(o);
}

/* ---- settings ---- */

/* The second call of a prompt to /api/generate has all of its options, such as num_ctx. */
static void ollama_write_options(struct json_out *o, const struct chat_request *r)
{
    if (r->dialect == CHAT_OLLAMA) {
        json_write_raw(o, "options", request_member_raw(r, NULL, "options"));
        json_write_raw(o, "keep_alive", request_member_raw(r, NULL, "keep_alive"));
        return;
    }
    if (r->stop_count == 0 && !settings_present(r, &ollama_settings))
        return;
    json_member_object(o, "options");
    settings_write(o, r, &ollama_settings);
    json_write_texts(o, "stop", r->stops, r->stop_count);
    json_out_end(o);
}

void ollama_write(const struct chat_request *r, struct buf *out)
{
    struct json_out o;
    str top;

    json_out_init_object(&o, out);
    json_member_str(&o, "model", r->model);
    ollama_write_messages(&o, r);
    if (r->choice != CHAT_CHOICE_NONE)
        json_write_tools(&o, r, CHAT_OLLAMA);
    if (r->format == CHAT_FORMAT_JSON)
        json_member_str(&o, "format", STR("json"));
    if (r->format == CHAT_FORMAT_SCHEMA)
        json_write_raw(&o, "format", r->format_schema);
    ollama_write_options(&o, r);
    json_write_raw(&o, "think", ollama_think(r->model, r->level));
    if (request_wants_logprobs(r, &top)) {
        json_member_bool(&o, "logprobs", true);
        json_write_raw(&o, "top_logprobs", top);
    }
    json_member_bool(&o, "stream", r->stream);
    json_out_end(&o);
    assert(o.depth == 0);
}

/* ---- patch ---- */

static str ollama_write_message_json(const struct patch_plan *p, const char *role, str text,
                                     str thinking)
{
    struct arena *a = p->ed->arena;

    return json_format(a,
                       "{'role':%q,'content':%q%j}",
                       str_c(role),
                       text,
                       thinking.n ? json_format(a, ",'thinking':%q", thinking) : STR(""));
}

static void ollama_write_set_option(const struct patch_plan *p, const char *key, str json)
{
    str path[] = {STR("options"), str_c(key)};

    json_edit_set_path(p->ed, p->root, path, COUNT_OF(path), json);
}

static void ollama_write_patch_system(const struct patch_plan *p, const struct json_node *list)
{
    const struct json_node *first = json_first(p->doc, list);
    const struct json_node *text = json_get(p->doc, first, "content");

    if (json_get_is(p->doc, first, "role", "system") && text && text->kind == JSON_STRING &&
        text->size > 2)
        patch_append_system(p, text);
    else
        json_edit_insert(p->ed,
                         list,
                         first,
                         ollama_write_message_json(p, "system", p->wish->system_extra, STR("")));
}

/* The reasoning before the calls of a message, if the client did not send it back. */
static void ollama_write_put_back(const struct patch_plan *p, const struct json_node *m)
{
    const struct json_node *list = json_get(p->doc, m, "tool_calls"),
                           *had = json_get(p->doc, m, "thinking");
    bool there = had && had->size > 2;
    struct wire_kept kept[KEPT_MAX];
    str id;

    assert(p->wish->vault && !p->wish->foreign_kept);
    JSON_FOREACH_ITEM(v, p->doc, list) {
        size_t n = 0;

        if (json_text(p->doc, json_get(p->doc, v, "id"), p->ed->arena, &id) && id.n)
            n = p->wish->vault->find(p->wish->vault->ctx, id, kept, KEPT_MAX);
        for (size_t i = 0; i < n && i < KEPT_MAX && !there; i++)
            if (str_eq(kept[i].name, STR(OLLAMA_KEEP))) {
                json_edit_set(p->ed, m, STR("thinking"), json_quoted(p->ed->arena, kept[i].text));
                there = true;
            }
    }
}

static void ollama_write_patch_messages(const struct patch_plan *p)
{
    static const char *const roles[] = {"system", "user", "assistant", "tool"};
    const struct json_node *list = patch_find(p, "messages");
    const struct wire_plan *plan = p->wish;

    assert(plan->tail_count == 0 || plan->tails);
    if (!json_is_array(list)) {
        if (plan->system_extra.n && patch_find(p, "prompt"))
            patch_system_member(p, "system");
        return;
    }
    if (plan->system_extra.n)
        ollama_write_patch_system(p, list);
    if (plan->vault && !plan->foreign_kept)
        JSON_FOREACH(m, p->doc, list)
            ollama_write_put_back(p, m);
    for (size_t i = 0; i < plan->tail_count; i++)
        json_edit_insert(p->ed,
                         list,
                         NULL,
                         ollama_write_message_json(
                             p,
                             roles[plan->tails[i].role],
                             plan->tails[i].text,
                             plan->tails[i].reasoning.p ? plan->tails[i].reasoning : STR("")));
}

static void ollama_write_patch_think(const struct patch_plan *p)
{
    const struct wire_plan *plan = p->wish;
    str model = plan->model, think;

    if (plan->drop_reasoning) {
        json_edit_remove(p->ed, p->root, STR("think"));
        return;
    }
    if (!plan->set_level || plan->think == WIRE_THINK_NONE)
        return;
    if (!model.n && !json_text(p->doc, patch_find(p, "model"), p->ed->arena, &model))
        model = STR("");
    think = ollama_think(model, plan->level);
    if (think.n)
        patch_set(p, "think", think);
}

void ollama_patch(const struct json *doc, const struct wire_plan *plan, struct json_edits *edits)
{
    struct patch_plan p = {doc, json_root(doc), plan, edits};
    const struct json_node *now;

    if (!json_is_object(p.root))
        return;
    patch_head(&p);
    now = patch_find(&p, "options");
    if (plan->drop_temperature && now)
        json_edit_remove(edits, now, STR("temperature"));
    if (plan->drop_top_p && now)
        json_edit_remove(edits, now, STR("top_p"));
    if (plan->temperature.n && !json_get(doc, now, "temperature"))
        ollama_write_set_option(&p, "temperature", plan->temperature);
    if (plan->top_p.n && !json_get(doc, now, "top_p"))
        ollama_write_set_option(&p, "top_p", plan->top_p);
    if (plan->max_tokens.n)
        ollama_write_set_option(&p, "num_predict", plan->max_tokens);
    ollama_write_patch_messages(&p);
    ollama_write_patch_think(&p);
    if (plan->drop_tools)
        json_edit_remove(edits, p.root, STR("tools"));
    patch_merge(&p);
}
