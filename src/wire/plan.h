/* plan.h - what the patchers of all dialects do alike with the gateway's plan.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/wire.h"

/* A body, the plan for it and the edits that come of it. */
struct plan {
    const struct json *doc;
    const struct json_node *root;
    const struct wire_plan *wish;
    struct json_edits *ed;
};

/* A member of the body that is not null, or NULL. */
const struct json_node *plan_find(const struct plan *p, const char *key);
/* Sets a member of the body to a JSON value. */
void plan_set(const struct plan *p, const char *key, str json);
/* `model` and `stream`, as the plan wants them. */
void plan_head(const struct plan *p);
/* temperature and top_p: set where the body has none, removed where the provider refused them. */
void plan_sampling(const struct plan *p);
/* A JSON string made longer by the plan's system_extra, a blank line before it. */
void plan_append_system(const struct plan *p, const struct json_node *text);
/* The plan's merge, deep into the body. */
void plan_merge(const struct plan *p);

/* What a level is in tokens, where none were told; and a level for tokens where none was told. */
int64_t plan_level_tokens(enum chat_level level);
enum chat_level plan_tokens_level(int64_t tokens);
/* A level in OpenAI's words, which have none above xhigh. */
const char *plan_effort(enum chat_level level);
