/* events.h - a run as a sequence of events, read from its log.
 *
 *     struct run_cursor *c = run_cursor_new();
 *     run_cursor_read(c, last_event_id, e)                           "" is the beginning
 *     run_events_read(log, run, c, &sink, &state, e)                 those after the cursor
 *     ... wait until something was put into the log, and read again ...
 *     run_cursor_free(c);
 *
 * The events of a run and their numbers depend only on its log: a reader that returns with the id
 * of its last event, maybe to another process, gets the rest, each event once. A run with parts
 * (RUN/PART) has their events too; each part has its own numbers, and the id of an event holds the
 * position in each of them.
 *
 *   started        run_id, session_id, created_at_us
 *   reasoning      text                       left out for those who may not see it
 *   message        text, tool_calls, usage    what the model said
 *   error          text                       the model could not be asked
 *   approval       seq, tool, arguments, why  a person is asked
 *   decided        seq, word, who             and has answered
 *   tool_call      call_id, tool, arguments, client; client: the caller is to carry it out
 *   tool_result    call_id, tool, ok, result
 *   ended          status, reason, result
 *
 * A call's result never comes before the call. Results of parallel calls come in the order of the
 * calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/run_json.h"

#define RUN_CURSOR_PARTS_MAX 1024

struct run_cursor;

struct run_cursor *run_cursor_new(void); /* at the beginning */
/* ERR_INPUT: the text is not the id of an event. "" changes nothing. */
bool run_cursor_read(struct run_cursor *c, str text, struct err *e) MUST_USE;
void run_cursor_free(struct run_cursor *c);
/* "7", or with parts "7,1.logs=4,1.metrics=2". */
void run_cursor_write(const struct run_cursor *c, struct buf *out);

/* Lent for the call. */
struct run_event {
    const char *name;
    str id;   /* the cursor after this event */
    str json; /* one line; "run_id" is the part's */
};

struct run_events_sink {
    bool thoughts; /* whether events have the model's reasoning */
    void (*on_event)(void *ctx, const struct run_event *ev);
    void *ctx;
};

enum run_state { RUN_GOES_ON, RUN_WAITS, RUN_ENDED };

/* ERR_NOT_FOUND: there is no such run. *state: the run's state when its log was read. */
bool run_events_read(struct agent_log *log, str run, struct run_cursor *c,
                     const struct run_events_sink *sink, enum run_state *state,
                     struct err *e) MUST_USE;
