/* client_state.h - shared by the files of the client.
 *
 * Within src/mcp only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "mcp/client.h"
#include "mcp/header.h"
#include "mcp/pipe.h"
#include "mcp/rpc.h"

#define MCP_SESSION_MAX 4096 /* an id may be a signed token */
/* Room in the caller's arena beside the replies: ids, challenges, copies of marked arguments. */
#define MCP_ARENA_ROOM ((size_t)1 << 20)
#define MCP_CLIENT_INFO "{\"name\":\"rationale\",\"version\":\"" RATIONALE_VERSION "\"}"

/* A cached tool. */
struct mcp_known_tool {
    struct mcp_tool_info info;
    struct mcp_mirrors mirrors;
    struct schema *output; /* or NULL */
};

/* The tools of one listing, by name. */
struct mcp_known_tools {
    struct arena arena; /* of all texts */
    struct mcp_known_tool *at;
    size_t n;
};

struct mcp_listener;

struct mcp_client {
    struct mcp_io *io;
    struct mcp_client_options o;
    struct mcp_auth *auth; /* or NULL */
    _Atomic uint64_t ids;

    pthread_mutex_t connecting; /* one thread at a time */
    pthread_mutex_t lock;       /* protects the members below */
    enum mcp_era era;
    bool ready;
    char version[32];
    char session[MCP_SESSION_MAX];
    unsigned session_number; /* of sessions so far */
    struct mcp_pipe *pipe;
    unsigned users; /* calls that use the pipe */
    uint64_t restarts_ns[MCP_RESTARTS_MAX];
    struct mcp_listener *listener; /* or NULL; belongs to the connecting thread */
    bool tells_changes;            /* a modern server reports changes */

    pthread_mutex_t listing; /* protects the tools; held while the server lists them */
    bool listed;
    uint64_t fresh_until_ns;
    _Atomic bool stale; /* the server reported a change */

    /* Read with either lock, replaced with both, so that a finished call can check its result while
     * another thread waits for a list. */
    pthread_mutex_t knowing;
    struct mcp_known_tools known;
};

/* One request until its reply; requests of the server in between are answered. */
struct mcp_exchange {
    str method, params; /* params with _meta */
    str name;           /* for Mcp-Name, or empty */
    const struct mcp_mirrors *mirrors;
    str arguments;               /* the arguments, which have the mirrored values */
    str id;                      /* as JSON */
    uint64_t idle_ms;            /* without activity */
    uint64_t end_ns;             /* the latest time at which it ends */
    const struct mcp_call *call; /* for progress, or NULL */
    const _Atomic bool *cancel;  /* or NULL */
    struct arena *arena;
    bool unsent;             /* it cannot have reached the server */
    unsigned session_number; /* number of the session in which it was sent */
    /* The reply: */
    int status; /* the HTTP status; 200 on stdio */
    bool is_error;
    bool too_large; /* the reply does not fit into the arena */
    int64_t code;
    str text, data; /* of an error */
    str result;     /* JSON */
};

/* ---- between the files ---- */

/* Sends it with a new id and the _meta of the era. */
bool mcp_exchange_new(struct mcp_client *c, struct mcp_exchange *x, str params,
                      struct err *e) MUST_USE;
/* Whether the array under the key has the version. */
bool mcp_lists_version(str json, str key, str version);
bool mcp_exchange_pipe(struct mcp_client *c, struct mcp_exchange *x, struct err *e) MUST_USE;
bool mcp_exchange_http(struct mcp_client *c, struct mcp_exchange *x, struct err *e) MUST_USE;
/* Writes the headers of every request; returns the token's number. */
unsigned mcp_put_common(struct mcp_client *c, struct buf *b);
/* Starts the HTTP stream for messages that belong to no call. */
void mcp_listen_start(struct mcp_client *c);
void mcp_listen_stop(struct mcp_client *c);
/* Sends a notification, or a reply to a request of the server. */
bool mcp_notify(struct mcp_client *c, str json, str method, uint64_t deadline_ns,
                const _Atomic bool *cancel, struct err *e) MUST_USE;
/* Handles a message on the stream of a call: its reply (then true), a notification or a request. */
bool mcp_handle(struct mcp_client *c, struct mcp_exchange *x, str json, uint64_t *deadline_ns);
/* Handles a message that belongs to no call. */
void mcp_on_other(void *ctx, str line);
/* Answers a request of the server. */
void mcp_answer_server(struct mcp_client *c, const struct json *doc, const struct mcp_message *m,
                       struct buf *out);
/* The result of one of the requests a server may make, as JSON. */
bool mcp_fulfil(struct mcp_client *c, str method, str params, struct buf *result,
                struct err *e) MUST_USE;
void mcp_put_client_capabilities(const struct mcp_client *c, struct buf *b);
/* Writes params, a JSON object, with the _meta of the era added. */
void mcp_put_params(struct mcp_client *c, str params, str id, struct buf *b);
bool mcp_ready(struct mcp_client *c, uint64_t end_ns, const _Atomic bool *cancel,
               struct err *e) MUST_USE;
uint64_t mcp_deadline(uint64_t idle_ms, uint64_t end_ns);
/* Called between messages: while messages keep coming, nobody waits, so no wait can time out. */
bool mcp_in_time(uint64_t deadline_ns, struct err *e) MUST_USE;
/* Takes the lock, which another thread may hold while it waits for the server. */
bool mcp_lock_until(pthread_mutex_t *lock, uint64_t deadline_ns, const _Atomic bool *cancel,
                    struct err *e) MUST_USE;
/* Takes the pipe, or NULL, when no call uses it any more. */
struct mcp_pipe *mcp_client_take_pipe(struct mcp_client *c) MUST_USE;
/* Sends a request to a connected server, and repeats it where the protocol requires: other
 * versions, expired sessions, requests to the client. */
bool mcp_ask(struct mcp_client *c, struct mcp_exchange *x, str params, struct err *e) MUST_USE;
const struct mcp_known_tool *mcp_known_find(const struct mcp_client *c, str name);
void mcp_known_init(struct mcp_known_tools *k);
void mcp_known_release(struct mcp_known_tools *k);
