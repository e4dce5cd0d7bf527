/* view.c - see view.h.
 *
 * The loop keeps its history in the form of Chat Completions. For the model, results of tools are
 * put between marks and truncated to the available room (the log has them whole); for a model
 * without function calling all of it becomes text. The reply is turned back into calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/view.h"

#include "agent/data.h"
#include "agent/decide.h"
#include "agent/extract.h"
#include "agent/markup.h"
#include "agent/react.h"

#define RESULTS_MAX 4096
#define VIEW_ARENA ((size_t)512 << 20)
#define VIEW_TEXT_MAX ((size_t)64 << 20)
#define TOOLS_SIZE ((size_t)192 << 10)

struct view_page {
    struct agent_view *v;
    struct json doc;
    const struct json_node *root, *messages;
    size_t share; /* bytes of each result */
    size_t replies;
    struct arena arena;
    bool rule_put, tools_put;
};

static str view_text(struct view_page *p, const struct json_node *n)
{
    str s;

    return json_text(&p->doc, n, &p->arena, &s) ? s : STR("");
}

static const struct json_node *view_member(const struct view_page *p, const struct json_node *n,
                                           const char *key)
{
    return json_find(&p->doc, n, str_c(key));
}

static bool view_is_role(const struct view_page *p, const struct json_node *m, const char *role)
{
    return json_is(&p->doc, view_member(p, m, "role"), str_c(role));
}

static void view_measure(struct view_page *p)
{
    size_t *sizes = arena_zero(&p->arena, RESULTS_MAX, sizeof *sizes), n = 0;

    JSON_FOREACH(m, &p->doc, p->messages) {
        if (view_is_role(p, m, "tool") && n < RESULTS_MAX)
            sizes[n++] = view_text(p, view_member(p, m, "content")).n;
        p->replies += view_is_role(p, m, "assistant");
    }
    p->share = agent_data_share(sizes, n, p->v->data_size ? p->v->data_size : AGENT_DATA_SIZE);
    p->share = p->share ? p->share : 1;
}

static void view_put(struct buf *out, const char *role, str text)
{
    buf_printf(out, "{\"role\":\"%s\",\"content\":", role);
    (void)json_quote(out, text);
    buf_add_c(out, '}');
}

/* ---- results ---- */

static void view_put_result(struct view_page *p, const struct json_node *m, struct buf *out)
{
    bool native = p->v->strategy == AGENT_NATIVE;
    struct buf text;

    buf_init(&text, VIEW_TEXT_MAX);
    if (!native)
        buf_add(&text, p->v->strategy == AGENT_REACT ? STR("Observation:\n") : STR("Result:\n"));
    agent_data_write(&text, "result", view_text(p, view_member(p, m, "content")), p->share);
    if (native) {
        buf_add(out, STR("{\"role\":\"tool\",\"tool_call_id\":"));
        buf_add(out, json_raw(&p->doc, view_member(p, m, "tool_call_id")));
        buf_add(out, STR(",\"content\":"));
        (void)json_quote(out, buf_str(&text));
        buf_add_c(out, '}');
    } else {
        view_put(out, "user", buf_str(&text));
    }
    buf_release(&text);
}

/* ---- messages of the model ---- */

static void view_put_said(struct view_page *p, const struct json_node *m, struct buf *out)
{
    const struct json_node *calls = view_member(p, m, "tool_calls"),
                           *c = json_first(&p->doc, calls);
    str said = view_text(p, view_member(p, m, "content"));
    struct buf text;

    buf_init(&text, VIEW_TEXT_MAX);
    if (p->v->strategy == AGENT_CLASSIC) {
        plan_write(&p->doc, calls, said, &p->arena, &text);
    } else if (c) {
        const struct json_node *f = view_member(p, c, "function");
        str name = view_text(p, view_member(p, f, "name")),
            input = view_text(p, view_member(p, f, "arguments"));

        buf_printf(&text,
                   "Thought: " STR_FMT "\nAction: " STR_FMT "\nAction Input: " STR_FMT,
                   STR_ARG(said),
                   STR_ARG(name),
                   STR_ARG(input));
    } else {
        buf_printf(&text, "Final Answer: " STR_FMT, STR_ARG(said));
    }
    view_put(out, "assistant", buf_str(&text));
    buf_release(&text);
}

/* ---- the prompts ---- */

static const char react_how[] =
    "\n## How to call tools\n\n"
    "You have no other way to call a tool than this text form, one call at a time:\n\n"
    "Thought: why this call is the next thing to do\n"
    "Action: NAME OF THE TOOL\n"
    "Action Input: {\"parameter\": \"value\"}\n\n"
    "Then stop: the result comes as the next message and begins with \"Observation:\". A call "
    "without a thought is not carried out. When you know the answer, write:\n\n"
    "Thought: why it is the answer\n"
    "Final Answer: the answer\n";

/* Writes the tools after the first message of the user. */
static void view_put_user(struct view_page *p, const struct json_node *m, struct buf *out)
{
    const struct json_node *tools = view_member(p, p->root, "tools");
    struct buf text, list;

    assert(!p->tools_put);
    p->tools_put = true;
    buf_init(&text, VIEW_TEXT_MAX);
    buf_init(&list, VIEW_TEXT_MAX);
    buf_add(&text, view_text(p, view_member(p, m, "content")));
    JSON_FOREACH(t, &p->doc, tools) {
        buf_add(&list, json_raw(&p->doc, view_member(p, t, "function")));
        buf_add_c(&list, '\n');
    }
    if (!p->v->own_prompt) {
        buf_add_c(&text, '\n');
        buf_add(&text, p->v->strategy == AGENT_REACT ? str_c(react_how) : str_c(plan_how));
    }
    buf_add(&text, STR("\n## Tools\n\n"));
    agent_data_write(&text, "tools", list.n ? str_trim(buf_str(&list)) : STR("none"), TOOLS_SIZE);
    view_put(out, "user", buf_str(&text));
    buf_release(&text);
    buf_release(&list);
}

static void view_put_system(struct view_page *p, const struct json_node *m, struct buf *out)
{
    struct buf text;

    assert(!p->rule_put);
    p->rule_put = true;
    buf_init(&text, VIEW_TEXT_MAX);
    if (m)
        buf_add(&text, str_trim(view_text(p, view_member(p, m, "content"))));
    if (text.n)
        buf_add(&text, STR("\n\n"));
    buf_add(&text, STR(AGENT_DATA_RULE));
    view_put(out, "system", buf_str(&text));
    buf_release(&text);
}

/* Without tools there is no text between marks. */
static bool view_needs_rule(const struct view_page *p)
{
    return !p->v->own_prompt && !p->rule_put && toolbox_count(p->v->tools) > 0;
}

static void view_put_message(struct view_page *p, const struct json_node *m, struct buf *out)
{
    bool text = p->v->strategy != AGENT_NATIVE;

    if (view_is_role(p, m, "tool"))
        view_put_result(p, m, out);
    else if (text && view_is_role(p, m, "assistant"))
        view_put_said(p, m, out);
    else if (text && view_is_role(p, m, "user") && !p->tools_put)
        view_put_user(p, m, out);
    else if (view_is_role(p, m, "system") && view_needs_rule(p))
        view_put_system(p, m, out);
    else
        buf_add(out, json_raw(&p->doc, m));
}

/* ---- the body ---- */

static void view_body(struct view_page *p, str last, str complaint, struct buf *out)
{
    bool text = p->v->strategy != AGENT_NATIVE, first = true;
    const struct json_node *begin = json_first(&p->doc, p->messages);

    assert(p->share > 0 && (!complaint.n || p->v->strategy == AGENT_REACT));
    p->rule_put = p->tools_put = false;
    buf_add_c(out, '{');
    JSON_FOREACH(k, &p->doc, p->root) {
        bool tools = json_is(&p->doc, k, STR("tools")) || json_is(&p->doc, k, STR("tool_choice"));

        if (json_is(&p->doc, k, STR("messages")) || (text && tools))
            continue;
        buf_add(out, json_raw(&p->doc, k));
        buf_add_c(out, ':');
        buf_add(out, json_raw(&p->doc, json_value(k)));
        buf_add_c(out, ',');
    }
    buf_add(out, STR("\"messages\":["));
    if (view_needs_rule(p) && (!begin || !view_is_role(p, begin, "system"))) {
        view_put_system(p, NULL, out);
        first = false;
    }
    for (const struct json_node *m = begin; m; m = json_next(&p->doc, p->messages, m)) {
        if (!first)
            buf_add_c(out, ',');
        first = false;
        view_put_message(p, m, out);
    }
    if (complaint.n) {
        buf_add_c(out, ',');
        view_put(out, "assistant", last);
        buf_add_c(out, ',');
        view_put(out, "user", complaint);
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

/* The error in a reply's form, or NULL. */
static const char *view_fault(const struct react_reply *r, const struct ask_reply *reply)
{
    if (r->has_action && !r->thought.n && !reply->reasoning.n)
        return no_thought;
    if (!r->has_action && !r->has_answer)
        return no_form;
    return NULL;
}

str agent_view_tool_name(const struct agent_view *v, str written)
{
    const struct tool *t = v->find_tool ? NULL : toolbox_find(v->tools, written);
    str name;

    if (v->find_tool && v->find_tool(v->ctx, written, &name))
        return name;
    return t ? t->called : written.n ? written : STR("none");
}

void agent_view_call(const struct agent_view *v, str action, str input, struct arena *a,
                     struct ask_reply *reply)
{
    reply->calls = arena_zero(a, 1, sizeof *reply->calls);
    reply->calls[0] = (struct ask_call){STR(""), agent_view_tool_name(v, action), input};
    reply->call_count = 1;
}

static void view_turn_round(struct view_page *p, const struct react_reply *r, struct arena *a,
                            struct ask_reply *reply)
{
    assert(p->v->strategy == AGENT_REACT);
    reply->call_count = 0;
    if (!r->has_action) {
        reply->text = r->has_answer && r->answer.n ? r->answer : r->thought;
        return;
    }
    reply->text = r->thought;
    reply->thought = true;
    agent_view_call(p->v, r->action, r->input, a, reply);
    reply->calls[0].id = arena_printf(a, "react-%zu", p->replies + 1);
}

static void view_add_usage(struct ask_reply *to, const struct ask_reply *more)
{
    to->usage.input += more->usage.input > 0 ? more->usage.input : 0;
    to->usage.output += more->usage.output > 0 ? more->usage.output : 0;
    to->usage.reasoning += more->usage.reasoning > 0 ? more->usage.reasoning : 0;
}

static void view_report(const struct agent_view *v, str reasoning)
{
    if (v->on_reply)
        v->on_reply(v->reply_ctx, reasoning);
}

static bool view_ask_body(struct agent_view *v, const struct ask_request *q, str body,
                          const _Atomic bool *cancel, struct arena *a, struct ask_reply *reply)
{
    struct ask_request seen = *q;

    seen.body = body;
    seen.reader = agent_decide_reader(v);
    if (!v->ask.ask(v->ask.ctx, &seen, cancel, a, reply))
        return false;
    agent_extract_reply(reply, a);
    return true;
}

/* Asks again, with the error of the reply. */
static bool view_ask_react(struct view_page *p, const struct ask_request *q, struct buf *body,
                           const _Atomic bool *cancel, struct arena *a, struct ask_reply *reply)
{
    struct react_reply r;
    struct ask_reply first;
    const char *wrong;

    for (int i = 0; i < 2; i++) {
        if (!view_ask_body(p->v, q, buf_str(body), cancel, a, reply))
            return false;
        if (i)
            view_add_usage(reply, &first);
        react_read(reply->text, a, &r);
        wrong = view_fault(&r, reply);
        if (!wrong || i)
            break;
        first = *reply;
        buf_reset(body);
        view_body(p, reply->text, str_c(wrong), body);
    }
    view_report(p->v, reply->reasoning.n ? reply->reasoning : r.thought);
    view_turn_round(p, &r, a, reply);
    return true;
}

static bool view_ask_plan(struct view_page *p, const struct ask_request *q, str body,
                          const _Atomic bool *cancel, struct arena *a, struct ask_reply *reply)
{
    if (!view_ask_body(p->v, q, body, cancel, a, reply))
        return false;
    (void)plan_read(reply, p->v->form, p->replies + 1, a);
    for (size_t i = 0; i < reply->call_count; i++)
        reply->calls[i].name = agent_view_tool_name(p->v, reply->calls[i].name);
    view_report(p->v, reply->reasoning.n ? reply->reasoning : reply->text);
    return true;
}

static bool view_ask_native(struct view_page *p, const struct ask_request *q, str body,
                            const _Atomic bool *cancel, struct arena *a, struct ask_reply *reply)
{
    if (!view_ask_body(p->v, q, body, cancel, a, reply))
        return false;
    agent_markup_read(reply, p->v->tools, a);
    view_report(p->v, reply->reasoning);
    return true;
}

static bool view_ask_page(struct view_page *p, const struct ask_request *q,
                          const _Atomic bool *cancel, struct arena *a, struct ask_reply *reply)
{
    struct buf body;
    bool ok;

    buf_init(&body, 4 * VIEW_TEXT_MAX);
    p->root = json_root(&p->doc);
    p->messages = view_member(p, p->root, "messages");
    view_measure(p);
    view_body(p, STR(""), STR(""), &body);
    if (p->v->strategy == AGENT_REACT)
        ok = view_ask_react(p, q, &body, cancel, a, reply);
    else if (p->v->strategy == AGENT_CLASSIC)
        ok = view_ask_plan(p, q, buf_str(&body), cancel, a, reply);
    else
        ok = view_ask_native(p, q, buf_str(&body), cancel, a, reply);
    buf_release(&body);
    return ok;
}

/* A client's schema may be so deep that the body around it exceeds the depth limit. */
static bool view_refuse(const struct err *e, struct arena *a, struct ask_reply *reply)
{
    *reply = (struct ask_reply){
        .usage = chat_usage_none,
        .cost_usd = -1,
        .error = {.status = 400,
                  .message = arena_printf(a, "the request of the run cannot be read: %s", e->text),
                  .code = STR("")}};
    return false;
}

static bool view_ask(void *ctx, const struct ask_request *q, const _Atomic bool *cancel,
                     struct arena *a, struct ask_reply *reply)
{
    struct view_page p = {.v = ctx};
    struct err e;
    bool ok;

    arena_init(&p.arena, VIEW_ARENA);
    ok = json_open(&p.doc, q->body, &e) ? view_ask_page(&p, q, cancel, a, reply)
                                        : view_refuse(&e, a, reply);
    arena_release(&p.arena);
    json_release(&p.doc);
    return ok;
}

struct agent_ask agent_view_ask(struct agent_view *v)
{
    return (struct agent_ask){view_ask, v};
}
