/* view.h - the messages of a run as its model sees them: by the strategy, with tool results between
 * tags.
 *
 *     struct agent_view view = {.ask = agent_ask_gateway(gl), .strategy = AGENT_REACT,
 *                               .tools = box};
 *     agent_run(&(struct agent_options){.ask = agent_view_ask(&view), ...})
 *
 * The loop and its log know only function calls, whatever the strategy. The view rewrites each
 * request for the model, and turns the reply back into calls:
 *
 *   native   the provider's function calling; calls that a model writes as markup count too
 *   react    text: Thought, Action, Action Input, and results as observations; one call at a time
 *   classic  text: one JSON object with the calls to make, any number at once, or with the answer
 *
 * In all of them, results are between tags (data.h) and share data_size bytes of the prompt, and
 * the system prompt has the rule about them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/plan.h"
#include "agent/run.h"

#define AGENT_DATA_SIZE ((size_t)64 << 10)

enum agent_strategy { AGENT_NATIVE, AGENT_REACT, AGENT_CLASSIC };

/* Lent as long as the run. */
struct agent_view {
    struct agent_ask ask; /* makes the model calls */
    enum agent_strategy strategy;
    enum plan_form form;   /* of classic; PLAN_ANSWER in a run */
    size_t data_size;      /* bytes of results in one request; 0: AGENT_DATA_SIZE */
    struct toolbox *tools; /* finds the names that a model wrote */
    bool own_prompt;       /* the prompts already have the rule and the strategy's format */
    /* Maps a name that a model wrote to the box's name; NULL: toolbox_find. */
    bool (*find_tool)(void *ctx, str written, str *name);
    /* Gets the reason for the model's next step: its reasoning, or its thought. May be NULL. */
    void (*on_reply)(void *reply_ctx, str reasoning);
    void *ctx, *reply_ctx;
};

struct agent_ask agent_view_ask(struct agent_view *v);
/* The box's name of a tool whose name a model wrote; that name itself if no tool has it. */
str agent_view_tool_name(const struct agent_view *v, str written);
/* The one call of a reply in the form of react. */
void agent_view_call(const struct agent_view *v, str action, str input, struct arena *a,
                     struct ask_reply *reply);
