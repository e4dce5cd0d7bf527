/* reload.c - reloads the configuration at run time: as a whole, or not at all.
 *
 * Calls take the current setup when they begin. Options of the servers (limits, times, the
 * certificate) are passed to each loop. Other changes need a restart, and a log line says so.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/internal.h"
#include "serve/listen.h"
#include "serve/watch_runs.h"

#include <stdatomic.h>

/* Settings that are read only at the start. */
static const char *const at_start[] = {"listen",
                                       "store",
                                       "spool",
                                       "journal.max",
                                       "retention.age",
                                       "retention.minimum",
                                       "retention.size",
                                       "durability",
                                       "ca_file",
                                       "threads",
                                       "otlp.endpoint",
                                       "log.level"};

struct values {
    struct arena *arena;
    str of[COUNT_OF(at_start)];
};

static void reload_keep_value(void *ctx, const struct config_item *item)
{
    struct values *v = ctx;

    for (size_t i = 0; i < COUNT_OF(at_start); i++)
        if (str_eq(item->path, str_c(at_start[i])))
            v->of[i] = arena_dup(v->arena, item->value);
}

static void serve_reload_add_name(struct buf *names, const char *name)
{
    buf_add(names, names->n ? STR(", ") : STR(""));
    buf_add(names, str_c(name));
}

static void reload_log_restart_needed(const struct daemon *d, const struct config *old,
                                      const struct config *c)
{
    struct arena arena;
    struct values was = {&arena, {{0}}}, is = {&arena, {{0}}};
    struct buf names;

    arena_init(&arena, 1 << 20);
    buf_init(&names, 1024);
    config_each(old, reload_keep_value, &was);
    config_each(c, reload_keep_value, &is);
    for (size_t i = 0; i < COUNT_OF(at_start); i++) {
        if (str_eq(was.of[i], is.of[i]) || (i == 0 && d->listen_flag))
            continue;
        serve_reload_add_name(&names, at_start[i]);
    }
    if (!str_eq(old->otlp_headers, c->otlp_headers)) /* never shown, so not listed above */
        serve_reload_add_name(&names, "otlp.headers");
    if (names.n)
        log_warn("changes take effect at the next start", LOG_STR("what", buf_str(&names)));
    buf_release(&names);
    arena_release(&arena);
}

/* ---- to the loops ---- */

struct server_options reload_options(const struct config *c, struct tls *tls)
{
    assert(c->body_max > 0);
    return (struct server_options){.body_max = c->body_max,
                                   .header_ms = c->header_ms,
                                   .body_ms = c->body_ms,
                                   .idle_ms = c->idle_ms,
                                   .write_ms = c->write_ms,
                                   .packed_below = STR(WATCH_PREFIX),
                                   .tls = tls};
}

/* The last loop that stops using the old certificate frees it. */
struct change {
    _Atomic unsigned left;
    struct server_options options;
    struct tls *old;
    struct one {
        struct change *change;
        struct worker *worker;
        struct loop_task task;
    } ones[];
};

static void serve_reload_on_change(void *ctx)
{
    struct one *one = ctx;
    struct change *change = one->change;

    server_options_set(one->worker->server, &change->options);
    assert(atomic_load(&change->left) > 0);
    if (atomic_fetch_sub(&change->left, 1) > 1)
        return;
    tls_free(change->old);
    free(change);
}

static void reload_post_loops(struct daemon *d, const struct config *c, struct tls *tls)
{
    struct change *change = base_alloc(sizeof *change + d->worker_count * sizeof change->ones[0]);

    assert(d->worker_count > 0); /* the last loop frees the change */
    change->left = d->worker_count;
    change->options = reload_options(c, tls);
    change->old = d->tls_server;
    d->tls_server = tls;
    for (unsigned i = 0; i < d->worker_count; i++) {
        struct one *one = &change->ones[i];

        one->change = change;
        one->worker = &d->workers[i];
        loop_task_init(&one->task, serve_reload_on_change, one);
        loop_post(one->worker->gl.loop, &one->task);
    }
}

/* ---- all of it ---- */

static bool serve_reload_load(const char *path, struct setup **s, struct tls **tls, struct err *e)
{
    struct config *c;

    *tls = NULL;
    if (!config_load(path, &c, e))
        return false;
    if (c->tls_cert.n) {
        *tls = tls_server_new(c->tls_cert.p, c->tls_key.p, e);
        if (!*tls) {
            config_release(c);
            return false;
        }
    }
    if (setup_new(c, s, e))
        return true;
    tls_free(*tls);
    return false;
}

void reload_log_warnings(const struct config *c)
{
    struct err e;

    for (size_t i = 0; i < c->warning_count; i++)
        log_warn("config", LOG_STR("what", c->warnings[i]));
    if (c->tls_cert.n && !tls_is_current(c->tls_cert.p, &e))
        log_warn("config", LOG_TEXT("what", e.text));
}

void serve_reload_config(struct daemon *d, const char *path)
{
    struct setup *s;
    struct tls *tls;
    struct err e;

    notify_systemd("RELOADING=1");
    if (!serve_reload_load(path, &s, &tls, &e)) {
        log_error("the configuration is bad; the old one stays in force", LOG_ERR(&e));
    } else {
        reload_log_warnings(s->config);
        reload_log_restart_needed(d, d->gateway.setup->config, s->config);
        reload_post_loops(d, s->config, tls);
        gateway_setup_set(&d->gateway, s);
        if (d->apps)
            apps_reload(d->apps);
        log_info("configuration read again", LOG_TEXT("file", path));
    }
    notify_systemd("READY=1");
}
