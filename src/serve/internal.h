/* internal.h - what the files of serve share.
 *
 *   serve.c      the process: threads, signals, reload, drain
 *   drain.c      the end of the loops
 *   listen.c     sockets: our own, or systemd's
 *   routes.c     the table: method, path, who answers
 *   exchange.c   one request: who asks, what for, the reply's head
 *   chat.c       model calls in any dialect
 *   models.c     lists of models; agent_model.c agents as models; count.c count_tokens; passed.c
 *                a provider's headers
 *   page.c       the dashboard, for a browser
 *   status.c     health, readiness, metrics
 *   api.c        what the routes under /api/v1 have in common: errors, headers, who may
 *   params.c     what stands behind the question mark; work.c threads that read the record
 *   history.c    sessions, calls, decisions: questions to the record; history_export.c
 *   threads.c    threads of agents; runs.c their runs; apps.c the routes of the applications
 *   login.c      a key shown once, then a cookie; admin.c providers, levels, keys, openapi.json
 *   live*.c      calls as they run, by WebSocket and as a stream: see live.h
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/app.h"
#include "base/log.h"
#include "gateway/call.h"
#include "gateway/gateway.h"
#include "net/server.h"
#include "serve/passed.h"
#include "serve/previous_response.h"
#include "serve/serve.h"

/* One loop and its thread. */
struct worker {
    struct gateway_loop gl;
    struct server *server;
    struct resolver *resolver;
    struct daemon *daemon;
    pthread_t thread;
    struct loop_task drain, cut;
    struct loop_timer look;   /* whether it is done, while draining */
    struct loop_timer health; /* of the first: whether there is news for who watches */
    const char *health_word;
    uint64_t health_ns;
    struct loop_task log_out; /* at the end of a round: its lines of the access log */
    struct log_batch log;
    struct buf words; /* of a header being made */
    char refusal_id[RAND_ID_SIZE];
    size_t jobs; /* questions to the record that are under way */
};

struct daemon {
    struct gateway gateway;
    struct worker *workers;
    unsigned worker_count;
    _Atomic bool draining;
    struct tls *tls_client, *tls_server;
    struct resolver *resolver;
    struct log *log;
    str questions;        /* lent, or empty */
    pthread_mutex_t lock; /* of working */
    pthread_cond_t ended;
    unsigned working;        /* threads of workers */
    struct work *work;       /* NULL: nothing is on record */
    struct threads *threads; /* of agents; likewise */
    struct agent_log *runs;  /* likewise */
    struct apps *apps;
    struct work *hands;      /* threads that answer for the applications */
    _Atomic bool leave;      /* runs are to stop where they are */
    _Atomic bool apps_ended; /* nothing of the applications runs any more */
    pthread_t closer;
    struct login *login;
    int64_t started_ms;
    const char *listen_flag; /* or NULL */
};

struct exchange;

struct route {
    const char *method;
    const char *path;          /* a trailing '*' takes the rest */
    enum chat_dialect dialect; /* of its errors and, for calls, of the request */
    bool open;                 /* no key is needed */
    void (*handle)(struct exchange *ex);
};

/* The request at hand; in the exchange's arena. */
struct exchange {
    struct server_exchange *x;
    struct worker *worker;
    const struct route *route;
    const struct wire *wire;
    struct setup *setup; /* held */
    const struct config_key *key;
    str id, rest;               /* rest: what the route's '*' stands for */
    uint64_t start_ns, last_ns; /* last: when the client was told something */
    int status;
    size_t header_count;
    struct exchange_passed passed;
    /* Of a model call. */
    struct json doc;
    struct chat_request request;
    struct call *call;
    struct wire_encoder encoder;
    struct buf out;
    bool encoding, headed, failed, ended, unrecorded;
    struct exchange_previous previous;
    bool last, called; /* what is in out waits for the end; a call was made, and is counted */
    struct loop_task start;
    struct loop_timer keepalive;
    bool api, by_cookie; /* a route of the history API; who asks is known by a cookie */
    /* When the client leaves, and when more may be written. */
    void (*on_gone)(struct exchange *ex);
    void (*on_room)(struct exchange *ex);
    void *job;
    struct app_match app;            /* of a route of an application */
    const struct app_call *app_call; /* of a model call that one answers; or NULL */
    /* Not zeroed with the rest. */
    struct server_header headers[SERVE_HEADERS_MAX]; /* of the reply: header_count of them */
    struct chat_error error;                         /* once it has failed */
};

const struct route *route_find(str method, str path, str *rest, bool *path_known); /* or NULL */
str route_methods(str path, struct arena *a);
enum chat_dialect route_dialect(str path); /* of who asks for it, whether it is there or not */

/* exchange.c */
extern const struct server_handler exchange_handler;
/* What the server refuses by itself has an id too, and is logged and counted. */
size_t exchange_refusal(void *ctx, const struct server_refusal *r, struct server_header *out);
void exchange_header(struct exchange *ex, str name, str value);
/* A whole reply, and the end of the exchange. */
void exchange_reply(struct exchange *ex, int status, str type, str body);
void exchange_error(struct exchange *ex, const struct chat_error *error);
void exchange_fail(struct exchange *ex, int status, const char *code, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* What is left when the reply has gone out: the access log, and all that was held. */
void exchange_done(struct exchange *ex);
/* Of a Host header: without its port and brackets. */
str exchange_host(str host);
/* Whether a page of another site asks; loopback: also one by a name that is not this machine's. */
bool exchange_from_elsewhere(const struct http1_head *h, bool loopback);
/* What the header x-rationale-reasoning says. */
enum config_show exchange_reasoning_asked(const struct http1_head *h);
bool exchange_reasoning_valid(struct exchange *ex) MUST_USE; /* false: it was answered with 400 */
/* Parses the body as JSON; false after answering 400. */
bool exchange_json(struct exchange *ex) MUST_USE;

/* api.c: whether a path is of the API; the headers all its replies have; an error in its words. */
bool api_path(str path);
void api_protect(struct exchange *ex);
void api_error(const struct chat_error *error, struct buf *out);
/* False after a refusal: a page of another site, or by another name than this machine's. */
bool api_allowed(struct exchange *ex) MUST_USE;
/* Whether this key may see all and change things. */
bool api_operator(const struct exchange *ex);

/* history.c, history_export.c */
void sessions_handle(struct exchange *ex);
void session_handle(struct exchange *ex); /* and what stands behind its id */
void interaction_handle(struct exchange *ex);
void decisions_handle(struct exchange *ex);
void search_handle(struct exchange *ex);
void active_handle(struct exchange *ex);
void filter_options_handle(struct exchange *ex);
void history_metrics_handle(struct exchange *ex);
void history_health_handle(struct exchange *ex);
void history_kept_handle(struct exchange *ex);
void usage_handle(struct exchange *ex);
void reasoning_handle(struct exchange *ex);
void export_handle(struct exchange *ex);
void session_export(struct exchange *ex, str id);

/* history_erase.c */
void session_delete_handle(struct exchange *ex);
void erase_handle(struct exchange *ex);
void audit_handle(struct exchange *ex);
void audit_verify_handle(struct exchange *ex);

/* threads.c: what stands behind a thread's id, and all checkpoints */
void thread_get_handle(struct exchange *ex);
void thread_put_handle(struct exchange *ex);
void thread_post_handle(struct exchange *ex);
void thread_delete_handle(struct exchange *ex);
void checkpoints_handle(struct exchange *ex);

/* runs.c: all runs, and what stands behind the id of one */
void runs_handle(struct exchange *ex);
void run_get_handle(struct exchange *ex);
void run_post_handle(struct exchange *ex);
/* apps.c: the applications, open before the loops run and closed while they still do. */
bool apps_begin(struct daemon *d, struct err *e) MUST_USE;
void apps_end(struct daemon *d);      /* begins to; apps_ended says when it is done */
void apps_end_wait(struct daemon *d); /* after the loops */
extern const struct route apps_any;   /* the route of all that they have */

/* admin.c, admin_system.c */
void providers_handle(struct exchange *ex);
void levels_handle(struct exchange *ex);
void keys_handle(struct exchange *ex);
void system_handle(struct exchange *ex);
void openapi_handle(struct exchange *ex);

/* login.c */
struct login *login_new(const struct clock *clock);
void login_free(struct login *l); /* NULL: nothing */
/* The digest of the key that a cookie stands for; false if it stands for none. */
bool login_find(struct login *l, str cookies, uint8_t sha256[32]) MUST_USE;
void login_handle(struct exchange *ex), logout_handle(struct exchange *ex);

/* chat.c */
void chat_handle(struct exchange *ex);
void gemini_handle(struct exchange *ex);
void chat_room(struct exchange *ex);

/* page.c: the page of every address of the dashboard, the root among them, and its files. */
void page_handle(struct exchange *ex);
void root_handle(struct exchange *ex);
void page_file_handle(struct exchange *ex);

/* models.c, count.c, status.c */
/* Whether its key allows this model. */
bool exchange_may_use(const struct exchange *ex, str model);
/* What the route's '*' stands for, %XX undone. */
str exchange_rest(struct exchange *ex);
void models_handle(struct exchange *ex), model_handle(struct exchange *ex);
void gemini_models_handle(struct exchange *ex), gemini_model_handle(struct exchange *ex);
void ollama_tags_handle(struct exchange *ex), ollama_version_handle(struct exchange *ex);
void ollama_show_handle(struct exchange *ex), ollama_ps_handle(struct exchange *ex);
void count_handle(struct exchange *ex), gemini_count(struct exchange *ex, str model);
void health_handle(struct exchange *ex), ready_handle(struct exchange *ex);
void metrics_handle(struct exchange *ex);

/* live.c, live_stream.c, live_health.c */
void live_socket_handle(struct exchange *ex), live_alert_handle(struct exchange *ex);
void live_stream_handle(struct exchange *ex);
void live_health_begin(struct worker *w);
/* All who watch are sent away. */
void live_drain(struct worker *w);

/* drain.c: the thread of a worker, and the end of all: they are joined when drain_all returns. */
void drain_init(struct daemon *d);
void drain_release(struct daemon *d);
void *drain_work(void *arg);
void drain_all(struct daemon *d, uint64_t ms);

/* reload.c */
void reload(struct daemon *d, const char *path);
void reload_say_warnings(const struct config *c);
struct server_options reload_options(const struct config *c, struct tls *tls);
