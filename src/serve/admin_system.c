/* admin_system.c - the daemon: settings in force and their sources, the state of the store, and
 * current load.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/admin.h"

static void on_item(void *ctx, const struct config_item *item)
{
    struct admin *a = ctx;
    const char *flag = a->ex->worker->daemon->listen_flag;
    bool by_flag = flag && str_eq(item->path, STR("listen"));

    assert(item->path.n > 0 && item->origin);
    json_out_object(&a->o);
    admin_text(a, "path", item->path);
    admin_text(a, "value", by_flag ? str_c(flag) : item->value);
    admin_text(a, "origin", str_c(by_flag ? "flag" : item->origin));
    json_out_key(&a->o, STR("line"));
    if (item->line && !by_flag)
        json_out_u64(&a->o, item->line);
    else
        json_out_null(&a->o);
    json_out_end(&a->o);
}

static void store_write(struct admin *a)
{
    struct gateway *g = &a->ex->worker->daemon->gateway;
    static const char *const names[] = {"durable", "fast", "replicated"};
    enum store_durability durability = a->ex->setup->config->durability;
    struct store_health h;

    assert((size_t)durability < COUNT_OF(names));
    store_health(g->store, &h);
    json_member_object(&a->o, "store");
    admin_flag(a, "enabled", g->records);
    admin_flag(a, "ok", h.ok);
    admin_flag(a, "tables_ok", h.tables_ok);
    admin_text(a, "why", str_c(h.why));
    admin_number(a, "stored", (int64_t)h.stored);
    admin_number(a, "dropped", (int64_t)h.dropped);
    admin_number(a, "errors", (int64_t)h.errors);
    admin_number(a, "queue_bytes", (int64_t)h.queue_bytes);
    admin_number(a, "journal_bytes", (int64_t)h.journal_bytes);
    admin_number(a, "journal_max_bytes", (int64_t)h.journal_max_bytes);
    admin_number(a, "pending_records", (int64_t)h.pending);
    admin_number(a, "pending_seconds", (int64_t)h.pending_s);
    admin_number(a, "free_bytes", (int64_t)h.free_bytes);
    admin_number(a, "commits", (int64_t)h.commits);
    json_member_double(
        &a->o, "commit_ms", h.commits ? (double)h.commit_ns / 1e6 / (double)h.commits : 0);
    admin_text(a, "durability", str_c(names[durability]));
    admin_number(a, "window_ms", durability == STORE_FAST ? STORE_FAST_MS : 0);
    json_out_end(&a->o);
}

/* Those that are configured; none while the daemon ends. */
static void applications_write(struct admin *a)
{
    struct daemon *d = a->ex->worker->daemon;
    bool entered = apps_enter(d);
    const struct app *app;

    assert(!entered || d->apps);
    json_member_array(&a->o, "applications");
    for (size_t i = 0; entered && (app = app_at(i)); i++)
        if (apps_find(d->apps, app) &&
            (app != &app_policy || a->ex->setup->config->policy.document_count))
            json_out_str(&a->o, str_c(app->name));
    if (entered)
        apps_leave(d);
    json_out_end(&a->o);
}

void system_handle(struct exchange *ex)
{
    struct daemon *d = ex->worker->daemon;
    const struct config *c = ex->setup->config;
    size_t connections = 0;
    struct admin a;

    assert(d->worker_count > 0 && d->started_ms > 0);
    for (unsigned i = 0; i < d->worker_count; i++)
        connections += server_count(d->workers[i].server);
    admin_begin(&a, ex);
    admin_text(&a, "version", STR(RATIONALE_VERSION));
    admin_number(&a, "started_at_us", d->started_ms * 1000);
    json_member_double(
        &a.o, "uptime_seconds", (double)(clock_wall_ms(d->gateway.clock) - d->started_ms) / 1000);
    admin_number(&a, "loops", d->worker_count);
    admin_number(&a, "connections", (int64_t)connections);
    admin_flag(&a, "draining", d->draining);
    store_write(&a);
    applications_write(&a);
    json_member_array(&a.o, "config");
    if (api_operator(ex))
        config_each(c, on_item, &a);
    json_out_end(&a.o);
    json_member_array(&a.o, "warnings");
    for (size_t i = 0; i < c->warning_count && api_operator(ex); i++)
        json_out_str(&a.o, c->warnings[i]);
    json_out_end(&a.o);
    admin_end(&a);
}
