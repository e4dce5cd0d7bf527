/* history_job.c - queries run on a thread of the pool, and the loop sends their replies.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/history_job.h"

#include "store/title.h"
#include "wire/redact_reasoning.h"

/* Limit for one parsed value: decisions about a run read its input and its result several times,
 * and both can be as large as requests and replies. */
#define ARENA_MAX ((size_t)1 << 30)
#define WHOLE_MAX ((size_t)1 << 20) /* larger replies are not compressed: that takes time */

/* Adds a running call, in the form of the live view. */
static bool history_on_running(void *ctx, const struct hub_running *c)
{
    struct history_job *j = ctx;
    struct query_running *to = &j->running[j->asker.running_count];
    char title[TITLE_SIZE];

    assert(j->asker.running_count < QUERY_RUNNING_MAX);
    if (c->session.n == 0)
        return true;
    *to = (struct query_running){.interaction_id = arena_dup(&j->arena, c->id),
                                 .session_id = arena_dup(&j->arena, c->session),
                                 .key_name = arena_dup(&j->arena, c->key),
                                 .model = arena_dup(&j->arena, c->model),
                                 .title = arena_dup(&j->arena, title_of(c->asked, title)),
                                 .dialect = arena_dup(&j->arena, c->dialect),
                                 .started_us = c->started_us};
    return ++j->asker.running_count < QUERY_RUNNING_MAX;
}

static void history_job_list_running(struct history_job *j)
{
    j->asker.running = j->running;
    j->asker.running_count = 0;
    if (j->worker->daemon->gateway.hub)
        (void)hub_running(j->worker->daemon->gateway.hub, STR(""), history_on_running, j);
}

static void serve_history_job_who(struct history_job *j)
{
    const struct config_key *k = j->ex->key;

    j->asker.key_name = k && !api_operator(j->ex) ? arena_dup(&j->arena, k->name) : STR("");
    j->key = k ? arena_dup(&j->arena, k->name) : STR("");
    j->all = api_operator(j->ex);
    j->asker.hide_reasoning = !api_sees_reasoning(j->ex);
    j->asker.redact = redact_history_text;
    j->asker.now_us = clock_wall_ms(j->worker->daemon->gateway.clock) * 1000;
    history_job_list_running(j);
}

static void serve_history_job_answer(struct history_job *j);

struct history_job *history_job_new(struct exchange *ex, history_ask *ask)
{
    struct history_job *j;

    if (!ex->worker->daemon->work) {
        exchange_fail(ex, 503, "history_disabled", "nothing is on record: the store is \"none\"");
        return NULL;
    }
    j = base_alloc(sizeof *j);
    *j = (struct history_job){
        .ex = ex, .worker = ex->worker, .ask = ask, .answer = serve_history_job_answer};
    arena_init(&j->arena, ARENA_MAX);
    buf_init(&j->out, QUERY_OUT_MAX);
    buf_init(&j->body, JSON_SIZE_MAX);
    j->filter = query_filter_none;
    j->page = (struct query_page){.limit = 20, .page = 1, .cursor = STR(""), .sort = STR("")};
    j->id = j->words = j->name = STR("");
    serve_history_job_who(j);
    return j;
}

struct history_job *history_job_begin(struct exchange *ex, struct params *p, history_ask *ask)
{
    struct history_job *j = history_job_new(ex, ask);

    if (j)
        params_init(p, ex, &j->arena);
    return j;
}

void history_job_go(struct history_job *j, struct params *p)
{
    assert(p->ex == j->ex);
    if (params_ok(p))
        history_job_post(j);
    else
        history_job_free(j);
}

void history_job_free(struct history_job *j)
{
    assert(!j->posted);
    if (j->exporting)
        query_export_release(&j->export);
    buf_release(&j->out);
    buf_release(&j->body);
    arena_release(&j->arena);
    free(j);
}

static void serve_history_job_run(struct work_job *job, struct reader *r, const struct err *e)
{
    struct history_job *j = (struct history_job *)(void *)job;

    assert(r || e);
    if (!r)
        j->err = *e;
    else if (job->cancelled)
        err_set(&j->err, ERR_CANCELLED, "the client has left");
    j->reader = r;
    j->ok = r && !job->cancelled && j->ask(j, &j->err);
}

static void serve_history_job_on_gone(struct exchange *ex)
{
    struct history_job *j = ex->job;

    j->ex = NULL;
    if (j->posted)
        work_cancel(j->worker->daemon->work, &j->job);
    else
        history_job_free(j); /* it waited until the client had read more */
}

static void serve_history_job_done(struct work_job *job)
{
    struct history_job *j = (struct history_job *)(void *)job;

    assert(j->posted && j->worker->jobs > 0);
    j->worker->jobs--;
    j->posted = false;
    if (!j->ex)
        history_job_free(j);
    else
        j->answer(j);
}

void history_job_post(struct history_job *j)
{
    assert(j->ex && !j->posted);
    j->ex->job = j;
    j->ex->on_gone = serve_history_job_on_gone;
    j->job.run = serve_history_job_run;
    j->job.done = serve_history_job_done;
    if (work_post(j->worker->daemon->work, j->worker->gl.loop, &j->job)) {
        j->worker->jobs++;
        j->posted = true;
        return;
    }
    err_set(&j->err, ERR_LIMIT, "too many questions wait already");
    j->ok = false;
    j->answer(j);
}

/* The error "field: reason" of an invalid query. */
static void history_fail_input(struct exchange *ex, const struct err *e)
{
    str text = str_c(e->text);
    size_t colon = str_find(text, STR(": "));
    str field = arena_dup(server_arena(ex->x), str_slice(text, 0, colon));

    assert(e->code == ERR_INPUT);
    if (colon == STR_NONE)
        exchange_fail(ex, 422, "invalid_parameter", "%s", e->text);
    else
        api_invalid(ex, 422, field.p, STR(""), "string", text.p + colon + 2);
}

void history_job_refuse_json(struct err *e)
{
    err_prefix(e, "body: is not JSON: ");
    e->code = ERR_INPUT;
}

void history_job_fail(struct history_job *j)
{
    struct exchange *ex = j->ex;
    struct chat_error error = exchange_error_of(503, "store_unavailable", str_c(j->err.text));

    assert(!j->posted);
    error.retry_after_ms = 1000;
    ex->on_gone = NULL;
    ex->on_room = NULL;
    if (j->err.code == ERR_NOT_FOUND) {
        exchange_fail(ex, 404, "not_found", "%s", j->err.text);
    } else if (j->err.code == ERR_CONFLICT) {
        exchange_fail(ex, 409, "conflict", "%s", j->err.text);
    } else if (j->err.code == ERR_INPUT) {
        history_fail_input(ex, &j->err);
    } else {
        if (j->err.code == ERR_CANCELLED)
            error.code = STR("timeout"), error.message = STR("the question took too long");
        else if (j->err.code == ERR_LIMIT)
            error.code = STR("busy");
        else if (j->err.code == ERR_TIMEOUT)
            error.code = STR("catching_up"), error.retry_after_ms = 5000;
        exchange_error(ex, &error);
    }
    history_job_free(j);
}

static void serve_history_job_answer(struct history_job *j)
{
    struct exchange *ex = j->ex;

    assert(!j->posted);
    if (!j->ok) {
        history_job_fail(j);
        return;
    }
    ex->on_gone = NULL;
    if (j->out.n <= WHOLE_MAX) {
        exchange_reply(ex, 200, STR("application/json"), buf_str(&j->out));
    } else {
        struct server_exchange *x = ex->x;

        ex->status = 200;
        api_protect(ex);
        exchange_header(ex, STR("content-type"), STR("application/json"));
        server_head(x, 200, ex->headers, ex->header_count);
        exchange_done(ex);
        server_write(x, buf_str(&j->out));
        server_end(x);
    }
    history_job_free(j);
}
