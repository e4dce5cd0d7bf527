/* policy.h - shared by the files of `rationale policy`: policy.c has the verbs, policy_show.c the
 * output.
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
    void *app; /* answers in this process; NULL: a daemon answers */
    struct arena arena;
    struct buf body;
    struct arena newest; /* the reply to the newest request */
    int status;
    str reply;
    struct json doc;
    const struct json_node *root; /* of the reply; NULL: it is not JSON */
    struct progress progress; /* of a re-verification */
};

/* CLI_OK: there is a reply; otherwise an error was printed. */
int policy_request(struct policy_cmd *p, const char *method, str path, str body);
/* A member of the reply by JSON Pointer; "" if it is not there. */
str policy_reply_text(struct policy_cmd *p, const char *pointer);
void policy_add_query(struct buf *path, const char *name, const char *value); /* NULL: nothing */
void policy_add_member(struct json_out *o, const char *name, const char *value);

/* With --json: prints the reply unchanged, and returns true. */
bool policy_show_json(struct policy_cmd *p);
void policy_show_progress(struct policy_cmd *p);
int policy_show_raw(struct policy_cmd *p);
int policy_show_reverify(struct policy_cmd *p);
int policy_show_extracted(struct policy_cmd *p);
int policy_show_proposals(struct policy_cmd *p);
int policy_show_queue(struct policy_cmd *p);
int policy_show_versions(struct policy_cmd *p);
/* Prints one page of cases; *n counts those of all pages. */
int policy_show_labels(struct policy_cmd *p, size_t *n);
