/* nodes.c - the steps of a turn, each from one checkpoint to the next.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/orders_state.h"

#include "agent/history.h"
#include "apps/orders/speak.h"
#include "base/json_get.h"
#include "base/log.h"
#include "base/utf8.h"
#include "chat/decision.h"
#include "gateway/retry.h"

#include <time.h>

#define VALUES_MAX ((size_t)32 << 20)
#define RESULT_MAX ((size_t)1 << 20)
#define AGAIN_NS 100000000L /* 100 ms, then doubled */

/* Puts the values of one checkpoint. */
static bool update_end(struct turn *t, struct json_text *u, enum orders_node node, struct err *e)
{
    struct arena *next = t->arena == &t->steps[0] ? &t->steps[1] : &t->steps[0];
    struct state_step step = {.node = node};
    bool ok;

    json_out_close(&u->o, u->o.depth);
    step.values = buf_str(&u->buf);
    t->who.now_us = clock_wall_ms(t->o->host.clock) * 1000;
    arena_reset(next);
    ok = json_out_ok(&u->o, e) && state_put(t->o->host.threads, &t->who, t->s, &step, next, e);
    buf_release(&u->buf);
    t->arena = next;
    ok = ok && graph_look(t, e);
    if (ok && t->watch && t->watch->on_step)
        t->watch->on_step(t->watch->ctx, node);
    return ok;
}

/* Ids count the messages, so a message that is written again has the same id. */
static void message_begin(struct json_text *u, size_t number, const char *role)
{
    char id[32];

    (void)snprintf(id, sizeof id, "m%zu", number);
    json_out_object(&u->o);
    json_member_str(&u->o, "id", str_c(id));
    json_member_str(&u->o, "role", str_c(role));
}

/* ---- input ---- */

static bool order_nodes_put_menu(struct turn *t, struct json_text *u, struct err *e)
{
    struct buf ref;
    bool ok;

    buf_init(&ref, 65536);
    ok = state_menu_put(t->o->host.threads, t->who.now_us, t->menu, &ref, e);
    json_member_raw(&u->o, "menu", ok ? buf_str(&ref) : STR("{}"));
    buf_release(&ref);
    return ok;
}

bool node_input(struct turn *t, str text, struct err *e)
{
    bool fresh = t->s->head.n == 0;
    size_t count = t->facts.messages;
    struct json_text u;

    if (count >= ORDERS_MESSAGES_MAX)
        return err_set(
            e, ERR_LIMIT, "the conversation has %zu messages: start another thread", count);
    json_text_begin(&u, VALUES_MAX);
    if (fresh && !order_nodes_put_menu(t, &u, e)) {
        buf_release(&u.buf);
        return false;
    }
    if (fresh) {
        json_out_key(&u.o, STR("current_order"));
        order_write(&u.o, &t->s->order, true);
        json_member_array(&u.o, "reasoning");
        json_out_end(&u.o);
    }
    json_member_array(&u.o, "messages");
    message_begin(&u, count + 1, "user");
    json_member_str(&u.o, "content", mask_copy(t->setup->mask, text, t->arena));
    return update_end(t, &u, NODE_INPUT, e);
}

/* ---- orchestrator ---- */

/* The prompt in force, with the order as it is now. */
static void order_nodes_put_prompt(struct turn *t, struct history *h)
{
    struct orders_fill fill = {t->menu, &t->s->order};
    struct prompt p;
    struct buf system;
    str text = t->o->prompt;

    registry_in_force(t->o->registry, &orders_built_in, t->arena, &p);
    t->prompt_id = text.n ? STR("orders@tried") : p.id;
    if (text.n == 0)
        text = prompt_text(&p, &orders_built_in, "system_prompt", t->arena);
    buf_init(&system, VALUES_MAX);
    orders_prompt(text, &fill, &system);
    history_text(h, "system", buf_str(&system));
    buf_release(&system);
}

/* Of the assistant; some hosts refuse a call without a name. */
static void order_nodes_put_reply(struct turn *t, struct history *h, const struct json_node *m)
{
    struct ask_reply reply;

    graph_read_reply(t, m, &reply);
    for (size_t i = 0; i < reply.call_count; i++)
        if (!reply.calls[i].name.n)
            reply.calls[i].name = STR("unnamed");
    history_reply(h, &reply);
}

/* A stored message as providers accept it; other programs may have added messages. */
static void order_nodes_put_message(struct turn *t, struct history *h, const struct json_node *m)
{
    const struct json *doc = &t->messages;
    const struct json_node *role = json_find(doc, m, STR("role"));
    const struct json_node *content = json_find(doc, m, STR("content"));

    if (json_is(doc, role, STR("assistant")))
        order_nodes_put_reply(t, h, m);
    else if (json_is(doc, role, STR("tool")))
        history_result(h,
                       json_copy_text(doc, m, "tool_call_id", t->arena),
                       json_copy_text(doc, m, "content", t->arena));
    else
        history_add_messages(h,
                             arena_printf(t->arena,
                                          "{\"role\":" STR_FMT ",\"content\":" STR_FMT "}",
                                          STR_ARG(role ? json_raw(doc, role) : STR("\"user\"")),
                                          STR_ARG(content ? json_raw(doc, content) : STR("\"\""))));
}

/* "" if it is too long. */
static str order_nodes_request(struct turn *t)
{
    struct history h;
    struct buf extra;
    str body;

    history_init(&h, VALUES_MAX);
    order_nodes_put_prompt(t, &h);
    JSON_FOREACH(m, &t->messages, json_root(&t->messages))
        order_nodes_put_message(t, &h, m);
    buf_init(&extra, VALUES_MAX);
    buf_add(&extra, STR("\"stream\":true,\"tools\":"));
    tools_write(&extra);
    body = history_body(&h, t->shop->model, buf_str(&extra), t->arena);
    buf_release(&extra);
    return body;
}

/* One entry per reply: the reason, from the tags or else from the model's own reasoning. */
static str entry_of(struct turn *t, const struct ask_reply *r, str why)
{
    struct json_out o;
    struct buf calls, entry;
    str all;

    buf_init(&calls, VALUES_MAX);
    buf_init(&entry, RESULT_MAX);
    json_out_init(&o, &calls);
    json_out_array(&o);
    for (size_t i = 0; i < r->call_count; i++) {
        json_out_object(&o);
        json_member_str(&o, "name", r->calls[i].name);
        json_member_str(&o, "arguments", r->calls[i].arguments);
        json_out_end(&o);
    }
    json_out_end(&o);
    decision_write(
        &entry, NULL, &(struct decision){.why = why, .answer = r->text, .calls = buf_str(&calls)});
    all = mask_copy(t->setup->mask, arena_dup(t->arena, buf_str(&entry)), t->arena);
    buf_release(&entry);
    buf_release(&calls);
    return all;
}

/* From the tags beside the calls, else the model's reasoning, else the tags inside the calls. */
static str why_of(struct turn *t, const struct ask_reply *r, str beside, str inside)
{
    str own, none;

    if (beside.n)
        return beside;
    customer_filter_tags(utf8_cut_size(r->reasoning, SPEAK_TEXT_MAX), t->arena, &own, &none);
    own = own.n ? own : none;
    return own.n ? own : inside;
}

static void order_nodes_write_reply(struct turn *t, struct json_text *u, const struct ask_reply *r,
                                    size_t number)
{
    message_begin(u, number, "assistant");
    json_out_key(&u->o, STR("content"));
    if (r->text.n || !r->call_count)
        json_out_str(&u->o, mask_copy(t->setup->mask, r->text, t->arena));
    else
        json_out_null(&u->o);
    if (r->call_count) {
        json_member_array(&u->o, "tool_calls");
        calls_write(&u->o, r);
        json_out_end(&u->o);
    }
    json_member_str(&u->o, "interaction_id", r->id);
    json_member_str(&u->o, "prompt_id", t->prompt_id);
    json_out_end(&u->o);
}

static bool put_reply(struct turn *t, const struct ask_reply *r, size_t number, struct err *e)
{
    struct ask_reply reply = {.id = r->id};
    struct json_text u;
    str beside, inside, entry;

    customer_filter_text(utf8_cut_size(r->text, SPEAK_TEXT_MAX), t->arena, &reply.text, &beside);
    calls_clean(t, r, number, &reply, &inside);
    entry = entry_of(t, &reply, why_of(t, r, beside, inside));
    json_text_begin(&u, VALUES_MAX);
    json_member_array(&u.o, "messages");
    order_nodes_write_reply(t, &u, &reply, number);
    json_out_end(&u.o);
    json_member_array(&u.o, "reasoning");
    json_out_str(&u.o, entry);
    json_out_end(&u.o);
    if (!update_end(t, &u, NODE_ORCHESTRATOR, e))
        return false;
    if (t->watch && t->watch->on_decision)
        t->watch->on_decision(t->watch->ctx, entry);
    return true;
}

static void order_nodes_failed(struct turn *t, const struct chat_error *error)
{
    t->out->end = ORDERS_FAILED;
    t->out->status = error->status;
    t->out->why = arena_dup(t->kept, error->message);
    t->out->retry_after_ms = error->retry_after_ms;
    log_warn("an order waits: the model call failed",
             LOG_STR("thread", t->s->thread),
             LOG_I64("status", error->status),
             LOG_STR("why", error->message));
}

static void on_text(void *ctx, bool reasoning, str text)
{
    speak_feed(ctx, reasoning, text);
}

static void order_nodes_on_text(void *ctx, str text)
{
    graph_reply(ctx, text);
}

/* Streams the reply's text to the customer. */
static bool ask_once(struct turn *t, struct ask_request *q, struct ask_reply *reply)
{
    struct speak *speak = arena_alloc(t->arena, sizeof *speak);
    bool ok;

    speak_init(speak, t->setup->mask, (struct speak_sink){order_nodes_on_text, t});
    if (t->watch && t->watch->on_say) {
        q->on_text = on_text;
        q->ctx = speak;
    }
    ok = t->o->ask.ask(t->o->ask.ctx, q, t->o->host.leave, t->arena, reply);
    speak_release(speak);
    if (!ok || reply->call_count)
        graph_retract(t); /* not certain if the reply also has calls */
    return ok;
}

/* A reply that broke off has changed nothing, so the call can be retried. */
static bool order_nodes_ask(struct turn *t, struct ask_request *q, struct ask_reply *reply)
{
    const _Atomic bool *leave = t->o->host.leave;
    struct timespec pause = {.tv_nsec = AGAIN_NS};
    bool ok = ask_once(t, q, reply);

    for (int n = 0; !ok && n < ORDERS_AGAIN_MAX; n++, pause.tv_nsec *= 2) {
        if (!reply->begun || !retry_transient(reply->error.status) || (leave && atomic_load(leave)))
            return false;
        (void)nanosleep(&pause, NULL);
        ok = ask_once(t, q, reply);
    }
    return ok;
}

/* For the record: the place, and the customer's last text; "" if the customer wrote none since. */
static str order_title(struct turn *t)
{
    const struct json *doc = &t->messages;
    const struct json_node *last = json_at(doc, json_root(doc), t->facts.messages - 1);
    str text;

    if (!json_is(doc, json_find(doc, last, STR("role")), STR("user")))
        return STR("");
    text = json_copy_text(doc, last, "content", t->arena);
    return t->menu->location.n && text.n
               ? arena_join(t->arena, t->menu->location, STR(" \xC2\xB7 "), text)
               : text;
}

bool node_orchestrator(struct turn *t, struct err *e)
{
    struct ask_request q = {.body = order_nodes_request(t),
                            .route = STR("agent:orders"),
                            .part = true,
                            .session = t->s->thread,
                            .title = order_title(t),
                            .id = STR(""),
                            .level = STR(""),
                            .key = t->who.key,
                            .setup = t->setup};
    struct ask_reply reply;

    if (!q.body.n)
        return err_set(e, ERR_LIMIT, "the conversation is too long to be sent");
    if (order_nodes_ask(t, &q, &reply))
        return put_reply(t, &reply, t->facts.messages + 1, e);
    order_nodes_failed(t, &reply.error);
    return false;
}

/* ---- tools ---- */

static void order_nodes_put_tool_message(struct turn *t, const struct ask_call *c, str result,
                                         bool ok)
{
    struct store *store = t->o->host.gateway->store;
    struct store_tool row = {.id = arena_printf(t->arena,
                                                STR_FMT ":" STR_FMT ":" STR_FMT,
                                                STR_ARG(t->s->thread),
                                                STR_ARG(t->s->head),
                                                STR_ARG(c->id)),
                             .session_id = t->s->thread,
                             .parent_id = t->last.id,
                             .server_name = STR("orders"),
                             .communication_type = STR("tool_call"),
                             .tool_name = c->name,
                             .arguments = c->arguments,
                             .result = result,
                             .available_tools = STR(""),
                             .error_message = ok ? STR("") : result,
                             .step = STR(""),
                             .timestamp_us = t->who.now_us,
                             .success = ok};

    if (t->o->host.gateway->records)
        store_tool_put(store, &row, NULL);
}

static void order_nodes_put_result(struct turn *t, struct json_text *u, const struct tools_state *s,
                                   size_t i)
{
    const struct ask_call *c = &s->batch[i];
    struct buf result;
    bool ok;

    buf_init(&result, RESULT_MAX);
    ok = tools_run(s, c, &result);
    (void)tools_apply(s->order, c->name, buf_str(&result), t->arena);
    message_begin(u, t->facts.messages + 1 + i, "tool");
    json_member_str(&u->o, "tool_call_id", c->id);
    json_member_str(&u->o, "name", c->name);
    json_member_str(&u->o, "content", buf_str(&result));
    json_out_end(&u->o);
    order_nodes_put_tool_message(t, c, buf_str(&result), ok);
    buf_release(&result);
}

bool node_tools(struct turn *t, struct err *e)
{
    struct order order;
    struct tools_state s = {.menu = t->menu,
                            .order = &order,
                            .facts = &t->facts,
                            .batch = t->last.calls,
                            .count = t->last.call_count,
                            .limits = t->shop->limits};
    struct json_text u;

    order_copy(&order, &t->s->order, t->arena);
    json_text_begin(&u, VALUES_MAX);
    json_member_array(&u.o, "messages");
    for (size_t i = 0; i < s.count; i++)
        order_nodes_put_result(t, &u, &s, i);
    return update_end(t, &u, NODE_TOOLS, e);
}

/* ---- update_order ---- */

/* Only results after the last reply with calls: earlier ones are already in the order. */
static bool apply_batch(struct turn *t)
{
    const struct json *doc = &t->messages;
    const struct json_node *root = json_root(doc), *m, *from = NULL;
    bool changed = false;

    JSON_FOREACH(one, doc, root)
        if (json_find(doc, one, STR("tool_calls")))
            from = one;
    for (m = from ? json_next(doc, root, from) : NULL; m; m = json_next(doc, root, m))
        if (json_is(doc, json_find(doc, m, STR("role")), STR("tool")))
            changed |= tools_apply(&t->s->order,
                                   json_get_text(doc, m, "name", t->arena),
                                   json_get_text(doc, m, "content", t->arena),
                                   t->arena);
    return changed;
}

bool node_update(struct turn *t, struct err *e)
{
    struct json_text u;
    bool changed = apply_batch(t);

    json_text_begin(&u, VALUES_MAX);
    if (changed) {
        json_out_key(&u.o, STR("current_order"));
        order_write(&u.o, &t->s->order, true);
    }
    if (!update_end(t, &u, NODE_UPDATE, e))
        return false;
    if (changed && t->watch && t->watch->on_order)
        t->watch->on_order(t->watch->ctx, &t->s->order);
    return true;
}

bool node_stopped(struct turn *t, struct err *e)
{
    struct json_text u;

    json_text_begin(&u, VALUES_MAX);
    return update_end(t, &u, NODE_STOPPED, e);
}
