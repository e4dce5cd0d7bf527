/* serve.c - the process: one loop for each core, signals in the main thread, reload and drain.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/serve.h"
#include "serve/provider_probe.h"

#include "serve/listen.h"
#include "serve/peers.h"
#include "serve/watch_runs.h"
#include "serve/watchdog.h"
#include "serve/work.h"
#include "store/daemons.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORKERS_MAX LISTEN_MAX
#define READERS 4

static void log_out(void *ctx)
{
    (void)ctx;
    log_flush();
}

/* ---- setting up ---- */

static unsigned serve_core_count(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    return (unsigned)CPU_COUNT(&set);
}

static bool worker_init(struct worker *w, struct daemon *d, unsigned index,
                        const struct listening *l, struct err *e)
{
    const struct config *c = d->gateway.setup->config;
    struct server_options o = reload_options(c, d->tls_server);

    assert(index < d->worker_count);
    w->daemon = d;
    w->gl.gateway = &d->gateway;
    buf_init(&w->words, 256);
    w->gl.loop = loop_new(d->gateway.clock, e);
    if (!w->gl.loop)
        return false;
    loop_task_init(&w->log_out, log_out, w);
    watchdog_init(w);
    w->gl.port = hub_port_new(d->gateway.hub, w->gl.loop);
    if (index == 0) {
        live_health_begin(w);
        watch_runs_begin(w);
    }
    w->gl.metrics = metrics_shard(d->gateway.metrics, index);
    rand_init_os(&w->gl.rand);
    w->gl.client = client_new(w->gl.loop, d->resolver, d->tls_client);
    if (index == 0 && !provider_probe_begin(w, e))
        return false;
    w->server = server_new(w->gl.loop, &o, &exchange_handler, w, e);
    if (!w->server)
        return false;
    server_on_refusal(w->server, exchange_refusal);
    return listen_on(l, index, w->server, e);
}

static void worker_release(struct worker *w)
{
    if (w->daemon && w == w->daemon->workers)
        provider_probe_end(w);
    assert(w->gl.calls == 0 && w->jobs == 0 && !w->watch_holds);
    if (w->server)
        server_free(w->server);
    setup_cache_release(&w->gl.setup_cache);
    buf_release(&w->words);
    if (w->gl.client)
        client_free(w->gl.client);
    if (w->gl.loop && w->gl.gateway)
        mask_work_leave(w->gl.gateway->mask_work, w->gl.loop);
    if (w->gl.loop)
        loop_free(w->gl.loop);
    hub_port_free(w->gl.port);
}

/* Without keys only this machine may connect, whatever the configuration says. */
static str serve_allowed_host(const struct config *c, str host)
{
    if (c->key_count || config_is_loopback(host))
        return host;
    log_warn("no keys are configured: listening on loopback only", LOG_STR("asked", host));
    return STR("127.0.0.1");
}

static bool serve_open_sockets(struct daemon *d, const struct serve_options *o, struct listening *l,
                               struct err *e)
{
    const struct config *c = d->gateway.setup->config;
    str host = c->listen_host;
    unsigned port = c->listen_port;

    d->worker_count = c->threads ? c->threads : serve_core_count();
    if (d->worker_count > WORKERS_MAX)
        d->worker_count = WORKERS_MAX;
    if (!listen_inherit(l, e))
        return false;
    if (l->count && !l->loopback && c->key_count == 0)
        log_warn("no keys are configured: only this machine is answered");
    if (l->count)
        return true;
    if (o->listen && !listen_parse(str_c(o->listen), &host, &port, e))
        return false;
    host = serve_allowed_host(c, host);
    for (unsigned left = o->port_tries;; left--, port++) {
        if (listen_open(l, host, port, d->worker_count, e))
            return true;
        if (left <= 1 || port == 65535 || e->code != ERR_SYSTEM)
            return false;
    }
}

static bool daemon_init(struct daemon *d, const struct serve_options *o, struct listening *l,
                        struct err *e)
{
    const struct config *c = d->gateway.setup->config;

    assert(!d->workers);
    if (c->tls_cert.n) {
        d->tls_server = tls_server_new(c->tls_cert.p, c->tls_key.p, e);
        if (!d->tls_server)
            return false;
    }
    d->tls_client = tls_client_new(c->ca_file.n ? c->ca_file.p : NULL, e);
    if (!d->tls_client)
        return false;
    d->resolver = resolver_new(2, e);
    if (!d->resolver || !serve_open_sockets(d, o, l, e))
        return false;
    d->workers = base_alloc(d->worker_count * sizeof *d->workers);
    memset(d->workers, 0, d->worker_count * sizeof *d->workers);
    for (unsigned i = 0; i < d->worker_count; i++)
        if (!worker_init(&d->workers[i], d, i, l, e))
            return false;
    return true;
}

static void daemon_release(struct daemon *d)
{
    for (unsigned i = 0; d->workers && i < d->worker_count; i++)
        worker_release(&d->workers[i]);
    free(d->workers);
    if (d->resolver)
        resolver_free(d->resolver);
    if (d->tls_client)
        tls_free(d->tls_client);
    if (d->tls_server)
        tls_free(d->tls_server);
}

/* ---- signals ---- */

/* Runs during the drain: a second signal ends the process at once. */
static void *serve_await_second_signal(void *arg)
{
    const sigset_t *set = arg;

    while (watchdog_await_signal(NULL, set) == SIGHUP)
        ;
    log_warn("stopped at once");
    _exit(1);
}

static void serve_wait_for_end(struct daemon *d, const struct serve_options *o, const sigset_t *set)
{
    uint64_t drain_ms;
    pthread_t hurry;

    while (watchdog_await_signal(d, set) == SIGHUP && !o->hangup_ends)
        serve_reload_config(d, o->config);
    if (o->on_leave)
        o->on_leave(o->ctx);
    drain_ms = d->gateway.setup->config->drain_ms;
    log_info("draining", LOG_U64("deadline_ms", drain_ms));
    notify_systemd("STOPPING=1");
    if (pthread_create(&hurry, NULL, serve_await_second_signal, (void *)(uintptr_t)set) == 0)
        pthread_detach(hurry);
    drain_all(d, drain_ms);
}

static void serve_block_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

static void limits_up(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* A log that nobody reads must not block a loop: lines that do not fit are dropped and counted. */
static void log_never_waits(void)
{
    struct stat st;
    int flags = fcntl(STDERR_FILENO, F_GETFL);

    if (flags >= 0 && fstat(STDERR_FILENO, &st) == 0 &&
        (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
        (void)fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK);
}

/* Of PostgreSQL only the kind is logged: its URL may have a password. */
static void serve_log_listening(const struct daemon *d, str address)
{
    const struct config *c = d->gateway.setup->config;
    char path[FILE_PATH_MAX], journal[FILE_PATH_MAX];
    struct err e;

    if (!store_places(c->store_url, c->spool, path, journal, &e) || !path[0])
        (void)snprintf(path, sizeof path, "%s", d->gateway.records ? "postgres" : "none");
    log_info("listening",
             LOG_STR("address", address),
             LOG_U64("loops", d->worker_count),
             LOG_TEXT("store", path));
}

static bool serve_run_command(struct daemon *d, const struct serve_options *o, const sigset_t *set,
                              struct err *e)
{
    struct listening l;
    char url[128];
    bool ok;

    drain_init(d);
    ok = daemon_init(d, o, &l, e) && apps_begin(d, e);
    if (ok)
        apps_resume(d->apps); /* before a request can start a new run */
    if (ok)
        peers_start(d->peers);
    d->working = d->worker_count;
    for (unsigned i = 0; ok && i < d->worker_count; i++)
        if (pthread_create(&d->workers[i].thread, NULL, drain_work, &d->workers[i]) != 0)
            base_die("no thread could be started");
    if (ok) {
        serve_log_listening(d, str_c(l.address));
        watchdog_write_address(d, l.address);
        notify_systemd("READY=1");
        (void)snprintf(url, sizeof url, "%s://%s", d->tls_server ? "https" : "http", l.address);
        if (o->on_ready)
            o->on_ready(o->ctx, str_c(url));
        serve_wait_for_end(d, o, set);
    }
    daemon_release(d);
    drain_release(d);
    return ok;
}

/* Otherwise the C library returns the heap of a thread to the system and requests it again, page by
 * page, as requests come and go. So a few megabytes may stay. */
static void serve_heap_settles(void)
{
    (void)mallopt(M_TRIM_THRESHOLD, 4 << 20);
    (void)mallopt(M_MMAP_THRESHOLD, 512 << 10);
}

bool serve_run(const struct serve_options *o, struct err *e)
{
    struct daemon d = {0};
    struct config *c;
    struct setup *s;
    struct log log;
    struct log_scope scope;
    sigset_t set;
    bool ok;

    serve_block_signals(&set); /* before any other thread exists */
    limits_up();
    log_never_waits();
    serve_heap_settles();
    if (!(o->text.n ? config_parse(o->text, o->config, &c, e) : config_load(o->config, &c, e)) ||
        !setup_new(c, &s, e))
        return false;
    log_init(&log, STDERR_FILENO, c->log_level, &clock_real);
    log_scope_enter(&scope, &log, STR(""));
    d.log = &log;
    d.questions = o->questions;
    d.started_ms = clock_wall_ms(&clock_real);
    d.listen_flag = o->listen;
    reload_log_warnings(c);
    ok = gateway_init(&d.gateway,
                      &(struct gateway_options){
                          .clock = &clock_real, .loops = WORKERS_MAX, .setup = s, .log = &log},
                      e);
    if (ok) {
        d.login = login_new(&d);
        d.peers = peers_new(&d);
        d.watch_runs = watch_runs_new(o->temporary);
        if (d.gateway.records) {
            d.work = work_new(c->store_url, d.gateway.store, READERS, &log);
            if (!threads_open(c->store_url, &d.threads, e))
                log_warn("there are no threads", LOG_ERR(e));
            if (!agent_log_open(c->store_url, &d.runs, e))
                log_warn("there are no runs", LOG_ERR(e));
            else
                agent_log_share(d.runs, store_daemon(d.gateway.store), peers_bus(d.peers));
        }
        ok = serve_run_command(&d, o, &set, e);
        peers_free(d.peers);
        work_free(d.work);
        agent_log_close(d.runs);
        threads_close(d.threads);
        login_free(d.login);
        watch_runs_free(d.watch_runs);
        gateway_release(&d.gateway);
    }
    log_scope_leave(&scope);
    return ok;
}
