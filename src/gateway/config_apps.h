/* config_apps.h - settings of the applications (src/apps).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

struct config_incidents {
    str agents, runbooks; /* a file, a folder; no agents: there is no such application */
    str model;            /* "": the first provider's first */
    str default_type;     /* of alerts whose own type nobody takes, from Alertmanager */
    unsigned max_concurrent, max_queue;
    uint64_t timeout_ms; /* of one investigation */
    str *domains;        /* that runbooks may be fetched from */
    size_t domain_count;
};

enum config_search { CONFIG_SEARCH_MODEL, CONFIG_SEARCH_BM25 };

struct config_document {
    str id, file;
};

struct config_policy {
    struct config_document *documents; /* none: there is no such application */
    size_t document_count;
    enum config_search search;
    str model;
    bool use_llm, shadow, fallback;   /* react_use_llm_controller, ... */
    double ab_ratio, prompt_ab_ratio; /* 0 to 1 */
    str ab_salt;
    bool optimize;  /* a run is started, not only proposed, when quality falls */
    str train, val; /* folders of labelled cases for it */
};

struct config_orders {
    str menu; /* a file; "": there is no such application */
    str model;
    int64_t pieces_max; /* of a whole order; 0: no limit */
    double price_max;   /* in the menu's currency; 0: no limit */
};
