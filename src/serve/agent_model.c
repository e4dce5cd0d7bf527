/* agent_model.c - an agent as a model: agent/NAME in every dialect.
 *
 * The client's history is the conversation, its last words are the agent's input. The steps of the
 * run are the reasoning of the reply, shown or hidden like any reasoning; usage is the sum. Tools
 * that the request has are the client's to carry out: the reply ends with their calls, and the
 * request that has their results goes on with the same run. All of it is done on a thread that may
 * wait, from the bytes of the request.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/agent_model.h"

#include "agent/events.h"
#include "apps/agents/agents.h"
#include "base/repr.h"
#include "base/utf8.h"
#include "wire/wire.h"

#define OUT_MAX ((size_t)64 << 20)
#define STEP_SHOWN 2000 /* characters of a tool's result in the reasoning */
#define WAIT_US 100000
#define RUN_ID_SIZE 36

struct model_reply {
    struct agents_app *app;
    const struct app_request *q;
    struct app_reply *r;
    const struct wire *wire;
    struct json doc;
    struct chat_request request;
    struct wire_encoder encoder;
    struct buf out;
    bool stream, shows;
    str run;
    size_t calls; /* of the client's tools, in the turn at hand */
    bool begun;
    enum chat_stop stop;
    struct chat_usage usage;
    str text;
    struct conversation conversation; /* the conversation, known by its history */
    str session;
};

/* ---- out ---- */

static void model_flush(struct model_reply *m)
{
    if (!m->stream || !m->out.n)
        return;
    m->r->type = m->wire->stream_type;
    m->r->send(m->r->send_ctx, buf_str(&m->out));
    buf_reset(&m->out);
}

static void model_emit(struct model_reply *m, struct chat_event ev)
{
    if (!m->begun) {
        m->begun = true;
        wire_encode(&m->encoder,
                    &(struct chat_event){.kind = CHAT_START,
                                         .id = m->q->call->id,
                                         .name = m->request.model,
                                         .text = STR("")});
    }
    ev.text = ev.text.p ? ev.text : STR("");
    ev.id = ev.id.p ? ev.id : STR("");
    ev.name = ev.name.p ? ev.name : STR("");
    wire_encode(&m->encoder, &ev);
}

/* One step of the run, as a paragraph of reasoning. */
static void model_think(struct model_reply *m, const char *title, str text)
{
    struct buf out;
    str front = utf8_cut_count(str_trim(text), STEP_SHOWN);

    if (!m->shows || !front.n)
        return;
    buf_init(&out, 16 * front.n + 4096);
    buf_printf(&out,
               "%s%s" STR_FMT "%s\n",
               title,
               *title ? ": " : "",
               STR_ARG(front),
               front.n < str_trim(text).n ? "..." : "");
    model_emit(m, (struct chat_event){.kind = CHAT_REASONING, .text = buf_str(&out)});
    model_flush(m);
    buf_release(&out);
}

static void model_fail(struct model_reply *m, int status, const char *code, str message)
{
    struct chat_error error = {.status = status,
                               .type = STR(""),
                               .code = str_c(code),
                               .message = message,
                               .param = STR(""),
                               .raw = STR(""),
                               .frame = STR(""),
                               .id = m->q->call->id,
                               .retry_after_ms = -1};

    if (m->stream && m->begun) {
        wire_encode(&m->encoder, &(struct chat_event){.kind = CHAT_ERROR, .error = &error});
        model_flush(m);
        return;
    }
    m->r->status = status;
    m->r->type = "application/json";
    buf_reset(&m->r->body);
    m->wire->write_error(&error, &m->r->body);
}

/* ---- events of the run ---- */

static str model_member(struct model_reply *m, const struct json *doc, const struct json_node *v,
                        const char *name)
{
    str text;

    return json_text(doc, json_find(doc, v, str_c(name)), m->q->arena, &text)
               ? arena_dup(m->q->arena, text)
               : STR("");
}

static void model_tool_call(struct model_reply *m, const struct json *doc)
{
    const struct json_node *root = json_root(doc), *v = json_find(doc, root, STR("arguments"));
    str tool = model_member(m, doc, root, "tool"), arguments = v ? json_raw(doc, v) : STR("{}");
    struct buf text;
    bool client;

    if (json_bool(json_find(doc, root, STR("client")), &client) && client) {
        uint32_t block = (uint32_t)(2 + m->calls++);
        str id = arena_printf(m->q->arena,
                              STR_FMT "." STR_FMT,
                              STR_ARG(m->run),
                              STR_ARG(model_member(m, doc, root, "call_id")));

        model_emit(m,
                   (struct chat_event){.kind = CHAT_CALL, .id = id, .name = tool, .block = block});
        model_emit(m,
                   (struct chat_event){.kind = CHAT_ARGUMENTS, .text = arguments, .block = block});
        model_flush(m);
        return;
    }
    buf_init(&text, (size_t)1 << 20);
    buf_add(&text, tool);
    buf_add_c(&text, '(');
    if (v && v->kind == JSON_OBJECT)
        repr_arguments(&text, doc, v);
    buf_add_c(&text, ')');
    model_think(m, "calls", buf_str(&text));
    buf_release(&text);
}

static void model_ended(struct model_reply *m, const struct json *doc)
{
    const struct json_node *result = json_find(doc, json_root(doc), STR("result"));
    const struct json_node *tokens = json_find(doc, result, STR("tokens")),
                           *output = json_find(doc, result, STR("finish"));

    m->text = output ? arena_dup(m->q->arena, json_raw(doc, output))
                     : model_member(m, doc, result, "text");
    (void)!json_i64(doc, json_find(doc, tokens, STR("input")), &m->usage.input);
    (void)!json_i64(doc, json_find(doc, tokens, STR("output")), &m->usage.output);
    (void)!json_i64(doc, json_find(doc, tokens, STR("reasoning")), &m->usage.reasoning);
}

static void model_on_event(void *ctx, const struct run_event *ev)
{
    struct model_reply *m = ctx;
    const struct json_node *root, *calls;
    struct json doc;
    struct err e;

    json_init(&doc);
    if (!json_parse(&doc, ev->json, &e)) {
        json_release(&doc);
        return;
    }
    root = json_root(&doc);
    calls = json_find(&doc, root, STR("tool_calls"));
    if (strcmp(ev->name, "reasoning") == 0)
        model_think(m, "", model_member(m, &doc, root, "text"));
    else if (strcmp(ev->name, "message") == 0 && calls && json_first(&doc, calls))
        model_think(m, "", model_member(m, &doc, root, "text"));
    else if (strcmp(ev->name, "tool_call") == 0)
        model_tool_call(m, &doc);
    else if (strcmp(ev->name, "tool_result") == 0 && json_find(&doc, root, STR("result")))
        model_think(m, "result", json_raw(&doc, json_find(&doc, root, STR("result"))));
    else if (strcmp(ev->name, "approval") == 0)
        model_think(m, "waits for approval of", model_member(m, &doc, root, "tool"));
    else if (strcmp(ev->name, "ended") == 0 &&
             str_eq(model_member(m, &doc, root, "run_id"), m->run))
        model_ended(m, &doc);
    json_release(&doc);
}

static void model_skip(void *ctx, const struct run_event *ev)
{
    (void)ctx, (void)ev;
}

/* Whether it waits for tools of the client, not for a person. */
static bool model_waits_for_client(struct model_reply *m)
{
    struct agent_row row;
    struct err e;

    return agent_log_run_get(m->app->host.log, m->run, m->q->arena, &row, &e) &&
           str_eq(row.status, STR("waiting")) && str_eq(row.reason, STR("client_tools"));
}

/* Until the run ends or waits for the client. Approval is waited for. */
static bool model_follow(struct model_reply *m, struct run_cursor *c, enum run_state *state,
                         struct err *e)
{
    struct run_asker who = {.key = STR(""), .thoughts = m->shows};
    uint64_t version = 0;

    for (;;) {
        bool active = agents_wait(m->app->runner, m->run, &version, m->q->cancel);

        if (!run_events_read(m->app->host.log, m->run, c, &who, model_on_event, m, state, e))
            return false;
        if (*state == RUN_ENDED)
            agents_wait_gone(m->app->runner, m->run);
        if (*state == RUN_ENDED || (*state == RUN_WAITS && model_waits_for_client(m)))
            return true;
        if (atomic_load(m->q->cancel) || (m->app->host.leave && atomic_load(m->app->host.leave))) {
            if (atomic_load(m->q->cancel))
                (void)agents_cancel(m->app->runner, m->run);
            return err_set(e, ERR_CANCELLED, "the run was left: it can be resumed");
        }
        if (!active) {
            struct timespec t = {0, WAIT_US * 1000L};

            (void)nanosleep(&t, NULL);
        }
    }
}

/* ---- the end ---- */

static void model_finish(struct model_reply *m, enum chat_stop stop)
{
    if (m->text.n)
        model_emit(m, (struct chat_event){.kind = CHAT_TEXT, .text = m->text, .block = 1});
    model_emit(m, (struct chat_event){.kind = CHAT_USAGE, .usage = &m->usage});
    model_emit(m, (struct chat_event){.kind = CHAT_STOP, .stop = stop});
    model_emit(m, (struct chat_event){.kind = CHAT_END});
    model_flush(m);
    if (!m->stream) {
        m->r->type = m->wire->whole_type;
        buf_add(&m->r->body, buf_str(&m->out));
    }
}

static void model_end(struct model_reply *m)
{
    struct agent_row row;
    struct err e;
    str detail = STR("the agent gave no answer");
    struct json doc;

    if (!agent_log_run_get(m->app->host.log, m->run, m->q->arena, &row, &e)) {
        model_fail(m, 500, "run_lost", str_c(e.text));
        return;
    }
    if (str_eq(row.status, STR("done"))) {
        if (m->session.n) {
            conversation_text(&m->conversation, m->text);
            conversation_end(m->app->host.gateway->conversations,
                             &m->conversation,
                             m->session,
                             STR(""),
                             m->q->call->id);
        }
        model_finish(m, CHAT_STOP_END);
        return;
    }
    json_init(&doc);
    if (row.result.n && json_parse(&doc, row.result, &e))
        detail = model_member(m, &doc, json_root(&doc), "detail");
    json_release(&doc);
    if (str_eq(row.reason, STR("guard_denied"))) {
        m->text = detail;
        model_finish(m, CHAT_STOP_REFUSED);
    } else if (str_eq(row.status, STR("stopped"))) {
        m->text = m->text.n ? m->text : detail;
        model_finish(m, CHAT_STOP_LENGTH);
    } else if (str_eq(row.status, STR("cancelled"))) {
        model_fail(m,
                   409,
                   "cancelled",
                   STR("the run was cancelled: ask again without its tool calls to start a new "
                       "one"));
    } else {
        model_fail(m,
                   str_eq(row.reason, STR("rate_limit_exceeded")) ? 429 : 502,
                   row.reason.n ? arena_dup(m->q->arena, row.reason).p : "agent_failed",
                   detail);
    }
}

/* ---- the request ---- */

static str model_content(const struct json *doc, const struct json_node *v, struct arena *a)
{
    struct buf all;
    str text;

    if (json_text(doc, v, a, &text))
        return text;
    if (!v || v->kind != JSON_ARRAY)
        return STR("");
    buf_init(&all, AGENTS_INPUT_MAX);
    for (const struct json_node *p = json_first(doc, v); p; p = json_next(doc, v, p))
        if (json_text(doc, json_find(doc, p, STR("text")), a, &text))
            buf_printf(&all, "%s" STR_FMT, all.n ? "\n" : "", STR_ARG(text));
    text = arena_dup(a, buf_str(&all));
    buf_release(&all);
    return text;
}

/* The result of a call of ours: its id is RUN.CALL. */
static bool model_take_result(struct model_reply *m, const struct json *doc,
                              const struct json_node *message, struct err *e)
{
    str id = model_member(m, doc, message, "tool_call_id");
    struct run_asker who = {.key = m->q->operator_ ? STR("") : m->q->key};
    struct setup *s = gateway_setup(m->app->host.gateway);
    struct agent_client_result x = {.mask = s->mask,
                                    .now_us = clock_wall_ms(m->app->host.clock) * 1000};
    struct buf seen;
    bool ok, already;

    x.run = str_slice(id, 0, RUN_ID_SIZE);
    x.call_id = id.n > RUN_ID_SIZE + 1 ? str_slice(id, RUN_ID_SIZE + 1, id.n) : STR("");
    x.result = model_content(doc, json_find(doc, message, STR("content")), m->q->arena);
    buf_init(&seen, OUT_MAX);
    ok = agents_write_run(m->app->host.log, x.run, &who, &seen, e) &&
         agent_client_result(m->app->host.log, &x, &already, e);
    if (ok)
        m->run = arena_dup(m->q->arena, x.run);
    buf_release(&seen);
    setup_release(s);
    return ok;
}

static const struct json_node *model_last(const struct json *doc, const struct json_node *list)
{
    const struct json_node *last = NULL;

    for (const struct json_node *v = list ? json_first(doc, list) : NULL; v;
         v = json_next(doc, list, v))
        last = v;
    return last;
}

/* Results of client tools at the end of the history: the run goes on. */
static bool model_resume(struct model_reply *m, const struct json *doc,
                         const struct json_node *list, struct run_cursor *c, struct err *e)
{
    struct run_asker who = {.key = STR("")};
    enum run_state state;
    struct agent_row row;

    for (const struct json_node *v = json_first(doc, list); v; v = json_next(doc, list, v)) {
        str id = model_member(m, doc, v, "tool_call_id"), run = str_slice(id, 0, RUN_ID_SIZE);
        str last = model_member(m, doc, model_last(doc, list), "tool_call_id");

        if (!id.n || !str_eq(run, str_slice(last, 0, RUN_ID_SIZE)))
            continue;
        if (!m->run.n &&
            !run_events_read(m->app->host.log, run, c, &who, model_skip, NULL, &state, e))
            return false;
        if (!model_take_result(m, doc, v, e))
            return false;
    }
    if (!agent_log_run_get(m->app->host.log, m->run, m->q->arena, &row, e))
        return false;
    agents_resume(m->app->runner, &row);
    return true;
}

static void model_add_message(struct buf *out, const struct json *doc, const struct json_node *v)
{
    if (out->n)
        buf_add_c(out, ',');
    buf_add(out, json_raw(doc, v));
}

/* Runs of one conversation have one session: the one that the client names, else the one that the
 * history belongs to. */
static str model_find_session(struct model_reply *m)
{
    struct conversations *conversations = m->app->host.gateway->conversations;
    str session;

    conversation_begin(conversations, &m->conversation, m->q->key, &m->request, m->q->arena);
    if (m->q->call->session.n)
        return m->q->call->session;
    return conversation_find(conversations, &m->conversation, m->q->arena, &session) ? session
                                                                                     : STR("");
}

/* All but the last of the client's messages stand before the input. */
static bool model_start(struct model_reply *m, const struct json *doc, const struct json_node *list,
                        struct err *e)
{
    const struct json_node *last = model_last(doc, list),
                           *tools = json_find(doc, json_root(doc), STR("tools"));
    struct agents_request q = {.run = STR(""),
                               .name = str_slice(m->request.model, 6, m->request.model.n),
                               .thread = STR(""),
                               .session = model_find_session(m),
                               .metadata = STR(""),
                               .tools = tools ? json_raw(doc, tools) : STR(""),
                               .key = m->q->key};
    struct buf before;
    bool ok;

    buf_init(&before, OUT_MAX);
    for (const struct json_node *v = json_first(doc, list); v && v != last;
         v = json_next(doc, list, v))
        model_add_message(&before, doc, v);
    q.messages = buf_str(&before);
    q.input =
        last ? model_content(doc, json_find(doc, last, STR("content")), m->q->arena) : STR("");
    ok = agents_start(m->app->runner, &q, m->q->arena, &m->run, e);
    m->session = q.session.n ? q.session : m->run;
    buf_release(&before);
    return ok;
}

static bool model_begin(struct model_reply *m, struct run_cursor *c, struct err *e)
{
    const struct json_node *list, *last;
    struct buf body;
    struct json doc;
    bool ok;

    buf_init(&body, OUT_MAX);
    json_init(&doc);
    wire_get(CHAT_OPENAI)->write(&m->request, &body);
    ok = json_parse(&doc, buf_str(&body), e);
    list = ok ? json_find(&doc, json_root(&doc), STR("messages")) : NULL;
    last = model_last(&doc, list);
    if (ok && last && json_is(&doc, json_find(&doc, last, STR("role")), STR("tool")))
        ok = model_resume(m, &doc, list, c, e);
    else
        ok = ok && model_start(m, &doc, list, e);
    json_release(&doc);
    buf_release(&body);
    return ok;
}

static bool model_read(struct model_reply *m, struct err *e)
{
    if (!json_parse(&m->doc, m->q->body, e) || !m->wire->read(&m->doc, m->q->arena, &m->request, e))
        return false;
    m->request.model = m->q->call->model;
    m->request.stream = m->stream;
    wire_encoder_init(&m->encoder, m->wire, &m->request, m->stream, m->q->arena, &m->out);
    m->encoder.id = m->q->call->id;
    m->encoder.created_s = clock_wall_ms(m->app->host.clock) / 1000;
    m->encoder.bare = m->q->call->bare;
    if (m->wire->dialect == CHAT_GENERATE)
        wire_generate_options(&m->encoder, true, m->shows);
    if (m->q->call->array)
        wire_gemini_array(&m->encoder);
    return true;
}

static void agent_model_answer(void *app, const struct app_request *q, struct app_reply *r)
{
    struct model_reply m = {.app = app,
                            .q = q,
                            .r = r,
                            .wire = wire_get(q->call->dialect),
                            .stream = q->call->stream,
                            .shows = q->call->shows,
                            .usage = chat_usage_none,
                            .run = STR(""),
                            .text = STR(""),
                            .session = STR("")};
    struct run_cursor *c = run_cursor_new(STR(""));
    enum run_state state = RUN_GOES_ON;
    struct err e;

    json_init(&m.doc);
    buf_init(&m.out, OUT_MAX);
    if (!m.app->host.log)
        model_fail(&m, 503, "history_disabled", STR("agents need a store"));
    else if (!model_read(&m, &e))
        model_fail(&m, 400, "invalid_request", str_c(e.text));
    else if (!model_begin(&m, c, &e))
        model_fail(&m,
                   e.code == ERR_CANCELLED ? 409 : err_http_status(e.code),
                   e.code == ERR_NOT_FOUND  ? "model_not_found"
                   : e.code == ERR_CONFLICT ? "conflict"
                                            : "invalid_request",
                   str_c(e.text));
    else if (!model_follow(&m, c, &state, &e))
        model_fail(&m, 503, "run_left", str_c(e.text));
    else if (state == RUN_WAITS)
        model_finish(&m, CHAT_STOP_TOOL);
    else
        model_end(&m);
    run_cursor_free(c);
    buf_release(&m.out);
    json_release(&m.doc);
}

static const struct app_route agent_model_route = {"POST", "", agent_model_answer};

bool agent_model_is(str model)
{
    return str_starts(model, STR("agent/"));
}

void agent_model_handle(struct exchange *ex)
{
    struct app_call *c = arena_zero(server_arena(ex->x), 1, sizeof *c);
    const struct http1_head *h = server_request(ex->x);
    struct call_request policy = {.wire = ex->wire,
                                  .request = &ex->request,
                                  .key = ex->key,
                                  .show = exchange_reasoning_asked(h)};

    if (!exchange_may_use(ex, ex->request.model)) {
        exchange_fail(ex,
                      403,
                      "model_not_allowed",
                      "the key \"" STR_FMT "\" may not use the model \"" STR_FMT "\"",
                      STR_ARG(ex->key->name),
                      STR_ARG(str_slice(ex->request.model, 0, 100)));
        return;
    }
    if (!exchange_reasoning_valid(ex))
        return;
    *c = (struct app_call){
        .dialect = ex->wire->dialect,
        .id = ex->id,
        .model = ex->request.model,
        .session = str_slice(http1_find(h, STR("x-rationale-session")), 0, 256),
        .stream = ex->request.stream,
        .shows = !call_reply_hides(ex->setup->config, &policy, NULL) && !ex->request.no_thoughts,
        .array = ex->request.stream && ex->wire->dialect == CHAT_GEMINI &&
                 str_find(h->query, STR("alt=sse")) == STR_NONE,
        .bare = ex->wire->dialect == CHAT_GEMINI && http1_has(h, STR("x-goog-api-client")),
    };
    ex->called = true; /* its calls are the run's own */
    ex->app = (struct app_match){.app = &app_agents, .route = &agent_model_route};
    for (size_t i = 0; i < APP_PARTS_MAX; i++)
        ex->app.parts[i] = STR("");
    ex->app_call = c;
    apps_any.handle(ex);
}
