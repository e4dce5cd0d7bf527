/* incident_help.h - an investigation with a model that says what it is told, and real MCP tools.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent_help.h"
#include "apps/incidents/engine.h"
#include "test.h"

#define PROMPTS_MAX 256

/* What is said to a prompt: a text; calls "!name {args}\nname {args}"; "#429" for an error; "@" for
 * nothing, until it is cancelled. The
 * system prompt, the last message, how many replies came before in the same conversation. */
typedef const char *model_says(str system, str last, size_t replies);

struct scene {
    struct app_local local;
    struct incident_setup *setup;
    struct arena arena;
    char dir[64];
    model_says *says;
    pthread_mutex_t lock; /* of what follows */
    str title;            /* of the last call */
    str systems[PROMPTS_MAX], prompts[PROMPTS_MAX], bodies[PROMPTS_MAX], levels[PROMPTS_MAX];
    size_t prompt_count;
    struct incident_step steps[PROMPTS_MAX]; /* as they were told */
    size_t step_count;
    int percents[PROMPTS_MAX];
    size_t percent_count;
    _Atomic bool cancel;
    int effects_left;    /* the process is killed at the effect after so many; -1: never */
    int cancel_at;       /* set cancel at that effect; -1: never */
    int leave_at;        /* leave likewise */
    const char *reasons; /* what comes as reasoning of its own; or NULL */
};

/* A new file with the tools of tools_server.py, for a setup with its own mcp_servers. The test
 * removes it. */
void tools_file(char path[64], const char *tools);
/* The tools are those of tools_server.py, of the server "k" in every setup; `agents` is the YAML of
 * agents and chains. A setup with its own mcp_servers has "mcp_servers:" in it. */
void scene_init(struct scene *s, const char *tools, const char *agents, model_says *says);
/* The same folder and store again: what another process does. */
void side_open(struct scene *s, const char *dir, const char *agents, model_says *says);
void side_close(struct scene *s);    /* the folder stays */
void scene_release(struct scene *s); /* and goes */

struct incident_options side_options(struct scene *s, const char *alert_type);
struct incident_report side_run(struct scene *s, const struct incident_options *o);

/* How often a tool was called. */
size_t side_calls(struct scene *s, const char *tool);
size_t count_of(str text, const char *what);
