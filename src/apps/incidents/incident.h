/* incident.h - an alert investigated: from the alert to a report in Markdown.
 *
 *     struct incident_setup *s;
 *     if (!incident_setup_load("agents.yaml", "runbooks", &s, e)) ...    agents, servers, chains
 *     struct incident_options o = {.host = host, .setup = s, .alert = alert, .run = id, ...};
 *     if (!incident_run(&o, &arena, &report, e)) ...      e: the log failed; it can be resumed
 *     incident_setup_free(s);
 *
 * The engine runs the chain of the alert's type stage by stage. The agents of a stage work in
 * parallel, each by its strategy; if a stage has several, a synthesis follows. Every step is in the
 * agent's log: a second call with the same run resumes it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/app.h"
#include "apps/registry.h"

/* The default prompts, used if the registry has none. */
extern const struct prompt_built_in incidents_built_in;

struct incident_setup; /* agents.yaml, checked; immutable once loaded, any thread */

/* runbooks: the folder, or "". Errors have file, line, path and the nearest name. */
bool incident_setup_load(const char *agents, const char *runbooks, struct incident_setup **out,
                         struct err *e) MUST_USE;
/* The same from text; `path` is for messages. */
bool incident_setup_parse(str yaml, const char *path, const char *runbooks,
                          struct incident_setup **out, struct err *e) MUST_USE;
/* For who holds on to it while others may get another one; each is freed. NULL: nothing. */
struct incident_setup *incident_setup_retain(struct incident_setup *s);
void incident_setup_free(struct incident_setup *s); /* NULL: nothing */
/* The alert types that some agent or chain takes, sorted; ends with NULL. "*" is not among them. */
const char *const *incident_alert_types(const struct incident_setup *s);
/* The agent or chain that would take the alert, and its servers; false if no agent or chain takes
 * it. One with the alert type "*" takes alerts that no other takes. */
bool incident_assigned(const struct incident_setup *s, str alert_type, str *agent,
                       const char *const **servers);

struct incident_alert {
    str id; /* alert_id */
    str alert_type, severity, environment;
    str runbook;          /* a file in the folder, an allowed URL, or "" */
    str data;             /* a JSON object: all that is known about it; "" if nothing */
    int64_t timestamp_us; /* 0: not known */
};

enum incident_strategy { INCIDENT_BY_AGENT, INCIDENT_CLASSIC, INCIDENT_REACT, INCIDENT_NATIVE };
enum incident_tri { INCIDENT_AS_CONFIGURED, INCIDENT_ON, INCIDENT_OFF };

struct incident_progress {
    int percent;     /* 0 to 100, never falling */
    str step, agent; /* current_step, current_agent */
};

/* A decision while it is made, lent for the call. */
struct incident_step {
    str stage, agent;
    str action;      /* "SERVER.TOOL(k='v', ...)", "answer", "summary" ... */
    str reason;      /* why, in the words of the answer; or "" */
    str reasoning;   /* the reasoning before it; "" if unknown */
    str observation; /* of a tool, in short */
    bool ok;
};

struct incident_options {
    const struct app_host *host;
    const struct incident_setup *setup;
    struct incident_alert alert;
    str run, session;                /* session: "" is derived from the run */
    str key;                         /* owner: the name of the client's key, or "" */
    str runbook_address;             /* alert.runbook with its credentials, for the fetch; never
                                      * stored. "" alert.runbook itself */
    str runbook_text;                /* instead of the alert's runbook; "" none */
    str model;                       /* for all agents, instead of their own; "" none */
    str default_model;               /* of agents without one; "" the configuration's */
    enum incident_strategy strategy; /* instead of the agents' own */
    enum incident_tri reasoning;     /* enable_reasoning, in place of the configured value */
    /* The prompts. NULL: those that the run started with, else the active ones. */
    const struct prompt *prompt;
    str prompt_id; /* from incident_input_read: the prompts it started with */
    bool trial;    /* of the optimizer: no session of its own, nothing to be resumed */
    /* One server, "tools", instead of the configured ones: its command line, ending with NULL,
     * or its URL as the only word. An empty list: no server. NULL: as configured. */
    const char *const *server_argv;
    struct agent_ask ask;       /* makes the model calls; .ask NULL: the host's gateway */
    const _Atomic bool *cancel; /* or NULL */
    /* Both from any thread, but one at a time; may be NULL. */
    void (*on_progress)(void *ctx, const struct incident_progress *p);
    void (*on_step)(void *ctx, const struct incident_step *s);  /* each decision */
    void (*on_effect)(void *ctx, const struct agent_effect *f); /* as that of run.h */
    void *ctx;
};

enum incident_end {
    INCIDENT_COMPLETED,
    INCIDENT_FAILED,
    INCIDENT_CANCELLED,
    INCIDENT_LEFT,
    INCIDENT_WAITING, /* for a decision (incident_pending); then it is called again */
};

struct incident_report {
    enum incident_end end;
    str markdown;       /* the whole report */
    str final_analysis; /* the last stage's analysis */
    str summary;        /* for executives; "" if it was not written */
    str error;          /* of a FAILED one */
    str reason;         /* its code */
    unsigned model_calls, tool_calls;
    int64_t input_tokens, output_tokens, reasoning_tokens, duration_ms;
    str tools; /* names that were called, JSON array in order */
    str prompt_id;
    str stages; /* JSON: see incident_stages */
};
#define INCIDENT_REPORT_NONE                                                                       \
    ((struct incident_report){.end = INCIDENT_FAILED,                                              \
                              .markdown = STR(""),                                                 \
                              .final_analysis = STR(""),                                           \
                              .summary = STR(""),                                                  \
                              .error = STR(""),                                                    \
                              .reason = STR(""),                                                   \
                              .tools = STR("[]"),                                                  \
                              .prompt_id = STR(""),                                                \
                              .stages = STR("")})

/* The row of the run (log.h, app "incidents") has the options in its input, and, once it has ended,
 * {"status", "reason", "error", "report" (Markdown), "final_analysis", "summary", "stages",
 * "tools", "prompt_id", "model_calls", "tool_calls", "tokens": {"input", "output", "reasoning"},
 * "duration_ms"} as its result. False: the log failed, and the run can be called again. */
bool incident_run(const struct incident_options *o, struct arena *a, struct incident_report *out,
                  struct err *e) MUST_USE;

/* The answer to a question. */
struct incident_answer {
    str run;      /* RUN/chat/N */
    str question; /* masked */
    str text;     /* the answer; "" while it waits */
    bool waiting; /* a person has to approve a call first; then the same question continues it */
    str pending;  /* JSON of that call (run_json_question); or "" */
};

/* A question about an investigation that has ended: answered from its history, and with the tools
 * of its agents. ERR_CONFLICT: another question is being answered, or waits. */
bool incident_chat(const struct incident_options *o, str question, struct arena *a,
                   struct incident_answer *out, struct err *e) MUST_USE;
/* Cancels the question that is being answered under this run; false: none is. Any thread. */
bool incident_chat_cancel(str run);
/* The questions about an investigation, the oldest first, as members of an object: "questions":
 * [{"run_id", "question", "status", "answer", "error", "asked_at_us", "updated_at_us"}]. */
struct json_out;
bool incident_chat_list(struct agent_log *log, str run, str session, struct arena *a,
                        struct json_out *o, struct err *e) MUST_USE;
/* At the start of the daemon: questions that an earlier process did not answer are cancelled with
 * the reason "interrupted". The same question resumes one. */
bool incident_chat_settle(struct agent_log *log, int64_t now_us, struct err *e) MUST_USE;

/* The options of a run as JSON, and back: all but host, setup, ask, server_argv and functions.
 * The texts live in the arena. */
void incident_input_write(const struct incident_options *o, struct buf *out);
bool incident_input_read(str json, struct arena *a, struct incident_options *out,
                         struct err *e) MUST_USE;

/* How far an investigation is: [{"name", "status", "agents": [{"name", "run_id", "strategy",
 * "status", "reason", "model_calls", "tool_calls", "tokens": {...}, "analysis"}]}]; status is
 * pending, running, waiting, done, stopped, failed or cancelled. The stages are those that the
 * setup has for the alert's type. */
bool incident_stages(const struct incident_setup *s, struct agent_log *log, str run, str alert_type,
                     struct buf *out, struct err *e) MUST_USE;

/* Splits a run's name at its last slash: RUN/STAGE and AGENT. */
str incident_of_part(str run, str *last);
/* The approvals it waits for: a list of questions (run_json_question) with "stage" and "agent".
 * agent_answer answers one. */
bool incident_pending(struct agent_log *log, str run, struct buf *out, struct err *e) MUST_USE;
/* Closes the rows of a run that will not be resumed; waiting approvals are denied. */
bool incident_drop(struct agent_log *log, str run, int64_t now_us, struct err *e) MUST_USE;
