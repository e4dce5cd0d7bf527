/* nodes.c - a turn on the agent loop: its model calls, and its steps, each from one checkpoint to
 * the next.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/orders_state.h"

#include "agent/decide.h"
#include "agent/history.h"
#include "agent/work.h"
#include "apps/orders/speak.h"
#include "base/json_get.h"
#include "base/utf8.h"
#include "gateway/retry.h"

#define VALUES_MAX ((size_t)32 << 20)
#define RESULT_MAX ((size_t)1 << 20)
#define AGAIN_NS 100000000L /* 100 ms, then doubled */

/* Puts the values of one checkpoint. */
static bool node_update_end(struct turn *t, struct json_text *u, enum orders_node node,
                            struct err *e)
{
    struct arena *next = t->arena == &t->steps[0] ? &t->steps[1] : &t->steps[0];
    struct state_step step = {.node = node};
    bool ok;

    assert(t->arena == &t->steps[0] || t->arena == &t->steps[1]);
    json_out_close(&u->o, u->o.depth);
    step.values = buf_str(&u->buf);
    t->who.now_us = clock_wall_ms(t->o->host.clock) * 1000;
    arena_reset(next);
    ok = json_out_ok(&u->o, e) && state_put(t->o->host.threads, &t->who, t->s, &step, next, e);
    buf_release(&u->buf);
    t->arena = next;
    ok = ok && graph_look(t, e);
    assert(!ok || t->s->node == node);
    if (ok && t->watch && t->watch->on_step)
        t->watch->on_step(t->watch->ctx, node);
    return ok;
}

/* Ids count the messages, so a message that is written again has the same id. */
static void node_message_begin(struct json_text *u, size_t number, const char *role)
{
    char id[32];

    assert(number > 0);
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

bool node_input(struct turn *t, str text, str idempotency_key, struct err *e)
{
    bool fresh = t->s->head.n == 0;
    size_t count = t->facts.messages;
    struct json_text u;

    assert(t->s->node != NODE_TOOLS); /* the last batch is in the order */
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
    node_message_begin(&u, count + 1, "user");
    json_member_str(&u.o, "content", mask_text_kept(t->setup->mask, text, t->arena));
    if (idempotency_key.n)
        json_member_str(&u.o, "idempotency_key", idempotency_key);
    return node_update_end(t, &u, NODE_INPUT, e);
}

/* ---- orchestrator ---- */

/* The active prompt, with the current order. */
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

/* A stored message as providers accept it; other programs may have added messages. */
static void order_nodes_put_message(struct turn *t, struct history *h, const struct json_node *m)
{
    const struct json *doc = &t->messages;
    const struct json_node *role = json_find(doc, m, STR("role"));
    const struct json_node *content = json_find(doc, m, STR("content"));
    struct ask_reply reply;

    if (json_is(doc, role, STR("assistant"))) {
        graph_read_reply(t, m, &reply);
        history_reply(h, &reply);
    } else if (json_is(doc, role, STR("tool"))) {
        history_result(h,
                       json_copy_text(doc, m, "tool_call_id", t->arena),
                       json_copy_text(doc, m, "content", t->arena));
    } else {
        history_add_messages(h,
                             arena_printf(t->arena,
                                          "{\"role\":" STR_FMT ",\"content\":" STR_FMT "}",
                                          STR_ARG(role ? json_raw(doc, role) : STR("\"user\"")),
                                          STR_ARG(content ? json_raw(doc, content) : STR("\"\""))));
    }
}

static bool node_write_messages(void *turn, struct buf *out, struct err *e)
{
    struct turn *t = turn;
    struct history h;
    bool ok;

    history_init(&h, VALUES_MAX);
    order_nodes_put_prompt(t, &h);
    JSON_FOREACH(m, &t->messages, json_root(&t->messages))
        order_nodes_put_message(t, &h, m);
    ok = !buf_full(&h.json) || err_set(e, ERR_LIMIT, "the conversation is too long to be sent");
    buf_add(out, str_slice(buf_str(&h.json), 1, h.json.n));
    history_release(&h);
    return ok;
}

/* One entry per reply: the reason, from the tags or else from the model's own reasoning. */
static str node_entry_of(struct turn *t, const struct ask_reply *r)
{
    struct decision d = {.why = r->reasoning, .answer = r->text, .calls = STR("")};
    struct buf entry;

    buf_init(&entry, RESULT_MAX);
    agent_decide_calls(t->box, r->calls, r->call_count, t->arena, &d);
    decision_write(&entry, NULL, &d);
    return mask_text_kept(t->setup->mask, arena_move_buf(t->arena, &entry), t->arena);
}

/* From the tags beside the calls, else the model's reasoning, else the tags inside the calls. */
static str node_why_of(str reasoning, str beside, str inside, struct arena *a)
{
    str own, none;

    if (beside.n)
        return beside;
    customer_filter_tags(utf8_cut_size(reasoning, SPEAK_TEXT_MAX), a, &own, &none);
    own = own.n ? own : none;
    return own.n ? own : inside;
}

/* The guard: text and calls without reasoning and secrets; the reasoning is the reason. */
static void order_nodes_guard(struct turn *t, struct ask_reply *r, struct arena *a)
{
    str text, beside, inside;

    customer_filter_text(utf8_cut_size(r->text, SPEAK_TEXT_MAX), a, &text, &beside);
    calls_clean(t, r, a, &inside);
    r->text = mask_text_kept(t->setup->mask, text, a);
    r->reasoning = node_why_of(r->reasoning, beside, inside, a);
}

static void order_nodes_write_reply(struct turn *t, struct json_text *u, const struct ask_reply *r)
{
    node_message_begin(u, t->facts.messages + 1, "assistant");
    json_out_key(&u->o, STR("content"));
    if (r->text.n || !r->call_count)
        json_out_str(&u->o, r->text);
    else
        json_out_null(&u->o);
    if (r->call_count)
        json_member_array(&u->o, "tool_calls");
    for (size_t i = 0; i < r->call_count; i++) {
        json_out_object(&u->o);
        json_member_str(&u->o, "id", r->calls[i].id);
        json_member_str(&u->o, "type", STR("function"));
        json_member_object(&u->o, "function");
        json_member_str(&u->o, "name", r->calls[i].name);
        json_member_str(&u->o, "arguments", r->calls[i].arguments);
        json_out_close(&u->o, 2);
    }
    if (r->call_count)
        json_out_end(&u->o);
    json_member_str(&u->o, "interaction_id", r->id);
    json_member_str(&u->o, "prompt_id", t->prompt_id);
    json_out_end(&u->o);
}

static bool node_put_reply(void *turn, const struct ask_reply *r, bool *finished, struct err *e)
{
    struct turn *t = turn;
    str entry = node_entry_of(t, r);
    struct json_text u;

    json_text_begin(&u, VALUES_MAX);
    json_member_array(&u.o, "messages");
    order_nodes_write_reply(t, &u, r);
    json_out_end(&u.o);
    json_member_array(&u.o, "reasoning");
    json_out_str(&u.o, entry);
    json_out_end(&u.o);
    if (!node_update_end(t, &u, NODE_ORCHESTRATOR, e))
        return false;
    if (t->watch && t->watch->on_decision)
        t->watch->on_decision(t->watch->ctx, entry);
    *finished = !r->call_count;
    return true;
}

static void node_fail(struct turn *t, const struct chat_error *error)
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

static void node_on_text(void *ctx, bool reasoning, str text)
{
    speak_feed(ctx, reasoning, text);
}

/* Streams the reply's text to the customer. */
static bool node_ask_once(struct turn *t, struct ask_request *q, const _Atomic bool *cancel,
                          struct arena *a, struct ask_reply *reply)
{
    struct speak *speak = arena_alloc(t->arena, sizeof *speak);
    bool ok;

    speak_init(speak, t->setup->mask, (struct speak_sink){graph_reply, t});
    if (t->watch && t->watch->on_say) {
        q->on_text = node_on_text;
        q->ctx = speak;
    }
    ok = t->o->ask.ask(t->o->ask.ctx, q, cancel, a, reply);
    speak_release(speak);
    if (!ok || reply->call_count)
        graph_retract(t); /* not certain if the reply also has calls */
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

/* A reply that broke off has changed nothing, so the call can be retried. */
static bool node_ask(void *turn, const struct ask_request *from, const _Atomic bool *cancel,
                     struct arena *a, struct ask_reply *reply)
{
    struct timespec pause = {.tv_nsec = AGAIN_NS};
    struct ask_request q = *from;
    struct turn *t = turn;

    q.title = order_title(t);
    q.step = STR("");
    q.setup = t->setup;
    for (int n = 0; !node_ask_once(t, &q, cancel, a, reply); n++, pause.tv_nsec *= 2) {
        if (n == ORDERS_AGAIN_MAX || !reply->begun || !retry_transient(reply->error.status) ||
            (cancel && atomic_load(cancel))) {
            node_fail(t, &reply->error);
            reply->error.code = STR(""); /* the loop must not retry: the customer waits */
            return false;
        }
        (void)nanosleep(&pause, NULL);
    }
    order_nodes_guard(t, reply, a);
    return true;
}

/* ---- update_order ---- */

/* Only results after the last reply with calls: earlier ones are already in the order. */
static bool node_apply_batch(struct turn *t)
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

static bool node_update(struct turn *t, struct err *e)
{
    struct json_text u;
    bool changed = node_apply_batch(t);

    assert(t->s->node == NODE_TOOLS);
    json_text_begin(&u, VALUES_MAX);
    if (changed) {
        json_out_key(&u.o, STR("current_order"));
        order_write(&u.o, &t->s->order, true);
    }
    if (!node_update_end(t, &u, NODE_UPDATE, e))
        return false;
    if (changed && t->watch && t->watch->on_order)
        t->watch->on_order(t->watch->ctx, &t->s->order);
    return true;
}

/* ---- tools ---- */

static void order_nodes_record(struct turn *t, const struct ask_call *c, str result, bool ok)
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
        store_tool_put(store, &row);
}

static bool node_put_results(void *turn, const struct ask_reply *reply,
                             const struct agent_done *done, bool *finished, struct err *e)
{
    struct turn *t = turn;
    struct json_text u;

    assert(reply->call_count > 0 && t->s->node == NODE_ORCHESTRATOR);
    json_text_begin(&u, VALUES_MAX);
    json_member_array(&u.o, "messages");
    for (size_t i = 0; i < reply->call_count; i++) {
        const struct ask_call *c = &reply->calls[i];

        node_message_begin(&u, t->facts.messages + 1 + i, "tool");
        json_member_str(&u.o, "tool_call_id", c->id);
        json_member_str(&u.o, "name", c->name);
        json_member_str(&u.o, "content", done[i].result);
        json_out_end(&u.o);
        order_nodes_record(t, c, done[i].result, done[i].ok);
    }
    if (!node_update_end(t, &u, NODE_TOOLS, e) || !node_update(t, e))
        return false;
    *finished = t->facts.finalized;
    return true;
}

static bool node_stopped(struct turn *t, struct err *e)
{
    struct json_text u;

    json_text_begin(&u, VALUES_MAX);
    return node_update_end(t, &u, NODE_STOPPED, e);
}

/* ---- the loop ---- */

/* The thread is the log of a turn, so the loop keeps none. */
static struct agent_options order_nodes_options(struct turn *t)
{
    str thread = arena_dup(&t->run, t->s->thread); /* the state's own lives for two steps */

    return (struct agent_options){
        .run = thread,
        .app = STR("orders"),
        .session = thread,
        .key = t->who.key,
        .model_name = t->shop->model,
        .extra = STR("\"stream\":true"),
        .tools = t->box,
        .ask = {node_ask, t},
        .limits = {.iterations = ORDERS_ASKED_MAX, .tokens = -1, .repeats = ORDERS_ASKED_MAX},
        .part = true,
        .clock = t->o->host.clock,
        .write_messages = node_write_messages,
        .on_reply = node_put_reply,
        .on_results = node_put_results,
        .ctx = t};
}

bool node_settle(struct turn *t, struct err *e)
{
    struct agent_options o = order_nodes_options(t);
    struct ask_reply reply = t->last;
    struct agent_result result;
    struct agent_done *done;
    struct agent_work *w;
    bool finished;

    if (t->s->node == NODE_ORCHESTRATOR && reply.call_count) {
        done = arena_zero(&t->run, reply.call_count, sizeof *done);
        if (!agent_work_begin(&o, &t->run, &result, &w, e))
            return false;
        (void)!agent_work_act(w, reply.calls, reply.call_count, done);
        return agent_work_end(w, STR(""), e) && node_put_results(t, &reply, done, &finished, e);
    }
    return t->s->node != NODE_TOOLS || node_update(t, e);
}

bool node_run_agent(struct turn *t, struct err *e)
{
    struct agent_options o = order_nodes_options(t);
    struct agent_result result;

    if (t->facts.asked >= ORDERS_ASKED_MAX)
        return node_stopped(t, e);
    o.limits.iterations -= (unsigned)t->facts.asked;
    o.cancel = o.leave = t->o->host.leave;
    if (!agent_run(&o, &t->run, &result, e))
        return false;
    if (result.end == AGENT_STOPPED)
        return node_stopped(t, e);
    if (result.end == AGENT_CANCELLED && t->out->end != ORDERS_FAILED)
        node_fail(t, &(struct chat_error){.status = 499, .message = result.detail});
    return result.end == AGENT_FINISHED;
}
