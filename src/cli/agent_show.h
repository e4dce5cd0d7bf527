/* agent_show.h - prints the events of a run on a terminal, or as lines of JSON.
 *
 *     struct agent_show s;
 *     agent_show_init(&s, cli, json);
 *     agent_show_event(&s, STR("tool_call"), id, json);       as they come
 * s.status, s.run, s.waiting ... known after these events
 *     agent_show_release(&s);
 *
 * Reasoning, tool calls and results go to stderr, a call before its result; the answer goes to
 * stdout.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "cli/cli.h"

struct agent_show {
    struct cli *cli;
    bool json, quiet;   /* quiet: only the answer */
    struct buf *answer; /* receives the answer instead of stdout; or NULL */
    struct arena arena;
    str agent, model;   /* for the report of a failure; set by the caller, or "" */
    str run;            /* the run's id, once known */
    str status, reason; /* why it ended, or "" */
    struct {
        bool waits;
        str run, tool, arguments, why;
        int64_t seq; /* -1: the run waits for the caller's tools */
    } waiting;
    str error;       /* of the last event, if it was a failed model call; or "" */
    struct buf last; /* the id of the last event */
};

void agent_show_init(struct agent_show *s, struct cli *cli, bool json);
void agent_show_release(struct agent_show *s);
void agent_show_event(struct agent_show *s, str name, str id, str json);
/* The exit code for the run's end. */
int agent_show_code(const struct agent_show *s);
