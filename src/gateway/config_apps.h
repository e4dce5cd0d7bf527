/* config_apps.h - settings of the applications (src/apps).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

struct config_notify;

struct config_incidents {
    str agents, runbooks; /* a file, a folder; without agents the application is off */
    str model;            /* "": the first model of the first provider */
    str default_type;     /* for alerts whose own type no agent handles; "": they are refused */
    bool group_alerts;    /* one incident for a group of Alertmanager or Grafana */
    str pagerduty_secret_env, grafana_secret_env; /* of signatures; "": none is asked for */
    unsigned max_concurrent, max_queue;
    uint64_t timeout_ms; /* for one investigation */
    str *domains;        /* domains that runbooks may be fetched from */
    size_t domain_count;
    str public_url;               /* where people reach the dashboard; "": messages have no link */
    uint64_t silence_ms;          /* length of a proposed silence; 0: none is proposed */
    struct config_notify *notify; /* config_notify.h */
    size_t notify_count;
};

enum config_search { CONFIG_SEARCH_MODEL, CONFIG_SEARCH_BM25 };

/* Several files of one id are versions of one document. */
struct config_document {
    str id, file;
};

struct config_policy {
    struct config_document *documents; /* none: the application is off */
    size_t document_count;
    enum config_search search;
    int64_t tokens_max;   /* of the evaluation of one criterion */
    uint64_t time_max_ms; /* likewise */
    str model;
    bool use_llm, shadow, fallback;   /* react_use_llm_controller, ... */
    double ab_ratio, prompt_ab_ratio; /* 0 to 1 */
    str ab_salt;
    bool optimize;  /* starts an optimization when quality falls, instead of only proposing one */
    str train, val; /* folders of labelled cases for it */
};

struct config_orders {
    str menu; /* a file; "": the application is off */
    str model;
    int64_t pieces_max; /* in a whole order; 0: no limit */
    double price_max;   /* in the menu's currency; 0: no limit */
};
