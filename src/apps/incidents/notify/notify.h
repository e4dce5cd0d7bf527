/* notify.h - tells people how incidents go: Slack, signed webhooks, e-mail.
 *
 *     struct notify *n;
 *     if (!notify_open(&options, &n, e)) ...      resumes messages of an earlier process
 *     notify_change(n, setup)                     the targets of another configuration
 *     notify_close(n);
 *
 *   notify.c    targets, and the messages added for them
 *   deliver.c   the thread of a target: sends due messages, retries or drops them
 *   attempt.c   how each kind is sent to, and test messages
 *   outbox.c    the rows of messages in the store
 *   notice.c    the text of a message, from the row of its incident
 *   slack.c     Slack: incoming webhooks and bots
 *   hook.c      signed webhooks (Standard Webhooks)
 *   email.c     e-mail, over smtp.c
 *   silence.c   the proposal of a silence for Alertmanager
 *
 * A message is a row of the store that is written in the transaction that changes the state of its
 * incident (alert_table.h), so a kill loses none. The text is made of the incident's row when it is
 * sent. Each target has a thread of its own: a target that does not answer delays nobody else.
 *
 * Promises:
 *   - One message per incident, target, event and occasion. A message that its target has
 *     acknowledged is not sent again. If the acknowledgement is lost (a timeout, a broken
 *     connection, a reload or an end of the process before its commit), the target may get the
 *     message a second time, with the same id.
 *   - Texts are masked as all that is stored, and have no reasoning of models.
 *   - At most NOTIFY_WAITING_MAX messages wait: one more is recorded as failed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/app.h"
#include "apps/incidents/alert_table.h"
#include "base/json_get.h"
#include "gateway/config_notify.h"
#include "mcp/io.h"

#define NOTIFY_WAITING_MAX 10000
#define NOTIFY_ANALYSIS_MAX 8000 /* of the analysis in any message */

struct notify;

struct notify_options {
    const struct app_host *host;
    struct alert_table *alert_table; /* lent */
    struct setup *setup;             /* retained */
};

bool notify_open(const struct notify_options *o, struct notify **out, struct err *e) MUST_USE;
/* Waits briefly for messages being sent. NULL: does nothing. */
void notify_close(struct notify *n);
/* Targets of another configuration; messages to targets that are gone fail. */
void notify_change(struct notify *n, struct setup *setup);

/* "notifications": [...] and "silence_proposal": {...} or null, as members of an incident. */
void notify_write(struct notify *n, struct json_out *o, const struct alert_table_row *row);

/* Sends a test message to one target, now; *note is a warning, or "". */
bool notify_test(const struct config *c, const struct config_notify *target, struct arena *a,
                 str *note, struct err *e) MUST_USE;

/* ---- the text of a message ---- */

struct notice {
    enum config_notify_event event;
    str id;    /* of the incident */
    str title; /* "Investigated: HighErrorRate (critical, production)" */
    str alert_type, severity, environment, agent;
    str status;   /* of the incident now */
    str link;     /* or "" */
    str text;     /* the analysis or why it is missing, Markdown, truncated; or "" */
    str question; /* the question to a person; or "" */
    str silence;  /* the proposal as JSON, and as a link; "" none */
    str silence_link;
    int64_t at_us; /* when it happened */
};

/* All in the arena and masked. `pending` is JSON of incident_pending, or "". */
void notice_make(struct notice *out, enum config_notify_event event,
                 const struct alert_table_row *row, str pending, const struct setup *setup,
                 struct arena *a);
/* The text masked, in the arena if it had to be changed. */
str notice_masked(const struct setup *setup, struct arena *a, str text);
/* A proposal for the alert of the row: Alertmanager's JSON and the link to its form; both "" if the
 * alert has no labels, or none is wanted. */
void silence_propose(const struct alert_table_row *row, const struct config_incidents *c, str link,
                     struct arena *a, str *json, str *form);

/* ---- sending ---- */

struct notify_attempt {
    const struct config_notify *target;
    const struct notice *notice;
    str id;      /* of the message: the same at each try */
    str receipt; /* of an earlier message about the incident to this target; "" none */
    struct mcp_io *io;
    struct tls *tls; /* or NULL */
    uint64_t deadline_ns;
    const _Atomic bool *cancel;
    struct arena *arena;
};

struct notify_outcome {
    int64_t after_ms; /* of a failed try: when the target wants the next; -1: it does not say */
    bool permanent;   /* of a failed try: no other will help */
    str receipt;      /* of a successful one, in the arena; "" none */
    str note;         /* warning of a successful attempt; or "" */
};

/* True: the target has the message. */
typedef bool notify_sender(const struct notify_attempt *t, struct notify_outcome *out,
                           struct err *e);
notify_sender slack_webhook_send, slack_bot_send, hook_send, email_send;
/* By the kind of target. */
extern notify_sender *const notify_senders[];

/* POSTs JSON. False: it failed, and out says whether to try again. */
struct notify_post {
    str url, headers, body;
};
bool notify_post(const struct notify_attempt *t, const struct notify_post *p,
                 struct mcp_fetched *got, struct notify_outcome *out, struct err *e) MUST_USE;
