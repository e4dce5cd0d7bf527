/* plan.c - see plan.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/plan.h"

#include "base/json_loose.h"

#define CALLS_MAX 64

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

    json_out_init(o, out);
    json_out_object(o);
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

static const struct json_node *plan_list(const struct json *doc, const struct json_node *root)
{
    const struct json_node *list = json_find(doc, root, STR("tools"));

    list = list ? list : json_find(doc, root, STR("tool_calls"));
    if (!list || list->kind != JSON_ARRAY)
        return NULL;
    JSON_FOREACH(c, doc, list)
        if (!json_find(doc, c, STR("tool")) && !json_find(doc, c, STR("name")))
            return NULL;
    return list;
}

static bool plan_wanted(void *ctx, const struct json *doc)
{
    (void)ctx;
    return plan_list(doc, json_root(doc)) || json_find(doc, json_root(doc), STR("answer"));
}

static void plan_read_call(const struct json *doc, const struct json_node *v, struct arena *a,
                           struct ask_call *out)
{
    const struct json_node *name = json_find(doc, v, STR("tool")),
                           *given = json_find(doc, v, STR("parameters"));
    str s;

    name = name ? name : json_find(doc, v, STR("name"));
    given = given ? given : json_find(doc, v, STR("arguments"));
    out->name = json_text(doc, name, a, &s) ? arena_dup(a, s) : STR("none");
    if (json_text(doc, given, a, &s)) /* an object that was written as a text */
        out->arguments = arena_dup(a, s);
    else
        out->arguments = given ? arena_dup(a, json_raw(doc, given)) : STR("{}");
}

static void plan_take(const struct json *doc, size_t turn, struct ask_reply *reply, struct arena *a)
{
    const struct json_node *root = json_root(doc), *list = plan_list(doc, root),
                           *answer = json_find(doc, root, STR("answer"));
    str s;

    reply->calls = arena_zero(a, CALLS_MAX + 1, sizeof *reply->calls);
    reply->call_count = 0;
    for (const struct json_node *v = json_first(doc, list); v && reply->call_count < CALLS_MAX;
         v = json_next(doc, list, v)) {
        struct ask_call *c = &reply->calls[reply->call_count++];

        plan_read_call(doc, v, a, c);
        c->id = arena_printf(a, "plan-%zu-%zu", turn, reply->call_count);
    }
    reply->thought = reply->call_count > 0;
    if (reply->call_count)
        reply->text =
            json_text(doc, json_find(doc, root, STR("reason")), a, &s) ? arena_dup(a, s) : STR("");
    else if (json_text(doc, answer, a, &s))
        reply->text = arena_dup(a, s);
    else if (answer)
        reply->text = arena_dup(a, json_raw(doc, answer));
}

void plan_read(struct ask_reply *reply, size_t turn, struct arena *a)
{
    struct json doc;
    struct buf out;
    struct err e;

    json_init(&doc);
    buf_init(&out, 6 * reply->text.n + 4096);
    if (json_loose(reply->text, plan_wanted, NULL, &out, &e) && json_parse(&doc, buf_str(&out), &e))
        plan_take(&doc, turn, reply, a);
    buf_release(&out);
    json_release(&doc);
}
