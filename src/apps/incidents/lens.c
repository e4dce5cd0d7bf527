/* lens.c - what a model sees of a conversation with tools.
 *
 * The loop keeps its history in the form of Chat Completions. On its way to the model, the results
 * of tools are put between marks and cut to what there is room for (the log has them whole); for a
 * model without function calling all of it becomes text: calls as Thought, Action and Action Input,
 * results as observations. What comes back is turned round.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/extract.h"
#include "apps/incidents/engine.h"
#include "base/json.h"

#define RESULTS_MAX 4096

struct view {
    struct party *p;
    struct json doc;
    const struct json_node *root, *messages;
    size_t share; /* bytes of each result */
    size_t replies;
    struct arena arena;
};

static str text_of(struct view *v, const struct json_node *n)
{
    str s;

    return json_text(&v->doc, n, &v->arena, &s) ? s : STR("");
}

static const struct json_node *at(const struct view *v, const struct json_node *n, const char *key)
{
    return json_find(&v->doc, n, str_c(key));
}

static bool is_role(const struct view *v, const struct json_node *m, const char *role)
{
    return json_is(&v->doc, at(v, m, "role"), str_c(role));
}

static void measure(struct view *v)
{
    size_t *sizes = arena_zero(&v->arena, RESULTS_MAX, sizeof *sizes), n = 0;

    for (const struct json_node *m = json_first(&v->doc, v->messages); m;
         m = json_next(&v->doc, v->messages, m)) {
        if (is_role(v, m, "tool") && n < RESULTS_MAX)
            sizes[n++] = text_of(v, at(v, m, "content")).n;
        v->replies += is_role(v, m, "assistant");
    }
    v->share = prompt_share(sizes, n, v->p->agent->data_size);
    v->share = v->share ? v->share : 1;
}

static void put_text(struct view *v, struct buf *out, const char *role, str text)
{
    (void)v;
    buf_printf(out, "{\"role\":\"%s\",\"content\":", role);
    (void)json_quote(out, text);
    buf_add_c(out, '}');
}

/* ---- native ---- */

static void put_result(struct view *v, const struct json_node *m, struct buf *out)
{
    struct buf text;

    buf_init(&text, INCIDENT_TEXT_MAX);
    prompt_data(&text, "result", text_of(v, at(v, m, "content")), v->share);
    buf_add(out, STR("{\"role\":\"tool\",\"tool_call_id\":"));
    buf_add(out, json_raw(&v->doc, at(v, m, "tool_call_id")));
    buf_add(out, STR(",\"content\":"));
    (void)json_quote(out, buf_str(&text));
    buf_add_c(out, '}');
    buf_release(&text);
}

/* ---- react ---- */

static void put_said(struct view *v, const struct json_node *m, struct buf *out)
{
    const struct json_node *calls = at(v, m, "tool_calls"), *c = json_first(&v->doc, calls);
    str said = text_of(v, at(v, m, "content"));
    struct buf text;

    buf_init(&text, INCIDENT_TEXT_MAX);
    if (c) {
        const struct json_node *f = at(v, c, "function");
        str name = text_of(v, at(v, f, "name")), input = text_of(v, at(v, f, "arguments"));

        buf_printf(&text,
                   "Thought: " STR_FMT "\nAction: " STR_FMT "\nAction Input: " STR_FMT,
                   STR_ARG(said),
                   STR_ARG(name),
                   STR_ARG(input));
    } else {
        buf_printf(&text, "Final Answer: " STR_FMT, STR_ARG(said));
    }
    put_text(v, out, "assistant", buf_str(&text));
    buf_release(&text);
}

static void put_seen(struct view *v, const struct json_node *m, struct buf *out)
{
    struct buf text;

    buf_init(&text, INCIDENT_TEXT_MAX);
    buf_add(&text, STR("Observation:\n"));
    prompt_data(&text, "result", text_of(v, at(v, m, "content")), v->share);
    put_text(v, out, "user", buf_str(&text));
    buf_release(&text);
}

static void put_react_user(struct view *v, const struct json_node *m, struct buf *out)
{
    struct buf text, list;

    buf_init(&text, INCIDENT_TEXT_MAX);
    buf_init(&list, INCIDENT_TEXT_MAX);
    buf_add(&text, text_of(v, at(v, m, "content")));
    for (const struct json_node *t = json_first(&v->doc, at(v, v->root, "tools")); t;
         t = json_next(&v->doc, at(v, v->root, "tools"), t)) {
        buf_add(&list, json_raw(&v->doc, at(v, t, "function")));
        buf_add_c(&list, '\n');
    }
    prompt_react_tools(&text, list.n ? str_trim(buf_str(&list)) : STR("none"));
    put_text(v, out, "user", buf_str(&text));
    buf_release(&text);
    buf_release(&list);
}

/* ---- the body ---- */

static void put_message(struct view *v, const struct json_node *m, bool *tools_told,
                        struct buf *out)
{
    bool react = v->p->strategy == INCIDENT_REACT;

    if (is_role(v, m, "tool")) {
        if (react)
            put_seen(v, m, out);
        else
            put_result(v, m, out);
    } else if (react && is_role(v, m, "assistant")) {
        put_said(v, m, out);
    } else if (react && is_role(v, m, "user") && !*tools_told) {
        *tools_told = true;
        put_react_user(v, m, out);
    } else {
        buf_add(out, json_raw(&v->doc, m));
    }
}

static void body_write(struct view *v, str last, str complaint, struct buf *out)
{
    bool react = v->p->strategy == INCIDENT_REACT, first = true, told = false;

    buf_add_c(out, '{');
    for (const struct json_node *k = json_first(&v->doc, v->root); k;
         k = json_next(&v->doc, v->root, k)) {
        bool tools = json_is(&v->doc, k, STR("tools")) || json_is(&v->doc, k, STR("tool_choice"));

        if (json_is(&v->doc, k, STR("messages")) || (react && tools))
            continue;
        buf_add(out, json_raw(&v->doc, k));
        buf_add_c(out, ':');
        buf_add(out, json_raw(&v->doc, json_value(k)));
        buf_add_c(out, ',');
    }
    buf_add(out, STR("\"messages\":["));
    for (const struct json_node *m = json_first(&v->doc, v->messages); m;
         m = json_next(&v->doc, v->messages, m)) {
        if (!first)
            buf_add_c(out, ',');
        first = false;
        put_message(v, m, &told, out);
    }
    if (complaint.n) {
        buf_add_c(out, ',');
        put_text(v, out, "assistant", last);
        buf_add_c(out, ',');
        put_text(v, out, "user", complaint);
    }
    buf_add(out, STR("]}"));
}

/* ---- the reply ---- */

static const char no_thought[] =
    "That call was not carried out: there is no thought before it. Write why it is the next thing "
    "to do, then the call again.";
static const char no_form[] =
    "That is neither a call nor the end. Write Thought, Action and Action Input, or Thought and "
    "Final Answer.";

/* What is to be said against a reply, or NULL. */
static const char *fault(const struct react_reply *r, const struct ask_reply *reply)
{
    if (r->has_action && !r->thought.n && !reply->reasoning.n)
        return no_thought;
    if (!r->has_action && !r->has_answer)
        return no_form;
    return NULL;
}

static void turn_round(struct party *p, struct view *v, const struct react_reply *r,
                       struct arena *a, struct ask_reply *reply)
{
    str name;

    reply->calls = arena_zero(a, 2, sizeof *reply->calls);
    reply->call_count = 0;
    if (!r->has_action) {
        reply->text = r->has_answer && r->answer.n ? r->answer : r->thought;
        return;
    }
    if (!party_tool(p, STR(""), r->action, &name))
        name = r->action.n ? r->action : STR("none");
    reply->text = r->thought;
    reply->calls[0] =
        (struct ask_call){arena_printf(a, "react-%zu", v->replies + 1), name, r->input};
    reply->call_count = 1;
}

static void add_usage(struct ask_reply *to, const struct ask_reply *more)
{
    to->usage.input += more->usage.input > 0 ? more->usage.input : 0;
    to->usage.output += more->usage.output > 0 ? more->usage.output : 0;
    to->usage.reasoning += more->usage.reasoning > 0 ? more->usage.reasoning : 0;
}

static bool ask_body(struct party *p, const struct ask_request *q, str body,
                     const _Atomic bool *cancel, struct arena *a, struct ask_reply *reply)
{
    struct ask_request seen = *q;

    seen.body = body;
    if (!p->in->ask.ask(p->in->ask.ctx, &seen, cancel, a, reply))
        return false;
    agent_extract_reply(reply, a);
    return true;
}

/* Once more, with what was wrong about it. */
static bool ask_react(struct party *p, struct view *v, const struct ask_request *q,
                      struct buf *body, const _Atomic bool *cancel, struct arena *a,
                      struct ask_reply *reply)
{
    struct react_reply r;
    struct ask_reply first;
    const char *wrong;

    for (int i = 0; i < 2; i++) {
        if (!ask_body(p, q, buf_str(body), cancel, a, reply))
            return false;
        if (i)
            add_usage(reply, &first);
        react_read(reply->text, a, &r);
        wrong = fault(&r, reply);
        if (!wrong || i)
            break;
        first = *reply;
        buf_reset(body);
        body_write(v, reply->text, str_c(wrong), body);
    }
    p->reasoning_seen = reply->reasoning.n ? reply->reasoning : arena_dup(&p->arena, r.thought);
    p->why = STR("");
    turn_round(p, v, &r, a, reply);
    return true;
}

static bool lens(void *ctx, const struct ask_request *q, const _Atomic bool *cancel,
                 struct arena *a, struct ask_reply *reply)
{
    struct party *p = ctx;
    struct view v = {.p = p};
    struct buf body;
    struct err e;
    bool ok;

    json_init(&v.doc);
    arena_init(&v.arena, INCIDENT_ARENA);
    buf_init(&body, 4 * INCIDENT_TEXT_MAX);
    if (!json_parse(&v.doc, q->body, &e))
        base_die("the body of a run: %s", e.text);
    v.root = json_root(&v.doc);
    v.messages = at(&v, v.root, "messages");
    measure(&v);
    body_write(&v, STR(""), STR(""), &body);
    if (p->strategy == INCIDENT_REACT)
        ok = ask_react(p, &v, q, &body, cancel, a, reply);
    else if ((ok = ask_body(p, q, buf_str(&body), cancel, a, reply)))
        p->reasoning_seen = reply->reasoning;
    buf_release(&body);
    arena_release(&v.arena);
    json_release(&v.doc);
    return ok;
}

struct agent_ask lens_ask(struct party *p)
{
    return (struct agent_ask){lens, p};
}
