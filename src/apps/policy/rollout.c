/* rollout.c - see rollout.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/rollout.h"

#include "base/sha256.h"

#define SWITCHES_ARENA_MAX ((size_t)1 << 20)

struct policy_rollout {
    struct policy_table *keep; /* or NULL */
    const struct clock *clock;
    pthread_mutex_t lock; /* protects the members below */
    bool set;             /* by an operator, over these: */
    struct policy_switches switches, configured;
    bool adopted; /* set at another daemon: over the configuration that this one has */
    char who[ROLLOUT_WHO_SIZE];
    int64_t set_us, step; /* step: of the row */
};

static const struct {
    const char *name;
    bool ratio;
    size_t at;
} rows[] = {
    {"react_use_llm_controller", false, offsetof(struct policy_switches, use_llm)},
    {"react_shadow_mode", false, offsetof(struct policy_switches, shadow)},
    {"react_fallback_enabled", false, offsetof(struct policy_switches, fallback)},
    {"react_ab_test_ratio", true, offsetof(struct policy_switches, ab_ratio)},
    {"prompt_ab_test_ratio", true, offsetof(struct policy_switches, prompt_ab_ratio)},
};

void policy_rollout_free(struct policy_rollout *r)
{
    if (!r)
        return;
    pthread_mutex_destroy(&r->lock);
    free(r);
}

static struct policy_switches policy_rollout_read_config(const struct config *c)
{
    return (struct policy_switches){.use_llm = c->policy.use_llm,
                                    .shadow = c->policy.shadow,
                                    .fallback = c->policy.fallback,
                                    .ab_ratio = c->policy.ab_ratio,
                                    .prompt_ab_ratio = c->policy.prompt_ab_ratio};
}

static bool policy_rollout_switches_equal(const struct policy_switches *a,
                                          const struct policy_switches *b)
{
    return a->use_llm == b->use_llm && a->shadow == b->shadow && a->fallback == b->fallback &&
           !(a->ab_ratio < b->ab_ratio) && !(a->ab_ratio > b->ab_ratio) &&
           !(a->prompt_ab_ratio < b->prompt_ab_ratio) && !(a->prompt_ab_ratio > b->prompt_ab_ratio);
}

/* ---- in the store ---- */

static str switches_text(const struct policy_switches *s, struct arena *a)
{
    struct json_text t;

    json_text_begin(&t, 4096);
    policy_switches_json(s, &t.o);
    return json_text_end(&t, a, STR("{}"));
}

/* Reads the switches of a stored row; a switch that it does not name is off. */
static bool switches_read(str text, struct policy_switches *out)
{
    struct json doc;
    struct err e;
    bool ok;

    *out = (struct policy_switches){0};
    ok = json_open(&doc, text, &e);
    for (size_t i = 0; ok && i < COUNT_OF(rows); i++) {
        const struct json_node *v = json_find(&doc, json_root(&doc), str_c(rows[i].name));
        void *at = (char *)out + rows[i].at;

        if (v && rows[i].ratio)
            ok = json_double(&doc, v, at);
        else if (v)
            ok = json_bool(v, at);
    }
    json_release(&doc);
    return ok;
}

static void policy_rollout_take(struct policy_rollout *r, const struct policy_set *s)
{
    r->set = s->switches.n && switches_read(s->switches, &r->switches) &&
             switches_read(s->configured, &r->configured);
    (void)snprintf(r->who, sizeof r->who, STR_FMT, STR_ARG(s->who));
    r->set_us = s->set_us;
    r->step = s->step;
    r->adopted = false;
}

bool policy_rollout_open(struct policy_table *keep, const struct clock *clock,
                         struct policy_rollout **out, struct err *e)
{
    struct policy_rollout *r = base_alloc(sizeof *r);
    struct policy_set last;
    struct arena a;
    bool found, ok;

    *r = (struct policy_rollout){.keep = keep, .clock = clock};
    pthread_mutex_init(&r->lock, NULL);
    arena_init(&a, SWITCHES_ARENA_MAX);
    ok = policy_table_switches_last(keep, &a, &last, &found, e);
    if (ok && found)
        policy_rollout_take(r, &last);
    arena_release(&a);
    if (!ok)
        policy_rollout_free(r);
    *out = ok ? r : NULL;
    return ok || err_prefix(e, "the switches: ");
}

/* The rows have ascending steps, so a row that was read before a later change is not taken. */
void policy_rollout_refresh(struct policy_rollout *r)
{
    struct policy_set last;
    struct arena a;
    struct err e;
    bool found;

    arena_init(&a, SWITCHES_ARENA_MAX);
    if (policy_table_switches_last(r->keep, &a, &last, &found, &e) && found) {
        pthread_mutex_lock(&r->lock);
        if (last.step > r->step) {
            policy_rollout_take(r, &last);
            r->adopted = true;
        }
        pthread_mutex_unlock(&r->lock);
    }
    arena_release(&a);
}

/* Stores switches that override the configured ones, or (s NULL) that there are none. They are
 * active then, unless another daemon has set others in the meantime. Locked. */
static bool policy_rollout_put(struct policy_rollout *r, const struct policy_switches *s,
                               const struct policy_switches *base, str who, struct err *e)
{
    struct policy_set row = {.who = str_slice(who, 0, ROLLOUT_WHO_SIZE - 1),
                             .switches = STR(""),
                             .set_us = clock_wall_ms(r->clock) * 1000,
                             .step = r->step},
                      last;
    bool ok, found = false;
    struct arena a;
    struct err none;

    arena_init(&a, SWITCHES_ARENA_MAX);
    row.configured = switches_text(base, &a);
    if (s)
        row.switches = switches_text(s, &a);
    assert(row.configured.n > 0);
    ok = policy_table_switches(r->keep, &row, e);
    if (ok) {
        found = policy_table_switches_last(r->keep, &a, &last, &found, &none) && found;
        policy_rollout_take(r, found ? &last : &row);
        r->configured = *base;
    }
    arena_release(&a);
    return ok;
}

/* The switches in force. An operator's end when the configured ones change, because that was later;
 * in the store as well, so that they do not return with the old configuration. Locked. */
static struct policy_switches policy_rollout_current(struct policy_rollout *r,
                                                     const struct policy_switches *base)
{
    struct err e;

    if (r->adopted)
        r->configured = *base;
    r->adopted = false;
    if (r->set && !policy_rollout_switches_equal(&r->configured, base)) {
        log_info("the configuration's switches are in force again",
                 LOG_TEXT("set_by", r->who),
                 LOG_I64("set_us", r->set_us));
        if (!policy_rollout_put(r, NULL, base, STR("configuration"), &e)) {
            log_warn("that is not on record", LOG_ERR(&e));
            r->set = false;
        }
    }
    return r->set ? r->switches : *base;
}

void policy_rollout_now(struct policy_rollout *r, const struct config *c,
                        struct policy_switches *out, struct policy_origin *origin)
{
    struct policy_switches base = policy_rollout_read_config(c);

    pthread_mutex_lock(&r->lock);
    *out = policy_rollout_current(r, &base);
    if (origin) {
        *origin =
            (struct policy_origin){.operator_ = r->set, .set_us = r->set_us, .configured = base};
        memcpy(origin->who, r->who, sizeof origin->who);
    }
    pthread_mutex_unlock(&r->lock);
}

/* ---- setting ---- */

static bool policy_set_one(struct policy_switches *s, const struct policy_switches *base,
                           const struct json *doc, const struct json_node *k, struct err *e)
{
    const struct json_node *v = json_value(k);

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        void *at = (char *)s + rows[i].at;
        double ratio;

        if (!json_is(doc, k, str_c(rows[i].name)))
            continue;
        if (v->kind == JSON_NULL) {
            memcpy(
                at, (const char *)base + rows[i].at, rows[i].ratio ? sizeof(double) : sizeof(bool));
            return true;
        }
        if (!rows[i].ratio)
            return json_bool(v, at) || err_input(e, "%s: must be true or false", rows[i].name);
        if (!json_double(doc, v, &ratio) || !(ratio >= 0 && ratio <= 1))
            return err_input(e, "%s: must be a number from 0 to 1", rows[i].name);
        *(double *)at = ratio;
        return true;
    }
    return err_input(e,
                     STR_FMT ": is no switch; there are react_use_llm_controller, "
                             "react_shadow_mode, react_fallback_enabled, react_ab_test_ratio, "
                             "prompt_ab_test_ratio",
                     STR_ARG(str_slice(json_raw(doc, k), 0, 60)));
}

bool policy_rollout_set(struct policy_rollout *r, const struct config *c, const struct json *doc,
                        str who, struct err *e)
{
    const struct json_node *root = json_root(doc);
    struct policy_switches s, base = policy_rollout_read_config(c);
    bool ok = true;

    if (!json_count(doc, root))
        return err_input(e, "no switch is named");
    policy_rollout_refresh(
        r); /* the switches that are not named stay as they are, also elsewhere */
    pthread_mutex_lock(&r->lock);
    s = policy_rollout_current(r, &base);
    JSON_FOREACH(k, doc, root)
        ok = ok && policy_set_one(&s, &base, doc, k, e);
    ok = ok && policy_rollout_put(r, &s, &base, who, e);
    pthread_mutex_unlock(&r->lock);
    return ok;
}

bool policy_rollout_clear(struct policy_rollout *r, const struct config *c, str who, struct err *e)
{
    struct policy_switches base = policy_rollout_read_config(c);
    bool ok;

    pthread_mutex_lock(&r->lock);
    ok = policy_rollout_put(r, NULL, &base, who, e);
    pthread_mutex_unlock(&r->lock);
    return ok;
}

void policy_switches_json(const struct policy_switches *s, struct json_out *o)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const void *at = (const char *)s + rows[i].at;

        json_out_key(o, str_c(rows[i].name));
        if (rows[i].ratio)
            json_out_double(o, *(const double *)at);
        else
            json_out_bool(o, *(const bool *)at);
    }
}

/* ---- deciding ---- */

double policy_share(str salt, const char *what, str case_id)
{
    uint8_t digest[SHA256_SIZE];
    struct sha256 h;
    uint64_t top = 0;

    sha256_init(&h);
    sha256_feed(&h, salt);
    sha256_feed(&h, (str){"\0", 1});
    sha256_feed(&h, str_c(what));
    sha256_feed(&h, (str){"\0", 1});
    sha256_feed(&h, case_id);
    sha256_finish(&h, digest);
    for (size_t i = 0; i < 8; i++)
        top = top << 8 | digest[i];
    return (double)(top >> 11) / 9007199254740992.0;
}

void policy_decide(const struct policy_switches *s, str salt, str case_id, str asked,
                   struct policy_plan *out)
{
    *out = (struct policy_plan){.controller = POLICY_HEURISTIC, .mode = POLICY_MODE_HEURISTIC};
    if (str_eq(asked, STR("react")) || str_eq(asked, STR("heuristic"))) {
        out->mode = POLICY_MODE_ASKED;
        out->controller = asked.p[0] == 'r' ? POLICY_REACT : POLICY_HEURISTIC;
    } else if (s->shadow) {
        out->mode = POLICY_MODE_SHADOW;
    } else if (s->use_llm) {
        out->mode = POLICY_MODE_LLM;
        out->controller = POLICY_REACT;
    } else if (s->ab_ratio > 0) {
        out->mode = POLICY_MODE_AB;
        out->assigned = true;
        if (policy_share(salt, "controller", case_id) < s->ab_ratio)
            out->controller = POLICY_REACT;
    }
    out->candidate = policy_share(salt, "prompt", case_id) < s->prompt_ab_ratio;
    assert(out->assigned == (out->mode == POLICY_MODE_AB) && s->ab_ratio >= 0 && s->ab_ratio <= 1);
}
