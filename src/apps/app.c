/* app.c - the rows of the applications: which there are, which are open, who answers a path.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/app.h"

#include "agent/hide_thoughts.h"
#include "base/ctype.h"
#include "base/utf8.h"
#include "gateway/config_build.h"

#define MESSAGE_MAX 1024
/* A ceiling: hundreds of runs may be unfinished, each with an input of megabytes. */
#define RUNS_ARENA ((size_t)8 << 30)

static const struct app *const rows[] = {
    &app_agents, &app_incidents, &app_policy, &app_orders, &app_optimize};

struct apps {
    struct app_host host;
    void *open[COUNT_OF(rows)]; /* by row; NULL: not configured */
    bool blind;                 /* the last look failed */
};

const struct app *app_at(size_t i)
{
    return i < COUNT_OF(rows) ? rows[i] : NULL;
}

bool apps_open(const struct app_host *h, struct apps **out, struct err *e)
{
    struct apps *a = base_alloc(sizeof *a);

    *a = (struct apps){.host = *h};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert(rows[i]->name && rows[i]->close);
        if (rows[i]->open(&a->host, &a->open[i], e))
            continue;
        err_prefix(e, "%s: ", rows[i]->name);
        a->open[i] = NULL;
        apps_close(a);
        return false;
    }
    *out = a;
    return true;
}

void apps_close(struct apps *a)
{
    if (!a)
        return;
    for (size_t i = COUNT_OF(rows); i-- > 0;)
        if (a->open[i])
            rows[i]->close(a->open[i]);
    free(a);
}

void *apps_find(struct apps *a, const struct app *row)
{
    assert(row);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i] == row)
            return a->open[i];
    return NULL;
}

static void resume_runs(struct apps *a, size_t i, str app)
{
    struct agent_row *list;
    struct arena arena;
    struct err e;
    size_t n;

    assert(a->open[i] && rows[i]->resume);
    arena_init(&arena, RUNS_ARENA);
    if (!agent_log_unfinished(a->host.log, app, &arena, &list, &n, &e)) {
        log_warn("unfinished runs cannot be read", LOG_ERR(&e));
        n = 0;
    }
    for (size_t j = 0; j < n; j++) {
        log_info("a run continues", LOG_STR("app", app), LOG_STR("run", list[j].id));
        rows[i]->resume(a->open[i], &list[j]);
    }
    arena_release(&arena);
}

/* A part may have the state "running" while its whole run still waits: the process ended right
 * after a person's decision was stored. */
static void apps_resume_row(struct apps *a, size_t i)
{
    char part[64];

    if (!a->open[i] || !rows[i]->resume)
        return;
    resume_runs(a, i, str_c(rows[i]->name));
    (void)snprintf(part, sizeof part, "%s.part", rows[i]->name);
    resume_runs(a, i, str_c(part));
}

/* A run of the row's application, or a part of one; parts of another name are resumed by their
 * root. */
static bool apps_resumes(const struct app *row, str name)
{
    str of = str_slice(name, 0, str_find(name, STR(".")));

    return str_eq(of, str_c(row->name)) &&
           (of.n == name.n || str_eq(str_slice(name, of.n, name.n), STR(".part")));
}

static void apps_do_due(struct apps *a, const struct agent_row *run)
{
    bool cancels = str_eq(run->from, STR("cancel"));
    str of = str_slice(run->app, 0, str_find(run->app, STR(".")));

    assert(run->id.n > 0 && of.n > 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (!a->open[i] || !str_eq(of, str_c(rows[i]->name)))
            continue;
        if (cancels && rows[i]->cancel && rows[i]->cancel(a->open[i], run))
            log_info("a run ends, as another daemon was asked", LOG_STR("run", run->id));
        else if (!cancels && rows[i]->resume &&
                 (str_eq(run->status, STR("waiting")) || apps_resumes(rows[i], run->app)))
            rows[i]->resume(a->open[i], run);
    }
}

void apps_look(struct apps *a)
{
    struct agent_row *list;
    struct arena arena;
    struct err e;
    size_t n;
    bool ok;

    assert(a->host.log); /* several daemons share a store, so there is one */
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (a->open[i] && rows[i]->look)
            rows[i]->look(a->open[i]);
    arena_init(&arena, RUNS_ARENA);
    ok =
        agent_log_adopt(a->host.log, true, &e) && agent_log_due(a->host.log, &arena, &list, &n, &e);
    if (!ok && !a->blind) /* once, until it works again */
        log_warn("runs that other daemons hand over cannot be read", LOG_ERR(&e));
    n = ok ? n : 0;
    for (size_t i = 0; i < n; i++)
        apps_do_due(a, &list[i]);
    /* The last look may have taken runs without getting them: its commit was not confirmed. */
    for (size_t i = 0; ok && a->blind && i < COUNT_OF(rows); i++)
        if (rows[i]->resumes_active)
            apps_resume_row(a, i);
    a->blind = !ok;
    arena_release(&arena);
}

void apps_lost(struct apps *a)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (a->open[i] && rows[i]->lost)
            rows[i]->lost(a->open[i]);
}

void apps_resume(struct apps *a)
{
    struct err e;

    if (a->host.log && !agent_log_adopt(a->host.log, false, &e))
        log_warn("runs without an owner cannot be adopted", LOG_ERR(&e));
    for (size_t i = 0; a->host.log && i < COUNT_OF(rows); i++)
        apps_resume_row(a, i);
}

void apps_reload(struct apps *a)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (a->open[i] && rows[i]->reload)
            rows[i]->reload(a->open[i]);
}

/* ---- routes ---- */

static bool app_fits(const char *pattern, str path, str *parts)
{
    str want = str_c(pattern);
    size_t n = 0;

    assert(pattern[0] == '/');
    while (want.n > 0 && path.n > 0) {
        str a = str_cut(&want, '/'), b = str_cut(&path, '/');

        if (!str_eq(a, STR("*"))) {
            if (!str_eq(a, b))
                return false;
        } else if (n < APP_PARTS_MAX && b.n > 0) {
            parts[n++] = b;
        } else {
            return false;
        }
    }
    return want.n == 0 && path.n == 0;
}

bool apps_route(str method, str path, struct app_match *out, struct buf *methods)
{
    bool known = false;

    *out = (struct app_match){0};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (const struct app_route *r = rows[i]->routes; r && r->method; r++) {
            struct app_match m = {.app = rows[i], .route = r};

            if (!app_fits(r->path, path, m.parts))
                continue;
            if (methods)
                buf_printf(methods, "%s%s", known ? ", " : "", r->method);
            known = true;
            if (!out->route && (str_eq(method, str_c(r->method)) ||
                                (str_eq(method, STR("HEAD")) && strcmp(r->method, "GET") == 0)))
                *out = m;
        }
    assert(known || !out->route);
    return known;
}

static void app_hide_thoughts(const struct app_request *q, struct app_reply *r)
{
    str all = buf_str(&r->body), less = run_hide_thoughts(all, q->arena);

    if (less.p == all.p)
        return;
    buf_reset(&r->body);
    buf_add(&r->body, less);
}

/* The body of a route with APP_JSON: an object without members that the route does not know. A
 * misspelt option must not be a request without it. */
static bool app_read_body(const struct app_request *q, const struct app_route *route,
                          struct json *doc, struct app_reply *r)
{
    struct err e;

    if (!app_json(q, doc, r))
        return false;
    if (!route->body || config_check_members(doc, json_root(doc), route->body, &e))
        return true;
    app_fail_err(r, &e);
    return false;
}

void app_answer(void *app, const struct app_match *m, const struct app_request *q,
                struct app_reply *r)
{
    unsigned flags = m->route->flags;
    struct app_request own = *q;
    struct json doc;

    assert(!(flags & APP_READY) || m->app->ready);
    json_init(&doc);
    own.json = &doc;
    if (flags & APP_OPERATOR && !q->operator_)
        app_fail(r, 403, "forbidden", "only an operator may do that");
    else if ((!(flags & APP_READY) || m->app->ready(app, r)) &&
             (!(flags & APP_JSON) || app_read_body(q, m->route, &doc, r)))
        m->route->answer(app, &own, r);
    if (flags & APP_TRACE && !q->sees_reasoning)
        app_hide_thoughts(q, r);
    json_release(&doc);
}

void apps_answer(struct apps *a, const struct app_match *m, const struct app_request *q,
                 struct app_reply *r)
{
    void *app = apps_find(a, m->app);

    assert(m->route && m->route->answer);
    r->status = 200;
    r->type = "application/json";
    r->retry_after_s = 0;
    if (app)
        app_answer(app, m, q, r);
    else
        app_fail(r,
                 404,
                 "not_configured",
                 "the configuration has no section \"%s\", so nothing is there",
                 m->app->name);
}

/* ---- shared parts of answers ---- */

void app_fail_begin(struct app_reply *r, struct json_out *o, int status, const char *code,
                    str message)
{
    assert(status >= 400 && status < 600 && code[0]);
    r->status = status;
    r->error = code;
    r->type = "application/json";
    buf_reset(&r->body);
    json_out_init_object(o, &r->body);
    json_member_object(o, "detail");
    json_member_str(o, "error", str_c(code));
    json_member_str(o, "message", message);
}

static void app_fail_text(struct app_reply *r, int status, const char *code, str message)
{
    struct json_out o;

    app_fail_begin(r, &o, status, code, message);
    json_out_close(&o, 2);
}

void app_fail(struct app_reply *r, int status, const char *code, const char *fmt, ...)
{
    char text[MESSAGE_MAX];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    app_fail_text(r, status, code, str_c(text));
}

void app_fail_err(struct app_reply *r, const struct err *e)
{
    app_fail_text(r, err_http_status(e->code), err_name(e->code), str_c(e->text));
}

void app_reply_begin(struct app_reply *r, struct json_out *o, const char *list)
{
    json_out_init_object(o, &r->body);
    if (list)
        json_member_array(o, list);
}

void app_reply_end(struct app_reply *r, struct json_out *o, bool ok, const struct err *e)
{
    struct err why;

    assert(o->buf == &r->body);
    json_out_close(o, o->depth);
    if (!ok)
        app_fail_err(r, e);
    else if (!json_out_ok(o, &why))
        app_fail_err(r, &why);
}

bool app_json(const struct app_request *q, struct json *doc, struct app_reply *r)
{
    struct err e;

    if (!json_parse(doc, q->body, &e)) {
        app_fail(r, 400, "invalid_json", "the body is not JSON: %s", e.text);
        return false;
    }
    if (json_root(doc)->kind != JSON_OBJECT) {
        app_fail(r, 400, "invalid_json", "the body must be one JSON object");
        return false;
    }
    return true;
}

/* Decodes percent escapes; an invalid escape is kept as written. */
static str app_decode_query(struct arena *a, str text)
{
    char *p = arena_alloc(a, text.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++) {
        int high = text.p[i] == '%' && i + 2 < text.n ? char_hex_value(text.p[i + 1]) : -1;
        int low = high >= 0 ? char_hex_value(text.p[i + 2]) : -1;
        int plain = text.p[i] == '+' ? ' ' : text.p[i];

        if (low >= 0)
            i += 2;
        p[n++] = (char)(low >= 0 ? (high << 4 | low) : plain);
    }
    p[n] = '\0';
    assert(n <= text.n);
    return utf8_valid((str){p, n}) ? (str){p, n} : STR("");
}

str app_query(const struct app_request *q, const char *name)
{
    str rest = q->query;

    while (rest.n > 0) {
        str value = str_cut(&rest, '&');
        size_t equals = str_find(value, STR("="));

        if (equals != STR_NONE && str_eq(str_cut(&value, '='), str_c(name)))
            return app_decode_query(q->arena, value);
    }
    return STR("");
}

/* ---- streams ---- */

static void app_send_text(struct app_reply *r, str text)
{
    r->type = "text/event-stream";
    if (r->send)
        r->send(r->send_ctx, text);
    else
        buf_add(&r->body, text);
}

/* Line breaks between the values of the JSON become spaces: a line break ends the data of an
 * event, and a text in JSON has none. */
static void app_send_one_line(struct buf *out, str json)
{
    size_t start = out->n;

    buf_add(out, json);
    for (size_t i = start; i < out->n; i++)
        if (out->p[i] == '\n' || out->p[i] == '\r')
            out->p[i] = ' ';
}

void app_send_id(struct app_reply *r, const char *event, str id, str json)
{
    struct buf line;

    assert(strlen(event) < 100 && str_find(id, STR("\n")) == STR_NONE);
    buf_init(&line, json.n + id.n + 256);
    buf_printf(&line, "event: %s\n", event);
    if (id.n)
        buf_printf(&line, "id: " STR_FMT "\n", STR_ARG(id));
    buf_add(&line, STR("data: "));
    app_send_one_line(&line, json);
    buf_add(&line, STR("\n\n"));
    app_send_text(r, buf_str(&line));
    buf_release(&line);
}

void app_send(struct app_reply *r, const char *event, str json)
{
    app_send_id(r, event, STR(""), json);
}

void app_send_retry(struct app_reply *r, unsigned ms)
{
    struct buf line;

    buf_init(&line, 64);
    buf_printf(&line, "retry: %u\n\n", ms);
    app_send_text(r, buf_str(&line));
    buf_release(&line);
}

bool app_read_stream(const struct app_request *q, const struct json *body, bool *out, struct err *e)
{
    const struct json_node *v = json_find(body, json_root(body), STR("stream"));

    *out = q->accept.n && str_find(q->accept, STR("text/event-stream")) != STR_NONE;
    return !v || v->kind == JSON_NULL || json_bool(v, out) ||
           err_input(e, "stream: must be true or false");
}
