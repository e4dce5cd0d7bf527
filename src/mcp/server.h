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
 * A function that needs something of the client asks for it by mcp_answer_input and returns; it is
 * called again with what the client said in ask->inputs, and with the state it left. How the asking
 * is done is the era's business: a result that says input_required since 2026-07-28, a request on
 * the stream before.
 *
 * Promises:
 *   - A function is called with arguments that its schema allows, and with a state that it gave
 *     itself, for the same tool, not too long ago: states are signed.
 *   - Nothing is asked of a client that it did not say it can do.
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
    MCP_LOG_OFF, /* the client wants none */
};

struct mcp_server;

/* All of it is lent for the call. */
struct mcp_ask {
    struct mcp_server *server;
    const struct json *doc;
    const struct json_node *params;    /* of the request */
    const struct json_node *arguments; /* an object, or NULL */
    const struct json_node *inputs;    /* what the client said, by key; or NULL */
    str state;                         /* or empty */
    str uri;                           /* of a resource that is read */
    unsigned caps;                     /* bits of enum mcp_cap: what the client can do */
    const void *who;                   /* as `allowed` said; NULL: whoever started us */
    struct arena *arena;
};

struct mcp_answer;
typedef void mcp_run(void *ctx, const struct mcp_ask *ask, struct mcp_answer *answer);

/* Texts that are JSON say so; what is NULL is left out. */
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
    const char *uri; /* with {name} in it, a template */
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
    bool changes; /* lists of it may change: mcp_server_changed */
    bool logs, completes;
    void *ctx; /* of its functions */
};

struct mcp_server_options {
    const struct mcp_set *sets[MCP_SETS_MAX]; /* lent; NULL at the end if there are fewer */
    const char *instructions;                 /* or NULL */
    const struct clock *clock;                /* NULL: the real one */
};

/* False if a schema is wrong or a name is there twice. */
struct mcp_server *mcp_server_new(const struct mcp_server_options *o, struct err *e) MUST_USE;
void mcp_server_free(struct mcp_server *s);

/* To be called in a function: those who listen are told, after the answer. Bits of enum mcp_change.
 */
void mcp_server_changed(struct mcp_server *s, unsigned changes);

/* Until the input ends; true then. Blocks the thread. */
bool mcp_serve_stdio(struct mcp_server *s, int in, int out, struct err *e) MUST_USE;

struct mcp_http_options {
    const char *listen; /* ADDR:PORT */
    /* Whether who shows this token may come in, and who that is, for the tools; NULL: anybody may,
     * from this machine only. */
    bool (*allowed)(void *ctx, str token, const void **who);
    /* Called once it accepts connections, with the address it is bound to. */
    void (*on_ready)(void *ctx, str address);
    void *ctx;
};

/* At /mcp, until SIGTERM or SIGINT. Tools run on threads of their own, several at once: what they
 * share must bear that. Prompts and resources are for the loop's thread, and quick. */
bool mcp_serve_http(struct mcp_server *s, const struct mcp_http_options *o, struct err *e) MUST_USE;

/* ---- answers: sticky writers ---- */

/* A part of a tool's content; a message of a prompt or a content of a resource: JSON. */
void mcp_answer_item(struct mcp_answer *r, str json);
void mcp_answer_text(struct mcp_answer *r, str text);
/* The structured content, which is put beside it as text too, as older clients need it. */
void mcp_answer_structured(struct mcp_answer *r, str json);
/* The tool failed, and the model is to know why. */
void mcp_answer_fail(struct mcp_answer *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
void mcp_answer_fail_text(struct mcp_answer *r, str text); /* the same, of any length */
/* Asks the client; key is the tool's own, params JSON. */
void mcp_answer_input(struct mcp_answer *r, str key, str method, str params);
/* What the tool gets back when it is called again. */
void mcp_answer_state(struct mcp_answer *r, str state);
/* Sent at once, if the client wants it. message may be empty. */
void mcp_answer_progress(struct mcp_answer *r, double progress, double total, str message);
void mcp_answer_log(struct mcp_answer *r, enum mcp_level level, str data);
