/* graph.c - one turn: the state of its thread, and the text for the customer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/orders_state.h"

#include "base/json_get.h"

static const char sorry_again[] = "Sorry, I didn't catch that. Could you say it again?";
static const char sorry_wait[] =
    "Sorry, I can't take your order right this moment. Please bear with me and try again shortly; "
    "nothing you have said is lost.";
static const char sorry_person[] = "Sorry, I can't work that out. Someone will be with you at the "
                                   "window in a moment.";

void graph_read_reply(const struct turn *t, const struct json_node *m, struct ask_reply *out)
{
    const struct json *doc = &t->messages;
    const struct json_node *calls = json_find(doc, m, STR("tool_calls"));

    *out = (struct ask_reply){
        .text = json_copy_text(doc, m, "content", t->arena),
        .id = json_copy_text(doc, m, "interaction_id", t->arena),
        .calls = arena_zero(t->arena, json_count(doc, calls) + 1, sizeof *out->calls)};
    JSON_FOREACH(c, doc, calls) {
        const struct json_node *f = json_find(doc, c, STR("function"));
        str name = json_copy_text(doc, f, "name", t->arena);

        out->calls[out->call_count++] =
            (struct ask_call){json_copy_text(doc, c, "id", t->arena),
                              name.n ? name : STR(CALLS_UNNAMED),
                              json_copy_text(doc, f, "arguments", t->arena)};
    }
}

bool graph_look(struct turn *t, struct err *e)
{
    const struct json_node *last = NULL;

    facts_release(&t->facts);
    if (!json_parse(&t->messages, t->s->messages, e) ||
        !facts_read(&t->facts, &t->messages, t->arena, e))
        return false;
    JSON_FOREACH(m, &t->messages, json_root(&t->messages))
        if (json_is(&t->messages, json_find(&t->messages, m, STR("role")), STR("assistant")))
            last = m;
    graph_read_reply(t, last, &t->last);
    assert(last || !t->last.call_count);
    order_copy(&t->changed, &t->s->order, t->arena);
    t->tools = (struct tools_state){.menu = t->menu,
                                    .order = &t->changed,
                                    .facts = &t->facts,
                                    .batch = t->last.calls,
                                    .count = t->last.call_count,
                                    .limits = t->shop->limits,
                                    .arena = t->arena};
    return true;
}

bool graph_is_open(const struct turn *t)
{
    if (t->s->node == NODE_STOPPED || t->s->head.n == 0)
        return false;
    if (t->s->node == NODE_ORCHESTRATOR)
        return t->last.call_count > 0;
    return t->s->node != NODE_UPDATE || !t->facts.finalized;
}

/* ---- the customer's reply ---- */

void graph_reply(void *turn, str text)
{
    struct turn *t = turn;

    if (!t->watch || !t->watch->on_say || text.n == 0)
        return;
    buf_add(&t->sent, text);
    t->watch->on_say(t->watch->ctx, text);
}

void graph_retract(struct turn *t)
{
    assert(!t->sent.n || t->watch);
    if (t->sent.n && t->watch->on_retract)
        t->watch->on_retract(t->watch->ctx);
    buf_reset(&t->sent);
}

/* The rest of the reply; all of it if it differs from the text sent so far. */
static void graph_reply_rest(struct turn *t)
{
    if (!str_starts(t->out->reply, buf_str(&t->sent)))
        graph_retract(t);
    assert(t->sent.n <= t->out->reply.n);
    graph_reply(t, str_slice(t->out->reply, t->sent.n, t->out->reply.n));
}

static str graph_say_goodbye(struct turn *t)
{
    int64_t cents = order_cents(&t->s->order);
    bool dollars = str_eq(t->menu->currency, STR("USD"));

    if (cents < 0)
        return STR("Thank you! Your order is in. Please drive on to the window.");
    return arena_printf(t->kept,
                        "Thank you! Your order is in, that's %s%lld.%02lld%s" STR_FMT
                        ". Please drive on to the window.",
                        dollars ? "$" : "",
                        (long long)cents / 100,
                        (long long)cents % 100,
                        dollars ? "" : " ",
                        STR_ARG(dollars ? STR("") : t->menu->currency));
}

static void graph_reply_of(struct turn *t)
{
    assert(!graph_is_open(t));
    t->out->end = t->s->node == NODE_STOPPED ? ORDERS_STOPPED : ORDERS_REPLIED;
    t->out->reply = arena_dup(t->kept, t->last.text);
    if (t->out->end == ORDERS_STOPPED)
        t->out->reply = str_c(sorry_person);
    else if (!t->last.text.n)
        t->out->reply = t->last.call_count ? graph_say_goodbye(t) : str_c(sorry_again);
    graph_reply_rest(t);
}

bool graph_run(struct turn *t, struct err *e)
{
    t->out->end = ORDERS_REPLIED;
    if (!node_settle(t, e) || (graph_is_open(t) && !node_run_agent(t, e))) {
        t->out->reply = str_c(sorry_wait);
        return t->out->end == ORDERS_FAILED;
    }
    graph_reply_of(t);
    return true;
}
