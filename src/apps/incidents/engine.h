/* engine.h - an investigation as its own files see it.
 *
 *   run.c       from the options to the report: runbook, tools, stages, summary, the record
 *   record.c    the stored record of it
 *   version.c   which version of the prompt it has
 *   stage.c     the agents of a stage, side by side, and the synthesis of their findings
 * agent_team.c one agent at work: its tools, its run, its strategy
 *   classic.c   selection, iterations, analysis
 *   prompt.c    all prompt texts
 *   servers.c   the tools of an investigation
 *   runbook.c   runbooks from the folder or from an allowed address
 *   report.c    the report
 *   input.c     options as JSON and back
 *   progress.c  its progress and waiting approvals
 *   chat.c      questions afterwards
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/work.h"
#include "agents/definition.h"
#include "apps/incidents/setup.h"

#define INCIDENT_ARENA ((size_t)1 << 30) /* of one agent at work */
#define INCIDENT_TEXT_MAX ((size_t)16 << 20)
/* The input of a run has the alert's data as a string, in which each quote and backslash takes one
 * more byte; and a masked secret may be longer than the secret. */
#define INCIDENT_INPUT_MAX ((size_t)128 << 20)
#define INCIDENT_NOTES_MAX 32
#define INCIDENT_POINTS_MAX 4096
/* In every request, so that watchers see the reasoning grow, and a stalled reply is noticed. */
#define INCIDENT_EXTRA "\"stream\":true"

/* One investigation. */
struct incident {
    const struct incident_options *o; /* told */
    struct incident_options masked;   /* the caller's options, with secrets masked */
    const struct incident_chain *chain;
    struct setup *held; /* the configuration at its start; a reload does not change it */
    const struct config *config;
    struct arena *arena; /* the caller's: on its thread only */
    str session, model;
    str title; /* for the record: "PodCrashLooping · checkout" */
    struct agent_ask ask;
    struct config defs;             /* only agents (of agents.yaml) and ca_file are set */
    struct agents_servers *servers; /* as long as the investigation */
    str listed;                     /* their tools, as its log has them */
    str role, form;            /* of the prompt: the model's role, and the form of an analysis */
    str runbook_address;       /* of the fetch: unlike o->alert.runbook, it has credentials */
    str runbook, runbook_note; /* the text, and a note about it; or "" */
    const struct mask *mask;
    uint64_t timeout_ms;
    uint64_t soft_ns; /* monotonic: from then on agents conclude with the facts they have */

    pthread_t watcher;
    bool watched;
    _Atomic bool stop, ending, overdue; /* stop: cancelled, left or overdue */
    pthread_mutex_t lock;               /* guards the events reported to the caller */
    int percent;
    size_t stage;        /* the current stage of the chain */
    unsigned stage_done; /* thousandths of the current stage, of all its agents together */
};

/* A tool call as it was decided and made. */
struct point {
    str server, tool; /* as the server has them; server "": not known */
    str arguments;    /* JSON */
    str reason;
    str result; /* whole */
    bool ok;
};

/* One agent at work; all texts in its own arena. */
struct agent_team {
    struct incident *in;
    const struct config_stage *stage;
    const struct incident_agent *agent;
    str label, run;
    str earlier; /* findings of earlier stages; or "" */
    enum incident_strategy strategy;
    bool reasoning;             /* is asked for */
    str level;                  /* or "": asked for by the prompt */
    struct arena arena;         /* until the investigation ends */
    struct agents_tools *tools; /* NULL once it has ended */
    struct agent_work *work;    /* of the classic strategy */
    struct agent_result result; /* the run's */
    struct point *points;
    size_t point_count;
    str notes[INCIDENT_NOTES_MAX]; /* notes for the reader about the run */
    size_t note_count;
    unsigned done;      /* thousandths of its work, as reported */
    unsigned turns;     /* of a loop, so far */
    str why;            /* of the decisions reported next; or "" */
    size_t step_at;     /* the point that the next step is about (classic) */
    str reasoning_seen; /* of the last reply */
    bool broken;        /* the log failed: err says why */
    struct err err;
};

/* ---- run.c ---- */

bool incident_prepare(struct incident *in, const struct incident_options *o, struct arena *a,
                      struct err *e) MUST_USE;
/* From here on `stop` is set when the run must end, until the unwatch, which ends prepared work. */
void incident_watch(struct incident *in);
void incident_unwatch(struct incident *in);
void incident_report_progress(struct incident *in, int percent, str step, str agent);
void incident_step(struct incident *in, const struct incident_step *s);
/* The next stage begins. */
void incident_report_stage(struct incident *in, size_t stage);
/* The options that all runs of this investigation share. */
struct agent_options incident_agent_options(struct incident *in, str run);

/* ---- record.c ---- */

/* The alert's name and its service, if known: the session's name in the record. */
str record_title(const struct incident_alert *alert, struct arena *a);
/* r NULL: the run has not ended. */
void record_session(struct incident *in, const char *status, const struct incident_report *r,
                    int64_t started_us);
str record_result(struct incident *in, const struct incident_report *r);
/* Whether it was a log that the run does not fit: then it has failed, for good. */
bool record_astray(struct incident *in, struct incident_report *out, const struct err *e);

/* ---- version.c ---- */

/* The prompt of the options, else the one the run started with (its input; "": a new run), else
 * the one in force. */
bool version_choose(struct incident *in, str input, struct err *e) MUST_USE;

/* ---- stage.c ---- */

struct stage_result {
    struct agent_team *parties;
    size_t agent_team_count;
    struct agent_team *synthesis; /* or NULL */
    struct agent_result result;   /* of all of them: its text has the findings */
    bool broken;                  /* a log failed: err */
    struct err err;
};

void stage_run(struct incident *in, size_t index, str earlier, struct stage_result *out);
void stage_release(struct stage_result *r);

/* ---- agent_team.c ---- */

/* The run of an agent: RUN/STAGE/LABEL. */
str agent_team_run(struct arena *a, str run, str stage, str label);
/* stage.c: an agent at work on a stage. */
void agent_team_init(struct agent_team *p, struct incident *in, const struct config_stage *t,
                     const struct incident_agent *agent, str label);
/* Until there is a result, or the run is broken. */
void agent_team_work(struct agent_team *p);
/* Its tools; false: the result has the reason. They are closed in either case. */
bool agent_team_open_tools(struct agent_team *p, struct err *e) MUST_USE;
void agent_team_close_tools(struct agent_team *p);
/* The options of its run, without prompts. */
struct agent_options agent_team_options(struct agent_team *p);
/* A run as a loop, by its strategy; its prompts have the form that the strategy needs. */
void agent_team_loop(struct agent_team *p, struct agent_options *o, str system, str user);
bool agent_team_ok(const struct agent_team *p);
/* Reports what the agent does next: in its n-th round of at most `max`. */
void agent_team_report_progress(struct agent_team *p, str what, unsigned n, unsigned max);
void agent_team_note(struct agent_team *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The server of a tool in the box, and its name there; unchanged if the tool is unknown. */
void agent_team_origin(struct agent_team *p, str name, str *server, str *tool);
/* A model call of its own with this prompt, logged under `run`; the reply's text. */
void agent_team_single(struct agent_team *p, str system, str user);

/* ---- the strategies ---- */

void classic_work(struct agent_team *p);

/* ---- prompt.c ---- */

/* The texts of this version from here on. */
void prompt_use(struct incident *in, const struct prompt *p);
str prompt_system(struct agent_team *p);
void prompt_select(const struct agent_team *p, struct buf *out);
void prompt_iterate(const struct agent_team *p, unsigned iteration, struct buf *out);
/* why: it ended early; or "". */
void prompt_analysis(const struct agent_team *p, str why, struct buf *out);
/* Appended to a prompt whose answer could not be parsed. */
void prompt_again(struct buf *out, str answer, const char *why);
void prompt_loop(const struct agent_team *p, struct buf *out);
void prompt_synthesis(struct incident *in, const struct config_stage *t,
                      const struct stage_result *r, struct buf *out);
void prompt_summary(struct incident *in, str analysis, struct buf *out);
void prompt_chat(const struct agent_team *p, str report, str said, str question, struct buf *out);

/* ---- servers.c ---- */

/* Where its tools come from; no server is started yet. */
void servers_open(struct incident *in);
/* Asks all servers of the chain for their tools: JSON for in->listed. */
bool servers_list(void *incident, struct buf *out, struct err *e);
/* Opens the tools of the agent, and notes which servers could not be used. */
bool servers_add(struct agent_team *p, struct err *e) MUST_USE;
/* The tools as a prompt describes them: [{"server", "tool", "description", "parameters"}]; out
 * must be empty. */
void servers_write(const struct agent_team *p, struct buf *out);
str servers_instructions(const struct agent_team *p, struct arena *a);

/* ---- runbook.c ---- */

struct runbook_source {
    const char *folder; /* or "" */
    str name;           /* a file in it or a URL */
    const str *domains;
    size_t domain_count;
    const char *ca_file; /* or NULL */
};

bool runbook_read(void *runbook_source, struct buf *out, struct err *e);
bool runbook_is_url(str name);
/* Whether it could be read as far as is known without fetching it: the file is there, or the host
 * is in `domains`. */
bool runbook_check(const struct runbook_source *r, struct err *e) MUST_USE;
/* https://github.com/O/R/blob/REF/PATH as the address of the file itself; others as they are. */
str runbook_raw_url(str url, struct arena *a);

/* ---- input.c ---- */

extern const char *const incident_strategies[]; /* by enum incident_strategy; ends with NULL */

/* ---- report.c ---- */

void report_write(struct incident *in, const struct stage_result *stages, size_t n,
                  struct incident_report *out);
