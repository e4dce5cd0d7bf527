/* agent_model_begin.c - the run of a request to agent/NAME.
 *
 * Results of client tools after the last message of the assistant go to the run that made the
 * calls, which the ids of the calls name. For clients that keep no ids (Gemini, Ollama), the run is
 * found by the agent, the input and the names of the calls. After a reply that waits for a person,
 * the same run resumes. All other requests start a run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/agent_model_state.h"

#include "base/json_get.h"
#define RUN_ID_SIZE 36
#define TRY_ARENA_MAX ((size_t)1 << 30)
#define WAITING_MAX 100 /* how many runs a request without ids is compared with */

struct model_messages {
    const struct json *doc;
    const struct json_node *list;
    const struct json_node *assistant; /* the last assistant message; or NULL */
    const struct json_node *last;
    const struct json_node *results[MODEL_CALLS_MAX]; /* tool results after it */
    size_t result_count;
    str said; /* the user's text after the results */
};

static str model_agent_name(const struct model_reply *m)
{
    assert(agent_model_is(m->request.model));
    return str_slice(m->request.model, sizeof "agent/" - 1, m->request.model.n);
}

static str model_content(const struct json *doc, const struct json_node *v, struct arena *a)
{
    struct buf all;
    str text;

    if (json_text(doc, v, a, &text))
        return text;
    if (!v || v->kind != JSON_ARRAY)
        return STR("");
    buf_init(&all, AGENTS_INPUT_MAX);
    JSON_FOREACH(p, doc, v)
        if (json_text(doc, json_find(doc, p, STR("text")), a, &text))
            buf_printf(&all, "%s" STR_FMT, all.n ? "\n" : "", STR_ARG(text));
    return arena_move_buf(a, &all);
}

static bool model_has_role(const struct json *doc, const struct json_node *v, const char *role)
{
    return json_is(doc, json_find(doc, v, STR("role")), str_c(role));
}

static str model_text(const struct model_messages *x, const struct json_node *v, struct arena *a)
{
    return model_content(x->doc, json_find(x->doc, v, STR("content")), a);
}

static bool model_sort(struct model_reply *m, const struct json *doc, struct model_messages *out,
                       struct err *e)
{
    struct buf said;
    bool after = true;

    buf_init(&said, MODEL_OUT_MAX);
    *out = (struct model_messages){.doc = doc, .said = STR("")};
    out->list = json_find(doc, json_root(doc), STR("messages"));
    JSON_FOREACH(v, doc, out->list) {
        out->last = v;
        if (model_has_role(doc, v, "assistant"))
            out->assistant = v;
    }
    after = out->assistant == NULL;
    JSON_FOREACH(v, doc, out->list) {
        if (after && model_has_role(doc, v, "tool")) {
            if (out->result_count == MODEL_CALLS_MAX) {
                buf_release(&said);
                return err_input(e, "more than %d results of tools", MODEL_CALLS_MAX);
            }
            out->results[out->result_count++] = v;
        } else if (after && out->result_count && model_has_role(doc, v, "user")) {
            buf_add(&said, said.n ? STR("\n\n") : STR(""));
            buf_add(&said, model_text(out, v, m->q->arena));
        }
        after |= v == out->assistant;
    }
    out->said = arena_move_buf(m->q->arena, &said);
    return true;
}

/* ---- a new run ---- */

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

static bool model_is_system(const struct json *doc, const struct json_node *v)
{
    return model_has_role(doc, v, "system") || model_has_role(doc, v, "developer");
}

/* Whether the content has more than text. */
static bool model_has_media(const struct json *doc, const struct json_node *content)
{
    if (!content || content->kind != JSON_ARRAY)
        return false;
    JSON_FOREACH(p, doc, content)
        if (!json_find(doc, p, STR("text")))
            return true;
    return false;
}

/* Providers refuse a second system message, so the client's is appended to the agent's prompt. */
static void model_split(struct model_reply *m, const struct model_messages *x, struct buf *before,
                        struct buf *system)
{
    JSON_FOREACH(v, x->doc, x->list)
        if (model_is_system(x->doc, v)) {
            str text = model_text(x, v, m->q->arena);

            buf_printf(system, "%s" STR_FMT, system->n ? "\n\n" : "", STR_ARG(text));
        } else if (v != x->last) {
            buf_printf(before, "%s", before->n ? "," : "");
            buf_add(before, json_raw(x->doc, v));
        }
}

static bool model_start(struct model_reply *m, const struct model_messages *x, struct err *e)
{
    const struct json_node *tools = json_find(x->doc, json_root(x->doc), STR("tools")),
                           *content = json_find(x->doc, x->last, STR("content"));
    struct agents_request q = {.run = STR(""),
                               .name = model_agent_name(m),
                               .content = STR(""),
                               .thread = STR(""),
                               .session = model_find_session(m),
                               .metadata = STR(""),
                               .tools = tools ? json_raw(x->doc, tools) : STR(""),
                               .key = m->q->key};
    struct buf before, system;
    bool ok;

    buf_init(&before, MODEL_OUT_MAX);
    buf_init(&system, MODEL_OUT_MAX);
    model_split(m, x, &before, &system);
    q.messages = buf_str(&before);
    q.instructions = buf_str(&system);
    if (x->last && !model_is_system(x->doc, x->last))
        q.input = model_content(x->doc, content, m->q->arena);
    if (model_has_media(x->doc, content)) {
        q.content = json_raw(x->doc, content);
        q.input = q.input.n ? q.input : STR("(an image or a file)");
    }
    ok = agents_start(m->app->runner, &q, m->q->arena, &m->run, e);
    m->session = q.session.n ? q.session : m->run;
    buf_release(&before);
    buf_release(&system);
    return ok;
}

/* ---- an existing run ---- */

/* The row and its request, if the run is one of this agent and of this key. */
static bool model_find_run(struct model_reply *m, str run, struct arena *a, struct agent_row *row,
                           struct agents_request *q, struct err *e)
{
    struct run_asker who = {.key = m->q->operator_ ? STR("") : m->q->key};
    struct buf seen;
    bool ok;

    buf_init(&seen, MODEL_OUT_MAX);
    ok = agents_write_run(m->app->host.log, run, &who, &seen, e) &&
         agent_log_run_get(m->app->host.log, run, a, row, e) &&
         agents_request_read(row->input, a, q, e);
    buf_release(&seen);
    if (ok && (q->workflow || !str_eq(q->name, model_agent_name(m))))
        return err_input(e,
                         "the results belong to a run of agent/" STR_FMT ", not of " STR_FMT,
                         STR_ARG(q->name),
                         STR_ARG(str_slice(m->request.model, 0, 80)));
    return ok;
}

/* The name of the call that a result belongs to; or NULL. */
static const struct json_node *model_call_name(struct model_reply *m,
                                               const struct model_messages *x,
                                               const struct json_node *result)
{
    str id = json_copy_text(x->doc, result, "tool_call_id", m->q->arena);

    JSON_FOREACH(c, x->doc, json_find(x->doc, x->assistant, STR("tool_calls")))
        if (json_is(x->doc, json_find(x->doc, c, STR("id")), id))
            return json_find(x->doc, json_find(x->doc, c, STR("function")), STR("name"));
    return NULL;
}

/* For a client without ids: matches its results to the waiting calls of a run, by name and in
 * order. */
struct model_waiting {
    const struct json_node *names[MODEL_CALLS_MAX]; /* of the calls that the results belong to */
    const struct agent_effect *all;
    size_t n;
};

static bool model_match(struct model_reply *m, const struct model_messages *x,
                        const struct model_waiting *w)
{
    bool used[MODEL_CALLS_MAX] = {false};

    for (size_t i = 0; i < w->n; i++) {
        size_t k = 0;

        if (w->all[i].state == AGENT_DONE || !str_eq(w->all[i].kind, STR("client")))
            continue;
        while (k < x->result_count && (used[k] || !json_is(x->doc, w->names[k], w->all[i].name)))
            k++;
        if (k == x->result_count)
            return false;
        used[k] = true;
        m->results[k] = arena_dup(m->q->arena, w->all[i].key);
        m->result_count++;
        assert(m->result_count <= x->result_count);
    }
    return m->result_count == x->result_count;
}

static bool model_says_input(const struct model_messages *x, str input, struct arena *a)
{
    JSON_FOREACH(v, x->doc, x->list)
        if (model_has_role(x->doc, v, "user") && str_eq(model_text(x, v, a), input))
            return true;
    return false;
}

/* Whether this run waits for the results. The arena is for this run only, because many runs may be
 * tried. */
static bool model_try_waiting(struct model_reply *m, const struct model_messages *x,
                              struct model_waiting *w, str run, struct arena *a)
{
    struct agents_request q;
    struct agent_effect *all;
    struct agent_row row;
    struct err e;

    m->result_count = 0;
    if (!model_find_run(m, run, a, &row, &q, &e) || !model_says_input(x, q.input, a) ||
        !agent_log_read(m->app->host.log, row.id, a, &all, &w->n, &e))
        return false;
    w->all = all;
    return model_match(m, x, w);
}

static bool model_find_waiting(struct model_reply *m, const struct model_messages *x, str *run,
                               struct err *e)
{
    struct agent_filter f = {.id = STR(""),
                             .status = STR("waiting"),
                             .app = STR(AGENTS_APP),
                             .key = m->q->key,
                             .count_max = WAITING_MAX};
    struct model_waiting w = {.n = 0};
    struct agent_row *rows;
    struct arena scratch;
    bool found = false;
    size_t n;

    assert(x->result_count > 0 && x->result_count <= MODEL_CALLS_MAX);
    if (!agent_log_list(m->app->host.log, &f, m->q->arena, &rows, &n, e))
        return false;
    for (size_t k = 0; k < x->result_count; k++)
        w.names[k] = model_call_name(m, x, x->results[k]);
    arena_init(&scratch, TRY_ARENA_MAX);
    for (size_t i = 0; i < n && !found; i++) {
        found = model_try_waiting(m, x, &w, rows[i].id, &scratch);
        arena_reset(&scratch);
        *run = rows[i].id;
    }
    arena_release(&scratch);
    return found ||
           err_input(e,
                     "no run of this agent waits for these results: send the ids of the calls, or "
                     "the whole conversation without the calls to start a new run");
}

/* The ids of our calls are RUN.CALL. */
static bool model_read_ids(struct model_reply *m, const struct model_messages *x, str *run,
                           struct err *e)
{
    assert(x->result_count <= MODEL_CALLS_MAX && m->result_count == 0);
    for (size_t i = 0; i < x->result_count; i++) {
        str id = json_copy_text(x->doc, x->results[i], "tool_call_id", m->q->arena);

        if (id.n <= RUN_ID_SIZE + 1 || id.p[RUN_ID_SIZE] != '.')
            return model_find_waiting(m, x, run, e);
        if (i && !str_eq(*run, str_slice(id, 0, RUN_ID_SIZE)))
            return err_input(e, "the results are of calls of more than one run");
        *run = str_slice(id, 0, RUN_ID_SIZE);
        m->results[m->result_count++] = str_slice(id, RUN_ID_SIZE + 1, id.n);
    }
    return true;
}

static bool model_has_result(const struct model_reply *m, str call)
{
    for (size_t i = 0; i < m->result_count; i++)
        if (str_eq(m->results[i], call))
            return true;
    return false;
}

static bool model_is_open(const struct agent_effect *f)
{
    return f->state != AGENT_DONE && str_eq(f->kind, STR("client"));
}

/* All waiting calls must have their results, unless the request was already answered. *said:
 * whether the log already has the user's text. */
static bool model_check_results(struct model_reply *m, const struct model_messages *x, bool *said,
                                size_t *open, struct err *e)
{
    struct agent_effect *all;
    size_t n, fresh = 0;

    assert(m->run.n > 0);
    *said = false;
    if (!agent_log_read(m->app->host.log, m->run, m->q->arena, &all, &n, e))
        return false;
    *open = agent_client_open(all, n);
    for (size_t i = 0; i < n; i++) {
        bool has = model_has_result(m, all[i].key);

        *said |= has && all[i].seq >= AGENT_SAID_SEQ && str_eq(all[i].result, x->said);
        fresh += has && model_is_open(&all[i]);
    }
    for (size_t i = 0; fresh && i < n; i++)
        if (model_is_open(&all[i]) && !model_has_result(m, all[i].key))
            return err_input(e,
                             "the run waits for %zu result%s: that of " STR_FMT
                             " is missing (tool_call_id \"" STR_FMT "." STR_FMT "\")",
                             *open,
                             *open == 1 ? "" : "s",
                             STR_ARG(str_slice(all[i].name, 0, 60)),
                             STR_ARG(m->run),
                             STR_ARG(all[i].key));
    *open = fresh;
    return true;
}

static bool model_put_results(struct model_reply *m, const struct model_messages *x, struct err *e)
{
    struct setup *s = gateway_setup(m->app->host.gateway);
    bool ok = true, already;

    assert(m->run.n > 0 && m->result_count == x->result_count);
    for (size_t i = 0; ok && i < x->result_count; i++) {
        struct agent_client_result r = {.run = m->run,
                                        .call_id = m->results[i],
                                        .result = model_text(x, x->results[i], m->q->arena),
                                        .said = i + 1 == x->result_count ? x->said : STR(""),
                                        .mask = s->mask,
                                        .now_us = clock_wall_ms(m->app->host.clock) * 1000};

        ok = agent_client_result(m->app->host.log, &r, &already, e);
        if (!ok && e->code == ERR_NOT_FOUND)
            e->code = ERR_INPUT;
    }
    setup_release(s);
    return ok;
}

static bool model_go_on(struct model_reply *m, struct err *e)
{
    struct agent_row row;

    assert(m->run.n > 0);
    m->resumed = m->skipping = true;
    if (!agent_log_run_get(m->app->host.log, m->run, m->q->arena, &row, e))
        return false;
    m->session = row.session_id;
    if (str_eq(row.status, STR("running")))
        agents_resume(m->app->runner, &row);
    return true;
}

static bool model_resume(struct model_reply *m, const struct model_messages *x, struct err *e)
{
    struct agents_request q;
    struct agent_row row;
    str run = STR("");
    size_t open;
    bool said;

    assert(x->result_count > 0);
    (void)model_find_session(m);
    if (!model_read_ids(m, x, &run, e) || !model_find_run(m, run, m->q->arena, &row, &q, e))
        return false;
    m->run = arena_dup(m->q->arena, run);
    if (!model_check_results(m, x, &said, &open, e))
        return false;
    if (x->said.n && !open && !said) /* the run has continued without this text */
        return model_start(m, x, e);
    return model_put_results(m, x, e) && model_go_on(m, e);
}

/* ---- after a reply that waits for a person ---- */

static bool model_read_notice(struct model_reply *m, const struct model_messages *x)
{
    str text = model_text(x, x->assistant, m->q->arena);
    size_t at = str_find(text, STR(MODEL_APPROVE)), quote;

    if (at == STR_NONE)
        return false;
    text = str_slice(text, at + sizeof MODEL_APPROVE - 1, text.n);
    quote = str_find(text, STR("' "));
    if (quote == STR_NONE || quote < RUN_ID_SIZE)
        return false;
    m->decided_run = str_slice(text, 0, quote);
    m->decided_seq = 0;
    for (size_t i = quote + 2; i < text.n && i < quote + 20 && text.p[i] >= '0' && text.p[i] <= '9';
         i++)
        m->decided_seq = 10 * m->decided_seq + (text.p[i] - '0');
    return true;
}

/* A run that was cancelled or has failed cannot be resumed. */
static bool model_continue(struct model_reply *m, const struct model_messages *x, struct err *e)
{
    static const char *const on[] = {"running", "waiting", "done", "stopped"};
    struct agents_request q;
    struct agent_row row;
    struct err ignored;
    str run;

    assert(x->result_count == 0);
    if (!x->assistant || !model_read_notice(m, x))
        return model_start(m, x, e);
    run = str_slice(m->decided_run, 0, RUN_ID_SIZE);
    if (!model_find_run(m, run, m->q->arena, &row, &q, &ignored))
        return model_start(m, x, e);
    for (size_t i = 0; i < COUNT_OF(on); i++)
        if (str_eq(row.status, str_c(on[i]))) {
            (void)model_find_session(m);
            m->run = arena_dup(m->q->arena, run);
            return model_go_on(m, e);
        }
    return model_start(m, x, e);
}

bool model_begin(struct model_reply *m, struct err *e)
{
    struct model_messages x;
    struct buf body;
    struct json doc;
    bool ok;

    buf_init(&body, MODEL_OUT_MAX);
    wire_get(CHAT_OPENAI)->write(&m->request, &body);
    ok = json_open(&doc, buf_str(&body), e) && model_sort(m, &doc, &x, e);
    if (ok && x.result_count)
        ok = model_resume(m, &x, e);
    else
        ok = ok && model_continue(m, &x, e);
    json_release(&doc);
    buf_release(&body);
    return ok;
}
