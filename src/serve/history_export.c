/* history_export.c - exports: a thread reads one step, the loop sends it, and the next one is read
 * only when the client has room. So no thread waits for a client, and only one step is in memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/history_job.h"

static bool serve_ask_step(struct history_job *j, struct err *e)
{
    assert(j->exporting);
    return query_export_step(j->reader, &j->asker, &j->export, &j->out, e);
}

static void serve_history_export_next(struct exchange *ex)
{
    assert(ex->job);
    ex->on_room = NULL;
    history_job_post(ex->job);
}

static void serve_history_export_head(struct history_job *j)
{
    static const struct {
        const char *type, *end;
    } forms[] = {
        [QUERY_JSON] = {"application/json", "json"},
        [QUERY_CSV] = {"text/csv; charset=utf-8", "csv"},
        [QUERY_OTLP] = {"application/x-ndjson", "otlp.jsonl"},
    };
    struct exchange *ex = j->ex;

    assert(!j->headed && (size_t)j->export.format < COUNT_OF(forms));
    api_protect(ex);
    exchange_header(ex, STR("content-type"), str_c(forms[j->export.format].type));
    exchange_header(ex,
                    STR("content-disposition"),
                    arena_printf(server_arena(ex->x),
                                 "attachment; filename=\"rationale.%s\"",
                                 forms[j->export.format].end));
    ex->status = 200;
    server_head(ex->x, 200, ex->headers, ex->header_count);
    j->headed = true;
}

/* The client has a part of the export: closing the connection shows that it is incomplete. */
static void serve_history_export_cut(struct history_job *j)
{
    struct exchange *ex = j->ex;
    struct server_exchange *x = ex->x;

    assert(j->headed && j->ex);
    log_warn("an export failed", LOG_ERR(&j->err));
    ex->on_gone = NULL;
    exchange_done(ex);
    server_abort(x);
    history_job_free(j);
}

static void serve_history_export_answer(struct history_job *j)
{
    struct exchange *ex = j->ex;
    struct server_exchange *x = ex->x;

    assert(j->exporting && !j->posted);
    if (!j->ok) {
        if (j->headed)
            serve_history_export_cut(j);
        else
            history_job_fail(j);
        return;
    }
    if (!j->headed)
        serve_history_export_head(j);
    if (j->out.n)
        server_write(x, buf_str(&j->out));
    buf_reset(&j->out);
    if (j->export.done) {
        ex->on_gone = NULL;
        exchange_done(ex);
        server_end(x);
        history_job_free(j);
    } else if (server_full(x)) {
        ex->on_room = serve_history_export_next;
    } else {
        history_job_post(j);
    }
}

static void serve_history_export_begin(struct exchange *ex, str session_id)
{
    struct params p;
    struct history_job *j = history_job_begin(ex, &p, serve_ask_step);
    enum query_format format = QUERY_JSON;
    str name;

    if (!j)
        return;
    name = params_text(&p, "format");
    if (name.n && !query_format_parse(name, &format)) {
        p.value = name;
        params_wrong(&p,
                     "format",
                     "string",
                     "must be json, csv or otlp; sqlite is for the command line: rationale export");
    }
    if (session_id.n)
        j->filter.session_id = arena_dup(&j->arena, session_id);
    else
        params_sessions(&p, &j->filter);
    if (!params_ok(&p)) {
        history_job_free(j);
        return;
    }
    query_export_init(&j->export, format, &j->filter);
    j->exporting = true;
    j->answer = serve_history_export_answer;
    history_job_post(j);
}

void export_handle(struct exchange *ex)
{
    serve_history_export_begin(ex, STR(""));
}

void session_export(struct exchange *ex, str id)
{
    serve_history_export_begin(ex, id);
}
