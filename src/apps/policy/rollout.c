/* rollout.c - see rollout.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/rollout.h"

#include <pthread.h>

#include "base/sha256.h"

struct policy_rollout {
    pthread_mutex_t lock;
    struct config *config; /* the one that was in force when they were set; NULL: none were */
    struct policy_switches switches;
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

struct policy_rollout *policy_rollout_new(void)
{
    struct policy_rollout *r = base_alloc(sizeof *r);

    memset(r, 0, sizeof *r);
    pthread_mutex_init(&r->lock, NULL);
    return r;
}

void policy_rollout_free(struct policy_rollout *r)
{
    if (!r)
        return;
    if (r->config)
        config_release(r->config);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

static struct policy_switches configured(const struct config *c)
{
    return (struct policy_switches){.use_llm = c->policy.use_llm,
                                    .shadow = c->policy.shadow,
                                    .fallback = c->policy.fallback,
                                    .ab_ratio = c->policy.ab_ratio,
                                    .prompt_ab_ratio = c->policy.prompt_ab_ratio};
}

void policy_rollout_now(struct policy_rollout *r, struct config *c, struct policy_switches *out,
                        bool *overridden)
{
    pthread_mutex_lock(&r->lock);
    if (overridden)
        *overridden = r->config == c;
    *out = r->config == c ? r->switches : configured(c);
    pthread_mutex_unlock(&r->lock);
}

/* ---- setting ---- */

static bool set_one(struct policy_switches *s, const struct json *doc, const struct json_node *k,
                    struct err *e)
{
    const struct json_node *v = json_value(k);

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        void *at = (char *)s + rows[i].at;
        double ratio;

        if (!json_is(doc, k, str_c(rows[i].name)))
            continue;
        if (!rows[i].ratio)
            return json_bool(v, at) ||
                   err_set(e, ERR_INPUT, "%s: must be true or false", rows[i].name);
        if (!json_double(doc, v, &ratio) || !(ratio >= 0 && ratio <= 1))
            return err_set(e, ERR_INPUT, "%s: must be a number from 0 to 1", rows[i].name);
        *(double *)at = ratio;
        return true;
    }
    return err_set(e,
                   ERR_INPUT,
                   STR_FMT ": is no switch; there are react_use_llm_controller, "
                           "react_shadow_mode, react_fallback_enabled, react_ab_test_ratio, "
                           "prompt_ab_test_ratio",
                   STR_ARG(str_slice(json_raw(doc, k), 0, 60)));
}

bool policy_rollout_set(struct policy_rollout *r, struct config *c, const struct json *doc,
                        struct err *e)
{
    const struct json_node *root = json_root(doc);
    struct policy_switches s;

    if (!json_count(doc, root))
        return err_set(e, ERR_INPUT, "no switch is named");
    policy_rollout_now(r, c, &s, NULL);
    for (const struct json_node *k = json_first(doc, root); k; k = json_next(doc, root, k))
        if (!set_one(&s, doc, k, e))
            return false;
    pthread_mutex_lock(&r->lock);
    if (r->config)
        config_release(r->config);
    r->config = config_retain(c);
    r->switches = s;
    pthread_mutex_unlock(&r->lock);
    return true;
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
}
