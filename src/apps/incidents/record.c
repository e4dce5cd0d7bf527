/* record.c - the stored record of an investigation: its session and result, masked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/engine.h"
#include "gateway/publish.h"

/* ---- the session ---- */

/* Members of an alert that name the service it is about, the most specific first. */
static const char record_services[] =
    "service service_name app application component deployment statefulset daemonset workload "
    "container job pod instance host namespace";
/* Where these members are: in the alert's data, or in an object of it. */
static const char *const record_places[] = {
    "", "/labels", "/commonLabels", "/groupLabels", "/alerts/0/labels", "/alert/labels"};

static str record_service(const struct json *doc, struct arena *a)
{
    str name;

    for (str rest = str_c(record_services); rest.n;) {
        str member = str_cut(&rest, ' ');

        for (size_t k = 0; k < COUNT_OF(record_places); k++) {
            const struct json_node *place = json_pointer(doc, str_c(record_places[k]));

            if (json_text(doc, json_find(doc, place, member), a, &name) && str_trim(name).n)
                return arena_dup(a, str_trim(name));
        }
    }
    return STR("");
}

str record_title(const struct incident_alert *alert, struct arena *a)
{
    str service = STR("");
    struct json doc;
    struct err e;

    json_init(&doc);
    if (alert->data.n && json_parse(&doc, alert->data, &e))
        service = record_service(&doc, a);
    json_release(&doc);
    return service.n ? arena_join(a, alert->alert_type, STR(" \xC2\xB7 "), service)
                     : alert->alert_type;
}

void record_session(struct incident *in, const char *status, const struct incident_report *r,
                    int64_t started_us)
{
    const struct incident_alert *alert = &in->o->alert;
    struct store *store = in->o->host->gateway->store;
    bool over = r != NULL;
    struct store_session s = {.id = in->session,
                              .alert_id = alert->id,
                              .agent_type = in->chain->name,
                              .alert_type = alert->alert_type,
                              .status = str_c(status),
                              .session_metadata = STR(""),
                              .started_us = started_us,
                              .completed_us = -1};

    assert(in->session.n > 0 && started_us >= 0);
    if (!store || in->o->trial)
        return;
    s.alert_data = mask_json_kept(in->mask, alert->data, in->arena);
    s.final_analysis = mask_json_kept(in->mask, over ? r->markdown : STR(""), in->arena);
    s.error_message = mask_json_kept(in->mask, over ? r->error : STR(""), in->arena);
    if (over)
        s.completed_us = started_us + r->duration_ms * 1000;
    publish_session(store, in->o->host->gateway->hub, &s);
}

/* ---- the result ---- */

static const char *const end_names[] = {"done", "failed", "cancelled", "left", "waiting"};

str record_result(struct incident *in, const struct incident_report *r)
{
    struct json_text t;
    struct json_out *o = &t.o;

    assert((size_t)r->end < COUNT_OF(end_names));
    json_text_begin(&t, 4 * INCIDENT_TEXT_MAX);
    json_member_str(o, "status", str_c(end_names[r->end]));
    json_member_str(o, "reason", r->reason);
    json_member_str(o, "error", r->error);
    json_member_str(o, "report", r->markdown);
    json_member_str(o, "final_analysis", r->final_analysis);
    json_member_str(o, "summary", r->summary);
    json_member_raw(o, "stages", r->stages.n ? r->stages : STR("[]"));
    json_member_raw(o, "tools", r->tools);
    json_member_str(o, "prompt_id", r->prompt_id);
    json_member_i64(o, "model_calls", r->model_calls);
    json_member_i64(o, "tool_calls", r->tool_calls);
    json_member_object(o, "tokens");
    json_member_i64(o, "input", r->input_tokens);
    json_member_i64(o, "output", r->output_tokens);
    json_member_i64(o, "reasoning", r->reasoning_tokens);
    json_out_end(o);
    json_member_i64(o, "duration_ms", r->duration_ms);
    return json_text_end(&t, in->arena, STR("{}"));
}

/* A log that the run does not fit any more will not fit it the next time either. */
bool record_astray(struct incident *in, struct incident_report *out, const struct err *e)
{
    struct agent_row row = {.id = in->o->run,
                            .app = STR("incidents"),
                            .session_id = in->session,
                            .status = STR("failed"),
                            .reason = STR("replay_mismatch"),
                            .input = STR(""),
                            .updated_us = clock_wall_ms(in->o->host->clock) * 1000};
    struct err ignored;

    if (e->code != ERR_INPUT || !str_starts(str_c(e->text), STR("replay_mismatch")))
        return false;
    out->end = INCIDENT_FAILED;
    out->reason = row.reason;
    out->error = arena_dup(in->arena, str_c(e->text));
    row.result = record_result(in, out);
    return agent_log_run_put(in->o->host->log, &row, &ignored);
}
