/* config_notify.h - where messages about incidents go (incidents.notify).
 *
 * A target is a Slack incoming webhook, a Slack bot, a signed webhook or e-mail. Its name is its
 * key in the file; messages that wait belong to the target of that name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/secret.h"

#define CONFIG_NOTIFY_MAX 32
#define CONFIG_NOTIFY_TO_MAX 100 /* recipients of an e-mail */

enum config_notify_kind {
    CONFIG_NOTIFY_SLACK_WEBHOOK,
    CONFIG_NOTIFY_SLACK_BOT,
    CONFIG_NOTIFY_WEBHOOK,
    CONFIG_NOTIFY_EMAIL,
};

enum config_notify_event {
    CONFIG_NOTIFY_STARTED,
    CONFIG_NOTIFY_COMPLETED,
    CONFIG_NOTIFY_FAILED,
    CONFIG_NOTIFY_CANCELLED,
    CONFIG_NOTIFY_APPROVAL, /* it waits for a person's word */
    CONFIG_NOTIFY_RESOLVED,
    CONFIG_NOTIFY_EVENTS
};

enum config_notify_security {
    CONFIG_NOTIFY_STARTTLS,
    CONFIG_NOTIFY_TLS,
    CONFIG_NOTIFY_PLAIN,
};

struct config_notify {
    str name;
    enum config_notify_kind kind;
    unsigned events;      /* bits by enum config_notify_event */
    uint64_t timeout_ms;  /* of one try */
    uint64_t retry_ms;    /* after this long a message is given up; 0: one try */
    struct secret secret; /* Slack's webhook URL or token, the signing key, the SMTP password */
    str missing;          /* why the secret is not there: messages fail with this */
    str channel, api_url; /* of a Slack bot */
    str url;              /* of a webhook */
    struct secret headers;
    str server, host; /* of e-mail: HOST or HOST:PORT, and its parts */
    unsigned port;
    enum config_notify_security security;
    str username, from;
    str *to;
    size_t to_count;
};

/* As the configuration, the API and the store spell them. */
const char *config_notify_event_name(enum config_notify_event event);
const char *config_notify_kind_name(enum config_notify_kind kind);
