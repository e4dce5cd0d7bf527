/* agent_link.c - see agent_link.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/agent_link.h"

#include "agent/events.h"
#include "cli/daemon.h"

#include <unistd.h>

/* ---- signals, for runs of the command itself ---- */

/* The first signal leaves the run as it is; the second ends the command at once. */
static void *link_wait_signals(void *arg)
{
    struct agent_link *l = arg;
    struct timespec t = {0, 50000000};
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    while (!atomic_load(&l->ended))
        if (sigtimedwait(&set, NULL, &t) > 0 && atomic_exchange(&l->local.leave, true))
            _exit(CLI_SIGINT);
    return NULL;
}

static void link_block_signals(struct agent_link *l)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    l->blocked = pthread_sigmask(SIG_BLOCK, &set, &l->signals) == 0;
}

/* ---- opening ---- */

static bool link_open_local(struct agent_link *l, const char *config, int *code)
{
    struct err e;

    assert(!l->local_open && !l->app);
    link_block_signals(l);
    if (!app_local_open(config, &l->local, &e)) {
        *code = cli_complain(e.code == ERR_INPUT ? CLI_CONFIG : CLI_STORE, "%s", e.text);
        return false;
    }
    l->local_open = true;
    if (!l->local.host.log) {
        *code = cli_complain(CLI_CONFIG, "agents need a store: set `store` in %s", config);
        return false;
    }
    if (!agents_app_open(&l->local.host, &l->app, &e)) {
        *code = cli_fail(&e);
        return false;
    }
    l->watching = pthread_create(&l->watcher, NULL, link_wait_signals, l) == 0;
    return true;
}

bool agent_link_open(struct agent_link *l, const char *config, int *code)
{
    struct daemon_link d;
    struct err e;

    memset(l, 0, sizeof *l);
    if (!config_load(config, &l->config, &e)) {
        *code = cli_fail_config(&e);
        return false;
    }
    l->daemon = daemon_open(&d, l->config, &e);
    daemon_close(&d);
    return l->daemon || link_open_local(l, config, code);
}

void agent_link_close(struct agent_link *l)
{
    assert(!l->watching || l->local_open);
    atomic_store(&l->ended, true);
    if (l->watching)
        pthread_join(l->watcher, NULL);
    agents_app_close(l->app);
    if (l->local_open)
        app_local_close(&l->local);
    if (l->blocked)
        (void)pthread_sigmask(SIG_SETMASK, &l->signals, NULL);
    if (l->config)
        config_release(l->config);
}

/* ---- through the daemon ---- */

static bool link_daemon_error(struct daemon_link *d, struct err *e)
{
    struct arena a;
    str body;

    assert(d->status != 200);
    if (!daemon_body(d, &body, e))
        return false;
    arena_init(&a, 2 * body.n + 65536);
    err_set(e,
            d->status == 404                       ? ERR_NOT_FOUND
            : d->status == 401 || d->status == 403 ? ERR_AUTH
                                                   : ERR_INPUT,
            STR_FMT,
            STR_ARG(daemon_reply_message(&a, body)));
    arena_release(&a);
    return false;
}

/* Reads server-sent events until the stream ends. If it ends before the run has ended or waits, the
 * connection to the daemon was lost. */
static bool link_daemon_stream(struct daemon_link *d, struct agent_show *s, struct err *e)
{
    str line, name = STR(""), id = STR("");
    struct err end;

    assert(d->fd >= 0);
    if (d->status != 200)
        return link_daemon_error(d, e);
    while (daemon_line(d, &line, &end)) {
        if (str_starts(line, STR("event: ")))
            name = arena_dup(&s->arena, str_slice(line, 7, line.n));
        else if (str_starts(line, STR("id: ")))
            id = arena_dup(&s->arena, str_slice(line, 4, line.n));
        else if (str_starts(line, STR("data: ")))
            agent_show_event(s, name, id, str_slice(line, 6, line.n));
        else if (!line.n)
            name = id = STR("");
    }
    return s->status.n || s->waiting.waits ||
           err_set(e,
                   end.code,
                   "%s%s" STR_FMT,
                   end.text,
                   s->run.n ? "; resume it with: rationale run --run " : "",
                   STR_ARG(s->run));
}

static bool link_daemon_ask(struct agent_link *l, const char *method, str path, str body,
                            struct agent_show *s, struct err *e)
{
    struct daemon_link d;
    bool ok;

    assert(l->daemon);
    ok = daemon_open(&d, l->config, e) && daemon_ask(&d, method, path, body, e) &&
         link_daemon_stream(&d, s, e);
    daemon_close(&d);
    return ok;
}

static bool link_daemon_run(struct agent_link *l, const struct agents_request *q,
                            struct agent_show *s, struct err *e)
{
    struct json_out o;
    struct buf body;
    bool ok;

    buf_init(&body, AGENTS_INPUT_MAX * 8);
    json_out_init_object(&o, &body);
    json_member_str(&o, "input", q->input);
    if (q->thread.n)
        json_member_str(&o, "thread", q->thread);
    json_member_bool(&o, "stream", true);
    json_out_end(&o);
    ok = json_out_ok(&o, e) &&
         link_daemon_ask(l,
                         "POST",
                         arena_printf(&s->arena,
                                      "/api/v1/%s/" STR_FMT "/runs",
                                      q->workflow ? "workflows" : "agents",
                                      STR_ARG(daemon_encode(&s->arena, q->name))),
                         buf_str(&body),
                         s,
                         e);
    buf_release(&body);
    return ok;
}

/* Follows the run after the last event that was shown. */
static bool link_daemon_events(struct agent_link *l, struct agent_show *s, struct err *e)
{
    return link_daemon_ask(l,
                           "GET",
                           arena_printf(&s->arena,
                                        "/api/v1/runs/" STR_FMT "/events?after=" STR_FMT,
                                        STR_ARG(daemon_encode(&s->arena, s->run)),
                                        STR_ARG(daemon_encode(&s->arena, buf_str(&s->last)))),
                           STR(""),
                           s,
                           e);
}

static bool link_daemon_answer(struct agent_link *l, struct agent_show *s, bool allow,
                               struct err *e)
{
    struct daemon_link d;
    str run = daemon_encode(&s->arena, s->waiting.run),
        path = arena_printf(&s->arena, "/api/v1/runs/" STR_FMT "/answer", STR_ARG(run)),
        body = arena_printf(&s->arena,
                            "{\"word\":\"%s\",\"seq\":%lld}",
                            allow ? "approve" : "deny",
                            (long long)s->waiting.seq);
    bool ok = daemon_open(&d, l->config, e) && daemon_ask(&d, "POST", path, body, e) &&
              (d.status == 200 || link_daemon_error(&d, e));

    assert(s->waiting.seq >= 0);
    daemon_close(&d);
    return ok;
}

/* ---- in this process ---- */

static void link_on_event(void *ctx, const struct run_event *ev)
{
    agent_show_event(ctx, str_c(ev->name), ev->id, ev->json);
}

static bool link_local_follow(struct agent_link *l, str run, struct agent_show *s, struct err *e)
{
    struct run_asker who = {.key = STR(""), .thoughts = true};
    struct run_events_sink sink = {.thoughts = true, .on_event = link_on_event, .ctx = s};
    struct run_cursor *c = run_cursor_new(buf_str(&s->last));
    enum run_state state = RUN_GOES_ON;
    bool active = true, ok = true;
    uint64_t version = 0;
    struct buf waiting;

    assert(l->local_open && l->app);
    s->run = arena_dup(&s->arena, run);
    while (ok && active && state == RUN_GOES_ON && !atomic_load(&l->local.leave)) {
        active = agents_wait(l->app->runner, run, &version, &l->local.leave);
        ok = run_events_read(l->local.host.log, run, c, &sink, &state, e);
    }
    if (ok && state == RUN_ENDED)
        agents_wait_gone(l->app->runner, run);
    if (ok && state == RUN_WAITS) {
        buf_init(&waiting, (size_t)32 << 20);
        if (agents_write_run(l->local.host.log, run, &who, &waiting, e))
            agent_show_event(s, STR("waiting"), STR(""), buf_str(&waiting));
        buf_release(&waiting);
    }
    run_cursor_free(c);
    return ok;
}

static bool link_local_resume(struct agent_link *l, str run, struct agent_show *s, struct err *e)
{
    struct agent_row row;

    assert(l->local_open && l->app);
    if (!agent_log_run_get(l->local.host.log, run, &s->arena, &row, e))
        return false;
    if (!str_eq(row.app, STR(AGENTS_APP)))
        return err_input(e, "the run \"" STR_FMT "\" is not an agent's", STR_ARG(run));
    if (str_eq(row.status, STR("running")) || str_eq(row.status, STR("waiting")))
        agents_resume(l->app->runner, &row);
    return link_local_follow(l, run, s, e);
}

/* ---- both ways ---- */

bool agent_link_run(struct agent_link *l, const struct agents_request *q, struct agent_show *s,
                    struct err *e)
{
    str run;

    assert(l->daemon || l->app);
    if (l->daemon)
        return link_daemon_run(l, q, s, e);
    return agents_start(l->app->runner, q, &s->arena, &run, e) && link_local_follow(l, run, s, e);
}

bool agent_link_resume(struct agent_link *l, str run, struct agent_show *s, struct err *e)
{
    assert(l->daemon || l->app);
    s->run = run;
    return l->daemon ? link_daemon_events(l, s, e) : link_local_resume(l, run, s, e);
}

bool agent_link_answer(struct agent_link *l, struct agent_show *s, bool allow, struct err *e)
{
    str run = s->waiting.run;
    bool ok;

    assert(s->waiting.waits);
    s->waiting.waits = false;
    if (l->daemon)
        return link_daemon_answer(l, s, allow, e) && link_daemon_events(l, s, e);
    ok = agent_answer(l->local.host.log,
                      run,
                      s->waiting.seq,
                      &(struct agent_decision){.word = allow ? AGENT_APPROVE : AGENT_DENY,
                                               .arguments = STR(""),
                                               .note = STR(""),
                                               .who = STR("command"),
                                               .now_us = clock_wall_ms(&clock_real) * 1000},
                      e);
    return ok && link_local_resume(l, s->run, s, e);
}
