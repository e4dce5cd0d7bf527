/* open.c - opens the application on an engine and reports changes to watchers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/intake.h"
#include "apps/incidents/metrics.h"
#include "apps/incidents/status.h"
#include "store/bus.h"

#define TOLD_MAX 200 /* alerts whose last state is published again after a start, for watchers */

bool incidents_knows(const struct incidents *in, str alert_type)
{
    const char *const *servers;
    str agent;

    return alert_type.n && in->engine.assigned(in->setup, alert_type, &agent, &servers);
}

static void incident_open_publish(struct incidents *in, const struct alert_table_row *row)
{
    const char *const *servers = NULL;
    struct buf out, brief;
    struct json_out o;
    str agent;

    if (!in->engine.assigned(in->setup, row->alert_type, &agent, &servers))
        servers = NULL;
    buf_init(&out, (size_t)64 << 20);
    json_out_init(&o, &out);
    status_write(&o, row, servers);
    buf_init(&brief, (size_t)1 << 20);
    json_out_init_object(&o, &brief);
    status_brief(&o, row, servers);
    json_out_end(&o);
    hub_alert(in->host->gateway->hub,
              row->id,
              row->key,
              buf_str(&out),
              str_slice(buf_str(&brief), 1, brief.n ? brief.n - 1 : 0));
    buf_release(&brief);
    buf_release(&out);
}

static void incident_open_on_change(void *ctx, const struct alert_table_row *row)
{
    struct incidents *in = ctx, view;

    if (!in->host->gateway->hub)
        return;
    incidents_view(in, &view);
    incident_open_publish(&view, row);
    incidents_view_done(&view);
}

/* Publishes how alerts ended before this process started, for clients that watch them. */
static bool incident_open_publish_old(struct incidents *in, struct err *e)
{
    struct alert_table_filter f = {.all = true,
                                   .key = STR(""),
                                   .state = STR(""),
                                   .alert_type = STR(""),
                                   .before = STR(""),
                                   .count_max = TOLD_MAX};
    struct alert_table_row *rows, row;
    struct arena a, one; /* a row has the data and the report: it is freed before the next */
    size_t n;
    bool ok;

    arena_init(&a, (size_t)1 << 30);
    ok = alert_table_list(in->alert_table, &f, &a, &rows, &n, e);
    for (size_t i = ok ? n : 0; i-- > 0;) {
        arena_init(&one, (size_t)1 << 30);
        if (rows[i].completed_us >= 0 &&
            alert_table_get(in->alert_table, rows[i].id, &one, &row, e))
            incident_open_on_change(in, &row);
        arena_release(&one);
    }
    arena_release(&a);
    return ok;
}

static struct queue_rules incident_rules_of(const struct incidents *in)
{
    return (struct queue_rules){.setup = in->setup,
                                .running_max = in->config->max_concurrent,
                                .waiting_max = in->config->max_queue,
                                .timeout_ms = in->config->timeout_ms};
}

static bool incident_open_start(struct incidents *in, struct err *e)
{
    struct queue_options o = {.host = in->host,
                              .rules = incident_rules_of(in),
                              .engine = &in->engine,
                              .on_change = incident_open_on_change,
                              .ctx = in};

    if (!alert_table_open(in->held->config->store_url, &in->alert_table, e))
        return false;
    alert_table_share(in->alert_table, in->host->daemon);
    if (!incident_open_publish_old(in, e))
        return false;
    assert(in->alert_table && !in->queue && !in->notify);
    o.alert_table = in->alert_table;
    in->metrics = incident_metrics_new(in->host->gateway->metrics, in->host->clock);
    o.metrics = in->metrics;
    return notify_open(
               &(struct notify_options){in->host, in->alert_table, in->held}, &in->notify, e) &&
           queue_open(&o, &in->queue, e);
}

/* Warns of a default type that no agent takes: it has no effect. */
static void incident_open_check_default(const struct incidents *in)
{
    str type = in->config->default_type;

    if (type.n && !incidents_knows(in, type))
        log_warn("incidents.default_alert_type is a type that no agent takes: alerts of unknown "
                 "types are refused",
                 LOG_STR("type", type));
}

/* ---- the configuration in force ---- */

void incidents_view(struct incidents *in, struct incidents *view)
{
    assert(view != in);
    pthread_mutex_lock(in->lock);
    *view = *in;
    (void)setup_retain(view->held);
    (void)incident_setup_retain(view->setup);
    pthread_mutex_unlock(in->lock);
}

void incidents_view_done(struct incidents *view)
{
    incident_setup_free(view->setup);
    setup_release(view->held);
}

void incidents_change(struct incidents *in, struct setup *held, struct incident_setup *setup)
{
    struct incidents old = *in;
    struct queue_rules rules;

    pthread_mutex_lock(in->lock);
    in->held = setup_retain(held);
    in->config = &held->config->incidents;
    in->setup = incident_setup_retain(setup);
    in->types = incident_alert_types(setup);
    rules = incident_rules_of(in);
    assert(in->types && in->queue);
    incident_open_check_default(in);
    pthread_mutex_unlock(in->lock);
    queue_change(in->queue, &rules);
    notify_change(in->notify, held);
    incidents_view_done(&old);
}

/* ---- life ---- */

bool incidents_open(const struct app_host *h, const struct incidents_engine *engine,
                    struct incidents **out, struct err *e)
{
    struct incidents *in = base_alloc(sizeof *in);

    assert(engine->engine.run && engine->engine.assigned && engine->types);
    *in = (struct incidents){.host = h, .held = gateway_setup(h->gateway)};
    in->config = &in->held->config->incidents;
    in->engine = engine->engine;
    in->chat = engine->chat;
    in->setup = incident_setup_retain(engine->setup);
    in->lock = base_alloc(sizeof(pthread_mutex_t));
    pthread_mutex_init(in->lock, NULL);
    in->types = engine->types;
    incident_open_check_default(in);
    if (incident_open_start(in, e)) {
        *out = in;
        return true;
    }
    incidents_close(in);
    return false;
}

void incidents_close(struct incidents *in)
{
    struct err e;

    queue_close(in->queue);
    notify_close(in->notify);
    if (in->alert_table && bus_peers(in->host->bus) && !alert_table_release(in->alert_table, &e))
        log_warn("the alerts of this daemon are not handed over", LOG_ERR(&e));
    incident_metrics_free(in->metrics);
    alert_table_close(in->alert_table);
    incidents_view_done(in);
    pthread_mutex_destroy(in->lock);
    free(in->lock);
    free(in);
}
