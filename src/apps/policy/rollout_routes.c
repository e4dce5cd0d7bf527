/* rollout_routes.c - the switches in force, shown and set. See routes.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/routes.h"

#define DISCREPANCIES_SHOWN 50
#define CHANGES_SHOWN 20

static void policy_rollout_routes_write_counts(struct policy_service *s, struct json_out *o)
{
    struct policy_counts c;
    char name[80];

    policy_metrics_counts(policy_metrics_of(s), &c);
    json_out_object(o);
    for (int k = 0; k < POLICY_CONTROLLERS; k++)
        for (int m = 0; m < POLICY_MODES; m++) {
            uint64_t n = 0;

            for (int i = 0; i < 3; i++)
                n += c.evaluations[k][m][i];
            (void)snprintf(name,
                           sizeof name,
                           "%s_%s",
                           policy_mode_name((enum policy_mode)m),
                           policy_controller_name((enum policy_controller)k));
            if (n)
                json_member_u64(o, name, n);
        }
    json_member_u64(o, "assigned_react", c.assigned[POLICY_REACT]);
    json_member_u64(o, "assigned_heuristic", c.assigned[POLICY_HEURISTIC]);
    json_member_u64(o, "fallbacks", c.fallbacks);
    json_member_u64(o, "shadow_compared", c.compared);
    json_member_u64(o, "shadow_differs", c.differed);
    json_member_u64(o, "shadow_dropped", c.dropped);
    json_out_end(o);
}

/* Who set the switches, and which configured ones they override. */
static void policy_origin_json(const struct policy_origin *from, struct json_out *o)
{
    char at[CLOCK_TEXT_SIZE];

    json_member_str(o, "origin", from->operator_ ? STR("operator") : STR("configuration"));
    json_member_str_or_null(o, "set_by", from->operator_ ? str_c(from->who) : STR(""));
    json_member_str_or_null(
        o, "set_at", from->operator_ ? clock_format(from->set_us / 1000, at) : STR(""));
    json_member_object(o, "configured");
    policy_switches_json(&from->configured, o);
    json_out_end(o);
}

/* For operators only: who set which switches, and where the shadow differs. */
static bool policy_lists_json(struct policy_service *s, bool all, struct json_out *o, struct err *e)
{
    struct policy_table *k = policy_kept_results(s);

    json_member_array(o, "changes");
    if (all && !policy_table_switches_list(k, CHANGES_SHOWN, o, e))
        return false;
    json_out_end(o);
    json_member_array(o, "discrepancies");
    if (all && !policy_table_discrepancies(k, DISCREPANCIES_SHOWN, o, e))
        return false;
    json_out_end(o);
    return true;
}

static void rollout_show(struct policy_service *s, const struct app_request *q, struct app_reply *r)
{
    struct config *c = policy_config_now(s);
    struct policy_switches now;
    struct policy_origin from;
    struct prompt prompt;
    struct json_out o;
    struct err e;

    policy_rollout_now(policy_rollout_of(s), c, &now, &from);
    config_release(c);
    registry_in_force(policy_registry(s), &policy_built_in, q->arena, &prompt);
    app_reply_begin(r, &o, NULL);
    policy_switches_json(&now, &o);
    policy_origin_json(&from, &o);
    json_member_str(&o, "prompt_id", prompt.id);
    json_out_key(&o, STR("counts"));
    policy_rollout_routes_write_counts(s, &o);
    app_reply_end(r, &o, policy_lists_json(s, q->operator_, &o, &e), &e);
}

void policy_rollout_get(void *app, const struct app_request *q, struct app_reply *r)
{
    rollout_show(app, q, r);
}

/* A change that holds: in the audit log, and shown. */
static void policy_rollout_routes_changed(struct policy_service *s, const struct app_request *q,
                                          str what, struct app_reply *r)
{
    policy_audit(s, q, "policy_rollout", STR("policy"), what);
    rollout_show(s, q, r);
}

void policy_rollout_post(void *app, const struct app_request *q, struct app_reply *r)
{
    struct policy_service *s = app;
    struct config *c = policy_config_now(s);
    struct err e;

    if (policy_rollout_set(policy_rollout_of(s), c, q->json, policy_who(q), &e))
        policy_rollout_routes_changed(s, q, q->body, r);
    else
        policy_fail_field(r, &e);
    config_release(c);
}

void policy_rollout_delete(void *app, const struct app_request *q, struct app_reply *r)
{
    struct policy_service *s = app;
    struct config *c = policy_config_now(s);
    struct err e;

    if (policy_rollout_clear(policy_rollout_of(s), c, policy_who(q), &e))
        policy_rollout_routes_changed(s, q, STR("taken back"), r);
    else
        app_fail_err(r, &e);
    config_release(c);
}
