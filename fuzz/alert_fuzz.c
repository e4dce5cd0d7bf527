/* Arbitrary bytes as an alert, as a webhook, as a recording of a tool, as a report and as a fact:
 * each is accepted, or refused with an error that has a name. The stored form is JSON that can be
 * read and stored again without a change.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/score.h"
#include "apps/incidents/webhook.h"
#include "base/utf8.h"
#include "mcp/replay_state.h"

#define MEMORY_MAX ((size_t)1 << 28)
#define HOLDS(claim) ((claim) ? (void)0 : base_die("line %d: %s", __LINE__, #claim))

/* A text that is its own evidence, cause and object. */
static void as_analysis(str text, struct arena *a)
{
    str part = str_slice(text, 0, text.n / 3);
    struct score_texts one = {&part, 1}, none = {&part, 0};
    struct score_expected x = {.facts = one, .cause = one, .object = one, .not_cause = none};
    struct score_result r;

    score_analysis(text, str_slice(text, text.n / 2, text.n), &x, a, &r);
    HOLDS(r.score >= 0 && r.score <= 1);
    score_analysis(text, text, &x, a, &r);
    HOLDS(r.score >= 0 && r.score <= 1 && score_verdict_name(r.verdict));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_faults(const struct alert_faults *f)
{
    struct json doc;
    struct err e;

    json_init(&doc);
    for (size_t i = 0; i < f->n; i++) {
        HOLDS(f->at[i].field.n && f->at[i].message.n && f->at[i].expected.n);
        HOLDS(!f->at[i].invalid.n || json_parse(&doc, f->at[i].invalid, &e));
    }
    json_release(&doc);
}

/* Cleaning a clean text changes nothing. */
static void check_data(const struct alert *alert, struct arena *a)
{
    struct json doc;
    struct buf again;
    struct err e;

    json_init(&doc);
    buf_init(&again, MEMORY_MAX);
    HOLDS(json_parse(&doc, alert->data, &e));
    HOLDS(json_root(&doc)->kind == JSON_OBJECT);
    HOLDS(alert_clean(&doc, json_root(&doc), a, &again) == 0);
    HOLDS(str_eq(buf_str(&again), alert->data));
    HOLDS(alert->fingerprint.n || strlen(alert->digest) == SHA256_HEX_SIZE - 1);
    HOLDS(alert->starts_us >= 0 && alert->ends_us >= 0 && alert->timestamp_us >= 0);
    buf_release(&again);
    json_release(&doc);
}

static void as_alert(str text, struct arena *a)
{
    struct alert_faults *faults = arena_zero(a, 1, sizeof *faults);
    struct webhook hook;
    struct alert alert;
    struct json doc;
    struct err e;

    json_init(&doc);
    if (json_parse(&doc, text, &e) && json_root(&doc)->kind == JSON_OBJECT) {
        if (webhook_source(&doc)) {
            if (webhook_read(&doc, 1, a, &hook, faults)) {
                HOLDS(!hook.ignored.n || !hook.n);
                for (size_t i = 0; i < hook.n; i++) {
                    HOLDS(hook.alerts[i].fingerprint.n);
                    check_data(&hook.alerts[i], a);
                }
            } else {
                HOLDS(faults->n > 0);
            }
        } else if (alert_read(&doc, json_root(&doc), 1, a, &alert, faults)) {
            check_data(&alert, a);
            HOLDS(alert.alert_type.n && alert.runbook.n && alert.timestamp_us >= 0);
        } else {
            HOLDS(faults->n > 0);
        }
        check_faults(faults);
    }
    json_release(&doc);
}

static void as_recording(str text)
{
    struct replay *r = base_alloc(sizeof *r);
    struct buf out;

    *r = (struct replay){0};
    arena_init(&r->arena, MEMORY_MAX);
    r->faults = arena_zero(&r->arena, REPLAY_FAULTS_MAX, sizeof *r->faults);
    buf_init(&out, MEMORY_MAX);
    if (replay_add(r, STR("x.txt"), text)) {
        (void)replay_call(r, r->recordings[0].tool, STR("{\"kind\":\"pod\"}"), &out);
        HOLDS(utf8_valid(buf_str(&out)));
        buf_reset(&out);
        /* The recorded call finds its own recording. */
        if (r->recordings[0].match) {
            str asked = json_raw(&r->recordings[0].head, r->recordings[0].match);

            HOLDS(replay_call(r, r->recordings[0].tool, asked, &out) == !r->recordings[0].failed);
        }
    } else {
        HOLDS(r->fault_count == 1 && strncmp(r->faults[0], "x.txt:", 6) == 0);
    }
    buf_release(&out);
    replay_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str text = {(const char *)data, size};
    struct score_fact one;
    struct arena a;

    arena_init(&a, MEMORY_MAX);
    as_alert(text, &a);
    as_recording(text);
    score_fact(str_slice(text, size / 3, size), str_slice(text, 0, size / 3), &a, &one);
    HOLDS(one.share >= 0 && one.share <= 1);
    as_analysis(text, &a);
    arena_release(&a);
    return 0;
}
