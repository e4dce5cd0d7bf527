/* server.h - an MCP server: tables of tools, prompts and resources, served in both eras.
 *
 *     static const struct mcp_tool tools[] = {{.name = "add", .input = "{...}", .run = add}};
 *     static const struct mcp_set set = {.tools = tools, .tool_count = 1};
 *     struct mcp_server *s = mcp_server_new(&(struct mcp_server_options){.sets = {&set}}, e);
 *     mcp_serve_stdio(s, 0, 1, e);                or mcp_serve_http
 *
 *     static void add(void *ctx, const struct mcp_ask *ask, struct mcp_answer *answer)
 *     {
 *         mcp_answer_text(answer, STR("4"));
 *     }
 *
 * A function that needs input of the client requests it with mcp_answer_input and returns. It is
 * called again with the client's replies in ask->inputs, and with its saved state. The era decides
 * how the request is sent: since 2026-07-28 as a result with input_required, before as a request on
 * the stream.
 *
 * Promises:
 *   - A function gets only arguments that its schema allows, and only a state that it saved itself,
 *     for the same tool and caller, at most MCP_STATE_MS ago: states are signed.
 *   - A client gets only requests that it declared to support.
 *   - All functions are called on one thread, one at a time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

#define MCP_SETS_MAX 4

enum mcp_cap { MCP_SAMPLING = 1, MCP_ELICITATION = 2, MCP_ROOTS = 4 };
enum mcp_change { MCP_TOOLS_CHANGED = 1, MCP_PROMPTS_CHANGED = 2, MCP_RESOURCES_CHANGED = 4 };
enum mcp_level {
    MCP_LOG_DEBUG,
    MCP_LOG_INFO,
    MCP_LOG_NOTICE,
    MCP_LOG_WARNING,
    MCP_LOG_ERROR,
    MCP_LOG_CRITICAL,
    MCP_LOG_ALERT,
    MCP_LOG_EMERGENCY,
    MCP_LOG_OFF, /* the client wants no log messages */
};

struct mcp_server;

/* All members are valid only during the call. */
struct mcp_ask {
    struct mcp_server *server;
    const struct json *doc;
    const struct json_node *params;    /* of the request */
    const struct json_node *arguments; /* an object, or NULL */
    const struct json_node *inputs;    /* the client's replies, by key; or NULL */
    str state;                         /* or empty */
    str uri;                           /* of the requested resource */
    unsigned caps;                     /* bits of enum mcp_cap: capabilities of the client */
    const void *who;                   /* from `allowed`; NULL: the user who started the server */
    struct arena *arena;
};

struct mcp_answer;
typedef void mcp_run(void *ctx, const struct mcp_ask *ask, struct mcp_answer *answer);

/* Members that are NULL are omitted. */
struct mcp_tool {
    const char *name, *title, *description;
    const char *input;       /* JSON Schema; NULL: no arguments */
    const char *output;      /* JSON Schema of the structured content */
    const char *annotations; /* JSON: readOnlyHint and so on */
    unsigned needs;          /* bits of enum mcp_cap; the call is refused without them */
    mcp_run *run;
};

struct mcp_prompt {
    const char *name, *title, *description;
    const char *arguments; /* JSON array */
    mcp_run *run;          /* mcp_answer_item: the messages */
};

struct mcp_resource {
    const char *uri; /* a template if it contains {name} */
    const char *name, *title, *description, *mime;
    mcp_run *run; /* mcp_answer_item: the contents */
};

struct mcp_set {
    const struct mcp_tool *tools;
    size_t tool_count;
    const struct mcp_prompt *prompts;
    size_t prompt_count;
    const struct mcp_resource *resources;
    size_t resource_count;
    bool changes; /* its lists may change: mcp_server_changed */
    bool logs, completes;
    void *ctx; /* context of its functions */
};

struct mcp_server_options {
    const struct mcp_set *sets[MCP_SETS_MAX]; /* must outlive the server; ends with NULL if there
                                                 are fewer */
    const char *instructions;                 /* or NULL */
    const struct clock *clock;                /* NULL: the real clock */
};

/* NULL if a schema is invalid or a name occurs twice. */
struct mcp_server *mcp_server_new(const struct mcp_server_options *o, struct err *e) MUST_USE;
void mcp_server_free(struct mcp_server *s);

/* Called within a function: listeners are notified after the reply. Bits of enum mcp_change. */
void mcp_server_changed(struct mcp_server *s, unsigned changes);

/* Serves until the input ends, then returns true. Blocks the thread. */
bool mcp_serve_stdio(struct mcp_server *s, int in, int out, struct err *e) MUST_USE;

struct mcp_http_options {
    const char *listen; /* ADDR:PORT */
    /* Whether this token is valid, and the caller's name for the tools. NULL: everybody, but only
     * from this machine. */
    bool (*allowed)(void *ctx, str token, const void **who);
    /* Called with the bound address when it accepts connections. */
    void (*on_ready)(void *ctx, str address);
    void *ctx;
};

/* Serves at /mcp until SIGTERM or SIGINT. Tools run on separate threads, several at once, so their
 * shared data must be thread-safe. Prompts and resources run on the loop's thread and must be
 * quick. */
bool mcp_serve_http(struct mcp_server *s, const struct mcp_http_options *o, struct err *e) MUST_USE;

/* ---- answers: sticky writers ---- */

/* A part of a tool's content; a message of a prompt or a content of a resource: JSON. */
void mcp_answer_item(struct mcp_answer *r, str json);
void mcp_answer_text(struct mcp_answer *r, str text);
/* The structured content; it is also added as text, for older clients. */
void mcp_answer_structured(struct mcp_answer *r, str json);
/* The tool failed; the model gets the reason. */
void mcp_answer_fail(struct mcp_answer *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
void mcp_answer_fail_text(struct mcp_answer *r, str text); /* the same, of any length */
/* Requests input of the client; the tool chooses the key, and params is JSON. */
void mcp_answer_input(struct mcp_answer *r, str key, str method, str params);
/* The state that the tool gets when it is called again. */
void mcp_answer_state(struct mcp_answer *r, str state);
/* Sends progress at once, if the client wants it. message may be empty. */
void mcp_answer_progress(struct mcp_answer *r, double progress, double total, str message);
void mcp_answer_log(struct mcp_answer *r, enum mcp_level level, str data);
