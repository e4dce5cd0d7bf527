/* app.h - an application: a row with its routes, its runs, and the services of its host.
 *
 *     for (size_t i = 0; app_at(i); i++) ...               the rows: incidents, policy, orders
 *
 *     struct apps *apps;
 *     if (!apps_open(&host, &apps, e)) ...                 those that are configured
 *     apps_resume(apps);                                   resumes the runs of an earlier process
 *     apps_answer(apps, &route, &request, &reply);         any thread; blocks as long as it takes
 *     apps_close(apps);                                    runs are left to be resumed
 *
 * An application is plain sequential code above the agent's loop. It keeps nothing of its own
 * beside the store: runs and their effects are in the agent's log, conversations in threads, model
 * replies in the record. The daemon serves the routes of all rows and a command runs one of them by
 * itself, on the same host (app_local).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/run.h"
#include "agent/thread.h"
#include "gateway/local.h"

/* The services an application uses; all lent as long as the application is open. */
struct app_host {
    struct gateway *gateway; /* its setup (configuration), hub, store, metrics */
    struct gateway_loop *gl; /* where its model calls run: agent_ask_gateway(gl) */
    struct agent_log *log;   /* NULL: nothing is on record */
    struct threads *threads; /* likewise */
    const struct clock *clock;
    const _Atomic bool *leave; /* the process ends: runs stop where they are, to be resumed */
    str daemon;                /* this daemon, if several share the store; else "" */
    struct bus *bus;           /* to the others; or NULL */
};

#define APP_PARTS_MAX 4
#define APP_BODY_MAX ((size_t)10 << 20)

/* A model call that an application answers (agent/NAME). */
struct app_call {
    const struct wire *wire;
    str id, model, session;
    str body;           /* with the whole conversation; "": as received */
    str items;          /* Responses: the request's own items */
    str previous;       /* and the previous response; "": none */
    str unknown;        /* the same, if that response is unknown */
    bool keep;          /* a later request may name the reply */
    bool stream, shows; /* shows: the client may see reasoning */
    bool array, bare;   /* Gemini: a stream is an array; no comments */
};

struct app_request {
    str method, path;
    str parts[APP_PARTS_MAX]; /* the segments that the route's stars matched, decoded */
    str query;                /* after the question mark, not decoded: app_query */
    str body, type, accept;
    str last_event;              /* where a stream of events resumes: Last-Event-ID, or "" */
    str idempotency_key;         /* Idempotency-Key: the same at each try of a request, or "" */
    str signature;               /* of a webhook: PagerDuty's or Grafana's header, or "" */
    str key, subject;            /* the client: its key's name, or "" */
    bool operator_;              /* may see all and change things */
    bool sees_reasoning;         /* may see reasoning: config_shows_reasoning decides */
    const struct app_call *call; /* of a model call, else NULL */
    const _Atomic bool *cancel;  /* nobody waits for the answer any more */
    const struct json *json;     /* of a route with APP_JSON: the body, an object */
    struct arena *arena;
};

/* 200, JSON and empty to begin with. */
struct app_reply {
    int status;
    const char *type;
    const char *error; /* the code of the last app_fail or app_fail_err; or NULL */
    struct buf body;
    unsigned retry_after_s; /* 0: none */
    /* Sends a part of the answer at once; the body follows. Status and type are those of the first
     * call. Any thread, until `answer` returns. NULL: the answer is sent as a whole. */
    void (*send)(void *ctx, str bytes);
    void *send_ctx;
};

/* Checked before `answer`, in this order; what fails is the answer. */
enum app_route_flag {
    APP_OPERATOR = 1, /* only for operators: 403 */
    APP_READY = 2,    /* `ready` of the application must be true */
    APP_JSON = 4,     /* the body must be a JSON object: 400 */
    APP_TRACE = 8, /* the answer may have thoughts, for those who may see them: run_hide_thoughts */
};

struct app_route {
    const char *method;
    const char *path; /* a segment "*" takes one */
    void (*answer)(void *app, const struct app_request *q, struct app_reply *r);
    unsigned flags;    /* of enum app_route_flag */
    const char *query; /* names of its query parameters, separated by spaces; NULL: any */
    const char *body;  /* with APP_JSON: names of the body's members, likewise; NULL: any */
};

struct app {
    const char *name;
    /* *out NULL: the configuration has nothing for it, and its routes answer 404 saying so. */
    bool (*open)(const struct app_host *h, void **out, struct err *e);
    /* Resumes a run of this application that an earlier process did not finish, or whose
     * approval was answered: of the app NAME, or a part of one, NAME.PART. Starts it and
     * returns; may be NULL. */
    void (*resume)(void *app, const struct agent_row *row);
    bool resumes_active; /* resume may get a run that is active in this process */
    /* A run of its own that waited was ended by a person. May be NULL. */
    void (*ended)(void *app, const struct agent_row *row);
    /* Stops a running run of this application as soon as possible; false: it is not active in this
     * process. If row->from is "cancel", another daemon was asked, and the run may be waiting now.
     * May be NULL: such runs cannot be stopped. */
    bool (*cancel)(void *app, const struct agent_row *row);
    /* Several daemons share the store. Called once a second, and when another daemon hands
     * something over: looks for work in the tables that now belongs to this daemon. May be NULL. */
    void (*look)(void *app);
    /* Another daemon took over all work of this one: drops it from memory, and returns when nothing
     * of it can write to the tables any more. Until then no write succeeds. May be NULL. */
    void (*lost)(void *app);
    /* The configuration was reloaded; bad settings are logged and change nothing. May be NULL. */
    void (*reload)(void *app);
    /* Waits until all running work can be left. */
    void (*close)(void *app);
    /* Whether routes with APP_READY can be answered; false after answering why not. */
    bool (*ready)(void *app, struct app_reply *r);
    const struct app_route *routes; /* ends with method NULL */
};

/* The rows; NULL after the last. */
const struct app *app_at(size_t i);

extern const struct app app_agents, app_incidents, app_policy, app_orders, app_optimize;

struct apps;

bool apps_open(const struct app_host *h, struct apps **out, struct err *e) MUST_USE;
void apps_resume(struct apps *a);
/* For several daemons: `look` and `lost` of all; apps_look also resumes or cancels the runs that
 * others handed to this daemon. */
void apps_look(struct apps *a);
void apps_lost(struct apps *a);
void apps_reload(struct apps *a); /* any thread, one at a time */
void apps_close(struct apps *a);  /* NULL: nothing */
/* The opened application of a row, or NULL. */
void *apps_find(struct apps *a, const struct app *row);

struct app_match {
    const struct app *app;
    const struct app_route *route;
    str parts[APP_PARTS_MAX]; /* not decoded */
};
/* Whether some row has the path; *out is set if it has it for this method. `methods`, if not NULL,
 * gets those it has, comma separated. */
bool apps_route(str method, str path, struct app_match *out, struct buf *methods);
void apps_answer(struct apps *a, const struct app_match *m, const struct app_request *q,
                 struct app_reply *r);
/* The same by an application that was opened alone. */
void app_answer(void *app, const struct app_match *m, const struct app_request *q,
                struct app_reply *r);

/* An event of a stream (text/event-stream), on its way at once. */
void app_send(struct app_reply *r, const char *event, str json);
/* The same with an id, which a client that comes back sends as Last-Event-ID. */
void app_send_id(struct app_reply *r, const char *event, str id, str json);
/* When a client should reconnect after its stream ended. */
void app_send_retry(struct app_reply *r, unsigned ms);
/* Whether the asker wants a stream: by its Accept header, or "stream": true in the body. False
 * after an error: "stream" is something else. */
bool app_read_stream(const struct app_request *q, const struct json *body, bool *out,
                     struct err *e) MUST_USE;
/* {"detail": {"error": CODE, "message": ...}} with the status. */
void app_fail(struct app_reply *r, int status, const char *code, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* The same with "detail" open for more members: the caller closes it and the answer. */
void app_fail_begin(struct app_reply *r, struct json_out *o, int status, const char *code,
                    str message);
/* The same for an error, by its kind: ERR_INPUT 400, ERR_NOT_FOUND 404, ERR_LIMIT 429, ... */
void app_fail_err(struct app_reply *r, const struct err *e);
/* An answer of one object, with the list of that name open; NULL: without a list. app_reply_end
 * closes all that is open. The answer is the error if ok is false (e) or the JSON is too large. */
void app_reply_begin(struct app_reply *r, struct json_out *o, const char *list);
void app_reply_end(struct app_reply *r, struct json_out *o, bool ok, const struct err *e);
/* A value of the query, decoded; "" if it is absent. Its name is in the route's `query`: the server
 * refuses all others. */
str app_query(const struct app_request *q, const char *name);
/* The body as one JSON object; false after answering 400. */
bool app_json(const struct app_request *q, struct json *doc, struct app_reply *r) MUST_USE;

/* The model of an application: `told` if it is not empty, else the first provider's first. */
bool app_model(const struct config *c, str wanted, str *out, struct err *e) MUST_USE;

/* A host for a command: a gateway without a server, the log and the threads of its store. */
struct app_local {
    struct local *local;
    struct app_host host;
    _Atomic bool leave; /* set by the thread that waits for signals */
};
bool app_local_open(const char *config, struct app_local *l, struct err *e) MUST_USE;
/* The same with a configuration that is loaded, which it takes over, also if it fails. */
bool app_local_start(struct config *c, struct app_local *l, struct err *e) MUST_USE;
void app_local_close(struct app_local *l);
