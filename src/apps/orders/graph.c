/* graph.c - a turn: which step comes next, until the turn ends, and the text for the customer.
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

bool graph_facts(const struct orders_state *s, struct arena *a, struct facts *out, struct err *e)
{
    struct json doc;
    bool ok;

    json_init(&doc);
    ok = json_parse(&doc, s->messages, e) && facts_read(out, &doc, a, e);
    json_release(&doc);
    return ok;
}

void graph_calls(const struct json *doc, const struct json_node *m, struct arena *a,
                 struct last_reply *out)
{
    const struct json_node *calls = json_find(doc, m, STR("tool_calls")), *c;

    out->calls = arena_zero(a, (calls ? json_count(doc, calls) : 0) + 1, sizeof *out->calls);
    for (c = json_first(doc, calls); c; c = json_next(doc, calls, c)) {
        const struct json_node *f = json_find(doc, c, STR("function"));

        out->calls[out->call_count++] = (struct tools_call){json_copy_text(doc, c, "id", a),
                                                            json_copy_text(doc, f, "name", a),
                                                            json_copy_text(doc, f, "arguments", a)};
    }
}

bool graph_last(const struct orders_state *s, struct arena *a, struct last_reply *out,
                struct err *e)
{
    const struct json_node *root, *m, *last = NULL;
    struct json doc;
    bool ok;

    *out = (struct last_reply){.text = STR(""), .interaction = STR("")};
    json_init(&doc);
    ok = json_parse(&doc, s->messages, e);
    root = ok ? json_root(&doc) : NULL;
    for (m = json_first(&doc, root); m; m = json_next(&doc, root, m))
        if (json_is(&doc, json_find(&doc, m, STR("role")), STR("assistant")))
            last = m;
    if (last) {
        out->text = json_copy_text(&doc, last, "content", a);
        out->interaction = json_copy_text(&doc, last, "interaction_id", a);
        graph_calls(&doc, last, a, out);
    }
    json_release(&doc);
    return ok;
}

/* ---- which step is next ---- */

enum next { NEXT_END, NEXT_ASK, NEXT_TOOLS, NEXT_UPDATE, NEXT_STOP };

static bool next_of(struct turn *t, enum next *out, struct err *e)
{
    struct last_reply last;
    struct facts f;

    if (t->s->node == NODE_STOPPED || t->s->head.n == 0) {
        *out = NEXT_END;
        return true;
    }
    if (!graph_last(t->s, t->arena, &last, e) || !graph_facts(t->s, t->arena, &f, e))
        return false;
    facts_release(&f);
    switch (t->s->node) {
    case NODE_INPUT:
        *out = NEXT_ASK;
        break;
    case NODE_ORCHESTRATOR:
        *out = last.call_count ? NEXT_TOOLS : NEXT_END;
        break;
    case NODE_TOOLS:
        *out = NEXT_UPDATE;
        break;
    default:
        *out = f.finalized ? NEXT_END : NEXT_ASK;
        break;
    }
    if (*out == NEXT_ASK && f.asked >= ORDERS_ASKED_MAX)
        *out = NEXT_STOP;
    return true;
}

static bool order_graph_step(struct turn *t, enum next next, struct err *e)
{
    switch (next) {
    case NEXT_ASK:
        return node_orchestrator(t, e);
    case NEXT_TOOLS:
        return node_tools(t, e);
    case NEXT_UPDATE:
        return node_update(t, e);
    default:
        return node_stopped(t, e);
    }
}

bool graph_settle(struct turn *t, struct err *e)
{
    enum next next;

    for (;;) {
        if (!next_of(t, &next, e))
            return false;
        if (next != NEXT_TOOLS && next != NEXT_UPDATE)
            return true;
        if (!order_graph_step(t, next, e))
            return false;
    }
}

/* ---- the customer's reply ---- */

void graph_reply(struct turn *t, str text)
{
    if (!t->watch || !t->watch->on_say || text.n == 0)
        return;
    buf_add(&t->sent, text);
    t->watch->on_say(t->watch->ctx, text);
}

void graph_retract(struct turn *t)
{
    if (t->sent.n && t->watch->on_retract)
        t->watch->on_retract(t->watch->ctx);
    buf_reset(&t->sent);
}

/* The rest of the reply; all of it if it differs from the text sent so far. */
static void graph_reply_rest(struct turn *t)
{
    if (!str_starts(t->out->reply, buf_str(&t->sent)))
        graph_retract(t);
    graph_reply(t, str_slice(t->out->reply, t->sent.n, t->out->reply.n));
}

static str goodbye(struct turn *t)
{
    int64_t cents = order_cents(&t->s->order);

    if (cents < 0)
        return STR("Thank you! Your order is in. Please drive on to the window.");
    return arena_printf(t->kept,
                        "Thank you! Your order is in, that's $%lld.%02lld. Please drive on to the "
                        "window.",
                        (long long)cents / 100,
                        (long long)cents % 100);
}

static bool reply_of(struct turn *t, struct err *e)
{
    struct last_reply last;

    if (!graph_last(t->s, t->arena, &last, e))
        return false;
    t->out->end = t->s->node == NODE_STOPPED ? ORDERS_STOPPED : ORDERS_REPLIED;
    t->out->reply = arena_dup(t->kept, last.text);
    if (t->out->end == ORDERS_STOPPED)
        t->out->reply = str_c(sorry_person);
    else if (!last.text.n)
        t->out->reply = last.call_count ? goodbye(t) : str_c(sorry_again);
    graph_reply_rest(t);
    return true;
}

bool graph_run(struct turn *t, struct err *e)
{
    enum next next;

    t->out->end = ORDERS_REPLIED;
    do {
        if (!next_of(t, &next, e))
            return false;
        if (next != NEXT_END && !order_graph_step(t, next, e)) {
            t->out->reply = str_c(sorry_wait);
            return t->out->end == ORDERS_FAILED;
        }
    } while (next != NEXT_END);
    return reply_of(t, e);
}
