/* history.c - see history.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/history.h"

#include "base/json_get.h"

void history_init(struct history *h, size_t size_max)
{
    buf_init(&h->json, size_max);
    buf_add_c(&h->json, '[');
    h->count = 0;
}

void history_release(struct history *h)
{
    buf_release(&h->json);
}

static void agent_history_next(struct history *h)
{
    assert(h->count || h->json.n <= 1); /* the opening bracket, or nothing if it did not fit */
    if (h->count++)
        buf_add_c(&h->json, ',');
}

void history_text(struct history *h, const char *role, str text)
{
    agent_history_next(h);
    buf_printf(&h->json, "{\"role\":\"%s\",\"content\":", role);
    (void)json_quote(&h->json, text);
    buf_add_c(&h->json, '}');
}

static void agent_history_put_call(struct buf *out, const struct ask_call *c, str arguments)
{
    buf_add(out, STR("{\"id\":"));
    (void)json_quote(out, c->id);
    buf_add(out, STR(",\"type\":\"function\",\"function\":{\"name\":"));
    (void)json_quote(out, c->name);
    buf_add(out, STR(",\"arguments\":"));
    (void)json_quote(out, arguments);
    buf_add(out, STR("}}"));
}

/* Some hosts refuse a history with arguments that are not a JSON object, which models sometimes
 * write: then the text is wrapped in an object. */
static void history_put_sent(struct buf *out, const struct ask_call *c)
{
    struct json doc;
    struct buf in;
    struct err e;

    json_init(&doc);
    buf_init(&in, out->size_max);
    if (!c->arguments.n) {
        buf_add(&in, STR("{}"));
    } else if (!json_parse(&doc, c->arguments, &e) || json_root(&doc)->kind != JSON_OBJECT) {
        buf_add(&in, STR("{\"arguments\":"));
        (void)json_quote(&in, c->arguments);
        buf_add_c(&in, '}');
    }
    agent_history_put_call(out, c, in.n ? buf_str(&in) : c->arguments);
    buf_release(&in);
    json_release(&doc);
}

void history_reply(struct history *h, const struct ask_reply *r)
{
    assert(!r->call_count || r->calls);
    agent_history_next(h);
    buf_add(&h->json, STR("{\"role\":\"assistant\",\"content\":"));
    if (r->text.n || !r->call_count)
        (void)json_quote(&h->json, r->text);
    else
        buf_add(&h->json, STR("null"));
    for (size_t i = 0; i < r->call_count; i++) {
        buf_add(&h->json, i ? STR(",") : STR(",\"tool_calls\":["));
        history_put_sent(&h->json, &r->calls[i]);
    }
    buf_add(&h->json, r->call_count ? STR("]}") : STR("}"));
}

void history_result(struct history *h, str call_id, str text)
{
    agent_history_next(h);
    buf_add(&h->json, STR("{\"role\":\"tool\",\"tool_call_id\":"));
    (void)json_quote(&h->json, call_id);
    buf_add(&h->json, STR(",\"content\":"));
    (void)json_quote(&h->json, text);
    buf_add_c(&h->json, '}');
}

void history_add_messages(struct history *h, str messages)
{
    if (!messages.n)
        return;
    agent_history_next(h);
    buf_add(&h->json, messages);
}

str history_body(struct history *h, str model, str extra, struct arena *a)
{
    struct buf out;
    str body;

    buf_init(&out, h->json.size_max + 6 * model.n + extra.n + 64);
    buf_add(&out, STR("{\"model\":"));
    (void)json_quote(&out, model);
    buf_add(&out, extra.n ? STR(",") : STR(""));
    buf_add(&out, extra);
    buf_add(&out, STR(",\"messages\":"));
    buf_add(&out, buf_str(&h->json));
    buf_add(&out, STR("]}"));
    body = buf_full(&h->json) || buf_full(&out) ? STR("") : arena_dup(a, buf_str(&out));
    buf_release(&out);
    history_release(h);
    return body;
}

/* ---- replies in the log ---- */

void reply_write(struct buf *out, const struct ask_reply *r, bool reasoning)
{
    buf_add(out, STR("{\"id\":"));
    (void)json_quote(out, r->id);
    buf_add(out, STR(",\"text\":"));
    (void)json_quote(out, r->text);
    if (reasoning && r->reasoning.n) {
        buf_add(out, STR(",\"reasoning\":"));
        (void)json_quote(out, r->reasoning);
    }
    if (r->thought)
        buf_add(out, STR(",\"text_is_thought\":true"));
    buf_add(out, STR(",\"calls\":["));
    for (size_t i = 0; i < r->call_count; i++) {
        buf_add(out, i ? STR(",") : STR(""));
        agent_history_put_call(out, &r->calls[i], r->calls[i].arguments);
    }
    buf_printf(out,
               "],\"stop\":%d,\"input\":%lld,\"output\":%lld,\"thought\":%lld,\"cost_usd\":%.17g}",
               (int)r->stop,
               (long long)r->usage.input,
               (long long)r->usage.output,
               (long long)r->usage.reasoning,
               r->cost_usd);
}

static void history_calls_in(const struct json *doc, struct arena *a, struct ask_reply *out)
{
    const struct json_node *calls = json_find(doc, json_root(doc), STR("calls"));

    if (!calls || calls->kind != JSON_ARRAY)
        return;
    out->calls = arena_zero(a, json_count(doc, calls) + 1, sizeof *out->calls);
    JSON_FOREACH(c, doc, calls) {
        const struct json_node *f = json_find(doc, c, STR("function"));

        out->calls[out->call_count++] = (struct ask_call){json_copy_text(doc, c, "id", a),
                                                          json_copy_text(doc, f, "name", a),
                                                          json_copy_text(doc, f, "arguments", a)};
    }
}

bool reply_read(str text, struct arena *a, struct ask_reply *out)
{
    const struct json_node *root;
    struct json doc;
    struct err e;
    bool ok;

    *out = (struct ask_reply){.usage = chat_usage_none, .recorded = true, .cost_usd = -1};
    ok = json_open(&doc, text, &e) && json_root(&doc)->kind == JSON_OBJECT;
    if (ok) {
        root = json_root(&doc);
        out->id = json_copy_text(&doc, root, "id", a);
        out->text = json_copy_text(&doc, root, "text", a);
        out->reasoning = json_copy_text(&doc, root, "reasoning", a);
        out->thought = json_get_true(&doc, root, "text_is_thought");
        history_calls_in(&doc, a, out);
        out->stop = (enum chat_stop)json_get_i64(&doc, root, "stop", -1);
        out->usage.input = json_get_i64(&doc, root, "input", -1);
        out->usage.output = json_get_i64(&doc, root, "output", -1);
        out->usage.reasoning = json_get_i64(&doc, root, "thought", -1);
        if (!json_double(&doc, json_find(&doc, root, STR("cost_usd")), &out->cost_usd))
            out->cost_usd = -1;
    }
    json_release(&doc);
    return ok;
}
