/* Input of an agent that we did not write: replies in its log, schemas and names of tools,
 * arguments, and a whole run whose model sends arbitrary text. Every tool call gets a result, and
 * the history stays JSON.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/history.h"
#include "agent/run.h"
#include "agent/tool_box.h"
#include "base/json.h"

#define OUT_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_json(str text)
{
    struct json doc;
    struct err e;
    bool ok;

    json_init(&doc);
    ok = json_parse(&doc, text, &e);
    json_release(&doc);
    return ok;
}

/* ---- a reply of the log survives writing and reading ---- */

static void reply(str text, struct arena *a)
{
    struct ask_reply r, again;
    struct buf out, twice;
    struct history h;

    if (!reply_read(text, a, &r))
        return;
    buf_init(&out, OUT_MAX);
    buf_init(&twice, OUT_MAX);
    reply_write(&out, &r, true);
    assert(is_json(buf_str(&out)) && reply_read(buf_str(&out), a, &again));
    reply_write(&twice, &again, true);
    assert(str_eq(buf_str(&out), buf_str(&twice)));
    history_init(&h, OUT_MAX);
    history_reply(&h, &r);
    buf_add_c(&h.json, ']');
    assert(is_json(buf_str(&h.json)));
    history_release(&h);
    buf_release(&out);
    buf_release(&twice);
}

/* ---- a tool ---- */

static void schema(str text)
{
    struct buf once, twice;

    buf_init(&once, OUT_MAX);
    buf_init(&twice, OUT_MAX);
    if (tool_schema(text, false, &once)) {
        assert(is_json(buf_str(&once)));
        assert(tool_schema(buf_str(&once), false, &twice));
        assert(is_json(buf_str(&twice)));
    }
    buf_reset(&once);
    buf_reset(&twice);
    tool_canonical(&once, text);
    tool_canonical(&twice, buf_str(&once));
    assert(str_eq(buf_str(&once), buf_str(&twice)));
    buf_release(&once);
    buf_release(&twice);
}

/* ---- a run ---- */

/* Each line is a turn of the model: "name arguments" calls a tool, anything else is an answer. */
struct words {
    str rest;
};

static bool ask(void *ctx, const struct ask_request *q, const _Atomic bool *cancel, struct arena *a,
                struct ask_reply *out)
{
    struct words *w = ctx;
    size_t end = str_find(w->rest, STR("\n")), space;
    str line = str_slice(w->rest, 0, end);

    (void)cancel;
    assert(is_json(q->body));
    w->rest = end == STR_NONE ? STR("") : str_slice(w->rest, end + 1, w->rest.n);
    *out = (struct ask_reply){.id = STR("x"),
                              .text = STR(""),
                              .reasoning = STR(""),
                              .usage = chat_usage_none,
                              .recorded = true,
                              .cost_usd = -1};
    space = str_find(line, STR(" "));
    if (space == STR_NONE || end == STR_NONE) {
        out->text = line;
        return true;
    }
    out->calls = arena_zero(a, 2, sizeof *out->calls);
    out->call_count = 1 + (line.n % 2);
    for (size_t i = 0; i < out->call_count; i++)
        out->calls[i] = (struct ask_call){
            STR("call"), str_slice(line, 0, space), str_slice(line, space + 1, line.n)};
    return true;
}

static bool echo(void *ctx, const struct tool_call *c, struct buf *out, struct err *e)
{
    (void)ctx, (void)e;
    buf_add(out, c->arguments);
    return true;
}

/* Each call is followed by its result, in order, and their ids are unique. */
static void check_history(str messages)
{
    const struct json_node *root, *m;
    struct json doc;
    struct err e;

    json_init(&doc);
    assert(json_parse(&doc, messages, &e));
    root = json_root(&doc);
    for (m = json_first(&doc, root); m;) {
        const struct json_node *calls = json_find(&doc, m, STR("tool_calls")), *c;

        assert(!json_is(&doc, json_find(&doc, m, STR("role")), STR("tool")));
        m = json_next(&doc, root, m);
        for (c = calls ? json_first(&doc, calls) : NULL; c; c = json_next(&doc, calls, c)) {
            assert(m && json_equal(&doc,
                                   json_find(&doc, c, STR("id")),
                                   &doc,
                                   json_find(&doc, m, STR("tool_call_id"))));
            m = json_next(&doc, root, m);
        }
    }
    json_release(&doc);
}

static void run(str text, struct arena *a)
{
    struct toolbox *box = toolbox_new(&clock_real);
    struct words w = {text};
    struct agent_options o = {.run = STR("r"),
                              .app = STR(""),
                              .session = STR(""),
                              .input = STR(""),
                              .model_name = STR("m"),
                              .level = STR(""),
                              .system = STR(""),
                              .user = STR("u"),
                              .messages = STR(""),
                              .extra = STR(""),
                              .tools = box,
                              .ask = {ask, &w},
                              .limits = {.tokens = -1},
                              .conclude = text.n % 3 == 0,
                              .clock = &clock_real};
    struct tool t = {.name = STR("a"),
                     .description = STR(""),
                     .schema = STR("{\"type\":\"object\",\"maxProperties\":2}"),
                     .flags = TOOL_PURE,
                     .run = echo};
    struct agent_result r;
    struct err e;

    assert(toolbox_add(box, &t, &e));
    t.name = STR("b.c");
    t.flags |= TOOL_FINISH;
    assert(toolbox_add(box, &t, &e));
    assert(agent_run(&o, a, &r, &e));
    check_history(r.messages);
    toolbox_free(box);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str text = {(const char *)data, size};
    struct arena a;
    str called;

    if (size > 4096)
        return 0;
    arena_init(&a, (size_t)256 << 20);
    called = tool_called(text, &a);
    assert(tool_name_plain(called) && str_eq(called, tool_called(text, &a)));
    reply(text, &a);
    schema(text);
    run(text, &a);
    arena_release(&a);
    return 0;
}
