/* registry.h - versions of prompts: their texts never change, people move them from state to state.
 *
 *     struct registry *r;
 *     if (!registry_open(config->store_url, clock, &r, e)) ...
 *     if (!registry_put(r, &(struct prompt_new){.name = STR("policy"), .components = json, ...},
 *                       &arena, &id, e)) ...                   "policy@1f3a5c7e9b2d", a draft
 *     if (!registry_move(r, id, PROMPT_APPROVED, who, e)) ...  and then PROMPT_ACTIVE
 *     registry_in_force(r, &built_in, &arena, &prompt);        the version to use now
 *     registry_close(r);
 *
 * A version is a map from component (system_prompt, a tool's name) to text. Its id is its name and
 * the front of the digest of that map, so the same texts are the same version, wherever they were
 * made, and an id says for good which texts were used. The compiled-in texts have such an id as
 * well.
 *
 *     draft -> approved -> active -> retired        each step by a person, or on behalf of one
 *     draft, approved -> retired                    refused, or no longer wanted
 *     retired -> active                             back to one that was approved once: a rollback
 *
 * Of a name at most one version is active; making another one active retires it in the same
 * transaction. If no version is active, the compiled-in texts are in force, so retiring the active
 * one is a rollback too. Several processes may work on one store: changes by another process are
 * seen within REGISTRY_FRESH_MS.
 *
 * Any thread may call any of this. Returned texts are in the caller's arena.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "store/store.h"

#define REGISTRY_FRESH_MS 250
#define PROMPT_NAME_MAX 64
#define PROMPT_COMPONENTS_MAX 64
#define PROMPT_SIZE_MAX ((size_t)1 << 20) /* of all texts of a version */
#define PROMPT_ID_SIZE (PROMPT_NAME_MAX + 14)
#define PROMPT_LIST_MAX 10000

enum prompt_state { PROMPT_DRAFT, PROMPT_APPROVED, PROMPT_ACTIVE, PROMPT_RETIRED };

const char *prompt_state_name(enum prompt_state s);

struct prompt {
    str id, name;
    str components; /* JSON object, its members sorted */
    enum prompt_state state;
    bool built_in;              /* compiled in: not in the tables */
    str parent, run_id, scores; /* the version it was made from, by which run; scores: JSON; or
                                 * "" */
    str created_by, approved_by, moved_by;
    int64_t created_us, approved_us, moved_us; /* approved_us 0: never */
};

/* The compiled-in texts. */
struct prompt_part {
    const char *name, *text;
};
struct prompt_built_in {
    const char *name;
    const struct prompt_part *parts;
    size_t count;
};

struct prompt_new {
    str name, components; /* a JSON object of texts */
    str parent, run_id, scores, who;
};

struct registry;

/* "none" stores nothing: a put fails, and the compiled-in texts are in force. */
bool registry_open(str url, const struct clock *clock, struct registry **out,
                   struct err *e) MUST_USE;
/* Only to read, also in a folder that may not be written. A missing store is as "none". */
bool registry_open_read(str url, struct registry **out, struct err *e) MUST_USE;
void registry_close(struct registry *r); /* NULL: nothing */
/* Moves are written to the audit log of this store from now on; lent. */
void registry_audit(struct registry *r, struct store *s);

/* A draft, or the version that is there already with these texts. */
bool registry_put(struct registry *r, const struct prompt_new *p, struct arena *a, str *id,
                  struct err *e) MUST_USE;
/* ERR_NOT_FOUND if no version has the id. */
bool registry_get(struct registry *r, str id, struct arena *a, struct prompt *out,
                  struct err *e) MUST_USE;
/* ERR_NOT_FOUND if none of that name is active. */
bool registry_active(struct registry *r, str name, struct arena *a, struct prompt *out,
                     struct err *e) MUST_USE;
/* The newest version that is approved and not active: the candidate of an A/B test. */
bool registry_candidate(struct registry *r, str name, struct arena *a, struct prompt *out,
                        struct err *e) MUST_USE;
/* The newest first; of one name, or of all if that is empty. Without their components: those of all
 * versions may take gigabytes. */
bool registry_list(struct registry *r, str name, struct arena *a, struct prompt **out, size_t *n,
                   struct err *e) MUST_USE;
/* ERR_INPUT: no step leads from its state to that one. Its own state is accepted. */
bool registry_move(struct registry *r, str id, enum prompt_state to, str who,
                   struct err *e) MUST_USE;

/* The active version, else the compiled-in texts, also if the store fails (which is logged). r
 * may be NULL. */
void registry_in_force(struct registry *r, const struct prompt_built_in *b, struct arena *a,
                       struct prompt *out);
/* The texts in canonical form, and their id. ERR_INPUT: the texts are invalid. */
bool prompt_settle(str name, str components, struct arena *a, str *canonical, str *id,
                   struct err *e) MUST_USE;
void prompt_built_in(const struct prompt_built_in *b, struct arena *a, struct prompt *out);

/* The text of a component, in the arena; the compiled-in one if the version does not have it (b
 * may be NULL), else "". */
str prompt_text(const struct prompt *p, const struct prompt_built_in *b, const char *component,
                struct arena *a);
void prompt_write(const struct prompt *p, bool components, struct json_out *o);
