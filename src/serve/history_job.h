/* history_job.h - one query of the record, from a request to its reply.
 *
 *     struct history_job *j = history_job_new(ex, ask);
 *     ... j->filter = ...                       texts in j->arena: the client may leave meanwhile
 *     history_job_post(j);                      answers 503 if it cannot
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "serve/params.h"
#include "serve/work.h"

struct history_job;
struct params;

/* On a thread: writes the answer to j->out. */
typedef bool history_ask(struct history_job *j, struct err *e);

struct history_job {
    struct work_job job;
    struct exchange *ex; /* NULL once the client has left */
    bool posted;         /* a thread has it, or will get it */
    struct worker *worker;
    struct arena arena;
    struct query_asker asker;
    struct query_running running[QUERY_RUNNING_MAX];
    struct query_filter filter;
    struct query_page page;
    str id, words;
    /* For a thread: the key, whether it may see everything, and the request's body. */
    str key;
    bool all;
    struct buf body;
    int what; /* of an erasure: enum store_erase_what */
    history_ask *ask;
    struct reader *reader; /* while a thread asks */
    bool (*query)(struct reader *r, const struct query_asker *a, str id, struct buf *out,
                  struct err *e);
    void (*answer)(struct history_job *j); /* on the loop; takes ownership of the job */
    struct buf out;
    struct err err;
    bool ok;
    /* Of an export. */
    struct query_export export;
    bool headed, exporting;
    str name;
};

/* NULL after replying that there is no record. */
struct history_job *history_job_new(struct exchange *ex, history_ask *ask);
/* The same, with the query's parameters read. Then history_job_go posts the job, or frees it after
 * a reply about a wrong parameter. */
struct history_job *history_job_begin(struct exchange *ex, struct params *p, history_ask *ask);
void history_job_go(struct history_job *j, struct params *p);
void history_job_free(struct history_job *j);
void history_job_post(struct history_job *j);
/* Words the parser's error as one about the body; a body that is nested too deeply does not mean a
 * busy gateway. */
void history_job_refuse_json(struct err *e);
/* Replies with the error, and frees the job. */
void history_job_fail(struct history_job *j);
