/* chat.h - the one vocabulary between all dialects: what is asked of a model and what comes back.
 *
 * A request is read once from the client's dialect and lives in one arena. A reply is a sequence of
 * events; a streamed reply and a whole one give the same events, only cut differently:
 *
 *     START  (TEXT | REASONING | SIGNATURE | REDACTED | REFUSAL | CALL | ARGUMENTS | OPAQUE | ...)*
 *     STOP END                     or ERROR at any place, behind which nothing comes
 *
 * USAGE and EXTRA come where the provider says them: in a stream USAGE is often behind STOP, so who
 * writes a reply writes its last words at END. There is one STOP a choice.
 *
 * Blocks keep their order: every event that carries content has the number of its block, counted
 * from 0 in the order in which blocks began in that choice. Text of one block may come in any
 * number of events; reasoning, text, reasoning again is three blocks.
 *
 * Texts are lent for the call of the sink, unless they are in a request's arena.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"

#define SMALL __attribute__((packed)) /* an enum in one byte */

/* Who speaks how. The first six are kinds of provider; clients speak all but MISTRAL, CONVERSE and
 * COHERE, which are read only. */
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

/* ---- what is asked ---- */

enum chat_role { CHAT_SYSTEM, CHAT_USER, CHAT_ASSISTANT, CHAT_TOOL }; /* developer is SYSTEM */

enum chat_part_kind {
    CHAT_PART_TEXT,        /* text */
    CHAT_PART_REASONING,   /* text, signature; redacted: text is opaque data */
    CHAT_PART_IMAGE,       /* url, or data (base64) and mime; name: the detail asked for */
    CHAT_PART_FILE,        /* the same for documents, audio, video; name */
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
    str schema; /* JSON; empty if it has none */
    bool strict, strict_given;
    bool barred; /* the choice allows only others */
    bool custom; /* takes a text: elsewhere an object with that text as `input` */
    str opaque;  /* a built-in tool of `dialect`, whole, as JSON: the rest is empty but the name */
    enum chat_dialect dialect;
};

/* Whether a provider of this dialect is given the tool. */
bool chat_tool_goes(const struct chat_tool *t, enum chat_dialect to);

enum chat_choice_kind {
    CHAT_CHOICE_NONE_GIVEN,
    CHAT_CHOICE_AUTO,
    CHAT_CHOICE_NONE,
    CHAT_CHOICE_REQUIRED,
    CHAT_CHOICE_TOOL
};

enum chat_format_kind { CHAT_FORMAT_NONE, CHAT_FORMAT_TEXT, CHAT_FORMAT_JSON, CHAT_FORMAT_SCHEMA };

/* How much thinking is asked for. NOT_GIVEN is silence; NONE is "do not". ON is "think" without an
 * amount, which the gateway takes as MEDIUM. */
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

/* "low", "xhigh"...; "" for NOT_GIVEN and ON. chat_level_parse takes none to max, in any case. */
const char *chat_level_name(enum chat_level level);
bool chat_level_parse(str name, enum chat_level *out) MUST_USE;

/* Numbers are kept as the client's text, so that 0.70 stays 0.70; empty if not given. */
#define CHAT_NUMBER_COUNT 8 /* settings that are numbers */

struct chat_request {
    enum chat_dialect dialect;     /* in which it was asked */
    str model;                     /* as asked */
    struct chat_message *messages; /* system messages stand where they stood; a top-level system
                                      prompt is the first message, role SYSTEM */
    size_t message_count;
    struct chat_tool *tools;
    size_t tool_count;
    enum chat_choice_kind choice;
    str choice_name;
    bool parallel, parallel_given;
    union { /* settings that are numbers, as the client wrote them; "" if not given */
        struct {
            str max_tokens, temperature, top_p, top_k, seed, frequency_penalty, presence_penalty, n;
        };
        str numbers[CHAT_NUMBER_COUNT];
    };
    str *stops;
    size_t stop_count;
    enum chat_format_kind format;
    str format_name, format_description, format_schema; /* of SCHEMA */
    bool format_strict;
    bool stream;
    bool stream_usage;  /* OpenAI: stream_options.include_usage */
    bool no_thoughts;   /* the client asks that reasoning be left out (exclude, display: omitted) */
    bool keep_thoughts; /* /generate: drop_from_history is false */
    bool thoughts;      /* the client asks to see it (includeThoughts, summary, think) */
    enum chat_level level;
    bool level_unknown;    /* a word or an amount that we do not know: it may mean any level */
    int64_t budget_tokens; /* asked for by the client in tokens; -1 if not */
    /* The first member with a value that we do not know, and the error for it. A provider of the
     * same dialect gets the value as it is; for any other the request is refused. Empty: none. */
    str unknown_param, unknown_why;
    str user;
    const struct json *doc; /* the client's body; lent as long as the request is used */
};

/* ---- what comes back ---- */

enum SMALL chat_event_kind {
    CHAT_START,     /* id; the model in `name` (either may be empty) */
    CHAT_TEXT,      /* text */
    CHAT_REASONING, /* text; summary if it is only one */
    CHAT_SIGNATURE, /* text: the signature of the reasoning block it is in; may be in pieces. Of
                       Gemini: summary if a thought has it; else the answer does, or a part of its
                       own without text */
    CHAT_REDACTED,  /* text: opaque data in place of reasoning, whole */
    CHAT_REFUSAL,   /* text */
    CHAT_CALL,      /* a tool call begins: id, name; its block */
    CHAT_ARGUMENTS, /* text: more of the JSON text of the arguments of its block */
    CHAT_OPAQUE,    /* text: a whole content block as JSON that only `dialect` understands; summary
                       if it is reasoning (an image that was thought of) */
    CHAT_KEEP,      /* for the vault: text must go back byte for byte with the call `id`, which is
                       never empty; `name` says what it is in its dialect. A JSON value ("thinking",
                       "reasoning_item", "reasoning_content"), but for Gemini's "thoughtSignature"
                       and Ollama's "ollama_thinking", which are bare text */
    CHAT_EXTRA, /* a member of a reply that nothing else says: name, text (JSON). Chat Completions
                       put the place into the name: "citations" is of the reply, "choice.logprobs"
                       of the choice, "message.annotations" and "call.extra_content" likewise */
    CHAT_USAGE, /* usage: what is known by now; later ones replace earlier ones member by member */
    CHAT_STOP,  /* stop; name as the provider spelt it */
    CHAT_ERROR, /* error */
    CHAT_END,   /* it is whole: all that should come has come */
};

enum SMALL chat_stop {
    CHAT_STOP_END,
    CHAT_STOP_LENGTH,
    CHAT_STOP_TOOL,
    CHAT_STOP_SEQUENCE, /* name: the sequence, if told */
    CHAT_STOP_REFUSED,  /* content filter, safety, refusal */
    CHAT_STOP_PAUSE,
    CHAT_STOP_OTHER,
};

/* Counts are -1 while unknown. Input has the cached tokens in it, output the reasoning. */
struct chat_usage {
    int64_t input, output, reasoning, cache_read, cache_write;
    str raw; /* as the provider gave it, JSON, or empty */
};

struct chat_error {
    int status;             /* HTTP; what the provider said, or what fits best */
    str type, message;      /* type in the provider's words, or ours */
    str code, param;        /* may be empty */
    int64_t retry_after_ms; /* -1 if not told */
    bool no_retry;          /* the same request would fail again: the reply says so */
    str raw;                /* the provider's body, if it was its own dialect's error */
    str frame; /* the provider's event of a stream, if the client may get it as it came; or empty */
    str id;    /* of the request, for dialects that have a place for it; may be empty */
};

/* Small, since events are handed on as copies: 80 bytes. */
struct chat_event {
    enum chat_event_kind kind;
    enum chat_dialect dialect;
    enum chat_stop stop;
    bool summary;
    uint32_t choice; /* which alternative; 0 but where n > 1 was asked for */
    uint32_t block;
    str text, id, name;
    union {
        const struct chat_usage *usage; /* of USAGE */
        const struct chat_error *error; /* of ERROR */
    };
    const struct json_node *node; /* where text stands in the frame it came in: a JSON string whose
                                     text is `text`, or begins with it if the text was cut at the
                                     cap; NULL if there is no such place */
    const struct json_node *from; /* of a text that was cut out of a larger one: the node of that
                                     one, or NULL */
};

struct chat_sink {
    void (*on_event)(void *ctx, const struct chat_event *ev);
    void *ctx;
};

extern const struct chat_usage chat_usage_none; /* all -1 */

/* Members of `from` that are known, and raw, go over those of `to`. */
void chat_usage_merge(struct chat_usage *to, const struct chat_usage *from);
const char *chat_dialect_name(enum chat_dialect d);
const char *chat_event_name(enum chat_event_kind kind);
const char *chat_stop_name(enum chat_stop stop);
