/* eval.c - runs a file of utterances and scores each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/score.h"

#include "apps/orders/tool_call.h"
#include "base/json_get.h"
#include "base/utf8.h"

#define ARENA_MAX ((size_t)1 << 30)

/* ---- a line ---- */

struct line {
    const struct menu *menu;
    struct json doc;
    struct arena *arena;
    struct orders_eval_case *out;
    struct err *e;
};

static bool order_eval_read_modifiers(struct line *l, const struct json_node *v,
                                      const struct menu_item *item, struct order_line *out)
{
    const struct json_node *list = json_find(&l->doc, v, STR("modifiers")), *m;

    out->modifiers =
        arena_zero(l->arena, (list ? json_count(&l->doc, list) : 0) + 1, sizeof *out->modifiers);
    for (m = json_first(&l->doc, list); m; m = json_next(&l->doc, list, m)) {
        const struct menu_modifier *found;
        str name;

        if (!json_text(&l->doc, m, l->arena, &name) || !(found = menu_modifier(item, name)))
            return err_input(
                l->e, "expected: " STR_FMT " has no such modifier", STR_ARG(item->name));
        order_call_put_modifier(out, found); /* once, in the order of the tools */
    }
    return true;
}

static bool order_eval_read_expected(struct line *l, const struct json_node *v)
{
    const struct menu_item *item =
        menu_find(l->menu, json_copy_text(&l->doc, v, "item_id", l->arena));
    struct order_line line = {.quantity = 1, .cents = MENU_NO_PRICE};
    const struct json_node *quantity = json_find(&l->doc, v, STR("quantity"));
    str size = json_copy_text(&l->doc, v, "size", l->arena);

    if (!item)
        return err_input(l->e, "expected: an item_id is not on the menu");
    if (quantity && (!json_i64(&l->doc, quantity, &line.quantity) || line.quantity < 1 ||
                     line.quantity > ORDER_LINE_QUANTITY_MAX))
        return err_input(
            l->e, "expected: a quantity is a whole number from 1 to %d", ORDER_LINE_QUANTITY_MAX);
    line.item_id = item->id;
    line.name = item->name;
    line.category = item->category;
    line.size = size.n ? size : item->default_size;
    if (!menu_size(item, line.size))
        return err_input(l->e, "expected: " STR_FMT " has no such size", STR_ARG(item->name));
    return order_eval_read_modifiers(l, v, item, &line) &&
           (order_add(&l->out->expected, &line) || err_input(l->e, "expected: too many lines"));
}

static bool order_eval_read_turns(struct line *l, const struct json_node *root)
{
    const struct json_node *list = json_find(&l->doc, root, STR("turns")), *t;
    str one = json_copy_text(&l->doc, root, "utterance", l->arena);

    if (one.n)
        l->out->turns[l->out->turn_count++] = one;
    for (t = json_first(&l->doc, list); t; t = json_next(&l->doc, list, t)) {
        str text;

        if (l->out->turn_count == ORDERS_EVAL_TURNS_MAX || !json_text(&l->doc, t, l->arena, &text))
            return err_input(l->e, "turns: at most %d texts", ORDERS_EVAL_TURNS_MAX);
        l->out->turns[l->out->turn_count++] = arena_dup(l->arena, text);
    }
    for (size_t i = 0; i < l->out->turn_count; i++)
        if (!utf8_trim(l->out->turns[i]).n || l->out->turns[i].n > ORDERS_TEXT_MAX)
            return err_input(l->e, "turns: a message has 1 to %d bytes", ORDERS_TEXT_MAX);
    return l->out->turn_count > 0 ||
           err_input(l->e, "turns: must be a list of the customer's messages");
}

static bool order_eval_read_case(struct line *l)
{
    const struct json_node *root = json_root(&l->doc), *list, *v;

    if (root->kind != JSON_OBJECT)
        return err_input(l->e, "must be a JSON object");
    l->out->id = json_copy_text(&l->doc, root, "id", l->arena);
    l->out->category = json_copy_text(&l->doc, root, "category", l->arena);
    list = json_find(&l->doc, root, STR("expected"));
    if (!list || list->kind != JSON_ARRAY)
        return err_input(l->e, "expected: a list of items");
    for (v = json_first(&l->doc, list); v; v = json_next(&l->doc, list, v))
        if (!order_eval_read_expected(l, v))
            return false;
    return order_eval_read_turns(l, root);
}

bool orders_eval_read(const struct menu *m, str text, struct arena *a, struct orders_eval_case *out,
                      struct err *e)
{
    struct line l = {.menu = m, .arena = a, .out = out, .e = e};
    bool ok;

    *out = (struct orders_eval_case){.id = STR(""), .category = STR("")};
    order_init(&out->expected, STR(""), a);
    ok = json_open(&l.doc, text, e) && order_eval_read_case(&l);
    json_release(&l.doc);
    return ok;
}

/* ---- taking them ---- */

static bool order_eval_take(struct orders *o, const struct orders_eval_case *c, struct arena *a,
                            struct orders_turn *turn, struct orders_eval_result *r, struct err *e)
{
    struct thread_asker who = orders_asker(o, STR(""), true);
    uint64_t chance;
    str thread;
    bool ok = true;

    assert(c->turn_count > 0 && c->turn_count <= ORDERS_EVAL_TURNS_MAX);
    rand_os(&chance, sizeof chance);
    thread = arena_printf(a,
                          "eval-" STR_FMT "-%016llx",
                          STR_ARG(utf8_cut_size(c->id, 64)),
                          (unsigned long long)chance);
    r->failed = STR("");
    for (size_t i = 0; ok && !r->failed.n && i < c->turn_count; i++) {
        ok = orders_run_turn(
            o,
            &(struct orders_said){.who = &who, .thread = thread, .text = c->turns[i]},
            a,
            turn,
            e);
        if (ok && turn->end == ORDERS_FAILED)
            r->failed = turn->why.n ? turn->why : STR("the model call failed");
    }
    return orders_forget(o, &who, thread, e) && ok;
}

static bool score_case(struct orders *o, const struct orders_eval_case *c,
                       const struct orders_state *s, struct score *out, struct err *e)
{
    out->order = score_order(&c->expected, &s->order);
    return score_protocol(s->messages, c->expected.count > 0, &out->protocol, e) &&
           score_real(orders_menu(o), s->messages, &s->order, &out->real, e);
}

static bool order_eval_check(struct orders *o, str line, struct arena *a, struct err *e)
{
    struct orders_eval_case *c = arena_zero(a, 1, sizeof *c);

    return orders_eval_read(orders_menu(o), line, a, c, e);
}

static bool order_eval_one_case(struct orders *o, str line, struct orders_eval_result *r,
                                struct orders_eval *sums, struct arena *a, struct err *e)
{
    struct orders_eval_case *c = arena_zero(a, 1, sizeof *c);
    struct orders_turn *turn = arena_zero(a, 1, sizeof *turn);

    *r = (struct orders_eval_result){.of = c, .failed = STR("")};
    if (!orders_eval_read(orders_menu(o), line, a, c, e) || !order_eval_take(o, c, a, turn, r, e))
        return false;
    r->got = &turn->state.order;
    if (!r->failed.n && !score_case(o, c, &turn->state, &r->score, e))
        return false;
    sums->cases++;
    sums->failed += r->failed.n > 0;
    sums->mean.order += r->score.order;
    sums->mean.protocol += r->score.protocol;
    sums->mean.real += r->score.real;
    return true;
}

/* Reads each line; with `take`, also takes and scores it. */
static bool order_eval_each(struct orders *o, const struct orders_eval_source *from, bool take,
                            struct orders_eval *out, struct err *e)
{
    str text = from->text;
    size_t number = 0;
    struct arena a;
    bool ok = true;

    arena_init(&a, ARENA_MAX);
    while (ok && text.n > 0) {
        str line = str_trim(str_cut(&text, '\n'));
        struct orders_eval_result r;

        number++;
        if (line.n == 0)
            continue;
        arena_reset(&a);
        ok = (take ? order_eval_one_case(o, line, &r, out, &a, e)
                   : order_eval_check(o, line, &a, e)) ||
             err_prefix(e, "%s:%zu: ", from->path, number);
        if (ok && take && from->on_case)
            from->on_case(from->ctx, &r);
    }
    arena_release(&a);
    return ok;
}

bool orders_eval_run(struct orders *o, const struct orders_eval_source *from,
                     struct orders_eval *out, struct err *e)
{
    bool ok;

    *out = (struct orders_eval){.cases = 0};
    ok = order_eval_each(o, from, false, out, e) && order_eval_each(o, from, true, out, e);
    assert(out->failed <= out->cases);
    if (ok && out->cases == 0)
        return err_input(e, "%s: has no utterances", from->path);
    if (ok) {
        out->mean.order /= (double)out->cases;
        out->mean.protocol /= (double)out->cases;
        out->mean.real /= (double)out->cases;
    }
    return ok;
}
