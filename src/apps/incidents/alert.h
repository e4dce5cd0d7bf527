/* alert.h - incoming alerts: parsed, checked, cleaned, and compared with each other.
 *
 *     struct alert_faults faults = {0};
 *     if (!alert_read(&doc, json_root(&doc), now_us, &arena, &alert, &faults)) ...   422
 *     if (webhook_source(&doc)) webhook_read(&doc, ..., &hook, &faults) ...          webhook.h
 *
 * Errors are reported for all fields at once, not only for the first. Cleaning keeps an alert's
 * meaning: control characters go (line feed and tab stay), texts are cut at ALERT_TEXT_MAX
 * characters and lists at ALERT_LIST_MAX elements, and the number of cuts is reported. Quotes and
 * brackets are data.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/clock.h"
#include "base/json.h"
#include "base/sha256.h"

#define ALERT_TEXT_MAX 10000
#define ALERT_LIST_MAX 1000
#define ALERT_NAME_MAX 200 /* characters of a type, a severity, an environment */
#define ALERT_RUNBOOK_MAX 2000
#define ALERT_NODES_MAX ((uint32_t)500000) /* values in one body */
#define ALERT_FAULTS_MAX 50
#define ALERT_TYPES_MAX 3

/* Who sent it: ALERT_API is our own form, the others are webhooks. */
enum alert_source {
    ALERT_API,
    ALERT_ALERTMANAGER,
    ALERT_GRAFANA,
    ALERT_PAGERDUTY,
    ALERT_OPSGENIE,
    ALERT_SOURCES
};
const char *alert_source_name(enum alert_source s);

struct alert {
    str alert_type, severity, environment;
    str runbook; /* or "" */
    str data;    /* JSON object, cleaned; includes unknown members next to "data" */
    int64_t timestamp_us;
    unsigned cut;                 /* values that were too long */
    char digest[SHA256_HEX_SIZE]; /* in our own format: equal for the same alert at any time */
    /* Of webhooks, which have no digest. */
    str fingerprint;                  /* the sender's id of the alert; "" in our own form */
    str other_types[ALERT_TYPES_MAX]; /* tried if no agent takes alert_type; ends with "" */
    int64_t starts_us;                /* start of the firing; 0: unknown */
    int64_t ends_us;                  /* of a resolved one; 0: unknown */
    bool resolved;
};

/* One thing that is wrong. */
struct alert_fault {
    str field, message, expected;
    str invalid; /* JSON, or "" if it is missing */
};

struct alert_faults {
    struct arena *arena;    /* of the reader that found them, as is doc */
    const struct json *doc; /* that the invalid values are in */
    struct alert_fault at[ALERT_FAULTS_MAX];
    size_t n;
};

extern const char *const alert_required[], *const alert_optional[]; /* ends with NULL */

/* False: faults say why. *out points into the arena. */
bool alert_read(const struct json *doc, const struct json_node *v, int64_t now_us, struct arena *a,
                struct alert *out, struct alert_faults *faults) MUST_USE;

/* ---- shared by the readers ---- */

/* `invalid` may be NULL: it is missing. The field and message are copied. */
void alert_fault(struct alert_faults *faults, str field, const char *expected,
                 const struct json_node *invalid, const char *fmt, ...) PRINTF_LIKE(5, 6);
/* Writes a cleaned value; returns how many texts and lists were cut. */
unsigned alert_clean(const struct json *doc, const struct json_node *v, struct arena *a,
                     struct buf *out);
/* A text of an alert without control characters and white space around it. */
str alert_text(struct arena *a, str text, size_t count_max);
/* Computed from the parts; the order of members does not matter. identity: JSON. */
void alert_digest(struct alert *alert, str identity);
