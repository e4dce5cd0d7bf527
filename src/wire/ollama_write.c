/* ollama_write.c - a chat request as a body of /api/chat, and the gateway's wishes as edits of one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/ollama.h"

#define CALLS_BACK_MAX 1024
#define KEPT_MAX 8

static void member(struct json_out *o, const char *key, str text)
{
    json_out_key(o, str_c(key));
    json_out_str(o, text);
}

static void raw(struct json_out *o, const char *key, str json)
{
    if (!json.n)
        return;
    json_out_key(o, str_c(key));
    json_out_raw(o, json);
}

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

    if (level == CHAT_LEVEL_NOT_GIVEN)
        return STR("");
    if (str_find(model, STR("gpt-oss")) != STR_NONE)
        return str_c(levels[level]);
    return level == CHAT_LEVEL_NONE ? STR("false") : STR("true");
}

/* ---- messages ---- */

static void texts(struct json_out *o, const char *key, const struct chat_part *parts, size_t n,
                  enum chat_part_kind kind)
{
    struct buf b;
    bool some = false;

    buf_init(&b, JSON_SIZE_MAX);
    for (size_t i = 0; i < n; i++) {
        bool text =
            parts[i].kind == kind || (kind == CHAT_PART_TEXT && parts[i].kind == CHAT_PART_REFUSAL);

        if (!text || parts[i].redacted)
            continue;
        if (some && kind == CHAT_PART_REASONING)
            buf_add(&b, STR("\n\n"));
        buf_add(&b, parts[i].text);
        some = true;
    }
    if (kind == CHAT_PART_TEXT || b.n)
        member(o, key, buf_str(&b));
    buf_release(&b);
}

static void images(struct json_out *o, const struct chat_part *parts, size_t n)
{
    bool some = false;

    for (size_t i = 0; i < n; i++) {
        if (parts[i].kind != CHAT_PART_IMAGE || !parts[i].data.n)
            continue;
        if (!some) {
            json_out_key(o, STR("images"));
            json_out_array(o);
        }
        some = true;
        json_out_str(o, parts[i].data);
    }
    if (some)
        json_out_end(o);
}

static void calls(struct json_out *o, const struct chat_message *m)
{
    bool some = false;

    for (size_t i = 0; i < m->part_count; i++) {
        const struct chat_part *p = &m->parts[i];

        if (p->kind != CHAT_PART_TOOL_CALL)
            continue;
        if (!some) {
            json_out_key(o, STR("tool_calls"));
            json_out_array(o);
        }
        some = true;
        json_out_object(o);
        if (p->id.n)
            member(o, "id", p->id);
        json_out_key(o, STR("function"));
        json_out_object(o);
        member(o, "name", p->name);
        raw(o, "arguments", p->json.n ? p->json : STR("{}"));
        json_out_end(o);
        json_out_end(o);
    }
    if (some)
        json_out_end(o);
}

/* The name of the call a result answers: the nearest before it with that id. It looks back a
 * bounded way, so that a long history stays linear. */
static str result_name(const struct chat_request *r, size_t before, const struct chat_part *result)
{
    size_t left = CALLS_BACK_MAX;

    if (result->name.n)
        return result->name;
    for (size_t i = before; i-- > 0 && left > 0;)
        for (size_t j = r->messages[i].part_count; j-- > 0 && left > 0; left--) {
            const struct chat_part *p = &r->messages[i].parts[j];

            if (p->kind == CHAT_PART_TOOL_CALL && str_eq(p->id, result->id))
                return p->name;
        }
    return STR("");
}

static void results(struct json_out *o, const struct chat_request *r, size_t at)
{
    const struct chat_message *m = &r->messages[at];

    for (size_t i = 0; i < m->part_count; i++) {
        const struct chat_part *p = &m->parts[i];
        str name;

        if (p->kind != CHAT_PART_TOOL_RESULT)
            continue;
        name = result_name(r, at, p);
        json_out_object(o);
        member(o, "role", STR("tool"));
        texts(o, "content", p->parts, p->part_count, CHAT_PART_TEXT);
        images(o, p->parts, p->part_count);
        if (name.n)
            member(o, "tool_name", name);
        if (p->id.n)
            member(o, "tool_call_id", p->id);
        json_out_end(o);
    }
}

static bool says_more(const struct chat_message *m)
{
    for (size_t i = 0; i < m->part_count; i++)
        if (m->parts[i].kind != CHAT_PART_TOOL_RESULT)
            return true;
    return m->part_count == 0 && m->role != CHAT_TOOL;
}

static void messages(struct json_out *o, const struct chat_request *r)
{
    static const char *const roles[] = {"system", "user", "assistant", "tool"};

    json_out_key(o, STR("messages"));
    json_out_array(o);
    for (size_t i = 0; i < r->message_count; i++) {
        const struct chat_message *m = &r->messages[i];

        results(o, r, i);
        if (!says_more(m))
            continue;
        json_out_object(o);
        member(o, "role", str_c(roles[m->role]));
        texts(o, "content", m->parts, m->part_count, CHAT_PART_TEXT);
        texts(o, "thinking", m->parts, m->part_count, CHAT_PART_REASONING);
        images(o, m->parts, m->part_count);
        calls(o, m);
        json_out_end(o);
    }
    json_out_end(o);
}

/* ---- settings ---- */

static void tools(struct json_out *o, const struct chat_request *r)
{
    if (!r->tool_count || r->choice == CHAT_CHOICE_NONE)
        return;
    json_out_key(o, STR("tools"));
    json_out_array(o);
    for (size_t i = 0; i < r->tool_count; i++) {
        const struct chat_tool *t = &r->tools[i];

        if (t->opaque.n)
            continue;
        json_out_object(o);
        member(o, "type", STR("function"));
        json_out_key(o, STR("function"));
        json_out_object(o);
        member(o, "name", t->name);
        member(o, "description", t->description);
        raw(o,
            "parameters",
            t->schema.n ? t->schema : STR("{\"type\":\"object\",\"properties\":{}}"));
        json_out_end(o);
        json_out_end(o);
    }
    json_out_end(o);
}

static void options(struct json_out *o, const struct chat_request *r)
{
    const struct {
        const char *key;
        str value;
    } rows[] = {
        {"temperature", r->temperature},
        {"top_p", r->top_p},
        {"top_k", r->top_k},
        {"seed", r->seed},
        {"num_predict", r->max_tokens},
        {"frequency_penalty", r->frequency_penalty},
        {"presence_penalty", r->presence_penalty},
    };
    bool some = r->stop_count > 0;

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        some |= rows[i].value.n > 0;
    if (!some)
        return;
    json_out_key(o, STR("options"));
    json_out_object(o);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        raw(o, rows[i].key, rows[i].value);
    if (r->stop_count) {
        json_out_key(o, STR("stop"));
        json_out_array(o);
        for (size_t i = 0; i < r->stop_count; i++)
            json_out_str(o, r->stops[i]);
        json_out_end(o);
    }
    json_out_end(o);
}

void ollama_write(const struct chat_request *r, struct buf *out)
{
    struct json_out o;

    json_out_init(&o, out);
    json_out_object(&o);
    member(&o, "model", r->model);
    messages(&o, r);
    tools(&o, r);
    if (r->format == CHAT_FORMAT_JSON)
        member(&o, "format", STR("json"));
    if (r->format == CHAT_FORMAT_SCHEMA)
        raw(&o, "format", r->format_schema);
    options(&o, r);
    raw(&o, "think", ollama_think(r->model, r->level));
    json_out_key(&o, STR("stream"));
    json_out_bool(&o, r->stream);
    json_out_end(&o);
}

/* ---- patch ---- */

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

static str message_json(struct patch *p, const char *role, str text, str thinking)
{
    struct json_out o;
    struct buf b;
    str s;

    buf_init(&b, JSON_SIZE_MAX);
    json_out_init(&o, &b);
    json_out_object(&o);
    member(&o, "role", str_c(role));
    member(&o, "content", text);
    if (thinking.n)
        member(&o, "thinking", thinking);
    json_out_end(&o);
    s = arena_dup(p->ed->arena, buf_str(&b));
    buf_release(&b);
    return s;
}

static str quoted(struct patch *p, str text)
{
    struct buf b;
    str s;

    buf_init(&b, JSON_SIZE_MAX);
    json_quote(&b, text);
    s = arena_dup(p->ed->arena, buf_str(&b));
    buf_release(&b);
    return s;
}

static void set(struct patch *p, const char *key, str json)
{
    json_edit_set(p->ed, p->root, str_c(key), json);
}

static void set_option(struct patch *p, const char *key, str json)
{
    str path[] = {STR("options"), str_c(key)};

    json_edit_set_path(p->ed, p->root, path, COUNT_OF(path), json);
}

static void patch_system(struct patch *p, const struct json_node *list)
{
    const struct json_node *first = json_first(p->doc, list), *text = get(p, first, "content");
    str old, extra = p->plan->system_extra;

    if (first && json_is(p->doc, get(p, first, "role"), STR("system")) && text &&
        json_text(p->doc, text, p->ed->arena, &old) && old.n) {
        str raw_old = json_raw(p->doc, text), more = quoted(p, extra);

        json_edit_replace(p->ed,
                          text,
                          arena_printf(p->ed->arena,
                                       STR_FMT "\\n\\n" STR_FMT,
                                       STR_ARG(str_slice(raw_old, 0, raw_old.n - 1)),
                                       STR_ARG(str_slice(more, 1, more.n))));
        return;
    }
    json_edit_insert(p->ed, list, first, message_json(p, "system", extra, STR("")));
}

/* What was thought before the calls of a message, if its client did not bring it back. */
static void put_back(struct patch *p, const struct json_node *m)
{
    const struct json_node *list = get(p, m, "tool_calls"), *had = get(p, m, "thinking");
    struct wire_kept kept[KEPT_MAX];
    str id;

    if (!list || list->kind != JSON_ARRAY || (had && had->size > 2))
        return;
    for (const struct json_node *v = json_first(p->doc, list); v; v = json_next(p->doc, list, v)) {
        size_t n = 0;

        if (json_text(p->doc, get(p, v, "id"), p->ed->arena, &id) && id.n)
            n = p->plan->vault->find(p->plan->vault->ctx, id, kept, KEPT_MAX);
        for (size_t i = 0; i < n && i < KEPT_MAX; i++)
            if (str_eq(kept[i].name, STR(OLLAMA_KEEP))) {
                json_edit_set(p->ed, m, STR("thinking"), quoted(p, kept[i].text));
                return;
            }
    }
}

static void patch_messages(struct patch *p)
{
    static const char *const roles[] = {"system", "user", "assistant", "tool"};
    const struct json_node *list = get(p, p->root, "messages");
    const struct wire_plan *plan = p->plan;

    if (!list || list->kind != JSON_ARRAY)
        return;
    if (plan->system_extra.n)
        patch_system(p, list);
    if (plan->vault && !plan->foreign_kept)
        for (const struct json_node *m = json_first(p->doc, list); m;
             m = json_next(p->doc, list, m))
            put_back(p, m);
    for (size_t i = 0; i < plan->tail_count; i++)
        json_edit_insert(
            p->ed,
            list,
            NULL,
            message_json(p,
                         roles[plan->tails[i].role],
                         plan->tails[i].text,
                         plan->tails[i].reasoning.p ? plan->tails[i].reasoning : STR("")));
}

static void patch_think(struct patch *p)
{
    const struct wire_plan *plan = p->plan;
    str model = plan->model, think;

    if (plan->drop_reasoning) {
        json_edit_remove(p->ed, p->root, STR("think"));
        return;
    }
    if (!plan->set_level || plan->think == WIRE_THINK_NONE)
        return;
    if (!model.n && !json_text(p->doc, get(p, p->root, "model"), p->ed->arena, &model))
        model = STR("");
    think = ollama_think(model, plan->level);
    if (think.n)
        set(p, "think", think);
}

void ollama_patch(const struct json *doc, const struct wire_plan *plan, struct json_edits *edits)
{
    struct patch p = {.doc = doc, .root = json_root(doc), .plan = plan, .ed = edits};
    const struct json_node *options_now;
    struct json merge;
    struct err e;

    if (!p.root || p.root->kind != JSON_OBJECT)
        return;
    options_now = get(&p, p.root, "options");
    if (plan->model.n)
        set(&p, "model", quoted(&p, plan->model));
    if (plan->set_stream)
        set(&p, "stream", plan->stream ? STR("true") : STR("false"));
    if (plan->temperature.n && !get(&p, options_now, "temperature"))
        set_option(&p, "temperature", plan->temperature);
    if (plan->top_p.n && !get(&p, options_now, "top_p"))
        set_option(&p, "top_p", plan->top_p);
    if (plan->max_tokens.n)
        set_option(&p, "num_predict", plan->max_tokens);
    patch_messages(&p);
    patch_think(&p);
    if (plan->drop_tools)
        json_edit_remove(edits, p.root, STR("tools"));
    json_init(&merge);
    if (plan->merge.n && json_parse(&merge, plan->merge, &e))
        json_edit_merge(edits, p.root, &merge, json_root(&merge));
    json_release(&merge);
}
