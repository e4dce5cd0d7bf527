/* agent_help.c - see agent_help.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent_help.h"

#include "base/json.h"
#include "history_help.h"

const char number_schema[] =
    "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\",\"minimum\":0}},"
    "\"required\":[\"n\"],\"additionalProperties\":false}";

struct script ten_steps = {.turns = {"!double {\"n\":1}",
                                     "!double {\"n\":2}\ndouble {\"n\":3}",
                                     "!double {\"n\":4}",
                                     "!double {\"n\":5}",
                                     "!double {\"n\":6}\ndouble {\"n\":7}\ndouble {\"n\":8}",
                                     "!double {\"n\":9}",
                                     "!double {\"n\":10}",
                                     "!double {\"n\":11}",
                                     "!double {\"n\":12}",
                                     "All done."}};

bool has(str text, const char *what)
{
    return str_find(text, str_c(what)) != STR_NONE;
}

bool finish(void *ctx, const struct tool_call *c, struct buf *out, struct err *e)
{
    (void)ctx;
    if (has(c->arguments, "\"n\":13"))
        return err_set(e, ERR_INPUT, "citation_unknown_section: there is no 13");
    buf_add(out, STR("accepted"));
    return true;
}

struct agent_options script_options(struct script *s, struct toolbox *box)
{
    return (struct agent_options){.run = STR("run-1"),
                                  .app = STR("test"),
                                  .session = STR("s"),
                                  .input = STR("{}"),
                                  .model_name = STR("m"),
                                  .level = STR(""),
                                  .system = STR("You help."),
                                  .user = STR("Do it."),
                                  .messages = STR(""),
                                  .extra = STR(""),
                                  .tools = box,
                                  .ask = {script_ask, s},
                                  .clock = &clock_real,
                                  .limits = {.tokens = -1}};
}

struct agent_log *log_in(const char *dir, struct arena *a)
{
    struct agent_log *l;
    struct err e;

    if (!agent_log_open(arena_printf(a, "sqlite:%s/r.db", dir), &l, &e))
        fail_msg("%s", e.text);
    return l;
}

struct agent_result script_run(const struct agent_options *o, struct arena *a)
{
    struct agent_result r;
    struct err e;

    if (!agent_run(o, a, &r, &e))
        fail_msg("%s", e.text);
    if (r.end != AGENT_WAITING)
        check_history(r.messages);
    return r;
}

static size_t replies_in(str body)
{
    const struct json_node *list;
    struct json doc;
    struct err e;
    size_t n = 0;

    json_init(&doc);
    CHECK(json_parse(&doc, body, &e));
    list = json_find(&doc, json_root(&doc), STR("messages"));
    for (const struct json_node *m = json_first(&doc, list); m; m = json_next(&doc, list, m))
        n += json_is(&doc, json_find(&doc, m, STR("role")), STR("assistant"));
    json_release(&doc);
    return n;
}

void calls_of(const char *text, size_t turn, struct arena *a, struct ask_reply *out)
{
    out->calls = arena_zero(a, 128, sizeof *out->calls);
    while (*text) {
        const char *end = strchr(text, '\n'), *space;
        str line = {text, end ? (size_t)(end - text) : strlen(text)};

        space = memchr(line.p, ' ', line.n);
        assert(space); /* cmocka's checks fail only on the test's own thread */
        out->calls[out->call_count] =
            (struct ask_call){arena_printf(a, "call_%zu_%zu", turn, out->call_count),
                              {line.p, (size_t)(space - line.p)},
                              {space + 1, line.n - (size_t)(space + 1 - line.p)}};
        out->call_count++;
        text = end ? end + 1 : text + line.n;
    }
}

bool script_ask(void *ctx, const struct ask_request *q, const _Atomic bool *cancel, struct arena *a,
                struct ask_reply *reply)
{
    struct script *s = ctx;
    size_t turn = replies_in(q->body);

    (void)cancel;
    check_histories(q->body);
    atomic_fetch_add(&s->asked, 1);
    *reply = (struct ask_reply){.id = STR("call"),
                                .text = STR(""),
                                .reasoning = STR(""),
                                .usage = chat_usage_none,
                                .cost_usd = 0.01,
                                .recorded = true};
    reply->usage.input = 100;
    reply->usage.output = 10;
    CHECK(turn < SCRIPT_MAX && s->turns[turn]);
    if (*s->turns[turn] == '#') {
        reply->error = (struct chat_error){.status = (int)strtol(s->turns[turn] + 1, NULL, 10),
                                           .message = STR("the provider said no"),
                                           .code = STR("no"),
                                           .type = STR("no")};
        return false;
    }
    if (*s->turns[turn] == '!')
        calls_of(s->turns[turn] + 1, turn, a, reply);
    else
        reply->text = str_c(s->turns[turn]);
    return true;
}

bool script_ask_slowly(void *ctx, const struct ask_request *q, const _Atomic bool *cancel,
                       struct arena *a, struct ask_reply *reply)
{
    uint64_t until = clock_deadline_ns(&clock_real, 120);

    while (clock_mono_ns(&clock_real) < until)
        continue;
    return script_ask(ctx, q, cancel, a, reply);
}

void check_history(str messages)
{
    struct json doc;
    struct err e;
    const struct json_node *root, *m;

    json_init(&doc);
    CHECK(json_parse(&doc, messages, &e));
    root = json_root(&doc);
    for (m = json_first(&doc, root); m;) {
        const struct json_node *calls = json_find(&doc, m, STR("tool_calls")), *c;

        CHECK(!json_is(&doc, json_find(&doc, m, STR("role")), STR("tool")));
        m = json_next(&doc, root, m);
        for (c = calls ? json_first(&doc, calls) : NULL; c; c = json_next(&doc, calls, c)) {
            const struct json_node *id = json_find(&doc, c, STR("id"));

            CHECK(m && json_is(&doc, json_find(&doc, m, STR("role")), STR("tool")));
            CHECK(json_equal(&doc, id, &doc, json_find(&doc, m, STR("tool_call_id"))));
            m = json_next(&doc, root, m);
        }
    }
    json_release(&doc);
}
