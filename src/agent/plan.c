/* plan.c - see plan.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/plan.h"

#include "base/json_get.h"
#include "base/json_loose.h"

const char plan_how[] =
    "\n## How to call tools\n\n"
    "You have no other way to call tools than one JSON object, and nothing else in your reply:\n\n"
    "{\"reason\": \"why these calls are the next thing to do\", \"tools\": [{\"tool\": \"NAME OF "
    "THE TOOL\", \"parameters\": {\"name\": \"value\"}}]}\n\n"
    "Calls that do not depend on one another may be in one list. The results come as the next "
    "messages. When you know the answer, write:\n\n"
    "{\"answer\": \"the answer\"}\n";

void plan_write(const struct json *doc, const struct json_node *calls, str said, struct arena *a,
                struct buf *out)
{
    struct json_out w, *o = &w;

    json_out_init_object(o, out);
    json_member_str(o, calls ? "reason" : "answer", said);
    if (calls) {
        json_member_array(o, "tools");
        JSON_FOREACH(c, doc, calls) {
            const struct json_node *f = json_find(doc, c, STR("function"));
            str name = STR(""), arguments = STR("");

            (void)!json_text(doc, json_find(doc, f, STR("name")), a, &name);
            (void)!json_text(doc, json_find(doc, f, STR("arguments")), a, &arguments);
            json_out_object(o);
            json_member_str(o, "tool", name);
            json_member_raw(o, "parameters", arguments.n ? arguments : STR("{}"));
            json_out_end(o);
        }
        json_out_end(o);
    }
    json_out_end(o);
}

/* ---- reading ---- */

static bool plan_is_call(const struct json *doc, const struct json_node *v, bool in_tools)
{
    return v->kind == JSON_OBJECT &&
           (json_find(doc, v, STR("tool")) || json_find(doc, v, STR("tool_name")) ||
            (in_tools && json_find(doc, v, STR("name"))));
}

static bool plan_is_list(const struct json *doc, const struct json_node *v, bool in_tools)
{
    if (!v || v->kind != JSON_ARRAY)
        return false;
    JSON_FOREACH(c, doc, v)
        if (!plan_is_call(doc, c, in_tools))
            return false;
    return true;
}

/* The list itself, or the list in an object. */
static const struct json_node *plan_list(const struct json *doc, const struct json_node *root)
{
    const struct json_node *list = json_find(doc, root, STR("tools"));

    if (root->kind == JSON_ARRAY)
        return plan_is_list(doc, root, false) ? root : NULL;
    list = list ? list : json_find(doc, root, STR("tool_calls"));
    return plan_is_list(doc, list, true) ? list : NULL;
}

static bool plan_wanted(void *ctx, const struct json *doc)
{
    enum plan_form form = *(const enum plan_form *)ctx;
    const struct json_node *root = json_root(doc), *list = plan_list(doc, root),
                           *go = json_find(doc, root, STR("continue"));

    if (form == PLAN_NEXT && go && go->kind <= JSON_STRING)
        return true;
    if (form == PLAN_ANSWER && json_find(doc, root, STR("answer")))
        return true;
    return plan_is_call(doc, root, false) ||
           (list && (form != PLAN_ANSWER || list != root || json_count(doc, list) > 0));
}

static str plan_text(const struct json *doc, const struct json_node *v, const char *key,
                     const char *or_key, struct arena *a)
{
    const struct json_node *t = json_find(doc, v, str_c(key));
    str s;

    t = t ? t : json_find(doc, v, str_c(or_key));
    return json_text(doc, t, a, &s) ? arena_dup(a, s) : STR("");
}

/* An object, or an object inside a string. Any other value is passed on unchanged, so that the
 * tool reports the error. */
static str plan_arguments(const struct json *doc, const struct json_node *v, struct arena *a)
{
    const struct json_node *p = json_find(doc, v, STR("parameters"));
    str text;

    p = p ? p : json_find(doc, v, STR("arguments"));
    if (!p || p->kind == JSON_NULL)
        return STR("{}");
    if (json_text(doc, p, a, &text))
        return text.n ? arena_dup(a, text) : STR("{}");
    return arena_dup(a, json_raw(doc, p));
}

static void plan_take_call(const struct json *doc, const struct json_node *v, struct arena *a,
                           struct plan *out)
{
    struct plan_call *c = &out->calls[out->n];

    assert(out->n <= PLAN_CALLS_MAX);
    if (out->n == PLAN_CALLS_MAX)
        return;
    *c = (struct plan_call){.server = plan_text(doc, v, "server", "server_name", a),
                            .tool = plan_text(doc, v, "tool", "tool_name", a),
                            .arguments = plan_arguments(doc, v, a),
                            .reason = plan_text(doc, v, "reason", "reasoning", a)};
    if (!c->tool.n)
        c->tool = plan_text(doc, v, "name", "name", a);
    c->written = c->server.n ? arena_join(a, c->server, STR("."), c->tool) : c->tool;
    out->n++;
}

static bool plan_truth(const struct json *doc, const struct json_node *v)
{
    static const char yes[] = "true yes 1 True Yes";
    bool on;

    if (!v || json_bool(v, &on))
        return !v || on;
    return json_is_one_of(doc, v, yes) || str_is_one_of(json_raw(doc, v), yes);
}

static void plan_take(const struct json *doc, struct arena *a, struct plan *out)
{
    const struct json_node *root = json_root(doc), *list = plan_list(doc, root),
                           *answer = json_find(doc, root, STR("answer"));

    out->n = 0;
    if (plan_is_call(doc, root, false))
        plan_take_call(doc, root, a, out);
    else
        JSON_FOREACH(c, doc, list)
            plan_take_call(doc, c, a, out);
    out->more = out->n && plan_truth(doc, json_find(doc, root, STR("continue")));
    out->reason = plan_text(doc, root, "reasoning", "reason", a);
    out->answers = answer != NULL;
    out->answer = plan_text(doc, root, "answer", "answer", a);
    if (answer && answer->kind != JSON_STRING)
        out->answer = arena_dup(a, json_raw(doc, answer));
}

bool plan_parse(str text, enum plan_form form, struct arena *a, struct plan *out, struct err *e)
{
    struct json doc;
    struct buf found;
    bool ok;

    json_init(&doc);
    buf_init(&found, 6 * text.n + 4096);
    ok = json_loose(text, plan_wanted, &form, &found, e) && json_parse(&doc, buf_str(&found), e);
    if (ok)
        plan_take(&doc, a, out);
    buf_release(&found);
    json_release(&doc);
    return ok;
}

bool plan_read(struct ask_reply *reply, enum plan_form form, size_t turn, struct arena *a)
{
    struct plan *p = arena_zero(a, 1, sizeof *p);
    struct err e;
    str why;

    if (!plan_parse(reply->text, form, a, p, &e))
        return false;
    why = p->reason;
    assert(p->n <= PLAN_CALLS_MAX);
    reply->calls = arena_zero(a, p->n + 1, sizeof *reply->calls);
    reply->call_count = p->more || form != PLAN_NEXT ? p->n : 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct plan_call *c = &p->calls[i];

        reply->calls[i] = (struct ask_call){.id = arena_printf(a, "plan-%zu-%zu", turn, i + 1),
                                            .name = c->tool.n ? c->written : STR("none"),
                                            .arguments = c->arguments};
        if (!p->reason.n && c->reason.n)
            why = arena_join(a, why, why.n ? STR("; ") : STR(""), c->reason);
    }
    reply->thought = reply->call_count > 0;
    if (p->answers && !p->n)
        reply->text = p->answer;
    else if (p->n || form != PLAN_ANSWER)
        reply->text = why;
    return true;
}
