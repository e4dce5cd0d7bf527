/* decide.c - see decide.h.
 *
 * The reader runs on the loop's thread while the run waits for the reply, so nothing here blocks,
 * and nothing else reads or writes the run's tools.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/decide.h"

#include "agent/extract.h"
#include "agent/markup.h"
#include "agent/react.h"
#include "base/json_get.h"

#define DECIDE_MAX ((size_t)1 << 20)

void agent_decide_why(str why, struct decision *d)
{
    if (!d->why.n && str_trim(why).n)
        d->why = str_trim(why);
}

void agent_decide_calls(const struct toolbox *tools, const struct ask_call *calls, size_t n,
                        struct arena *a, struct decision *d)
{
    struct json_out w, *o = &w;
    struct buf out;

    assert(!n || calls);
    buf_init(&out, DECIDE_MAX);
    json_out_init(o, &out);
    json_out_array(o);
    for (size_t i = 0; i < n; i++) {
        const struct tool *t = tools ? toolbox_find(tools, calls[i].name) : NULL;

        json_out_object(o);
        json_member_str(o, "id", calls[i].id);
        json_member_str(o, "name", t ? t->own : calls[i].name);
        json_member_str(o, "arguments", calls[i].arguments);
        json_out_end(o);
    }
    json_out_end(o);
    if (n && !buf_full(&out))
        d->calls = arena_dup(a, buf_str(&out));
    buf_release(&out);
}

/* The calls of the reply in the form of the gateway. */
static void decide_read_calls(str json, struct arena *a, struct ask_reply *reply)
{
    const struct json_node *all;
    struct json doc;
    struct err e;

    json_init(&doc);
    all = json.n && json_parse(&doc, json, &e) ? json_root(&doc) : NULL;
    reply->calls = arena_zero(a, json_count(&doc, all) + 1, sizeof *reply->calls);
    JSON_FOREACH(v, &doc, all) {
        struct ask_call *c = &reply->calls[reply->call_count++];
        str *const texts[] = {&c->id, &c->name, &c->arguments};
        static const char *const names[] = {"id", "name", "arguments"};

        for (size_t i = 0; i < COUNT_OF(texts); i++)
            *texts[i] = json_copy_text(&doc, v, names[i], a);
    }
    json_release(&doc);
}

static str decide_read_react(const struct agent_view *v, struct ask_reply *reply, struct arena *a,
                             struct decision *d)
{
    struct react_reply r;

    react_read(reply->text, a, &r);
    if (r.has_action)
        agent_view_call(v, r.action, r.input, a, reply);
    else if (r.has_answer)
        d->answer = r.answer;
    return r.has_action || r.has_answer ? r.thought : STR("");
}

static str decide_read_plan(const struct agent_view *v, struct ask_reply *reply, struct arena *a)
{
    bool read = plan_read(reply, v->form, 1, a);

    for (size_t i = 0; i < reply->call_count; i++)
        reply->calls[i].name = agent_view_tool_name(v, reply->calls[i].name);
    return reply->call_count || (read && v->form != PLAN_ANSWER) ? reply->text : STR("");
}

static void decide_read(void *ctx, str text, struct arena *a, struct decision *d)
{
    const struct agent_view *v = ctx;
    struct ask_reply reply = {.text = text, .reasoning = STR("")};
    str why = STR("");

    agent_extract_reply(&reply, a);
    agent_decide_why(reply.reasoning, d);
    if (v->strategy == AGENT_REACT) {
        why = decide_read_react(v, &reply, a, d);
    } else if (v->strategy == AGENT_CLASSIC) {
        why = decide_read_plan(v, &reply, a);
    } else {
        decide_read_calls(d->calls, a, &reply);
        agent_markup_read(&reply, v->tools, a);
    }
    agent_decide_calls(v->tools, reply.calls, reply.call_count, a, d);
    agent_decide_why(why, d);
}

struct call_reader agent_decide_reader(struct agent_view *v)
{
    return (struct call_reader){decide_read, v};
}
