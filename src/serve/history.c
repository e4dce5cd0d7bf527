/* history.c - sessions, calls and decisions: requests are checked here, on the loop, and answered
 * on a thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/history_job.h"

#include "gateway/storage_info.h"
#include "serve/methods.h"
#include "store/daemons.h"

#define PAGE_MAX 100
#define PAGES_MAX 1000000

/* ---- sessions ---- */

static bool history_ask_sessions(struct history_job *j, struct err *e)
{
    assert(j->page.limit > 0 && j->page.page > 0);
    return query_sessions(j->reader, &j->asker, &j->filter, &j->page, &j->out, e);
}

void sessions_handle(struct exchange *ex)
{
    struct params p;
    struct history_job *j = history_job_begin(ex, &p, history_ask_sessions);

    if (!j)
        return;
    params_sessions(&p, &j->filter);
    j->page.page = params_i64(&p, "page", 1, 1, PAGES_MAX);
    j->page.limit = params_i64(&p, "limit", 20, 1, PAGE_MAX); /* its name in the other lists */
    j->page.limit = params_i64(&p, "page_size", j->page.limit, 1, PAGE_MAX);
    j->page.cursor = params_text(&p, "cursor");
    j->page.sort = params_text(&p, "sort");
    history_job_go(j, &p);
}

static bool history_ask_by_id(struct history_job *j, struct err *e)
{
    assert(j->id.n > 0);
    return j->query(j->reader, &j->asker, j->id, &j->out, e);
}

/* A path after an id, with its query or its handler. */
struct view {
    const char *name;
    bool (*query)(struct reader *r, const struct query_asker *a, str id, struct buf *out,
                  struct err *e);
    void (*handle)(struct exchange *ex, str id); /* called in place of the query */
};

static const struct view session_views[] = {
    {"", query_session, NULL},
    {"decisions", query_session_decisions, NULL},
    {"segments", query_session_segments, NULL},
    {"export", NULL, session_export},
};
static const struct view call_views[] = {
    {"", query_call, NULL},
    {"segments", query_call_segments, NULL},
    {"new", query_call_new, NULL},
};

static void view_handle(struct exchange *ex, const struct view *views, size_t n)
{
    size_t slash = str_find(ex->rest, STR("/"));
    str name = slash == STR_NONE ? STR("") : str_slice(ex->rest, slash + 1, ex->rest.n), id;
    struct history_job *j;
    struct params p;

    assert(n > 0 && !*views[0].name);
    if (!params_decode(server_arena(ex->x), str_slice(ex->rest, 0, slash), false, &id) ||
        id.n == 0) {
        exchange_fail(ex, 400, "invalid_id", "the id is not UTF-8 written with %%XX");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (!str_eq(name, str_c(views[i].name)) || (slash != STR_NONE && i == 0))
            continue;
        if (views[i].handle) {
            views[i].handle(ex, id);
            return;
        }
        j = history_job_begin(ex, &p, history_ask_by_id);
        if (!j)
            return;
        j->query = views[i].query;
        j->id = arena_dup(&j->arena, id);
        history_job_go(j, &p);
        return;
    }
    exchange_fail(ex,
                  404,
                  "unknown_url",
                  "there is nothing at " STR_FMT,
                  STR_ARG(str_slice(server_request(ex->x)->path, 0, 200)));
}

void session_handle(struct exchange *ex)
{
    view_handle(ex, session_views, COUNT_OF(session_views));
}

void session_methods(str path, str rest, struct arena *a, struct buf *out)
{
    size_t slash = str_find(rest, STR("/"));

    (void)path;
    (void)a;
    for (size_t i = 1; slash != STR_NONE && i < COUNT_OF(session_views); i++)
        if (str_eq(str_slice(rest, slash + 1, rest.n), str_c(session_views[i].name)))
            route_add_method(out, "GET");
    if (slash == STR_NONE)
        buf_add(out, STR("GET, DELETE"));
}

void interaction_handle(struct exchange *ex)
{
    view_handle(ex, call_views, COUNT_OF(call_views));
}

static bool history_ask_call_list(struct history_job *j, struct err *e)
{
    const struct query_calls w = {.filter = j->filter, .outcome = j->words, .page = j->page};

    assert(j->page.limit > 0 && j->page.limit <= PAGE_MAX);
    return query_call_list(j->reader, &j->asker, &w, &j->out, e);
}

/* The filters that the overview shares with the list of its calls. */
static void serve_history_call_filter(struct params *p, struct query_filter *f)
{
    f->model = params_text(p, "model");
    f->key = params_text(p, "key");
    f->agent_type = params_text(p, "application");
    params_dates(p, f);
}

void interactions_handle(struct exchange *ex)
{
    struct params p;
    struct history_job *j = history_job_begin(ex, &p, history_ask_call_list);

    if (!j)
        return;
    serve_history_call_filter(&p, &j->filter);
    j->words = params_choice(&p, "outcome", "failed cut starved");
    j->page.limit = params_i64(&p, "limit", 20, 1, PAGE_MAX);
    j->page.cursor = params_text(&p, "cursor");
    history_job_go(j, &p);
}

/* ---- decisions, search ---- */

static bool history_ask_decisions(struct history_job *j, struct err *e)
{
    assert(j->page.limit > 0 && j->page.limit <= PAGE_MAX);
    return query_decisions(j->reader, &j->asker, &j->filter, &j->page, &j->out, e);
}

void decisions_handle(struct exchange *ex)
{
    struct params p;
    struct history_job *j = history_job_begin(ex, &p, history_ask_decisions);

    if (!j)
        return;
    params_decisions(&p, &j->filter);
    j->page.limit = params_i64(&p, "limit", 50, 1, PAGE_MAX);
    j->page.cursor = params_text(&p, "cursor");
    history_job_go(j, &p);
}

static bool history_ask_search(struct history_job *j, struct err *e)
{
    assert(j->words.n > 0 && j->page.limit > 0);
    return query_search(j->reader, &j->asker, j->words, j->page.limit, &j->out, e);
}

void search_handle(struct exchange *ex)
{
    struct params p;
    struct history_job *j = history_job_begin(ex, &p, history_ask_search);

    if (!j)
        return;
    j->words = params_text(&p, "q");
    j->page.limit = params_i64(&p, "limit", 20, 1, PAGE_MAX);
    if (str_trim(j->words).n == 0)
        params_wrong(&p, "q", "string", "must have the text to search for");
    history_job_go(j, &p);
}

/* ---- without parameters ---- */

static bool history_ask_active(struct history_job *j, struct err *e)
{
    return query_active(j->reader, &j->asker, &j->out, e);
}

static bool history_ask_filter_options(struct history_job *j, struct err *e)
{
    return query_filter_options(j->reader, &j->asker, &j->out, e);
}

static bool history_ask_metrics(struct history_job *j, struct err *e)
{
    return query_metrics(j->reader, &j->asker, &j->out, e);
}

static void history_ask_all(struct exchange *ex, history_ask *ask)
{
    struct params p;
    struct history_job *j = history_job_begin(ex, &p, ask);

    if (j)
        history_job_go(j, &p);
}

void active_handle(struct exchange *ex)
{
    history_ask_all(ex, history_ask_active);
}

void filter_options_handle(struct exchange *ex)
{
    history_ask_all(ex, history_ask_filter_options);
}

void history_metrics_handle(struct exchange *ex)
{
    history_ask_all(ex, history_ask_metrics);
}

/* ---- sums ---- */

static bool history_ask_usage(struct history_job *j, struct err *e)
{
    assert(j->words.n > 0);
    return query_usage(j->reader, &j->asker, j->words, &j->filter, &j->out, e);
}

void usage_handle(struct exchange *ex)
{
    struct params p;
    struct history_job *j = history_job_begin(ex, &p, history_ask_usage);

    if (!j)
        return;
    j->words = params_choice(&p, "group_by", "model provider key level day");
    if (j->words.n == 0)
        j->words = STR("model");
    params_dates(&p, &j->filter);
    history_job_go(j, &p);
}

static bool history_ask_overview(struct history_job *j, struct err *e)
{
    const struct query_overview w = {
        .filter = j->filter, .by = j->words, .bucket_s = j->page.limit};

    assert(j->page.limit >= 0);
    return query_overview(j->reader, &j->asker, &w, &j->out, e);
}

void overview_handle(struct exchange *ex)
{
    struct params p;
    struct history_job *j = history_job_begin(ex, &p, history_ask_overview);

    if (!j)
        return;
    serve_history_call_filter(&p, &j->filter);
    j->words = params_choice(&p, "by", "model key application");
    j->page.limit = params_i64(&p, "bucket_s", 0, 0, INT32_MAX);
    history_job_go(j, &p);
}

static bool history_ask_reasoning(struct history_job *j, struct err *e)
{
    return query_reasoning(j->reader, &j->asker, &j->filter, &j->out, e);
}

void reasoning_handle(struct exchange *ex)
{
    struct params p;
    struct history_job *j = history_job_begin(ex, &p, history_ask_reasoning);

    if (!j)
        return;
    params_dates(&p, &j->filter);
    history_job_go(j, &p);
}

static void history_put_kept(struct json_out *o, const struct storage_info *k, bool places)
{
    json_out_object(o);
    json_member_str(o, "reasoning", k->reasoning);
    json_member_bool(o, "answers", true);
    json_member_bool(o, "requests", true);
    json_member_bool(o, "masked", k->masked);
    json_member_str(o, "where", places ? k->where : STR(""));
    json_member_i64(o, "size_bytes", k->bytes);
    json_member_str(o, "journal", places ? k->journal : STR(""));
    json_member_i64(o, "journal_bytes", k->journal_bytes);
    json_member_str(o, "retention", k->retention);
    json_out_end(o);
}

/* Only operators see paths, as in the configuration. */
static bool history_ask_kept(struct history_job *j, struct err *e)
{
    struct setup *s = gateway_setup(&j->worker->daemon->gateway);
    struct json_out o;
    struct storage_info k;
    bool ok = storage_info_read(s->config, j->reader, &j->arena, &k, e);

    json_out_init(&o, &j->out);
    if (ok)
        history_put_kept(&o, &k, j->all);
    setup_release(s);
    return ok && json_out_ok(&o, e);
}

void history_kept_handle(struct exchange *ex)
{
    struct params p;
    struct history_job *j = history_job_begin(ex, &p, history_ask_kept);

    if (!j)
        return;
    j->job.settled = true; /* the reply contains no calls, so it need not wait for the tables */
    history_job_go(j, &p);
}

static void history_write_daemons(struct store *store, struct json_out *o)
{
    struct daemons *d = store_daemons(store);
    struct daemons_list list = {0};

    if (d)
        daemons_list(d, &list);
    json_member_array(o, "daemons");
    for (size_t i = 0; i < list.count; i++) {
        json_out_object(o);
        json_member_str(o, "daemon_id", str_c(list.items[i].id));
        json_member_str(o, "state", str_c(list.items[i].state));
        json_member_str(o, "address", str_c(list.items[i].address));
        json_member_str(o, "version", str_c(list.items[i].version));
        json_member_i64(o, "seen_us", list.items[i].seen_us);
        json_member_bool(o, "self", list.items[i].self);
        json_out_end(o);
    }
    json_out_end(o);
}

void history_health_handle(struct exchange *ex)
{
    struct gateway *g = &ex->worker->daemon->gateway;
    struct store_health h;
    struct json_text t;
    struct json_out *o = &t.o;

    if (!params_are(ex, ""))
        return;
    store_health(g->store, &h);
    json_text_begin(&t, 65536);
    json_member_str(o, "service", STR("history"));
    json_member_str(o,
                    "status",
                    !g->records           ? STR("disabled")
                    : h.ok && h.tables_ok ? STR("healthy")
                    : h.ok                ? STR("degraded")
                                          : STR("unhealthy"));
    json_member_i64(o, "timestamp_us", clock_wall_ms(g->clock) * 1000);
    json_member_object(o, "details");
    json_member_str(o, "message", str_c(h.why));
    json_member_u64(o, "stored", h.stored);
    json_member_u64(o, "dropped", h.dropped);
    json_member_u64(o, "errors", h.errors);
    json_member_u64(o, "queue_bytes", h.queue_bytes);
    json_member_u64(o, "journal_bytes", h.journal_bytes);
    json_member_u64(o, "pending_records", h.pending);
    json_member_u64(o, "pending_seconds", h.pending_s);
    json_member_u64(o, "free_bytes", h.free_bytes);
    history_write_daemons(g->store, o);
    exchange_reply_json(ex, 200, &t);
}
