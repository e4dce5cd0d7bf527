/* policy.h - `rationale policy` as its files see it: policy.c the verbs, policy_show.c what is
 * printed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/app.h"
#include "cli/cli.h"

enum {
    POLICY_CONFIG,
    POLICY_DOCUMENT,
    POLICY_VERSION,
    POLICY_AS_OF,
    POLICY_CASE,
    POLICY_DOC_ID,
    POLICY_SECTION,
    POLICY_CONTROLLER,
    POLICY_STATE,
    POLICY_STATUS,
    POLICY_REASON,
    POLICY_MODEL,
    POLICY_OUT,
    POLICY_JSON
};

struct policy_cmd {
    struct cli *cli;
    const struct cli_args *args;
    const char *config_file;
    struct config *config;
    struct app_local local;
    void *app; /* answers in this process; NULL: a daemon does */
    struct arena arena;
    struct buf body;
    struct arena newest; /* of the newest request: its reply */
    int status;
    str reply;
    struct progress progress; /* of a re-verification */
};

/* CLI_OK: the reply is there; else it has complained. */
int policy_request(struct policy_cmd *p, const char *method, str path, str body);
/* A member of the reply by JSON Pointer; "" if it is not there. */
str policy_reply_text(struct policy_cmd *p, const char *pointer);
void policy_add_query(struct buf *path, const char *name, const char *value); /* NULL: nothing */
void policy_add_member(struct json_out *o, const char *name, const char *value);

/* With --json the reply as it is; then true. */
bool policy_show_json(struct policy_cmd *p);
void policy_show_progress(struct policy_cmd *p);
int policy_show_raw(struct policy_cmd *p);
int policy_show_reverify(struct policy_cmd *p);
int policy_show_extracted(struct policy_cmd *p);
int policy_show_proposals(struct policy_cmd *p);
int policy_show_queue(struct policy_cmd *p);
int policy_show_versions(struct policy_cmd *p);
/* One page of them; *n counts the cases of all pages. */
int policy_show_labels(struct policy_cmd *p, size_t *n);
