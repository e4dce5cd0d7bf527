/* runs.c - runs of agents, and decisions about their calls.
 *
 * A decision is first written to the log, then the run's application resumes the run. A key sees
 * the runs that it started; only an operator may decide a call or end a run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/run_json.h"
#include "gateway/config_build.h"
#include "serve/history_job.h"
#include "serve/methods.h"

#define LIST_USUAL 50
#define RUN_ID_MAX 512
#define NOTE_MAX ((size_t)1 << 20)

/* Use of the job's fields here: id is the run, or the session of a list; name is the status, words
 * the application, page.limit and .page the page, body the request's body. */

static struct agent_log *serve_log_of(const struct history_job *j)
{
    assert(j->worker->daemon->runs);
    return j->worker->daemon->runs;
}

/* An empty key sees all. */
static str serve_runs_owner(const struct history_job *j)
{
    return j->all ? STR("") : j->key;
}

static bool serve_runs_ask_list(struct history_job *j, struct err *e)
{
    struct agent_filter f = {.id = STR(""),
                             .status = j->name,
                             .app = j->words,
                             .key = serve_runs_owner(j),
                             .session = j->id,
                             .offset = (size_t)j->page.page,
                             .count_max = (size_t)j->page.limit};

    assert(j->page.limit > 0 && j->page.page >= 0);
    return run_json_list(serve_log_of(j), &f, !j->asker.hide_reasoning, &j->out, e);
}

static bool serve_ask_one(struct history_job *j, struct err *e)
{
    struct run_asker who = {serve_runs_owner(j), !j->asker.hide_reasoning};

    assert(j->id.n > 0);
    return run_json_one(serve_log_of(j), j->id, &who, &j->out, e);
}

static bool serve_ask_replay(struct history_job *j, struct err *e)
{
    struct agent_filter f = {
        .id = j->id, .status = STR(""), .app = STR(""), .key = serve_runs_owner(j), .count_max = 1};
    struct run_asker who = {serve_runs_owner(j), !j->asker.hide_reasoning};
    struct agent_row *rows;
    size_t n;

    assert(j->id.n > 0);
    if (!agent_log_list(serve_log_of(j), &f, &j->arena, &rows, &n, e))
        return false;
    if (!n)
        return err_set(e, ERR_NOT_FOUND, "there is no run \"" STR_FMT "\"", STR_ARG(j->id));
    return run_json_replay(serve_log_of(j), j->id, &who, &j->out, e);
}

/* ---- a decision ---- */

struct word {
    int64_t seq;
    enum agent_word word;
    str arguments, note;
};

static bool serve_runs_read_word(struct history_job *j, const struct json *doc, struct word *out,
                                 struct err *e)
{
    static const char *const words[] = {"approve", "deny", "change"};
    const struct json_node *root = json_root(doc), *v = json_find(doc, root, STR("word"));
    size_t i = 0;

    if (!config_check_members(doc, root, "seq word arguments note", e))
        return false;
    while (i < COUNT_OF(words) && !json_is(doc, v, str_c(words[i])))
        i++;
    if (i == COUNT_OF(words))
        return err_input(e, "word: must be approve, deny or change");
    out->word = (enum agent_word)i;
    if (!json_i64(doc, json_find(doc, root, STR("seq")), &out->seq) || out->seq < 0)
        return err_input(e, "seq: must be that of the call that waits, an integer");
    v = json_find(doc, root, STR("arguments"));
    if (out->word != AGENT_CHANGE && v)
        return err_input(e, "arguments: are for the word change only");
    if (out->word == AGENT_CHANGE && (!v || v->kind != JSON_OBJECT))
        return err_input(e, "arguments: must be an object, the call's new arguments");
    out->arguments = v ? json_raw(doc, v) : STR("");
    out->note = STR("");
    v = json_find(doc, root, STR("note"));
    if (v && json_raw(doc, v).n > NOTE_MAX)
        return err_input(e, "note: must be at most %zu bytes as JSON", NOTE_MAX);
    return !v || v->kind == JSON_NULL || json_text(doc, v, &j->arena, &out->note) ||
           err_input(e, "note: must be a text");
}

/* The application that owns the run, also as a part ("NAME.PART"), if it is open; or NULL. A caller
 * that gets an application calls apps_leave after its last use. */
static const struct app *serve_app_of(struct daemon *d, const struct agent_row *row, void **open)
{
    str name = str_slice(row->app, 0, str_find(row->app, STR(".")));

    if (!apps_enter(d))
        return NULL;
    for (size_t i = 0; app_at(i); i++) {
        *open = apps_find(d->apps, app_at(i));
        if (*open && str_eq(name, str_c(app_at(i)->name)))
            return app_at(i);
    }
    apps_leave(d);
    return NULL;
}

/* The application of the run resumes it; false if it is not open. If the run belongs to another
 * daemon, that one resumes it. */
static bool serve_runs_resume(struct daemon *d, const struct agent_row *row)
{
    void *open;
    const struct app *app = serve_app_of(d, row, &open);
    struct err e;
    bool mine, ok;

    if (!app)
        return false;
    ok = app->resume && agent_log_hand(d->runs, row->id, "resume", &mine, &e);
    if (ok && mine)
        app->resume(open, row);
    apps_leave(d);
    return ok;
}

/* If a run consists of parts (RUN/...) and exactly one of them waits, that part is meant. */
static bool serve_part_waits(struct history_job *j, struct agent_row *row, struct err *e)
{
    struct agent_filter f = {
        .id = STR(""), .status = STR("waiting"), .app = STR(""), .key = STR("")};
    str prefix = arena_join(&j->arena, j->id, STR("/"), STR(""));
    struct agent_row *list;
    size_t n, found = 0;

    if (!agent_log_list(serve_log_of(j), &f, &j->arena, &list, &n, e))
        return false;
    for (size_t i = 0; i < n; i++)
        if (str_starts(list[i].id, prefix) && found++ == 0)
            *row = list[i];
    if (found == 0)
        return err_set(e,
                       ERR_CONFLICT,
                       "the run waits for nobody: its status is " STR_FMT,
                       STR_ARG(row->status));
    if (found > 1)
        return err_set(
            e, ERR_CONFLICT, "several parts of the run wait: name the one that is meant");
    j->id = row->id;
    return true;
}

/* A part can be answered only while its root run is not over. A part that started after the end of
 * its root, such as a question about an investigation, has its own end. */
static bool runs_root_goes_on(struct history_job *j, const struct agent_row *row, struct err *e)
{
    size_t slash = str_find(j->id, STR("/"));
    struct agent_row root;

    if (slash == STR_NONE)
        return true;
    if (!agent_log_run_get(serve_log_of(j), str_slice(j->id, 0, slash), &j->arena, &root, e))
        return e->code == ERR_NOT_FOUND; /* applications may have parts without a root */
    return str_eq(root.status, STR("waiting")) || str_eq(root.status, STR("running")) ||
           row->created_us >= root.updated_us ||
           err_set(e,
                   ERR_CONFLICT,
                   "the run has ended (" STR_FMT ") and takes no answer: start a new run",
                   STR_ARG(root.status));
}

/* A run may wait with its own question, for its caller's tools, or because a part of it waits.
 */
static bool serve_runs_is_waiting(struct history_job *j, struct agent_row *row, struct err *e)
{
    struct agent_effect f;
    struct err none;

    if (!agent_log_run_get(serve_log_of(j), j->id, &j->arena, row, e))
        return false;
    /* An answer to one of several questions wakes the run, which then waits for the other
     * answers. */
    if ((str_eq(row->status, STR("waiting")) && str_eq(row->reason, STR("client_tools"))) ||
        ((str_eq(row->status, STR("waiting")) || str_eq(row->status, STR("running"))) &&
         agent_log_question(serve_log_of(j), j->id, &j->arena, &f, &none)))
        return runs_root_goes_on(j, row, e);
    return serve_part_waits(j, row, e) && runs_root_goes_on(j, row, e);
}

static bool serve_runs_put_answer(struct history_job *j, const struct word *w, struct err *e)
{
    struct setup *s = gateway_setup(&j->worker->daemon->gateway);
    struct agent_decision d = {.word = w->word,
                               .arguments = w->arguments,
                               .note = w->note,
                               .who = j->key.n ? j->key : STR("operator"),
                               .mask = s->mask,
                               .now_us = j->asker.now_us};
    bool fits = w->word != AGENT_CHANGE ||
                agent_check_change(serve_log_of(j), j->id, w->seq, w->arguments, e),
         ok = fits && agent_answer(serve_log_of(j), j->id, w->seq, &d, e);

    assert(w->seq >= 0);
    setup_release(s);
    if (ok || !fits)
        return ok;
    return e->code == ERR_INPUT ? err_set(e, ERR_CONFLICT, "this call was decided on already")
                                : false;
}

/* {"run_id": ID, NAME: VALUE} */
static void serve_runs_write(struct history_job *j, const char *name, const char *json)
{
    buf_add(&j->out, STR("{\"run_id\":"));
    (void)json_quote(&j->out, j->id);
    buf_printf(&j->out, ",\"%s\":%s}", name, json);
}

static bool serve_ask_answer(struct history_job *j, struct err *e)
{
    struct agent_row row;
    struct json doc;
    struct word w;
    bool ok;

    assert(j->id.n > 0);
    ok = json_open(&doc, buf_str(&j->body), e);
    if (!ok)
        history_job_refuse_json(e);
    ok = ok && serve_runs_read_word(j, &doc, &w, e) && serve_runs_is_waiting(j, &row, e) &&
         serve_runs_put_answer(j, &w, e);
    if (ok)
        serve_runs_write(
            j, "resumed", serve_runs_resume(j->worker->daemon, &row) ? "true" : "false");
    json_release(&doc);
    return ok;
}

/* An active run ends itself after the request; a run of another daemon ends after that daemon got
 * the request. */
static bool serve_runs_cancel_running(struct history_job *j, const struct agent_row *row)
{
    void *open;
    const struct app *app = serve_app_of(j->worker->daemon, row, &open);
    struct err e;
    bool mine = true, ok;

    if (!app)
        return false;
    ok = app->cancel && str_eq(row->status, STR("running")) && row->daemon.n &&
         agent_log_hand(serve_log_of(j), row->id, "cancel", &mine, &e) && !mine;
    if (app->cancel && !ok)
        ok = app->cancel(open, row);
    apps_leave(j->worker->daemon);
    return ok;
}

/* Denies the pending call, so that only one of a decision and a cancel at the same time counts. */
static bool serve_ask_end(struct history_job *j, struct err *e)
{
    struct agent_effect f;
    struct agent_row row;
    const struct app *app;
    void *open;

    assert(j->id.n > 0);
    if (!agent_log_run_get(serve_log_of(j), j->id, &j->arena, &row, e))
        return false;
    if (serve_runs_cancel_running(j, &row)) {
        serve_runs_write(j, "status", "\"cancelling\"");
        return true;
    }
    if (!serve_runs_is_waiting(j, &row, e))
        return false;
    if (agent_log_question(serve_log_of(j), j->id, &j->arena, &f, e)) {
        if (!serve_runs_put_answer(j, &(struct word){f.seq, AGENT_DENY, STR(""), STR("")}, e))
            return false;
    } else if (e->code != ERR_NOT_FOUND || !str_eq(row.reason, STR("client_tools"))) {
        return false;
    } else {
        row.from = STR("waiting"); /* only one of a result and a cancel at the same time counts */
    }
    row.status = row.reason = STR("cancelled");
    row.updated_us = j->asker.now_us;
    if (!agent_log_run_put(serve_log_of(j), &row, e) ||
        !agent_log_run_get(serve_log_of(j), j->id, &j->arena, &row, e))
        return false;
    if (!str_eq(row.status, STR("cancelled")))
        return err_set(e, ERR_CONFLICT, "the run does not wait any more: cancel it again");
    app = serve_app_of(j->worker->daemon, &row, &open);
    if (app && app->ended)
        app->ended(open, &row);
    if (app)
        apps_leave(j->worker->daemon);
    serve_runs_write(j, "status", "\"cancelled\"");
    return true;
}

/* ---- from the request ---- */

static const struct view {
    const char *method, *name; /* after the id */
    history_ask *ask;
    bool operators; /* only */
} views[] = {
    {"GET", "", serve_ask_one, false},
    {"GET", "replay", serve_ask_replay, false},
    {"POST", "answer", serve_ask_answer, true},
    {"POST", "cancel", serve_ask_end, true},
};

static struct history_job *serve_runs_begin(struct exchange *ex, history_ask *ask)
{
    if (!ex->worker->daemon->runs) {
        exchange_fail(ex, 503, "history_disabled", "nothing is on record, runs neither");
        return NULL;
    }
    return history_job_new(ex, ask);
}

static bool serve_runs_is_id(str id)
{
    for (size_t i = 0; i < id.n; i++)
        if ((unsigned char)id.p[i] < ' ')
            return false;
    return id.n > 0 && id.n <= RUN_ID_MAX;
}

/* The view of a run: the last segment of the path. The id of a part contains slashes. */
static str serve_runs_view_name(str rest)
{
    for (size_t i = 0; i < COUNT_OF(views); i++) {
        str name = str_c(views[i].name);

        if (name.n && rest.n > name.n + 1 && str_ends(rest, name) &&
            rest.p[rest.n - name.n - 1] == '/')
            return str_slice(rest, rest.n - name.n, rest.n);
    }
    return STR("");
}

void run_handle(struct exchange *ex)
{
    const char *method = ex->route->method;
    str name = serve_runs_view_name(ex->rest), id;
    size_t size = ex->rest.n - name.n - (name.n > 0);
    struct history_job *j;

    assert(size <= ex->rest.n);
    if (!params_decode(server_arena(ex->x), str_slice(ex->rest, 0, size), false, &id) ||
        !serve_runs_is_id(id)) {
        exchange_fail(ex, 404, "unknown_url", "no run can have such an id");
        return;
    }
    ex->app = arena_zero(server_arena(ex->x), 1, sizeof *ex->app);
    if (apps_route(str_c(method), server_request(ex->x)->path, ex->app, NULL)) {
        if (ex->app->route)
            apps_any.handle(ex);
        else
            exchange_fail_method(ex);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(views); i++) {
        if (strcmp(views[i].method, method) != 0 || !str_eq(name, str_c(views[i].name)))
            continue;
        if (views[i].operators && !api_operators_only(ex))
            return;
        j = params_are(ex, "") ? serve_runs_begin(ex, views[i].ask) : NULL;
        if (!j)
            return;
        j->id = arena_dup(&j->arena, id);
        buf_add(&j->body, server_body(ex->x));
        history_job_post(j);
        return;
    }
    exchange_fail_method(ex);
}

void run_methods(str path, str rest, struct arena *a, struct buf *out)
{
    str name = serve_runs_view_name(rest);
    struct app_match m;

    (void)a;
    if (apps_route(STR(""), path, &m, out))
        return;
    for (size_t i = 0; i < COUNT_OF(views); i++)
        if (str_eq(name, str_c(views[i].name)))
            route_add_method(out, views[i].method);
}

void runs_handle(struct exchange *ex)
{
    struct history_job *j = serve_runs_begin(ex, serve_runs_ask_list);
    struct params p;

    if (!j)
        return;
    params_init(&p, ex, &j->arena);
    j->name = params_choice(&p, "status", "running waiting done stopped failed cancelled");
    j->words = params_text(&p, "app");
    j->id = params_text(&p, "session");
    j->page.limit = params_i64(&p, "limit", LIST_USUAL, 1, AGENT_LIST_MAX);
    j->page.page = params_i64(&p, "offset", 0, 0, INT32_MAX);
    history_job_go(j, &p);
}
