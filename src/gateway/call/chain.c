/* chain.c - picks the provider that is asked next, and reports outcomes to the breaker.
 *
 * A provider is skipped while its circuit is open, or if it has no key. Both are noted in the
 * record.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/call/internal.h"

/* The model under the name that a fallback provider has for it, or its own name. */
static const struct config_model *call_find_fallback_model(struct call *c,
                                                           const struct config_provider *p)
{
    struct config_model *same;

    for (size_t i = 0; i < p->model_count; i++)
        if (str_eq(p->models[i].alias, c->level.model))
            return &p->models[i];
    if (p->model_count == 1)
        return &p->models[0];
    same = arena_alloc(&c->arena, sizeof *same);
    config_route_model(&c->level.route, same);
    config_price_model(p, same);
    return same;
}

/* The first provider's model: the configured one, or a model in the call's arena. */
static const struct config_model *call_route_model(struct call *c)
{
    struct config_model *own;

    if (c->level.route.listed)
        return c->level.route.listed;
    own = arena_alloc(&c->arena, sizeof *own);
    config_route_model(&c->level.route, own);
    return own;
}

void call_build_chain(struct call *c)
{
    const struct config_provider *first = c->level.route.provider;
    size_t max =
        first->fallback_count < CALL_CHAIN_MAX ? first->fallback_count + 1 : CALL_CHAIN_MAX;

    c->chain.at = 0;
    c->chain.breaker_name = c->chain.origin = STR("");
    c->chain.links = arena_alloc(&c->arena, max * sizeof *c->chain.links);
    c->chain.links[0].provider = first;
    c->chain.links[0].model = call_route_model(c);
    c->chain.count = 1;
    for (size_t i = 0; c->chain.count < max; i++) {
        const struct config_provider *p = &c->config->providers[first->fallback[i]];

        assert(i < first->fallback_count && first->fallback[i] < c->config->provider_count);
        c->chain.links[c->chain.count].provider = p;
        c->chain.links[c->chain.count++].model = call_find_fallback_model(c, p);
    }
    assert(c->chain.count == max);
}

/* The current provider and model. */
static str call_breaker_name(struct call *c)
{
    assert(c->chain.at < c->chain.count);
    if (!c->chain.breaker_name.n)
        c->chain.breaker_name =
            arena_join(&c->arena, call_provider(c)->name, STR("/"), call_model(c)->upstream);
    return c->chain.breaker_name;
}

str call_origin(struct call *c)
{
    if (!c->chain.origin.n)
        c->chain.origin = arena_join(
            &c->arena, c->in.key ? c->in.key->name : STR(""), STR("/"), call_breaker_name(c));
    return c->chain.origin;
}

static bool call_breaker_idle(struct call *c)
{
    return breaker_idle(
        c->gl->gateway->breaker, c->config->breaker_failures, c->config->breaker_ms);
}

static bool call_breaker_closed(struct call *c, uint64_t *left_ms)
{
    return call_breaker_idle(c) || breaker_pass(c->gl->gateway->breaker,
                                                call_breaker_name(c),
                                                c->config->breaker_failures,
                                                c->config->breaker_ms,
                                                left_ms);
}

bool call_choose_provider(struct call *c, uint64_t *left_ms, struct err *e)
{
    const struct config_provider *p, *open = NULL;

    *left_ms = 0;
    do {
        assert(c->chain.at < c->chain.count && !c->attempt.breaker_pending);
        p = call_provider(c);
        if (p->key_missing.n) {
            call_note_attempt(c, "skipped", p->key_missing);
            continue;
        }
        if (c->in.watch)
            return true;
        c->attempt.breaker_pending = call_breaker_closed(c, left_ms);
        if (c->attempt.breaker_pending)
            return true;
        open = p;
        call_note_attempt(c, "skipped", STR("circuit open"));
    } while (call_fall_back(c));
    assert(open || p->key_missing.n);
    if (!open)
        return err_set(e,
                       ERR_AUTH,
                       "the provider \"" STR_FMT "\" has no key here: " STR_FMT,
                       STR_ARG(p->name),
                       STR_ARG(p->key_missing));
    return err_set(e,
                   ERR_UPSTREAM,
                   "the provider \"" STR_FMT "\" has failed several times in a row and is left "
                   "alone for a moment; try again in %llu s",
                   STR_ARG(open->name),
                   (unsigned long long)(*left_ms + 999) / 1000);
}

void call_report_outcome(struct call *c, bool ok)
{
    assert(!c->attempt.breaker_pending || !c->in.watch);
    if (c->attempt.breaker_pending && !(ok && call_breaker_idle(c)))
        breaker_done(c->gl->gateway->breaker, call_breaker_name(c), ok);
    c->attempt.breaker_pending = false;
}

void call_leave_breaker(struct call *c)
{
    if (c->attempt.breaker_pending)
        breaker_undecided(c->gl->gateway->breaker, call_breaker_name(c));
    c->attempt.breaker_pending = false;
}
