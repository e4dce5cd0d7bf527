/* score.c - see score.h: the three scorers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/score.h"
#include "base/json_get.h"

#define ARENA_MAX ((size_t)256 << 20)

/* ---- the order ---- */

static double score_modifier_overlap(const struct order_line *a, const struct order_line *b)
{
    size_t both = 0;

    for (size_t i = 0; i < a->modifier_count; i++)
        for (size_t k = 0; k < b->modifier_count; k++)
            both += str_eq(a->modifiers[i].id, b->modifiers[k].id);
    if (a->modifier_count + b->modifier_count == 0)
        return 1;
    assert(both <= a->modifier_count && both <= b->modifier_count);
    return (double)both / (double)(a->modifier_count + b->modifier_count - both);
}

static double score_line_score(const struct order_line *a, const struct order_line *b)
{
    int64_t less = a->quantity < b->quantity ? a->quantity : b->quantity;
    int64_t more = a->quantity < b->quantity ? b->quantity : a->quantity;

    return (menu_same(a->name, b->name) ? 0.4 : 0) + 0.3 * (double)less / (double)more +
           (menu_same(a->size, b->size) ? 0.1 : 0) + 0.2 * score_modifier_overlap(a, b);
}

/* Pairs the lines of an id, best match first; a line without a partner scores 0. */
static double score_id_score(const struct order *a, const struct order *b, str id)
{
    bool used[2][ORDER_LINES_MAX] = {{false}};
    size_t n[2] = {0};
    double sum = 0;

    assert(a->count <= ORDER_LINES_MAX && b->count <= ORDER_LINES_MAX);
    for (size_t i = 0; i < a->count; i++)
        n[0] += str_eq(a->lines[i].item_id, id);
    for (size_t i = 0; i < b->count; i++)
        n[1] += str_eq(b->lines[i].item_id, id);
    for (size_t pairs = n[0] < n[1] ? n[0] : n[1]; pairs > 0; pairs--) {
        double best = -1;
        size_t x = 0, y = 0;

        for (size_t i = 0; i < a->count; i++)
            for (size_t k = 0; k < b->count; k++) {
                if (used[0][i] || used[1][k] || !str_eq(a->lines[i].item_id, id) ||
                    !str_eq(b->lines[k].item_id, id) ||
                    score_line_score(&a->lines[i], &b->lines[k]) <= best)
                    continue;
                best = score_line_score(&a->lines[i], &b->lines[k]);
                x = i;
                y = k;
            }
        assert(best >= 0 && !used[0][x] && !used[1][y]);
        used[0][x] = used[1][y] = true;
        sum += best;
    }
    return sum / (double)(n[0] > n[1] ? n[0] : n[1]);
}

static bool order_score_first_of(const struct order *o, size_t i)
{
    assert(i < o->count);
    for (size_t k = 0; k < i; k++)
        if (str_eq(o->lines[k].item_id, o->lines[i].item_id))
            return false;
    return true;
}

static bool score_has_id(const struct order *o, str id)
{
    for (size_t i = 0; i < o->count; i++)
        if (str_eq(o->lines[i].item_id, id))
            return true;
    return false;
}

double score_order(const struct order *expected, const struct order *got)
{
    double sum = 0;
    size_t ids = 0;

    for (size_t i = 0; i < expected->count; i++)
        if (order_score_first_of(expected, i)) {
            sum += score_id_score(expected, got, expected->lines[i].item_id);
            ids++;
        }
    for (size_t i = 0; i < got->count; i++)
        ids += order_score_first_of(got, i) && !score_has_id(expected, got->lines[i].item_id);
    assert(sum >= 0 && sum < (double)ids + 0.001);
    return ids ? sum / (double)ids : 1;
}

/* ---- recorded calls ---- */

struct adds {
    struct arena arena;
    struct json doc, args;
    size_t batch;
    void (*on_add)(void *ctx, str id, str name, size_t batch);
    void *ctx;
};

static str score_get_argument(struct adds *w, const char *key)
{
    str s = STR("");

    json_get_into(&w->args, json_root(&w->args), key, &w->arena, &s);
    return arena_dup(&w->arena, str_trim(s));
}

static void walk_calls(struct adds *w, const struct json_node *calls)
{
    const struct json_node *c, *f;
    struct err e;
    str text;

    for (c = json_first(&w->doc, calls); c; c = json_next(&w->doc, calls, c)) {
        f = json_find(&w->doc, c, STR("function"));
        if (!json_is(&w->doc, json_find(&w->doc, f, STR("name")), STR("add_item_to_order")))
            continue;
        if (json_text(&w->doc, json_find(&w->doc, f, STR("arguments")), &w->arena, &text) &&
            json_parse(&w->args, text, &e))
            w->on_add(w->ctx,
                      score_get_argument(w, "item_id"),
                      score_get_argument(w, "item_name"),
                      w->batch);
        else
            w->on_add(w->ctx, STR(""), STR(""), w->batch);
    }
}

/* Each attempted add, with its batch. */
static bool walk_adds(struct adds *w, str messages, struct err *e)
{
    const struct json_node *root, *m, *calls;
    bool ok;

    arena_init(&w->arena, ARENA_MAX);
    json_init(&w->args);
    ok = json_open(&w->doc, messages, e);
    root = ok ? json_root(&w->doc) : NULL;
    for (m = json_first(&w->doc, root); m; m = json_next(&w->doc, root, m))
        if ((calls = json_find(&w->doc, m, STR("tool_calls")))) {
            w->batch++;
            walk_calls(w, calls);
        }
    json_release(&w->args);
    json_release(&w->doc);
    arena_release(&w->arena);
    return ok;
}

struct protocol {
    struct facts facts;
    size_t adds, before, ever;
};

static void score_on_protocol(void *ctx, str id, str name, size_t batch)
{
    struct protocol *p = ctx;
    const struct map_entry *looked = map_find(&p->facts.looked, id);

    (void)name;
    p->adds++;
    p->ever += looked != NULL;
    p->before += looked && looked->value.u64 < batch;
}

bool score_protocol(str messages, bool expects, double *out, struct err *e)
{
    struct protocol p = {.adds = 0};
    struct adds w = {.on_add = score_on_protocol, .ctx = &p};
    struct arena a;
    struct json doc;
    bool ok;

    arena_init(&a, ARENA_MAX);
    ok = json_open(&doc, messages, e) && facts_read(&p.facts, &doc, &a, e);
    if (ok) {
        ok = walk_adds(&w, messages, e);
        facts_release(&p.facts);
    }
    json_release(&doc);
    arena_release(&a);
    *out = p.adds == 0          ? (expects ? 0 : 1)
           : p.before == p.adds ? 1
           : p.ever == p.adds   ? 0.5
           : p.ever > 0         ? 0.3
                                : 0;
    return ok;
}

struct real {
    const struct menu *menu;
    bool all;
};

static void score_on_real(void *ctx, str id, str name, size_t batch)
{
    struct real *r = ctx;
    const struct menu_item *item = menu_find(r->menu, id);

    (void)batch;
    r->all &= item && menu_same(item->name, name);
}

bool score_real(const struct menu *m, str messages, const struct order *got, double *out,
                struct err *e)
{
    struct real r = {m, true};
    struct adds w = {.on_add = score_on_real, .ctx = &r};
    bool ok = walk_adds(&w, messages, e);

    for (size_t i = 0; i < got->count; i++)
        score_on_real(&r, got->lines[i].item_id, got->lines[i].name, 0);
    *out = r.all ? 1 : 0;
    return ok;
}
