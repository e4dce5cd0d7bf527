/* investigate_alert.c - reads an alert and the facts that a good report on it must contain.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/webhook.h"
#include "cli/investigate.h"

#define FILE_MAX ((size_t)10 << 20)
#define FACTS_MAX ((size_t)1 << 20)

struct reading {
    struct arena *arena;
    struct investigate_facts *facts;
};

static const char *const fact_members[] = {"expected_facts", "expected_output"};

static void investigate_take_facts(struct reading *r, const struct json *doc,
                                   const struct json_node *list)
{
    assert(r->facts->n == 0);
    r->facts->at = arena_zero(r->arena, json_count(doc, list) + 1, sizeof *r->facts->at);
    JSON_FOREACH(v, doc, list)
        if (json_text(doc, v, r->arena, &r->facts->at[r->facts->n]))
            r->facts->n++;
}

/* The facts of a good report are in ALERT.facts.json, or in the alert itself. */
static void investigate_read_facts(struct reading *r, const char *path, const struct json *alert)
{
    str stem = str_c(path);
    struct json doc;
    struct err e;
    str text, beside;

    stem.n -= str_ends(stem, STR(".json")) ? 5 : 0;
    beside = arena_join(r->arena, stem, STR(".facts.json"), STR(""));
    json_init(&doc);
    if (file_read(r->arena, beside.p, FACTS_MAX, &text, &e) && json_parse(&doc, text, &e))
        investigate_take_facts(r, &doc, json_root(&doc));
    json_release(&doc);
    for (size_t i = 0; i < COUNT_OF(fact_members) && !r->facts->n; i++)
        investigate_take_facts(
            r, alert, json_find(alert, json_root(alert), str_c(fact_members[i])));
}

static bool investigate_first_fault(const struct alert_faults *faults, struct err *e)
{
    assert(faults->n > 0);
    return err_input(e,
                     "the alert: " STR_FMT ": " STR_FMT,
                     STR_ARG(faults->at[0].field),
                     STR_ARG(faults->at[0].message));
}

/* For a webhook: the first alert that is still firing. */
static bool investigate_alert_take_alert(struct reading *r, const struct json *doc,
                                         struct alert *out, struct err *e)
{
    struct alert_faults *faults = arena_zero(r->arena, 1, sizeof *faults);
    const struct alert *first;
    struct webhook hook;

    if (!webhook_source(doc))
        return alert_read(doc, json_root(doc), 0, r->arena, out, faults) ||
               investigate_first_fault(faults, e);
    if (!webhook_read(doc, 0, r->arena, &hook, faults))
        return investigate_first_fault(faults, e);
    first = webhook_first_firing(&hook);
    if (!first)
        return err_input(e, "no alert of the webhook fires any more");
    *out = *first;
    return true;
}

static bool investigate_parse_again(struct reading *r, struct json *doc, struct buf *with,
                                    struct err *e)
{
    return json_parse(doc, arena_dup(r->arena, buf_str(with)), e);
}

/* The model must not see the facts, and an alert needs no runbook here. */
static bool investigate_trim_alert(struct reading *r, struct json *doc, bool *named, struct err *e)
{
    const struct json_node *v;
    struct buf with;
    bool ok = true;

    *named = true;
    if (json_root(doc)->kind != JSON_OBJECT || webhook_source(doc))
        return true;
    buf_init(&with, 2 * FILE_MAX);
    for (size_t i = 0; ok && i < COUNT_OF(fact_members); i++) {
        buf_reset(&with);
        json_splice_remove(doc, json_root(doc), str_c(fact_members[i]), &with);
        ok = investigate_parse_again(r, doc, &with, e);
    }
    v = json_find(doc, json_root(doc), STR("runbook"));
    *named = ok && v && v->kind != JSON_NULL && !json_is(doc, v, STR(""));
    if (ok && !*named) {
        buf_reset(&with);
        json_splice_set(doc, json_root(doc), STR("runbook"), STR("\"none\""), &with);
        ok = investigate_parse_again(r, doc, &with, e);
    }
    buf_release(&with);
    return ok;
}

bool investigate_alert(const char *path, struct arena *a, struct incident_alert *to,
                       struct investigate_facts *facts, struct err *e)
{
    struct reading r = {a, facts};
    struct json doc;
    struct alert alert;
    bool ok, named;
    str text;

    *facts = (struct investigate_facts){0};
    json_init(&doc);
    ok = file_read(a, path, FILE_MAX, &text, e) &&
         (json_parse(&doc, text, e) || err_prefix(e, "%s: ", path));
    if (ok)
        investigate_read_facts(&r, path, &doc);
    ok = ok && investigate_trim_alert(&r, &doc, &named, e) &&
         investigate_alert_take_alert(&r, &doc, &alert, e);
    if (ok)
        *to = (struct incident_alert){.id = STR(""),
                                      .alert_type = alert.alert_type,
                                      .severity = alert.severity,
                                      .environment = alert.environment,
                                      .runbook = named ? alert.runbook : STR(""),
                                      .data = alert.data,
                                      .timestamp_us = alert.timestamp_us};
    json_release(&doc);
    return ok;
}
