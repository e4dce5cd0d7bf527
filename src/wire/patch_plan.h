/* patch_plan.h - the parts of patching that all dialects share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/wire.h"

/* A body, the plan for it and the edits that carry the plan out. */
struct patch_plan {
    const struct json *doc;
    const struct json_node *root;
    const struct wire_plan *wish;
    struct json_edits *ed;
};

/* A member of the body that is not null, or NULL. */
const struct json_node *patch_find(const struct patch_plan *p, const char *key);
/* Sets a member of the body to a JSON value. */
void patch_set(const struct patch_plan *p, const char *key, str json);
/* Sets `model` and `stream` as the plan says. */
void patch_head(const struct patch_plan *p);
/* temperature and top_p: set where the body has none, removed where the provider refused them. */
void patch_sampling(const struct patch_plan *p);
/* Appends the plan's system_extra to a JSON string, after a blank line. */
void patch_append_system(const struct patch_plan *p, const struct json_node *text);
/* The same for a member of the body, which is added if it is not there or empty. */
void patch_system_member(const struct patch_plan *p, const char *name);
/* Merges the plan's `merge` deeply into the body. */
void patch_merge(const struct patch_plan *p);

/* The token budget for a level, and the level for a budget. */
int64_t wire_level_tokens(enum chat_level level);
enum chat_level wire_tokens_level(int64_t tokens);
/* The level as OpenAI names it: max is xhigh. */
const char *wire_level_effort(enum chat_level level);
