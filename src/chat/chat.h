/* chat.h - the common types of all dialects: requests to a model and its replies.
 *
 * A request is read once from the client's dialect and lives in one arena. A reply is a sequence of
 * events; a streamed reply and a whole one give the same events, with different cuts:
 *
 *     START  (TEXT | REASONING | SIGNATURE | REDACTED | REFUSAL | CALL | ARGUMENTS | OPAQUE | ...)*
 *     STOP END                     or ERROR at any place, as the last event
 *
 * USAGE and EXTRA come where the provider sends them. In a stream USAGE often follows STOP, so an
 * encoder finishes a reply at END. Each choice has one STOP.
 *
 * Blocks keep their order: every event with content has the number of its block, counted from 0 in
 * the order in which the blocks of that choice began. The text of one block may come in any number
 * of events. Reasoning, text, and reasoning again are three blocks.
 *
 * Texts are valid only during the call of the sink, unless they are in a request's arena.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"

#define SMALL __attribute__((packed)) /* an enum in one byte */

/* The first six are kinds of provider. Clients may use all except MISTRAL, CONVERSE and COHERE,
 * which only occur in replies. */
enum SMALL chat_dialect {
    CHAT_OPENAI, /* Chat Completions */
    CHAT_RESPONSES,
    CHAT_ANTHROPIC,
    CHAT_GEMINI,
    CHAT_MISTRAL,
    CHAT_OLLAMA,
    CHAT_GENERATE, /* our own /generate */
    CHAT_CONVERSE, /* Bedrock Converse replies */
    CHAT_COHERE,   /* Cohere v2 replies */
    CHAT_DIALECT_COUNT
};

/* ---- requests ---- */

enum chat_role { CHAT_SYSTEM, CHAT_USER, CHAT_ASSISTANT, CHAT_TOOL }; /* developer is SYSTEM */

enum chat_part_kind {
    CHAT_PART_TEXT,        /* text */
    CHAT_PART_REASONING,   /* text, signature; redacted: text is opaque data */
    CHAT_PART_IMAGE,       /* url, or data (base64) and mime; name: the detail asked for */
    CHAT_PART_FILE,        /* the same for documents, audio, video, with a name */
    CHAT_PART_TOOL_CALL,   /* id, name, json: the arguments, one JSON object */
    CHAT_PART_TOOL_RESULT, /* id of the call, name if known, parts, is_error */
    CHAT_PART_REFUSAL,     /* text */
    CHAT_PART_OPAQUE,      /* json: a part that only `dialect` understands */
};

struct chat_part {
    enum chat_part_kind kind;
    str text, signature;
    str id, name;
    str json;
    str mime, url, data;
    enum chat_dialect dialect; /* of an OPAQUE part, and of a signature */
    bool is_error, redacted;
    struct chat_part *parts; /* of a TOOL_RESULT: TEXT, IMAGE, FILE, OPAQUE */
    size_t part_count;
};

struct chat_message {
    enum chat_role role;
    str name;
    struct chat_part *parts;
    size_t part_count;
};

struct chat_tool {
    str name, description;
    str space;  /* the namespace of a Responses tool: the front of its name; or empty */
    str schema; /* JSON; empty if it has none */
    bool strict, strict_given;
    bool barred; /* the tool choice allows only other tools */
    bool custom; /* takes a text; in other dialects an object with that text as `input` */
    str opaque;  /* a whole built-in tool of `dialect` as JSON; of the rest only the name is set */
    enum chat_dialect dialect;
};

/* Whether a provider of this dialect gets the tool. */
bool chat_tool_goes(const struct chat_tool *t, enum chat_dialect to);

enum chat_choice_kind {
    CHAT_CHOICE_NONE_GIVEN,
    CHAT_CHOICE_AUTO,
    CHAT_CHOICE_NONE,
    CHAT_CHOICE_REQUIRED,
    CHAT_CHOICE_TOOL
};

enum chat_format_kind { CHAT_FORMAT_NONE, CHAT_FORMAT_TEXT, CHAT_FORMAT_JSON, CHAT_FORMAT_SCHEMA };

/* The requested amount of thinking. NOT_GIVEN: the request has none. NONE: do not think. ON: think,
 * without an amount; the gateway treats it as MEDIUM. */
enum chat_level {
    CHAT_LEVEL_NOT_GIVEN,
    CHAT_LEVEL_NONE,
    CHAT_LEVEL_ON,
    CHAT_LEVEL_MINIMAL,
    CHAT_LEVEL_LOW,
    CHAT_LEVEL_MEDIUM,
    CHAT_LEVEL_HIGH,
    CHAT_LEVEL_XHIGH,
    CHAT_LEVEL_MAX,
    CHAT_LEVEL_COUNT
};

/* "low", "xhigh"...; "" for NOT_GIVEN and ON. chat_level_parse accepts none to max in any letter
 * case. */
const char *chat_level_name(enum chat_level level);
bool chat_level_parse(str name, enum chat_level *out) MUST_USE;

/* Numbers keep the client's text, so that 0.70 stays 0.70; empty if not given. */
#define CHAT_NUMBER_COUNT 8 /* settings that are numbers */

struct chat_request {
    enum chat_dialect dialect; /* of the client */
    bool stream;
    bool parallel, parallel_given;
    enum chat_choice_kind choice; /* with choice_name */
    enum chat_format_kind format; /* with the texts of format_ below */
    bool format_strict;
    bool level_unknown;            /* an unknown word or amount, which may mean any level */
    str model;                     /* as asked */
    struct chat_message *messages; /* system messages keep their place; a top-level system prompt is
                                      the first message, with role SYSTEM */
    size_t message_count;
    struct chat_tool *tools;
    size_t tool_count;
    str choice_name;
    union { /* settings that are numbers, as the client wrote them; "" if not given */
        struct {
            str max_tokens, temperature, top_p, top_k, seed, frequency_penalty, presence_penalty, n;
        };
        str numbers[CHAT_NUMBER_COUNT];
    };
    str *stops;
    size_t stop_count;
    str format_name, format_description, format_schema; /* of SCHEMA */
    bool stream_usage;                                  /* OpenAI: stream_options.include_usage */
    bool no_thoughts;      /* the client asks to omit reasoning (exclude, display: omitted) */
    bool keep_thoughts;    /* /generate: drop_from_history is false */
    bool thoughts;         /* the client asks for reasoning (includeThoughts, summary, think) */
    enum chat_level level; /* with level_unknown */
    int64_t budget_tokens; /* the client's reasoning budget in tokens; -1 without one */
    /* The first member with an unknown value, and its error. A provider of the same dialect gets
     * the value unchanged; for other dialects the request is refused. Empty: none. */
    str unknown_param, unknown_why;
    str user;
    const struct json *doc; /* the client's body; must live as long as the request */
};

/* ---- replies ---- */

enum SMALL chat_event_kind {
    CHAT_START,     /* id; the model in `name` (either may be empty) */
    CHAT_TEXT,      /* text */
    CHAT_REASONING, /* text; summary: it is only a summary */
    CHAT_SIGNATURE, /* text: the signature of its reasoning block; may come in pieces. For Gemini:
                       summary if a thought has it; otherwise the answer has it, or a separate part
                       without text */
    CHAT_REDACTED,  /* text: all of the opaque data that replaces reasoning */
    CHAT_REFUSAL,   /* text */
    CHAT_CALL,      /* a tool call begins: id, name; its block */
    CHAT_ARGUMENTS, /* text: the next piece of the arguments' JSON text */
    CHAT_OPAQUE,    /* text: a whole content block as JSON that only `dialect` understands; summary
                       if it is reasoning (an image in a thought) */
    CHAT_KEEP,      /* for the vault: text must be sent back unchanged with the call `id`, which is
                       never empty; `name` is its kind in the dialect. A JSON value ("thinking",
                       "reasoning_item", "reasoning_content"), except for Gemini's
                       "thoughtSignature" and Ollama's "ollama_thinking", which are plain text */
    CHAT_EXTRA, /* a field of a reply without another event: name, text (JSON). For Chat Completions
                   the name has the place: "citations" is in the reply, "choice.logprobs" in the
                   choice, "message.annotations" in the message, "call.extra_content" in the call.
                   For clients of other dialects every dialect's log-probabilities are such a
                   "choice.logprobs" */
    CHAT_USAGE, /* usage so far; later events replace earlier ones member by member */
    CHAT_STOP,  /* stop; name: the provider's word */
    CHAT_ERROR, /* error */
    CHAT_END,   /* the reply is complete */
};

enum SMALL chat_stop {
    CHAT_STOP_END,
    CHAT_STOP_LENGTH,
    CHAT_STOP_TOOL,
    CHAT_STOP_SEQUENCE, /* name: the sequence, if known */
    CHAT_STOP_REFUSED,  /* content filter, safety, refusal */
    CHAT_STOP_PAUSE,
    CHAT_STOP_OTHER,
    CHAT_STOP_FAILED, /* the provider failed in the middle; only if its frames are relayed */
};

/* Counts are -1 while unknown. Input includes cached tokens, output includes reasoning. */
struct chat_usage {
    int64_t input, output, reasoning, cache_read, cache_write;
    str raw; /* the provider's JSON, or empty */
};

struct chat_error {
    int status;             /* HTTP status of the provider, or the one that fits best */
    str type, message;      /* type: the provider's word, or ours */
    str code, param;        /* may be empty */
    int64_t retry_after_ms; /* -1 if not given */
    bool no_retry;          /* the reply says that the same request would fail again */
    bool unusable;          /* the provider works; what the model wrote cannot be used */
    str raw;                /* the provider's body, if it is an error of its dialect */
    str frame; /* the provider's event of a stream, if the client may get it unchanged; or empty */
    str id;    /* of the request, for dialects that have a place for it; may be empty */
};

/* Small, because events are passed by value. */
struct chat_event {
    enum chat_event_kind kind;
    enum chat_dialect dialect;
    enum chat_stop stop;
    bool summary;
    uint32_t choice, block; /* index of the choice: 0 unless n > 1 */
    bool from_text;         /* of CALL and ARGUMENTS: read from tool markup in the reply's text */
    str text, id, name;
    union {
        const struct chat_usage *usage; /* of USAGE */
        const struct chat_error *error; /* of ERROR */
    };
    const struct json_node *node; /* in the provider's frame: the string that is or begins with
                                     `text`, or the object of a CALL or an OPAQUE; or NULL */
    const struct json_node *from; /* if text is a part of a larger text: the node of that one, or
                                     NULL */
};

struct chat_sink {
    void (*on_event)(void *ctx, const struct chat_event *ev);
    void *ctx;
};

extern const struct chat_usage chat_usage_none; /* all -1 */

/* Known members of `from`, and raw, replace those of `to`. */
void chat_usage_merge(struct chat_usage *to, const struct chat_usage *from);
const char *chat_dialect_name(enum chat_dialect d);
const char *chat_event_name(enum chat_event_kind kind);
const char *chat_stop_name(enum chat_stop stop);
