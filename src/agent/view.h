/* view.h - a run as its model sees it: by the strategy, with results of tools between marks.
 *
 *     struct agent_view view = {.ask = agent_ask_gateway(gl), .strategy = AGENT_REACT,
 *                               .tools = box};
 *     agent_run(&(struct agent_options){.ask = agent_view_ask(&view), ...})
 *
 * The loop and its log know only function calls, whatever the strategy. On its way to the model a
 * request is rewritten, and the reply is turned back into calls:
 *
 *   native   the provider's function calling; calls that a model writes as markup count too
 *   react    text: Thought, Action, Action Input, and results as observations; one call at a time
 *   classic  text: one JSON object with the calls to make, any number at once, or with the answer
 *
 * In all of them results stand between marks (data.h), share data_size bytes of the prompt, and the
 * system prompt has the rule about them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/run.h"

#define AGENT_DATA_SIZE ((size_t)64 << 10)

enum agent_strategy { AGENT_NATIVE, AGENT_REACT, AGENT_CLASSIC };

/* Lent as long as the run. */
struct agent_view {
    struct agent_ask ask; /* who answers */
    enum agent_strategy strategy;
    size_t data_size;      /* bytes of results in one request; 0: AGENT_DATA_SIZE */
    struct toolbox *tools; /* by which names that a model wrote are found */
    bool own_prompt;       /* the prompts have the rule and the form of the strategy already */
    /* The name in the box of what a model wrote; NULL: the one in the box that is called so. */
    bool (*find_tool)(void *ctx, str written, str *name);
    /* Why the model does what it does next: its reasoning, or its thought. May be NULL. */
    void (*on_reply)(void *ctx, str reasoning);
    void *ctx;
};

struct agent_ask agent_view_ask(struct agent_view *v);
