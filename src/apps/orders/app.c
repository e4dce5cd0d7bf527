/* app.c - the application "orders": its routes, and the turns that an earlier process left open.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/orders.h"
#include "base/json_get.h"

#define LIST_MAX 1000
#define RETRY_AFTER_S 5
#define EVENT_MAX ((size_t)32 << 20)

static bool order_app_open(const struct app_host *h, void **out, struct err *e)
{
    struct setup *setup = gateway_setup(h->gateway);
    bool configured = setup->config->orders.menu.n > 0, ok;
    struct orders *o = NULL;

    setup_release(setup);
    ok = !configured || orders_open(h, &(struct orders_options){.menu = NULL}, &o, e);
    *out = o;
    return ok;
}

static void order_app_close(void *app)
{
    orders_close(app);
}

static void order_app_reload(void *app)
{
    orders_reload(app);
}

static void order_app_resume(void *app, const struct agent_row *row)
{
    struct arena a;
    str thread;

    arena_init(&a, row->input.n + 65536);
    thread = json_copy_member(row->input, "thread_id", &a);
    if (thread.n)
        orders_resume_left(app, thread, json_copy_member(row->input, "key", &a));
    arena_release(&a);
}

static struct thread_asker order_app_asker(const struct orders *o, const struct app_request *q)
{
    return orders_asker(o, q->key, q->operator_);
}

static void order_app_list(void *app, const struct app_request *q, struct app_reply *r)
{
    struct thread_asker who = order_app_asker(app, q);
    struct json_out o;
    struct err e;

    app_reply_begin(r, &o, "orders");
    app_reply_end(r, &o, orders_list(app, &who, LIST_MAX, q->arena, &o, &e), &e);
}

static void order_app_show(void *app, const struct app_request *q, struct app_reply *r)
{
    struct thread_asker who = order_app_asker(app, q);
    struct orders_state s;
    struct json_out o;
    struct err e;
    bool ok = orders_state(app, &who, q->parts[0], q->arena, &s, &e);

    app_reply_begin(r, &o, NULL);
    if (ok)
        state_write(&o, &s, q->sees_reasoning);
    app_reply_end(r, &o, ok, &e);
}

/* The model failed: the reply has a polite text for the customer and the error for the program. */
static void order_app_fail(struct app_reply *r, const struct orders_turn *t)
{
    /* 499: this process ends; the next one resumes the turn. */
    bool passes = t->status == 0 || t->status == 429 || t->status == 499 || t->status >= 500;
    struct json_out o;

    assert(t->end == ORDERS_FAILED && t->reply.n > 0);

    r->retry_after_s = passes ? RETRY_AFTER_S : 0;
    if (passes && t->retry_after_ms > 0)
        r->retry_after_s =
            (unsigned)(t->retry_after_ms < 3600000 ? t->retry_after_ms : 3600000) / 1000 + 1;
    app_fail_begin(r, &o, passes ? 503 : 502, "model_unavailable", t->why);
    json_out_end(&o);
    json_member_str(&o, "reply", t->reply);
    json_member_str(&o, "thread_id", t->state.thread);
    json_out_end(&o);
}

/* ---- a turn, and its events ---- */

struct saying {
    struct app_reply *r;
    const struct app_request *q;
    bool sent; /* too late for a status */
};

static void order_app_send(struct saying *s, const char *event, str json)
{
    s->sent = true;
    app_send(s->r, event, json);
}

static void order_app_send_text(struct saying *s, const char *event, const char *key, str text)
{
    struct json_text t;

    json_text_begin(&t, EVENT_MAX);
    json_member_str(&t.o, key, text);
    order_app_send(s, event, json_text_end(&t, s->q->arena, STR("{}")));
}

/* The customer's text is on disk. */
static void order_app_on_step(void *ctx, enum orders_node node)
{
    struct saying *s = ctx;

    if (node == NODE_INPUT)
        order_app_send_text(s, "heard", "thread_id", s->q->parts[0]);
}

static void order_app_on_decision(void *ctx, str entry)
{
    struct saying *s = ctx;

    if (s->q->sees_reasoning)
        order_app_send_text(s, "decision", "entry", entry);
}

static void order_app_on_order(void *ctx, const struct order *order)
{
    struct saying *s = ctx;
    struct json_text t;

    json_text_begin(&t, EVENT_MAX);
    json_out_key(&t.o, STR("current_order"));
    order_write(&t.o, order, true);
    order_app_send(s, "order", json_text_end(&t, s->q->arena, STR("{}")));
}

static void order_app_on_text(void *ctx, str text)
{
    order_app_send_text(ctx, "delta", "text", text);
}

static void order_app_on_retract(void *ctx)
{
    order_app_send(ctx, "withdrawn", STR("{}"));
}

/* Writes the answer, or the error, into r's body. */
static void order_take_turn(void *app, const struct app_request *q, str text,
                            const struct orders_watch *watch, struct app_reply *r)
{
    struct thread_asker who = order_app_asker(app, q);
    struct orders_said said = {.who = &who,
                               .thread = q->parts[0],
                               .text = text,
                               .idempotency_key = q->idempotency_key,
                               .watch = watch};
    struct orders_turn turn;
    struct json_out o;
    struct err e;

    if (!orders_run_turn(app, &said, q->arena, &turn, &e)) {
        if (e.code == ERR_CANCELLED) {
            app_fail(r, 409, "turn_in_progress", "%s", e.text);
            r->retry_after_s = 1;
        } else {
            app_fail_err(r, &e);
        }
    } else if (turn.end == ORDERS_FAILED) {
        order_app_fail(r, &turn);
    } else {
        app_reply_begin(r, &o, NULL);
        json_member_str(&o, "reply", turn.reply);
        state_write(&o, &turn.state, q->sees_reasoning);
        app_reply_end(r, &o, true, NULL);
    }
}

/* The body of an error reply as an event, which has no status code. */
static void order_app_send_error(struct saying *s, const struct app_reply *last)
{
    struct buf json;
    str body = buf_str(&last->body);

    assert(last->status >= 400 && body.n > 1 && body.p[0] == '{');
    buf_init(&json, EVENT_MAX);
    buf_printf(&json, "{\"status\":%d,\"retry_after_s\":%u,", last->status, last->retry_after_s);
    buf_add(&json, str_slice(body, 1, body.n));
    order_app_send(s, "error", buf_str(&json));
    buf_release(&json);
}

/* Streams events; the last one has the whole answer. An error before the first event is still a
 * plain reply. */
static void order_app_stream_turn(void *app, const struct app_request *q, str text,
                                  struct app_reply *r)
{
    struct saying s = {.r = r, .q = q};
    struct orders_watch watch = {.on_decision = order_app_on_decision,
                                 .on_order = order_app_on_order,
                                 .on_step = order_app_on_step,
                                 .on_say = order_app_on_text,
                                 .on_retract = order_app_on_retract,
                                 .ctx = &s};
    struct app_reply last = {.status = 200, .type = "application/json"};

    buf_init(&last.body, EVENT_MAX);
    order_take_turn(app, q, text, &watch, &last);
    assert(last.body.n > 0);
    if (s.sent && last.status == 200) {
        order_app_send(&s, "reply", buf_str(&last.body));
    } else if (s.sent) {
        order_app_send_error(&s, &last);
    } else {
        r->status = last.status;
        r->retry_after_s = last.retry_after_s;
        buf_add(&r->body, buf_str(&last.body));
    }
    buf_release(&last.body);
}

static void order_app_post_turn(void *app, const struct app_request *q, struct app_reply *r)
{
    struct err e;
    bool stream;
    str text;

    if (!json_text(q->json, json_find(q->json, json_root(q->json), STR("text")), q->arena, &text))
        app_fail(r, 400, "invalid_request", "text: the customer's message must be a text");
    else if (!app_read_stream(q, q->json, &stream, &e))
        app_fail_err(r, &e);
    else if (stream)
        order_app_stream_turn(app, q, text, r);
    else
        order_take_turn(app, q, text, NULL, r);
}

static void orders_app_get_menu(void *app, const struct app_request *q, struct app_reply *r)
{
    (void)q;
    orders_menu_write(app, &r->body);
}

static const struct app_route routes[] = {
    {"GET", "/api/v1/orders", order_app_list, 0, "", NULL},
    {"GET", "/api/v1/orders/*", order_app_show, 0, "", NULL},
    {"POST", "/api/v1/orders/*/say", order_app_post_turn, APP_JSON, "", "text stream"},
    {"GET", "/api/v1/menu", orders_app_get_menu, 0, "", NULL},
    {NULL, NULL, NULL, 0, NULL, NULL},
};

const struct app app_orders = {.name = "orders",
                               .open = order_app_open,
                               .resume = order_app_resume,
                               .reload = order_app_reload,
                               .close = order_app_close,
                               .routes = routes};
