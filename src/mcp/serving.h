/* serving.h - shared by the two transports and the core of the server.
 *
 * Within src/mcp only. A transport reads a message and passes it to the core with a channel. The
 * core sends notifications on the channel and ends it with the reply, at once or later. A session
 * begins with initialize; requests of the modern era have none.
 *
 *     struct mcp_channel: send... , then end; or mcp_gone if the client left
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/map.h"
#include "base/rand.h"
#include "base/schema.h"
#include "base/sha256.h"
#include "mcp/header.h"
#include "mcp/rpc.h"
#include "mcp/server.h"

#define MCP_SESSIONS_MAX 1000
#define MCP_SUBSCRIPTIONS_MAX 1000 /* resources that one session or listener subscribes to */
#define MCP_TURNS_MAX 1000         /* requests of one session that wait for the client */
#define MCP_STATE_MS 600000        /* how long a state is valid */

/* Embedded in the transport's struct of a request. */
struct mcp_channel {
    void (*send)(struct mcp_channel *c, str json);            /* a notification, or a request */
    void (*end)(struct mcp_channel *c, int status, str json); /* frees the channel */
    void (*end_cancelled)(struct mcp_channel *c);             /* the same without a reply */
    const void *who;                                          /* the caller, from `allowed` */
};

/* A waiting request: for the client's input (legacy), or for changes (listen). */
struct mcp_turn {
    struct mcp_channel *channel;
    struct mcp_session *session; /* NULL for a listener */
    str id, method;
    str params; /* JSON */
    /* Of a request to the client: */
    struct arena arena;
    struct buf inputs; /* answers so far, as members of inputResponses */
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
    const void *who; /* the caller that began it, from `allowed` */
    const char *version;
    unsigned caps;
    enum mcp_level level;
    struct mcp_channel *stream; /* for messages that belong to no request; or NULL */
    struct mcp_turn *turns;
    uint64_t asked; /* number of ids used so far */
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
    bool prompts, resources, changes, logs, completes; /* features of the sets */
    struct mcp_turn *listeners;
    struct mcp_session *sessions;
    size_t session_count;
    _Atomic unsigned pending; /* changes to report */
    struct mcp_hands *hands;  /* the threads of tools; NULL: on this thread, one at a time */
    struct rand_ids ids;
    uint8_t key[SHA256_SIZE]; /* signs states */
};

/* One request in progress, for the functions of methods. */
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
    struct buf items;  /* JSON, joined by commas */
    struct buf inputs; /* members of inputRequests */
    size_t input_count;
    str *keys; /* of the inputs, in the arena */
    str structured, state;
    bool is_error;
    unsigned lacking;      /* required capabilities that the client lacks */
    struct mcp_turn *turn; /* the request that is resumed, or NULL */
};

/* ---- core, for the transports ---- */

/* Handles a request; session NULL: the modern era. Ends the channel now or later. */
void mcp_take(struct mcp_server *s, struct mcp_session *session, const struct json *doc,
              const struct mcp_message *m, struct mcp_channel *c);
/* Handles a notification or a reply of the client, which get no reply. */
void mcp_hear(struct mcp_server *s, struct mcp_session *session, const struct json *doc,
              const struct mcp_message *m);
/* The client has disconnected: nothing is sent on the channel any more. */
void mcp_gone(struct mcp_server *s, struct mcp_channel *c);
/* Cancels the request with this id: of the session, or of the modern era if it is NULL. A tool that
 * runs already runs to its end, and its result is dropped. */
void mcp_cancel(struct mcp_server *s, struct mcp_session *session, str id);

/* A new session for initialize; drops the oldest one if there are too many. */
struct mcp_session *mcp_session_new(struct mcp_server *s, const void *who);
/* The session with this id, only for the caller that began it. */
struct mcp_session *mcp_session_find(struct mcp_server *s, str id, const void *who);
void mcp_session_end(struct mcp_server *s, struct mcp_session *session);

/* Whether the message itself shows that it is of the modern era. */
bool mcp_is_modern(const struct json *doc, const struct mcp_message *m);
/* Checks the _meta of a modern request; false after an error reply.
 */
bool mcp_check_meta(const struct json *doc, const struct mcp_message *m,
                    struct mcp_channel *c) MUST_USE;

/* ---- headers of HTTP: server_headers.c ---- */

struct http1_head;
/* NULL, or what is wrong with the headers of a modern request. */
const char *mcp_check_headers(const struct mcp_server *s, const struct http1_head *head,
                              const struct json *doc, const struct mcp_message *m, struct arena *a);

/* ---- tools on threads: server_hands.c ---- */

struct loop;
struct mcp_hands *mcp_hands_new(struct mcp_server *s, struct loop *loop);
/* Waits for running tools; waiting ones are not run. */
void mcp_hands_free(struct mcp_hands *h);
/* Takes a checked call; false if there are too many. */
bool mcp_hands_take(struct mcp_hands *h, const struct mcp_answer *r,
                    const struct mcp_ready_tool *t) MUST_USE;
void mcp_hands_gone(struct mcp_hands *h, const struct mcp_channel *c); /* NULL is allowed */
/* NULL is allowed. */
void mcp_hands_cancel(struct mcp_hands *h, const struct mcp_session *session, str id);
size_t mcp_hands_count(const struct mcp_hands *h);

/* ---- between the files of the core ---- */

/* Reads and checks the client's earlier replies; false after an error reply. */
bool mcp_open_ask(struct mcp_answer *r, struct mcp_ask *ask) MUST_USE;
/* Sends the answer in the form of the client's era; items: "content" or another member. */
void mcp_finish(struct mcp_answer *r, const char *items);

/* Before it, set server, session (or NULL), channel, doc, message and arena. */
void mcp_answer_init(struct mcp_answer *r);
void mcp_answer_release(struct mcp_answer *r);
/* Replies with a list or another JSON object without its closing brace; adds the type of modern
 * results, and whether they may be cached. */
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
void mcp_put_capabilities(const struct mcp_server *s, struct json_out *o);
void mcp_notify_changes(struct mcp_server *s);
const struct mcp_ready_tool *mcp_tool_find(const struct mcp_server *s, str name);
void mcp_turn_free(struct mcp_turn *t);
/* Handles the client's reply to a request. */
void mcp_turn_answer(struct mcp_server *s, struct mcp_session *session, const struct json *doc,
                     const struct mcp_message *m);
/* Signs the state for the client, and verifies it; false if it is not ours or too old. */
str mcp_state_seal(const struct mcp_answer *r, str name, str state);
bool mcp_state_open(const struct mcp_answer *r, str name, str sealed, str *state) MUST_USE;
/* The name that a state is bound to: "tools/call NAME". */
str mcp_run_name(const struct mcp_answer *r);
