/* internal.h - shared by the files of serve.
 *
 *   serve.c      the process: threads, signals, reload, drain
 *   drain.c      the end of the loops; listen.c sockets: our own, or systemd's
 *   routes.c     the table of routes; exchange.c one request: its key, its route, the reply's head
 *   chat.c       model calls in any dialect
 *   models.c     lists of models; agent_model.c agents as models; count.c count_tokens; passed.c
 *                a provider's headers
 *   pass_on.c    embeddings and other requests without reasoning
 *   page.c       the dashboard, for a browser; status.c health, readiness, metrics
 *   api.c        common parts of the routes under /api/v1: errors, headers, permissions
 *   params.c     query parameters; work.c threads that read the record
 *   history.c    sessions, calls, decisions: queries of the record; history_export.c
 *   threads.c    threads of agents; runs.c their runs; apps.c the routes of the applications
 *   login.c      a cookie in exchange for a key; admin.c providers, levels, keys, openapi.json
 *   watch*.c     requests of coding agents, unchanged: see watch.h
 *   live*.c      calls as they run, by WebSocket and as a stream: see live.h
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/app.h"
#include "serve/login.h"
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
    struct loop_task drain, cut, beat;
    _Atomic bool runs;        /* it has run `beat` (serve/watchdog.h) */
    struct loop_timer look;   /* checks whether it is done, while draining */
    struct loop_timer health; /* of the first worker: looks for news for viewers */
    const char *health_word;
    uint64_t health_ns;
    struct loop_task log_out; /* writes its access log lines at the end of a round */
    struct log_batch log;
    struct buf words; /* of a header being written */
    char refusal_id[RAND_ID_SIZE];
    struct watch_hold *watch_holds; /* runs that connections of this loop hold open */
    size_t jobs;                    /* running queries of the record */
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
    struct work *work;       /* NULL: there is no record */
    struct threads *threads; /* of agents; likewise */
    struct agent_log *runs;  /* likewise */
    struct apps *apps;
    pthread_rwlock_t apps_use; /* apps_enter reads it, the end of the applications writes it */
    struct work *hands;        /* threads of the applications' routes; stopped with them */
    _Atomic bool leave;        /* runs must stop now and be resumed later */
    _Atomic bool apps_ended;   /* no application runs any more */
    pthread_t closer;
    struct login *login;
    struct peers *peers; /* other daemons of the store; or NULL */
    struct watch_runs *watch_runs;
    struct provider_probe *probe; /* serve/provider_probe.h */
    int64_t started_ms;
    const char *listen_flag; /* or NULL */
    const char *unwritten;   /* the address, while its file cannot be written; else NULL */
};

struct exchange;

struct route {
    const char *method;
    const char *path;          /* a trailing '*' matches the rest */
    enum chat_dialect dialect; /* of its errors and, for calls, of the request */
    bool open;                 /* needs no key */
    void (*handle)(struct exchange *ex);
};

/* The current request; in the exchange's arena. */
struct exchange {
    struct server_exchange *x;
    struct worker *worker;
    const struct route *route;
    const struct wire *wire;
    struct setup *setup; /* held */
    const struct config_key *key;
    str id, rest;               /* rest: the text that the route's '*' matched */
    uint64_t start_ns, last_ns; /* last: when something was sent to the client */
    int status;
    uint32_t header_count; /* of the reply's headers */
    str refused; /* the code of an error of the gateway itself, for the access log; or empty */
    struct server_header *headers;
    size_t headers_max;
    struct exchange_passed passed;
    /* Of a model call. */
    struct json doc;
    struct chat_request request;
    struct call *call;
    struct wire_encoder encoder;
    struct buf out;
    bool headed, ended, unrecorded;
    bool last, called;   /* `out` is kept for the end; a call was started, and is counted */
    bool api, by_cookie; /* a route of the history API; the key comes from a cookie */
    bool started;        /* `keepalive` is in use, and `start` no longer */
    union {
        struct loop_task start;
        struct loop_timer keepalive;
    };
    struct exchange_previous previous;
    void (*on_gone)(struct exchange *ex); /* the client has disconnected */
    void (*on_room)(struct exchange *ex); /* more may be written */
    void *job;
    struct app_match *app;           /* of a route of an application; or NULL */
    const struct app_call *app_call; /* of a model call that an application answers; or NULL */
    struct chat_error *error;        /* NULL: it has not failed */
};

const struct route *route_find(str method, str path, str *rest, bool *path_known); /* or NULL */
enum chat_dialect route_dialect(str path); /* also for unknown paths */

/* exchange.c, exchange_key.c */
extern const struct server_handler exchange_handler;
/* Requests that the server itself refuses also get an id, are logged and counted. */
size_t exchange_refusal(void *ctx, const struct server_refusal *r, struct server_header *out);
void exchange_header(struct exchange *ex, str name, str value);
/* Sends a whole reply and ends the exchange. The second one ends and releases the text, too. */
void exchange_reply(struct exchange *ex, int status, str type, str body);
void exchange_reply_json(struct exchange *ex, int status, struct json_text *t);
void exchange_error(struct exchange *ex, const struct chat_error *error);
void exchange_keep_error(struct exchange *ex, const struct chat_error *error); /* in ex->error */
void exchange_fail(struct exchange *ex, int status, const char *code, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* After the reply was sent: writes the access log and frees everything. */
void exchange_done(struct exchange *ex);
/* Whether a page of another site sent it; loopback: or its host name is not this machine's. */
bool exchange_from_elsewhere(const struct http1_head *h, bool loopback);
/* The value of the header x-rationale-reasoning. */
enum config_show exchange_reasoning_asked(const struct http1_head *h);
bool exchange_reasoning_valid(struct exchange *ex) MUST_USE; /* false: a 400 was sent */
/* Parses the body as JSON; false after a reply with 400. */
bool exchange_json(struct exchange *ex) MUST_USE;
/* After it: whether a dialect may read all values (or 413); at most one model is named (or 400). */
bool exchange_values_fit(struct exchange *ex) MUST_USE;
bool exchange_one_model(struct exchange *ex) MUST_USE;

/* api.c: whether a path belongs to the API; headers of all its replies; its errors. */
bool api_path(str path);
void api_protect(struct exchange *ex);
void api_error(const struct chat_error *error, struct buf *out);
/* An error without type and parameter; the client may retry at once. */
struct chat_error exchange_error_of(int status, const char *code, str message);
/* False after a refusal: a page of another site, or a host name that is not this machine's. */
bool api_allowed(struct exchange *ex) MUST_USE;
/* Whether this key may see everything and change things; whether it may see recorded reasoning. */
bool api_operator(const struct exchange *ex), api_sees_reasoning(const struct exchange *ex);
bool api_operators_only(struct exchange *ex) MUST_USE; /* false after a refusal */

/* history.c, history_export.c */
void sessions_handle(struct exchange *ex);
void session_handle(struct exchange *ex); /* and the paths after its id */
void interaction_handle(struct exchange *ex), interactions_handle(struct exchange *ex);
void overview_handle(struct exchange *ex);
void decisions_handle(struct exchange *ex);
void search_handle(struct exchange *ex), active_handle(struct exchange *ex);
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
void audit_handle(struct exchange *ex), audit_verify_handle(struct exchange *ex);

/* threads.c: the paths after a thread's id, and all checkpoints */
void thread_handle(struct exchange *ex), checkpoints_handle(struct exchange *ex);

/* runs.c: all runs, and the paths after a run's id */
void runs_handle(struct exchange *ex), run_handle(struct exchange *ex);

/* apps.c: the applications, opened before the loops run and closed while they still run. */
bool apps_begin(struct daemon *d, struct err *e) MUST_USE;
void apps_end(struct daemon *d);      /* starts to end them; apps_ended is set when it is done */
void apps_end_wait(struct daemon *d); /* after the loops */
/* Threads that apps.c does not stop use d->apps only between these two. False: the applications are
 * closed or about to be, and apps_leave must not be called. */
bool apps_enter(struct daemon *d) MUST_USE;
void apps_leave(struct daemon *d);
extern const struct route apps_any; /* the route of all their paths */

/* admin.c, admin_system.c */
void providers_handle(struct exchange *ex);
void levels_handle(struct exchange *ex), keys_handle(struct exchange *ex);
void system_handle(struct exchange *ex), openapi_handle(struct exchange *ex);

/* chat.c */
void chat_handle(struct exchange *ex), gemini_handle(struct exchange *ex);
void chat_room(struct exchange *ex);

/* models.c, count.c, status.c */
/* Whether the key of the exchange allows this model. */
bool exchange_may_use(const struct exchange *ex, str model);
void exchange_refuse_model(struct exchange *ex, str model); /* 403: it may not */
/* The text that the route's '*' matched, with %XX decoded. */
str exchange_rest(struct exchange *ex);
void models_handle(struct exchange *ex), model_handle(struct exchange *ex);
void gemini_models_handle(struct exchange *ex), gemini_model_handle(struct exchange *ex);
void ollama_tags_handle(struct exchange *ex), ollama_version_handle(struct exchange *ex);
void ollama_show_handle(struct exchange *ex), ollama_ps_handle(struct exchange *ex);
void count_handle(struct exchange *ex), gemini_count(struct exchange *ex, str model);
/* pass_on.c: unchanged to the provider of its model; Gemini's path has the model and the verb. */
void pass_on_handle(struct exchange *ex), pass_on_gemini(struct exchange *ex, str model, str verb);
void health_handle(struct exchange *ex), ready_handle(struct exchange *ex);
void metrics_handle(struct exchange *ex);

/* live.c, live_stream.c, live_health.c */
void live_socket_handle(struct exchange *ex), live_alert_handle(struct exchange *ex);
void live_stream_handle(struct exchange *ex);
void live_health_begin(struct worker *w);
void live_drain(struct worker *w); /* disconnects all viewers */

/* drain.c: a worker's thread, and the end of all workers: drain_all joins them. */
void drain_init(struct daemon *d), drain_release(struct daemon *d);
void *drain_work(void *arg);
void drain_all(struct daemon *d, uint64_t ms);

/* reload.c */
void serve_reload_config(struct daemon *d, const char *path);
void reload_log_warnings(const struct config *c);
struct server_options reload_options(const struct config *c, struct tls *tls);
