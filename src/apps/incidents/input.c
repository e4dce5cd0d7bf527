/* input.c - the options of an investigation as JSON and back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/engine.h"
#include "base/json_get.h"

const char *const incident_strategies[] = {"", "classic", "react", "native", NULL};
static const char *const switches[] = {"", "on", "off", NULL};

/* ---- options ---- */

void incident_input_write(const struct incident_options *o, struct buf *out)
{
    struct json_out j;

    assert((size_t)o->strategy + 1 < COUNT_OF(incident_strategies));
    assert((size_t)o->reasoning + 1 < COUNT_OF(switches));
    json_out_init_object(&j, out);
    json_member_object(&j, "alert");
    json_member_str(&j, "alert_id", o->alert.id);
    json_member_str(&j, "alert_type", o->alert.alert_type);
    json_member_str(&j, "severity", o->alert.severity);
    json_member_str(&j, "environment", o->alert.environment);
    json_member_str(&j, "runbook", o->alert.runbook);
    json_member_i64(&j, "timestamp", o->alert.timestamp_us);
    /* Unchanged, byte for byte, because prompts are made of it. */
    json_member_str(&j, "data", o->alert.data);
    json_out_end(&j);
    json_member_str(&j, "run", o->run);
    json_member_str(&j, "session", o->session);
    json_member_str(&j, "runbook_text", o->runbook_text);
    json_member_str(&j, "model", o->model);
    json_member_str(&j, "default_model", o->default_model);
    json_member_str(&j, "prompt_id", o->prompt_id);
    json_member_str(&j, "strategy", str_c(incident_strategies[o->strategy]));
    json_member_str(&j, "reasoning", str_c(switches[o->reasoning]));
    json_out_end(&j);
}

static size_t incident_input_word_at(const struct json *doc, const char *key,
                                     const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        if (json_is(doc, json_find(doc, json_root(doc), str_c(key)), str_c(words[i])))
            return i;
    return 0;
}

bool incident_input_read(str json, struct arena *a, struct incident_options *out, struct err *e)
{
    const struct json_node *root, *alert;
    struct json doc;

    if (!json_open(&doc, json, e)) {
        json_release(&doc);
        return err_prefix(e, "the input of the run: ");
    }
    root = json_root(&doc);
    alert = json_find(&doc, root, STR("alert"));
    *out = (struct incident_options){
        .alert = {.id = json_copy_text(&doc, alert, "alert_id", a),
                  .alert_type = json_copy_text(&doc, alert, "alert_type", a),
                  .severity = json_copy_text(&doc, alert, "severity", a),
                  .environment = json_copy_text(&doc, alert, "environment", a),
                  .runbook = json_copy_text(&doc, alert, "runbook", a),
                  .data = json_copy_text(&doc, alert, "data", a)},
        .run = json_copy_text(&doc, root, "run", a),
        .session = json_copy_text(&doc, root, "session", a),
        .runbook_text = json_copy_text(&doc, root, "runbook_text", a),
        .model = json_copy_text(&doc, root, "model", a),
        .default_model = json_copy_text(&doc, root, "default_model", a),
        .prompt_id = json_copy_text(&doc, root, "prompt_id", a),
        .strategy =
            (enum incident_strategy)incident_input_word_at(&doc, "strategy", incident_strategies),
        .reasoning = (enum incident_tri)incident_input_word_at(&doc, "reasoning", switches)};
    if (!json_i64(&doc, json_find(&doc, alert, STR("timestamp")), &out->alert.timestamp_us))
        out->alert.timestamp_us = 0;
    json_release(&doc);
    return true;
}
