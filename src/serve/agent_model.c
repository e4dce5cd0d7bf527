/* agent_model.c - an agent as a model: agent/NAME in every dialect.
 *
 * The client's history is the conversation, and its last message is the agent's input. The steps of
 * the run are the reasoning of the reply, shown or hidden like any reasoning. The client executes
 * the tools of the request: the reply ends with their calls, and the request with their results
 * resumes the same run. A reply is built from the events in the run's log, so the same request gets
 * the same reply again. All of this runs on a thread that may block.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/agent_model_state.h"

#include "base/json_get.h"
#include "base/utf8.h"
#include "chat/repr.h"

#define STEP_SHOWN 2000 /* characters of a tool's result that appear in the reasoning */
#define WAIT_US 100000

/* ---- output ---- */

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
    assert(m->encoder.wire); /* Gemini's array framing has an encoder of its own */
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
    struct chat_error error = exchange_error_of(status, code, message);

    assert(status >= 400 && status < 600);
    error.id = m->q->call->id;
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

/* The call as an item of the Responses dialect. */
static void model_add_item(struct model_reply *m, str id, str tool, str arguments)
{
    struct json_out o;

    assert(id.n > 0);
    if (m->items.n)
        buf_add_c(&m->items, ',');
    json_out_init_object(&o, &m->items);
    json_member_str(&o, "type", STR("function_call"));
    json_member_str(&o, "call_id", id);
    json_member_str(&o, "name", tool);
    json_member_str(&o, "arguments", arguments);
    json_out_end(&o);
}

static void model_tool_call(struct model_reply *m, const struct json *doc)
{
    const struct json_node *root = json_root(doc), *v = json_find(doc, root, STR("arguments"));
    str tool = json_copy_text(doc, root, "tool", m->q->arena),
        arguments = v ? json_raw(doc, v) : STR("{}");
    struct buf text;

    if (json_get_true(doc, root, "client")) {
        uint32_t block = (uint32_t)(2 + m->calls++);
        str id = arena_printf(m->q->arena,
                              STR_FMT "." STR_FMT,
                              STR_ARG(m->run),
                              STR_ARG(json_copy_text(doc, root, "call_id", m->q->arena)));

        assert(block >= 2); /* 0 is the reasoning, 1 the text */
        model_emit(m,
                   (struct chat_event){.kind = CHAT_CALL, .id = id, .name = tool, .block = block});
        model_emit(m,
                   (struct chat_event){.kind = CHAT_ARGUMENTS, .text = arguments, .block = block});
        model_flush(m);
        model_add_item(m, id, tool, arguments);
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
                     : json_copy_text(doc, result, "text", m->q->arena);
    if (m->resumed)
        return;
    m->usage.input = json_get_i64(doc, tokens, "input", m->usage.input);
    m->usage.output = json_get_i64(doc, tokens, "output", m->usage.output);
    m->usage.reasoning = json_get_i64(doc, tokens, "reasoning", m->usage.reasoning);
}

/* The usage of a reply that resumes a run covers only the calls since then. */
static void model_add_usage(struct model_reply *m, const struct json *doc)
{
    static const char *const names[] = {"input_tokens", "output_tokens", "reasoning_tokens"};
    const struct json_node *usage = json_find(doc, json_root(doc), STR("usage"));
    int64_t *to[] = {&m->usage.input, &m->usage.output, &m->usage.reasoning}, n;

    for (size_t i = 0; i < COUNT_OF(to); i++)
        if (json_i64(doc, json_find(doc, usage, str_c(names[i])), &n) && n > 0)
            *to[i] = (*to[i] > 0 ? *to[i] : 0) + n;
}

/* Whether the event is one of this reply. */
static bool model_wants(struct model_reply *m, const struct json *doc, const char *name)
{
    const struct json_node *root = json_root(doc);
    str id = json_copy_text(doc, root, "call_id", m->q->arena);
    bool result = strcmp(name, "tool_result") == 0, ours = false;
    int64_t seq;

    assert(m->result_count <= MODEL_CALLS_MAX);
    for (size_t i = 0; result && i < m->result_count; i++)
        ours |= str_eq(id, m->results[i]) &&
                str_eq(json_copy_text(doc, root, "run_id", m->q->arena), m->run);
    if (m->skipping && strcmp(name, "decided") == 0 && m->decided_run.n &&
        json_i64(doc, json_find(doc, root, STR("seq")), &seq) && seq == m->decided_seq &&
        str_eq(json_copy_text(doc, root, "run_id", m->q->arena), m->decided_run))
        ours = true;
    if (m->skipping && !ours)
        return false;
    m->skipping = false;
    /* If the calls of the reply have results, a later request has continued the run. */
    m->full |= m->calls > 0 && result && str_find(buf_str(&m->items), id) != STR_NONE;
    return !m->full;
}

static void model_on_event(void *ctx, const struct run_event *ev)
{
    struct model_reply *m = ctx;
    const struct json_node *root, *calls;
    struct json doc;
    struct err e;

    if (!json_open(&doc, ev->json, &e)) {
        json_release(&doc);
        return;
    }
    root = json_root(&doc);
    calls = json_find(&doc, root, STR("tool_calls"));
    if (!model_wants(m, &doc, ev->name)) {
        json_release(&doc);
        return;
    }
    if (strcmp(ev->name, "message") == 0)
        model_add_usage(m, &doc);
    if (strcmp(ev->name, "reasoning") == 0)
        model_think(m, "", json_copy_text(&doc, root, "text", m->q->arena));
    else if (strcmp(ev->name, "message") == 0 && calls && json_first(&doc, calls))
        model_think(m, "", json_copy_text(&doc, root, "text", m->q->arena));
    else if (strcmp(ev->name, "tool_call") == 0)
        model_tool_call(m, &doc);
    else if (strcmp(ev->name, "tool_result") == 0 && json_find(&doc, root, STR("result")))
        model_think(m, "result", json_raw(&doc, json_find(&doc, root, STR("result"))));
    else if (strcmp(ev->name, "approval") == 0)
        model_think(m, "waits for approval of", json_copy_text(&doc, root, "tool", m->q->arena));
    else if (strcmp(ev->name, "ended") == 0 &&
             str_eq(json_copy_text(&doc, root, "run_id", m->q->arena), m->run))
        model_ended(m, &doc);
    json_release(&doc);
}

/* Until the run ends or waits. */
static bool model_follow(struct model_reply *m, struct run_cursor *c, enum run_state *state,
                         struct err *e)
{
    struct run_events_sink sink = {.thoughts = m->shows, .on_event = model_on_event, .ctx = m};
    uint64_t version = 0;

    assert(m->run.n > 0);
    for (;;) {
        bool active = agents_wait(m->app->runner, m->run, &version, m->q->cancel);

        if (!run_events_read(m->app->host.log, m->run, c, &sink, state, e))
            return false;
        if (*state == RUN_ENDED)
            agents_wait_gone(m->app->runner, m->run);
        if (*state != RUN_GOES_ON || m->full)
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

/* The reply, for requests that name it as their previous_response_id. */
static void model_keep(struct model_reply *m)
{
    const struct app_call *c = m->q->call;
    struct previous_response r = {.who = m->q->key,
                                  .id = arena_join(m->q->arena, STR("resp_"), c->id, STR("")),
                                  .previous = c->previous,
                                  .session = m->session};
    struct json_out o;
    struct buf items;

    if (!c->keep)
        return;
    buf_init(&items, MODEL_OUT_MAX);
    buf_add(&items, c->items);
    if (m->text.n) {
        buf_printf(&items, "%s", items.n ? "," : "");
        json_out_init_object(&o, &items);
        json_member_str(&o, "role", STR("assistant"));
        json_member_str(&o, "content", m->text);
        json_out_end(&o);
    }
    if (m->items.n)
        buf_printf(&items, "%s", items.n ? "," : "");
    buf_add(&items, buf_str(&m->items));
    r.items = buf_str(&items);
    previous_response_put(m->app->host.gateway->previous_responses, &r);
    buf_release(&items);
}

static void model_finish(struct model_reply *m, enum chat_stop stop)
{
    model_keep(m);
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

/* The run waits: for results of the client's tools, which are in the reply, or for a person. */
static void model_wait(struct model_reply *m)
{
    struct agent_rows parts;
    struct agent_row row;
    struct agent_effect f;
    struct err e;
    bool found;

    assert(m->run.n > 0);
    if (m->calls) {
        model_finish(m, CHAT_STOP_TOOL);
        return;
    }
    if (!agent_log_run_get(m->app->host.log, m->run, m->q->arena, &row, &e) ||
        !agent_log_parts(m->app->host.log, m->run, row.session_id, m->q->arena, &parts, &e)) {
        model_fail(m, 500, "run_lost", str_c(e.text));
        return;
    }
    found = agent_log_question(m->app->host.log, m->run, m->q->arena, &f, &e);
    for (size_t i = 0; !found && i < parts.n; i++)
        found = str_eq(parts.at[i].status, STR("waiting")) &&
                agent_log_question(m->app->host.log, parts.at[i].id, m->q->arena, &f, &e);
    if (!found) {
        model_fail(m, 409, "run_waits", STR("the run waits for results of other calls"));
        return;
    }
    m->text = arena_printf(m->q->arena,
                           "A person has to allow the call " STR_FMT "(" STR_FMT
                           ") first: " MODEL_APPROVE STR_FMT
                           "' %lld (or deny), or on the dashboard. Then write again, and I "
                           "go on.",
                           STR_ARG(f.name),
                           STR_ARG(utf8_cut_count(f.request, STEP_SHOWN)),
                           STR_ARG(f.run),
                           (long long)f.seq);
    model_finish(m, CHAT_STOP_END);
}

static void model_end(struct model_reply *m)
{
    struct agent_row row;
    struct err e;
    str detail = STR("the agent gave no answer");
    struct json doc;

    assert(m->run.n > 0);
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
        detail = json_copy_text(&doc, json_root(&doc), "detail", m->q->arena);
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

static bool model_read(struct model_reply *m, struct err *e)
{
    assert(m->wire && m->q->call);
    if (!json_parse(&m->doc, m->q->call->body.n ? m->q->call->body : m->q->body, e) ||
        !m->wire->read(&m->doc, m->q->arena, &m->request, e))
        return false;
    if (m->request.unknown_why.n) /* no provider of the client's dialect can judge the field */
        return err_input(e,
                         STR_FMT ": " STR_FMT,
                         STR_ARG(m->request.unknown_param),
                         STR_ARG(m->request.unknown_why));
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
                            .wire = q->call->wire,
                            .stream = q->call->stream,
                            .shows = q->call->shows,
                            .usage = chat_usage_none,
                            .run = STR(""),
                            .text = STR(""),
                            .session = STR("")};
    struct run_cursor *c = run_cursor_new();
    bool unknown = q->call->unknown.n > 0;
    enum run_state state = RUN_GOES_ON;
    struct err e;

    assert(q->call);
    json_init(&m.doc);
    buf_init(&m.out, MODEL_OUT_MAX);
    buf_init(&m.items, MODEL_OUT_MAX);
    if (!m.app->host.log)
        model_fail(&m, 503, "history_disabled", STR("agents need a store"));
    else if (!model_read(&m, &e))
        model_fail(&m, 400, "invalid_request", str_c(e.text));
    else if (unknown)
        model_fail(&m,
                   404,
                   "previous_response_not_found",
                   arena_printf(q->arena,
                                "there is no response \"" STR_FMT
                                "\" of an agent any more: send the conversation itself",
                                STR_ARG(str_slice(q->call->unknown, 0, 80))));
    else if (!model_begin(&m, &e))
        model_fail(&m,
                   e.code == ERR_CANCELLED ? 409 : err_http_status(e.code),
                   e.code == ERR_NOT_FOUND  ? m.result_count ? "run_not_found" : "model_not_found"
                   : e.code == ERR_CONFLICT ? "conflict"
                                            : "invalid_request",
                   str_c(e.text));
    else if (!model_follow(&m, c, &state, &e))
        model_fail(&m, 503, "run_left", str_c(e.text));
    else if (m.full || state == RUN_WAITS)
        model_wait(&m);
    else
        model_end(&m);
    run_cursor_free(c);
    buf_release(&m.out);
    buf_release(&m.items);
    json_release(&m.doc);
}

static const struct app_route agent_model_route = {"POST", "", agent_model_answer, 0, NULL, NULL};

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
    uint64_t answers;

    assert(!ex->app_call && agent_model_is(ex->request.model));
    if (!exchange_may_use(ex, ex->request.model)) {
        exchange_refuse_model(ex, str_slice(ex->request.model, 0, 100));
        return;
    }
    if (!exchange_reasoning_valid(ex))
        return;
    if (str_u64(ex->request.n, &answers) && answers > 1) {
        exchange_fail(
            ex,
            400,
            "unsupported_parameter",
            "%s: an agent gives one answer to a request: send one request for each answer",
            ex->wire->dialect == CHAT_GEMINI ? "generationConfig.candidateCount" : "n");
        return;
    }
    *c = (struct app_call){
        .wire = ex->wire,
        .id = ex->id,
        .model = ex->request.model,
        .session = str_slice(http1_find(h, STR("x-rationale-session")), 0, 256),
        .stream = ex->request.stream,
        .shows = !call_reply_hides(ex->setup->config, &policy, NULL) && !ex->request.no_thoughts,
        .array = ex->request.stream && ex->wire->dialect == CHAT_GEMINI &&
                 str_find(h->query, STR("alt=sse")) == STR_NONE,
        .body = ex->previous.whole ? json_raw(&ex->doc, json_root(&ex->doc)) : STR(""),
        .items = ex->previous.items.p ? ex->previous.items : STR(""),
        .previous = ex->previous.whole ? ex->previous.id : STR(""),
        .unknown = ex->previous.id.p && !ex->previous.whole ? ex->previous.id : STR(""),
        .keep = ex->wire->dialect == CHAT_RESPONSES && ex->previous.keep,
        .bare = ex->wire->dialect == CHAT_GEMINI && http1_has(h, STR("x-goog-api-client")),
    };
    ex->called = true; /* its calls are counted by the run */
    ex->app = arena_alloc(server_arena(ex->x), sizeof *ex->app);
    *ex->app = (struct app_match){.app = &app_agents, .route = &agent_model_route};
    for (size_t i = 0; i < APP_PARTS_MAX; i++)
        ex->app->parts[i] = STR("");
    ex->app_call = c;
    apps_any.handle(ex);
}
