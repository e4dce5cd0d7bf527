/* eval.h - cases with known answers, run and scored: alert, recorded tools, expected cause.
 *
 *     struct eval_case *cases;
 *     if (!eval_load(&(struct eval_source){folder, ...}, &arena, &cases, &n, e)) ...
 *     eval_run(&options, &cases[i], INCIDENT_ON, &arena, &result);
 *     eval_sum(results, n, &total);
 *
 * A case is a folder:
 *
 *     test_case.yaml      cause, object, not_cause, expected_output (facts): see score.h;
 *                         expected_tools; runbook; user_prompt; alert;
 *                         evaluation.correctness: the weight of the case
 *     alert.json          the alert as POST /alerts takes it, in either form; or
 *     investigate_request.json, issue_data.json, resource_instructions.json
 *     *.txt, tools.json   recordings (mcp/replay.h)
 *
 * The score of a case is that of the report's analysis (score.h), never of the evidence in the
 * report. If tools are expected, it is multiplied by 0.8 and up to 0.2 more, by the share of them
 * that were called. The score of all is the mean of the cases, each with its weight.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/incidents/incident.h"
#include "apps/incidents/score.h"

#define EVAL_CASES_MAX 2000
#define EVAL_FACTS_MAX 200 /* of each list of a case */
#define EVAL_FAULTS_MAX 100
#define EVAL_TOOLS_SHARE 0.2

struct eval_case {
    str name;
    const char *folder;
    struct incident_alert alert;
    str runbook; /* text, or "" */
    struct score_expected expected;
    str evidence; /* texts a report could quote: outputs of tools, alert, runbook */
    str *tools;   /* expected */
    size_t tool_count;
    double weight;
    size_t recordings;
    bool served; /* the folder has recordings, or tools without any */
};

struct eval_source {
    const char *folder;   /* of cases, or a case */
    const char *only;     /* a case's name, or NULL: all */
    const char *runbooks; /* a folder, or NULL */
};

/* Errors of the cases that are left out: "CASE/FILE:LINE: why". */
struct eval_faults {
    str at[EVAL_FAULTS_MAX];
    size_t n;
};

/* The cases sorted by name, in the arena. False: no case can be run. */
bool eval_load(const struct eval_source *s, struct arena *a, struct eval_case **out, size_t *n,
               struct eval_faults *faults, struct err *e) MUST_USE;

struct eval_options {
    const struct app_host *host;
    const struct incident_setup *setup; /* or NULL */
    const struct incident_setup *any;   /* eval_anyone: for alerts that no agent of setup takes */
    const char *server; /* the program that serves recordings: SERVER mcp --replay FOLDER */
    str model;
    enum incident_strategy strategy;
    const struct prompt *prompt; /* NULL: the version in force */
    const _Atomic bool *cancel;  /* NULL: the host's `leave` */
    str session;                 /* of the optimizer's run; "": a recorded session of its own */
    void (*on_progress)(void *ctx, const struct incident_progress *p); /* or NULL */
    void (*on_step)(void *ctx, const struct incident_step *s);         /* or NULL */
    void *ctx;
};

struct eval_result {
    const struct eval_case *of;
    enum incident_tri reasoning;
    str session;
    struct incident_report report;
    struct score_result analysis;
    str *called; /* names of tools, each once */
    size_t called_count;
    bool *tools_called; /* of the expected ones */
    size_t tools_met;
    double score;
    str tags; /* JSON array of errors, from the run's data and the score, never from prose */
};

/* One agent that accepts any alert. */
bool eval_anyone(struct incident_setup **out, struct err *e) MUST_USE;
/* The path of this program, for `server`. */
bool eval_self(char path[FILE_PATH_MAX], struct err *e) MUST_USE;

/* A run that fails has a result too. */
void eval_run(const struct eval_options *o, const struct eval_case *c, enum incident_tri reasoning,
              struct arena *a, struct eval_result *out);

struct eval_total {
    size_t cases, facts, facts_met;
    double score;
    unsigned model_calls, tool_calls;
    int64_t input_tokens, output_tokens, reasoning_tokens, duration_ms;
};
void eval_sum(const struct eval_result *results, size_t n, struct eval_total *out);

/* "cause", or "facts" for a case without one. */
const char *eval_scored_by(const struct eval_case *c);

/* {"cases": [...], "total": {...}} or, of two runs of the same cases, {"cases": [...], "off":
 * total, "on": total}. */
void eval_json(const struct eval_result *results, size_t n, bool ab, struct buf *out);
/* The same as Markdown; two runs are compared. */
void eval_markdown(const struct eval_result *results, size_t n, bool ab, struct buf *out);
