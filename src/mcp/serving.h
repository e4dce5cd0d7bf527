/* serving.h - what the two transports and the core of the server share.
 *
 * Within src/mcp only. A transport reads a message and hands it to the core with a channel; the
 * core sends notes on it and ends it with the reply, at once or later. A session is what initialize
 * began; requests of the modern era have none.
 *
 *     struct mcp_channel: send... , then end; or mcp_gone if the client left
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/clock.h"
#include "base/map.h"
#include "base/rand.h"
#include "base/schema.h"
#include "base/sha256.h"
#include "mcp/header.h"
#include "mcp/rpc.h"
#include "mcp/server.h"

#define MCP_SESSIONS_MAX 1000
#define MCP_SUBSCRIPTIONS_MAX 1000 /* resources of one session or listener */
#define MCP_TURNS_MAX 1000         /* of one session that wait for the client */
#define MCP_STATE_MS 600000        /* how long a state is good */

/* Embedded in what the transport keeps for a request. */
struct mcp_channel {
    void (*send)(struct mcp_channel *c, str json);            /* a notification, or a request */
    void (*end)(struct mcp_channel *c, int status, str json); /* the channel is no more */
    const void *who;                                          /* asks: as `allowed` said */
};

/* A request that waits: for what the client is asked (legacy), or for changes (listen). */
struct mcp_turn {
    struct mcp_channel *channel;
    struct mcp_session *session; /* NULL for a listener */
    str id, method;
    str params; /* JSON */
    /* Of what is asked of the client: */
    struct arena arena;
    struct buf inputs; /* members of inputResponses so far */
    str state;
    struct mcp_question {
        str key, id;
        bool answered;
    } * questions;
    size_t question_count, unanswered;
    /* Of a listener: */
    unsigned changes;
    str *uris;
    size_t uri_count;
    struct mcp_turn *next;
};

struct mcp_session {
    char id[RAND_ID_SIZE];
    const char *version;
    unsigned caps;
    enum mcp_level level;
    struct mcp_channel *stream; /* for what belongs to no request; or NULL */
    struct mcp_turn *turns;
    uint64_t asked; /* ids given out */
    uint64_t used_ns;
    struct arena arena; /* of the subscriptions */
    struct map subscriptions;
    struct mcp_session *next;
};

struct mcp_ready_tool {
    const struct mcp_tool *tool;
    void *ctx;
    struct schema *schema; /* or NULL */
    struct mcp_mirrors mirrors;
};

struct mcp_server {
    struct mcp_server_options o;
    const struct clock *clock;
    struct arena arena;
    struct mcp_ready_tool *tools;
    size_t tool_count;
    bool prompts, resources, changes, logs, completes; /* what some set has */
    struct mcp_turn *listeners;
    struct mcp_session *sessions;
    size_t session_count;
    _Atomic unsigned pending; /* changes to tell of */
    struct mcp_hands *hands;  /* tools run there; NULL: here, one at a time */
    struct rand_ids ids;
    uint8_t key[SHA256_SIZE]; /* of states */
};

/* One request on its way: what a method's function gets. */
struct mcp_answer {
    struct mcp_server *server;
    struct mcp_session *session; /* NULL: modern */
    struct mcp_channel *channel;
    const struct json *doc;
    const struct mcp_message *message;
    struct arena *arena;
    str id;
    unsigned caps;
    enum mcp_level level;
    str progress;      /* the token as JSON, or empty */
    struct buf items;  /* joined by commas */
    struct buf inputs; /* members of inputRequests */
    size_t input_count;
    str *keys; /* of the inputs, in the arena */
    str structured, state;
    bool is_error;
    unsigned lacking;      /* capabilities that were asked for and are not there */
    struct mcp_turn *turn; /* that is being run again, or NULL */
};

/* ---- core, for the transports ---- */

/* A request, or what was read of one, with what era it is: session NULL is modern. Ends the channel
 * now or later. */
void mcp_take(struct mcp_server *s, struct mcp_session *session, const struct json *doc,
              const struct mcp_message *m, struct mcp_channel *c);
/* A notification or a reply of the client, which gets no answer. */
void mcp_hear(struct mcp_server *s, struct mcp_session *session, const struct json *doc,
              const struct mcp_message *m);
/* The client left: nothing is sent there any more. */
void mcp_gone(struct mcp_server *s, struct mcp_channel *c);
/* On stdio: the request of this id is not wanted any more, in either era. */
void mcp_cancel(struct mcp_server *s, struct mcp_session *session, str id);

/* A session of its own for initialize; the oldest one goes if there are too many. */
struct mcp_session *mcp_session_new(struct mcp_server *s);
struct mcp_session *mcp_session_find(struct mcp_server *s, str id);
void mcp_session_end(struct mcp_server *s, struct mcp_session *session);

/* Whether the message is of the modern era, by what it carries itself. */
bool mcp_is_modern(const struct json *doc, const struct mcp_message *m);
/* The fault of a modern request's _meta, if it has one; then it is answered and false comes back.
 */
bool mcp_check_meta(struct mcp_server *s, const struct json *doc, const struct mcp_message *m,
                    struct mcp_channel *c) MUST_USE;

/* ---- tools on threads of their own: server_hands.c ---- */

struct loop;
struct mcp_hands *mcp_hands_new(struct mcp_server *s, struct loop *loop);
/* Waits for what runs; what waits is not run. */
void mcp_hands_free(struct mcp_hands *h);
/* A call that was checked; false if there are too many. */
bool mcp_hands_take(struct mcp_hands *h, const struct mcp_answer *r,
                    const struct mcp_ready_tool *t) MUST_USE;
void mcp_hands_gone(struct mcp_hands *h, const struct mcp_channel *c); /* NULL: nothing */
size_t mcp_hands_count(const struct mcp_hands *h);

/* ---- between the files of the core ---- */

/* What the client said before, checked; false if that was answered with an error. */
bool mcp_open_ask(struct mcp_answer *r, struct mcp_ask *ask) MUST_USE;
/* What was said goes out, in the way of the client's era; items: "content" and the like. */
void mcp_finish(struct mcp_answer *r, const char *items);

/* To start with: server, session (or NULL), channel, doc, message, arena are set. */
void mcp_answer_init(struct mcp_answer *r);
void mcp_answer_release(struct mcp_answer *r);
/* The reply of a list or the like: a JSON object without its closing brace; modern results get
 * their type here, and those that may be cached say so. */
void mcp_reply(struct mcp_answer *r, struct buf *result, bool cached);
void mcp_reply_error(struct mcp_answer *r, int status, int code, str text, str data);

void mcp_list_tools(struct mcp_answer *r);
void mcp_list_prompts(struct mcp_answer *r);
void mcp_list_resources(struct mcp_answer *r);
void mcp_list_templates(struct mcp_answer *r);
void mcp_do_call(struct mcp_answer *r);
void mcp_do_prompt(struct mcp_answer *r);
void mcp_do_read(struct mcp_answer *r);
void mcp_do_listen(struct mcp_answer *r);
void mcp_put_capabilities(const struct mcp_server *s, bool modern, struct json_out *o);
void mcp_tell_changes(struct mcp_server *s);
const struct mcp_ready_tool *mcp_tool_find(const struct mcp_server *s, str name);
void mcp_turn_free(struct mcp_turn *t);
/* What the client said to what was asked of it. */
void mcp_turn_answer(struct mcp_server *s, struct mcp_session *session, const struct json *doc,
                     const struct mcp_message *m);
/* The state for the client to carry, and back; the latter false if it is not ours, or too old. */
str mcp_state_seal(const struct mcp_answer *r, str name, str state);
bool mcp_state_open(const struct mcp_answer *r, str name, str sealed, str *state) MUST_USE;
/* Before the state of what: "tools/call NAME". */
str mcp_run_name(const struct mcp_answer *r);
