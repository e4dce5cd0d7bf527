/* tour.c - see tour.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/tour.h"

#include <unistd.h>

#include "cli/daemon.h"

#define POLL_US (150 * 1000)
#define POLLS_MAX 800 /* two minutes */
#define SESSION_MAX 256

struct guide {
    struct tour *t;
    struct config *config;
    struct json script;
    struct arena arena;
    char session[SESSION_MAX]; /* the session whose decisions are printed */
    size_t printed;            /* number of printed decisions */
    struct err err;
};

/* ---- requests ---- */

/* The reply's body as JSON; false with err set. */
static bool tour_ask(struct guide *g, const char *method, str path, str body, struct json *doc)
{
    struct daemon_link d;
    str text;
    bool ok = daemon_open(&d, g->config, &g->err) && daemon_ask(&d, method, path, body, &g->err) &&
              daemon_body(&d, &text, &g->err);

    assert(path.n && path.p[0] == '/');
    if (ok && d.status >= 300)
        ok = err_set(&g->err,
                     ERR_UPSTREAM,
                     STR_FMT " answers %d: " STR_FMT,
                     STR_ARG(path),
                     d.status,
                     STR_ARG(str_slice(text, 0, 120)));
    ok = ok && json_parse(doc, arena_dup(&g->arena, text), &g->err);
    daemon_close(&d);
    return ok;
}

static str tour_member(struct guide *g, const struct json *doc, const struct json_node *of,
                       const char *name)
{
    const struct json_node *v = of ? json_find(doc, of, str_c(name)) : NULL;
    str s = STR("");

    assert(name);
    return v && v->kind == JSON_STRING && json_text(doc, v, &g->arena, &s) ? arena_dup(&g->arena, s)
                                                                           : STR("");
}

/* ---- output ---- */

/* Prints text of a model as one line, without control characters. */
static void tour_print_text(struct guide *g, str s)
{
    struct file_out *out = &g->t->cli->out;

    while (s.n > 0) {
        size_t bad, n = cli_safe_size(s, &bad);

        file_out_add(out, str_slice(s, 0, n));
        s = str_slice(s, n + bad, s.n);
    }
}

static void tour_print_head(struct guide *g, const char *title, const char *page, str id)
{
    struct cli *cli = g->t->cli;

    file_out_printf(&cli->out,
                    "\n%s%s%s  %shttp://" STR_FMT "/%s%s" STR_FMT "%s\n",
                    cli_bold(cli),
                    title,
                    cli_plain(cli),
                    cli_dim(cli),
                    STR_ARG(g->t->at),
                    page,
                    id.n ? "/" : "",
                    STR_ARG(id),
                    cli_plain(cli));
    file_out_flush(&cli->out);
}

static void tour_print_line(struct guide *g, const char *mark, str text)
{
    struct cli *cli = g->t->cli;

    file_out_printf(&cli->out, "  %s%s%s ", cli_dim(cli), mark, cli_plain(cli));
    tour_print_text(g, text);
    file_out_add(&cli->out, STR("\n"));
    file_out_flush(&cli->out);
}

/* Prints the decisions of the session that were not printed yet. The API returns the newest first.
 * For a decision without reasoning, the entry is the beginning of the answer and not a reason. */
static bool tour_print_decisions(struct guide *g)
{
    str path =
        arena_printf(&g->arena, "/api/v1/history/decisions?limit=100&session_id=%s", g->session);
    const struct json_node *list;
    struct json doc;
    size_t n;
    bool ok;

    assert(g->session[0]);
    json_init(&doc);
    ok = tour_ask(g, "GET", path, STR(""), &doc);
    list = ok ? json_find(&doc, json_root(&doc), STR("decisions")) : NULL;
    n = list ? json_count(&doc, list) : 0;
    for (size_t i = n > g->printed ? n - g->printed : 0; i-- > 0; g->printed++) {
        const struct json_node *decision = json_at(&doc, list, i);

        if (tour_member(g, &doc, decision, "reasoning_absent").n == 0)
            tour_print_line(g, "why", tour_member(g, &doc, decision, "entry"));
    }
    json_release(&doc);
    return ok;
}

static void tour_session_set(struct guide *g, str id)
{
    (void)snprintf(g->session, sizeof g->session, STR_FMT, STR_ARG(str_slice(id, 0, 200)));
    g->printed = 0;
}

/* ---- the three parts ---- */

static str tour_script(struct guide *g, const char *name)
{
    return json_raw(&g->script, json_find(&g->script, json_root(&g->script), str_c(name)));
}

/* The summary, or the first paragraph of the report. */
static void tour_print_found(struct guide *g, const struct json *doc)
{
    str text = tour_member(g, doc, json_root(doc), "summary");

    if (text.n == 0)
        text = tour_member(g, doc, json_root(doc), "final_analysis");
    tour_print_line(g, "found", str_slice(text, 0, str_find(text, STR("\n"))));
}

static bool tour_look_at_incident(struct guide *g, str id, bool *over)
{
    str path = arena_printf(&g->arena, "/api/v1/incidents/" STR_FMT, STR_ARG(id));
    struct json doc;
    str status;
    bool ok;

    json_init(&doc);
    ok = tour_ask(g, "GET", path, STR(""), &doc);
    status = ok ? tour_member(g, &doc, json_root(&doc), "status") : STR("");
    if (ok && !g->session[0])
        tour_session_set(g, tour_member(g, &doc, json_root(&doc), "session_id"));
    *over = str_eq(status, STR("completed"));
    if (ok && (str_eq(status, STR("error")) || str_eq(status, STR("cancelled"))))
        ok = err_set(&g->err,
                     ERR_UPSTREAM,
                     "the investigation ended with " STR_FMT ": " STR_FMT,
                     STR_ARG(status),
                     STR_ARG(str_slice(tour_member(g, &doc, json_root(&doc), "error"), 0, 120)));
    if (g->session[0])
        ok = tour_print_decisions(g) && ok;
    if (*over)
        tour_print_found(g, &doc);
    json_release(&doc);
    return ok;
}

static bool tour_show_incident(struct guide *g)
{
    struct json doc;
    bool over = false, ok;
    str id;

    json_init(&doc);
    ok = tour_ask(g, "POST", STR("/alerts"), tour_script(g, "alert"), &doc);
    id = ok ? tour_member(g, &doc, json_root(&doc), "alert_id") : STR("");
    json_release(&doc);
    if (!ok)
        return false;
    tour_print_head(g, "An incident is investigated", "incidents", id);
    g->session[0] = '\0';
    for (unsigned i = 0; i < POLLS_MAX && !over && !g->t->stop; i++) {
        if (!tour_look_at_incident(g, id, &over))
            return false;
        if (!over)
            usleep(POLL_US);
    }
    return over || err_set(&g->err, ERR_TIMEOUT, "the investigation does not end");
}

static void tour_print_verdict(struct guide *g, const struct json *doc, const struct json_node *r)
{
    const struct json_node *c = json_find(doc, r, STR("citation"));
    str line = arena_printf(&g->arena,
                            STR_FMT ": " STR_FMT " (" STR_FMT ")",
                            STR_ARG(tour_member(g, doc, r, "criterion_id")),
                            STR_ARG(tour_member(g, doc, r, "status")),
                            STR_ARG(tour_member(g, doc, c, "section")));
    const struct json_node *trace = json_find(doc, r, STR("reasoning_trace"));

    assert(r);
    for (size_t i = 0; trace && i < json_count(doc, trace); i++) {
        const struct json_node *step = json_at(doc, trace, i);
        str action = tour_member(g, doc, step, "action");

        if (str_eq(action, STR("think")))
            tour_print_line(g, "thought", tour_member(g, doc, step, "observation"));
        else
            tour_print_line(g, "step", action);
    }
    tour_print_line(g, "verdict", line);
    tour_print_line(g, "why", tour_member(g, doc, r, "rationale"));
}

static bool tour_show_policy(struct guide *g)
{
    const struct json_node *results;
    struct json doc;
    bool ok;

    tour_print_head(g, "A policy is verified", "policy", STR(""));
    json_init(&doc);
    ok = tour_ask(g, "POST", STR("/reason/auth-review"), tour_script(g, "case"), &doc);
    results = ok ? json_find(&doc, json_root(&doc), STR("results")) : NULL;
    for (size_t i = 0; results && i < json_count(&doc, results); i++)
        tour_print_verdict(g, &doc, json_at(&doc, results, i));
    if (ok && (!results || json_count(&doc, results) == 0))
        ok = err_set(&g->err, ERR_UPSTREAM, "the review has no results");
    json_release(&doc);
    return ok;
}

static bool tour_order_turn(struct guide *g, str thread, str raw)
{
    str path = arena_printf(&g->arena, "/api/v1/orders/" STR_FMT "/say", STR_ARG(thread));
    str body = arena_printf(&g->arena, "{\"text\":" STR_FMT "}", STR_ARG(raw));
    struct json doc;
    bool ok;

    json_init(&doc);
    tour_print_line(g, "customer", str_slice(raw, 1, raw.n - 1));
    ok = tour_ask(g, "POST", path, body, &doc);
    if (ok && !g->session[0])
        tour_session_set(g, tour_member(g, &doc, json_root(&doc), "session_id"));
    ok = ok && (!g->session[0] || tour_print_decisions(g));
    if (ok)
        tour_print_line(g, "counter", tour_member(g, &doc, json_root(&doc), "reply"));
    json_release(&doc);
    return ok;
}

static bool tour_show_order(struct guide *g)
{
    const struct json_node *lines = json_find(&g->script, json_root(&g->script), STR("order"));
    str thread = STR("demo");

    tour_print_head(g, "An order is taken", "orders", thread);
    g->session[0] = '\0';
    for (const struct json_node *v = json_first(&g->script, lines); v && !g->t->stop;
         v = json_next(&g->script, lines, v))
        if (!tour_order_turn(g, thread, json_raw(&g->script, v)))
            return false;
    return true;
}

/* ---- the thread ---- */

static void *tour_run_guide(void *arg)
{
    static bool (*const shows[])(struct guide *) = {
        tour_show_incident, tour_show_policy, tour_show_order};
    struct tour *t = arg;
    struct guide g = {.t = t};

    arena_init(&g.arena, (size_t)64 << 20);
    json_init(&g.script);
    t->ok = config_load(t->config, &g.config, &g.err) && json_parse(&g.script, t->script, &g.err);
    for (size_t i = 0; t->ok && i < COUNT_OF(shows) && !t->stop; i++)
        t->ok = shows[i](&g);
    if (!t->ok && !t->stop)
        cli_complain(0, "the demo: %s", g.err.text);
    if (t->ok && !t->stop) {
        file_out_add(&t->cli->out, STR("\nThat was all three; the page has them.\n"));
        file_out_flush(&t->cli->out);
    }
    if (g.config)
        config_release(g.config);
    json_release(&g.script);
    arena_release(&g.arena);
    if (t->done && !t->stop)
        t->done(t->ctx);
    return NULL;
}

void tour_begin(struct tour *t, str address)
{
    assert(!t->begun);
    (void)snprintf(t->address, sizeof t->address, STR_FMT, STR_ARG(address));
    t->at = str_c(t->address);
    t->begun = pthread_create(&t->thread, NULL, tour_run_guide, t) == 0;
}

bool tour_end(struct tour *t)
{
    t->stop = true;
    if (t->begun)
        pthread_join(t->thread, NULL);
    return t->begun && t->ok;
}
