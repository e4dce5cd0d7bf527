/* incident_help.h - an investigation with a scripted model and real MCP tools.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent_help.h"
#include "apps/incidents/engine.h"
#include "test.h"

#define PROMPTS_MAX 256

/* Returns the model's reply to a prompt: a text; calls as "!name {args}\nname {args}"; "#429" for
 * an error; "@" for no reply until cancelled. Arguments: the system prompt, the last message, the
 * number of earlier replies in the conversation. */
typedef const char *model_says(str system, str last, size_t replies);

struct scene {
    struct app_local local;
    struct incident_setup *setup;
    struct arena arena;
    char dir[64];
    model_says *says;
    pthread_mutex_t lock; /* guards the members below */
    str title;            /* of the last call */
    str systems[PROMPTS_MAX], prompts[PROMPTS_MAX], bodies[PROMPTS_MAX], levels[PROMPTS_MAX];
    size_t prompt_count;
    struct incident_step steps[PROMPTS_MAX]; /* as reported to on_step */
    size_t step_count;
    int percents[PROMPTS_MAX];
    size_t percent_count;
    _Atomic bool cancel;
    int effects_left;    /* effects until the process is killed; -1: never */
    int cancel_at;       /* the effect at which to set `cancel`; -1: never */
    int leave_at;        /* the effect at which to set `leave`; -1: never */
    const char *reasons; /* the model's reasoning, in its own field; or NULL */
};

/* Writes a new file with the tools of tools_server.py, for a setup with its own mcp_servers. The
 * test removes it. */
void tools_file(char path[64], const char *tools);
/* Opens a setup in which server "k" has the tools of tools_server.py; `agents` is the YAML of
 * agents and chains. If it begins with "mcp_servers:", the setup has its own servers instead. */
void scene_init(struct scene *s, const char *tools, const char *agents, model_says *says);
/* Opens the same folder and store again, as a new process would. */
void side_open(struct scene *s, const char *dir, const char *agents, model_says *says);
void side_close(struct scene *s);    /* keeps the folder */
void scene_release(struct scene *s); /* and removes the folder */

struct incident_options side_options(struct scene *s, const char *alert_type);
struct incident_report side_run(struct scene *s, const struct incident_options *o);

/* The number of calls of a tool. */
size_t side_calls(struct scene *s, const char *tool);
size_t count_of(str text, const char *what);
