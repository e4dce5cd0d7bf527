/* admin_system.c - the daemon: settings in force and their sources, the state of the store, and
 * current load.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/admin.h"

static void system_on_item(void *ctx, const struct config_item *item)
{
    struct admin *a = ctx;
    const char *flag = a->ex->worker->daemon->listen_flag;
    bool by_flag = flag && str_eq(item->path, STR("listen"));

    assert(item->path.n > 0 && item->origin);
    json_out_object(&a->o);
    json_member_str(&a->o, "path", item->path);
    json_member_str(&a->o, "value", by_flag ? str_c(flag) : item->value);
    json_member_str(&a->o, "origin", str_c(by_flag ? "flag" : item->origin));
    json_member_i64_or_null(&a->o, "line", item->line && !by_flag ? (int64_t)item->line : -1);
    json_out_end(&a->o);
}

static void system_store_write(struct admin *a)
{
    struct gateway *g = &a->ex->worker->daemon->gateway;
    static const char *const names[] = {"durable", "fast", "replicated"};
    enum store_durability durability = a->ex->setup->config->durability;
    struct store_health h;

    assert((size_t)durability < COUNT_OF(names));
    store_health(g->store, &h);
    json_member_object(&a->o, "store");
    json_member_bool(&a->o, "enabled", g->records);
    json_member_bool(&a->o, "ok", h.ok);
    json_member_bool(&a->o, "tables_ok", h.tables_ok);
    json_member_str(&a->o, "why", str_c(h.why));
    json_member_u64(&a->o, "stored", h.stored);
    json_member_u64(&a->o, "dropped", h.dropped);
    json_member_u64(&a->o, "errors", h.errors);
    json_member_u64(&a->o, "queue_bytes", h.queue_bytes);
    json_member_u64(&a->o, "journal_bytes", h.journal_bytes);
    json_member_u64(&a->o, "journal_max_bytes", h.journal_max_bytes);
    json_member_u64(&a->o, "pending_records", h.pending);
    json_member_u64(&a->o, "pending_seconds", h.pending_s);
    json_member_u64(&a->o, "free_bytes", h.free_bytes);
    json_member_u64(&a->o, "commits", h.commits);
    json_member_double(
        &a->o, "commit_ms", h.commits ? (double)h.commit_ns / 1e6 / (double)h.commits : 0);
    json_member_str(&a->o, "durability", str_c(names[durability]));
    json_member_i64(&a->o, "window_ms", durability == STORE_FAST ? STORE_FAST_MS : 0);
    json_out_end(&a->o);
}

/* The configured ones; none while the daemon shuts down. */
static void system_applications_write(struct admin *a)
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
    if (!admin_begin(&a, ex))
        return;
    json_member_str(&a.o, "version", STR(RATIONALE_VERSION));
    json_member_i64(&a.o, "started_at_us", d->started_ms * 1000);
    json_member_double(
        &a.o, "uptime_seconds", (double)(clock_wall_ms(d->gateway.clock) - d->started_ms) / 1000);
    json_member_i64(&a.o, "loops", d->worker_count);
    json_member_i64(&a.o, "connections", (int64_t)connections);
    json_member_bool(&a.o, "draining", d->draining);
    system_store_write(&a);
    system_applications_write(&a);
    json_member_array(&a.o, "config");
    if (api_operator(ex))
        config_each(c, system_on_item, &a);
    json_out_end(&a.o);
    json_member_texts(&a.o, "warnings", c->warnings, api_operator(ex) ? c->warning_count : 0);
    admin_end(&a);
}
