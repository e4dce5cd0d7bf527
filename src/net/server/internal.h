/* internal.h - shared by the files of the server: a connection and the exchange on it.
 *
 *     HEAD --whole head--> BODY --whole body--> ANSWER --end--> HEAD ...
 *                                                  \--upgrade--> SOCKET
 *     any --the last reply is written--> LINGER --the client closes--> CLOSED
 *
 * A connection is one struct for all its exchanges. A task frees it at the end of a round, so no
 * caller on the stack uses a freed one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/conn.h"
#include "net/gzip.h"
#include "net/http1_again.h"
#include "net/server.h"
#include "net/ws.h"

#include <netinet/in.h>

#define SERVER_KEEP_MAX 16384      /* largest buffer that is kept for the next request */
#define SERVER_LINGER_MS 2000      /* after the last received byte */
#define SERVER_LINGER_MS_MAX 30000 /* in total */
#define SERVER_FRESH_MS 1000       /* a drain's wait for a new connection's first request */
#define SERVER_BRIEF_MS 300        /* the same for a brief connection, while draining */
#define SERVER_LINGER_BYTES_MAX (64 << 20)

enum server_state { ST_HEAD, ST_BODY, ST_ANSWER, ST_SOCKET, ST_LINGER, ST_CLOSED };

struct server_listener {
    struct server_listener *next;
    struct server *server;
    struct loop_watch watch;
    struct loop_task task; /* there may be more to accept */
};

struct server {
    struct loop *loop;
    struct server_options o;
    const struct server_handler *handler;
    void *ctx;
    size_t (*on_refusal)(void *, const struct server_refusal *, struct server_header *);
    struct server_listener *listeners;
    struct server_exchange *first; /* all connections, also closed ones until they are freed */
    _Atomic size_t count;
    struct loop_timer sweep;
    uint64_t sweep_ms;
    uint64_t short_ns; /* when a descriptor was last unavailable */
    bool draining;
    struct loop_task idle_task;
    void (*on_idle)(void *);
    void *on_idle_ctx;
    uint64_t date_s; /* the loop's time at which the text below was written */
    char first_lines[64];
    struct gzip *gzip;      /* created on first use */
    struct buf out;         /* a head being written */
    struct http1_head head; /* a head being read */
    struct http1_again again;
    char peer[INET6_ADDRSTRLEN]; /* the text of the last server_peer */
};

struct server_large {
    struct http1_body framing;
    struct buf bytes;
    struct gzip_unpacker *unpacker; /* of the body; or NULL */
};

struct server_exchange {
    struct server *server;
    struct server_exchange *next, *prev;
    struct conn *conn;
    struct loop_task task;
    struct loop_task go; /* calls the handler with a complete request */
    int fd;
    enum server_state state;
    bool open;  /* the handshake is done */
    bool used;  /* it has had a request */
    bool brief; /* a drain does not wait until it has read its queue */
    bool keep;  /* keep the connection after this reply */
    bool head_sent, chunked, no_body;
    bool near;                  /* the peer is on this machine */
    bool local;                 /* over a Unix socket: `peer` is not set */
    uint64_t since_ns;          /* start of the state, or the last received byte */
    uint64_t sent, sent_ns;     /* bytes the client has read, and when that was noticed */
    struct buf in;              /* bytes of an incomplete head, or of waiting requests */
    size_t scanned;             /* bytes of it without the end of a head */
    struct http1_head *request; /* NULL: none, or it was dropped */
    const char *head;           /* its bytes, in the arena; NULL: no request */
    struct server_large *large; /* a body that is not in the arena; NULL: there was none yet */
    uint64_t linger_ns;         /* when lingering began */
    uint32_t lingered;          /* bytes discarded */
    uint16_t request_size;      /* of the memory of `request` */
    bool ended;                 /* the client sends no more */
    uint32_t head_size;         /* of its bytes */
    str body;
    struct arena arena;
    void *user;
    struct server_ws *ws;
    struct in6_addr peer; /* the client's address; of IPv4 the mapped one */
};

uint64_t server_now(const struct server_exchange *x);

/* read.c */
extern const struct conn_handler server_conn_handler;
void server_take(struct server_exchange *x, str bytes);
void server_take_waiting(struct server_exchange *x);
void server_go(void *ctx); /* a task */
/* Copies the server's head, with as many fields as it has, to x->request. */
void server_read_copy_head(struct server_exchange *x);
void server_read_free_head(struct server_exchange *x);
void server_read_free_large(struct server_exchange *x);

/* reply.c: replies with an error of the server and closes the connection. */
void server_refuse(struct server_exchange *x, int status, const char *why);

/* life.c */
void server_exchange_add(struct server *s, int fd, const struct sockaddr_storage *from);
/* The reply is written: continues with the next request, or closes. */
void server_exchange_end(struct server_exchange *x);
/* Sends the queue and discards input until the client closes. */
void server_exchange_linger(struct server_exchange *x);
void server_exchange_close(struct server_exchange *x);
/* The client has disconnected: calls on_gone if a handler is at work. */
void server_exchange_gone(struct server_exchange *x);

/* socket.c */
void server_ws_feed(struct server_exchange *x, str bytes);
void server_ws_gone(struct server_exchange *x, int code);
void server_ws_sweep(struct server_exchange *x, uint64_t now_ns);
void server_ws_room(struct server_exchange *x);
void server_ws_free(struct server_exchange *x);
