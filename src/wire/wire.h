/* wire.h - the dialects: bytes into chat events, chat into bytes, and bodies edited in place.
 *
 * A dialect is a row (struct wire) of functions; wire_get finds it. No function does I/O. Functions
 * that read a client's body can fail. Broken input of a provider becomes a CHAT_ERROR event.
 *
 * A request, from the client's body to the provider's:
 *
 *     in->read(&doc, &arena, &request, e)         checks the body as the client's dialect demands
 *     out->write(&request, &body)                 only if the two dialects differ
 *     out->patch(&body_doc, &plan, &edits)        the gateway's changes, as edits of the body
 *
 * So if both sides speak one dialect, only the bytes change that the plan names.
 *
 * A reply, from the provider's frames to the client's:
 *
 *     wire_decoder_init(&d, out, &arena, sink)    a frame is an SSE event, an NDJSON line or a
 *     wire_decode(&d, &frame) ... wire_decode_end whole body; see net/frames.h
 *     wire_encoder_init(&en, in, &request, stream, &arena, &bytes)
 *     wire_encode(&en, &event)                    appends the client's bytes
 *
 * If both sides speak one dialect and both stream (or neither does), the encoder gets the frames
 * and the events that each frame must express:
 *
 *     wire_relay(&en, &frame, events, n, touched)
 *
 * An untouched frame leaves byte for byte as it arrived, except for block numbers after a dropped
 * block. In a touched frame only the text in question changes. A frame that differs from the one
 * before in one text is not parsed: it has no doc and sets `again`; see repeat_frame.h.
 *
 * Each dialect is a folder: X/X.c its row and its errors, read.c a client's body into chat, write.c
 * chat into a body, patch.c the plan as edits, decode.c replies into events, encode.c events into
 * replies, relay.c frames passed on, X.h what these share. The files beside wire.h serve all.
 *
 * Promises: decoding never fails, is linear, and holds only what its state needs. The framing never
 * changes the events. Input without a specific event becomes OPAQUE or EXTRA.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json_edit.h"
#include "chat/chat.h"
#include "wire/repeat_frame.h"
#include "wire/utf8_repair.h"

#define WIRE_BLOCKS_MAX 4096 /* content blocks of one reply; more end it with an error */

enum wire_framing { WIRE_SSE, WIRE_NDJSON, WIRE_WHOLE };

/* How a provider is asked to reason, and how much: hosts of one dialect differ in this. */
enum wire_think {
    WIRE_THINK_DEFAULT,    /* the dialect's own parameters: reasoning_effort, thinking, think... */
    WIRE_THINK_DEEPSEEK,   /* thinking.type, reasoning_effort low/high/max */
    WIRE_THINK_OPENROUTER, /* reasoning.{effort,max_tokens} */
    WIRE_THINK_VLLM,       /* reasoning_effort, thinking_token_budget, chat_template_kwargs */
    WIRE_THINK_SGLANG,     /* chat_template_kwargs, custom_params.thinking_budget */
    WIRE_THINK_LLAMACPP,   /* reasoning_effort, thinking_budget_tokens, chat_template_kwargs */
    WIRE_THINK_NONE,       /* the provider has no such parameter: send none */
};

/* A message that the gateway adds after those of the client. */
struct wire_tail {
    enum chat_role role;
    str text;
    str reasoning; /* of an ASSISTANT prefill: the reasoning so far, without tags */
    bool prefill;  /* the model must continue from here, in this provider's way */
    bool closed;   /* the prefill's reasoning is complete */
};

/* A fragment that the vault stores for a tool call, as CHAT_KEEP gave it. */
struct wire_kept {
    str name, text;
};
struct wire_vault {
    /* The number of fragments of a call; the first n_max are in out. Called once for each call, in
     * order. */
    size_t (*find)(void *ctx, str call_id, struct wire_kept *out, size_t n_max);
    void *ctx;
};

/* The gateway's changes to the provider's body. An empty str or a zero changes nothing. */
struct wire_plan {
    str model;               /* the provider's name for it */
    bool set_stream, stream; /* `stream` is set if set_stream is */
    bool want_usage;  /* ask for usage at the end of a stream, if the dialect requires asking */
    str system_extra; /* appended to the system prompt, after a blank line */
    str temperature, top_p, max_tokens; /* only if the body has none; max_tokens in any case */
    bool drop_temperature, drop_top_p;  /* the provider refused them: the client's go, too */
    enum wire_think think;
    bool set_level; /* level and budget_tokens are set, in the provider's way */
    enum chat_level level;
    bool least, other_way; /* "none" was refused; the default one of level and budget was */
    int64_t budget_tokens; /* -1: no budget */
    bool drop_reasoning;   /* removes all reasoning parameters: the provider refused them */
    bool control;          /* llama.cpp: a separate call may end the reasoning */
    str merge;             /* a JSON object merged deeply into the body (reasoning_params) */
    const struct wire_tail *tails;
    size_t tail_count;
    bool drop_tools;                /* the model must call no tools in this turn */
    const struct wire_vault *vault; /* or NULL: puts reasoning back that the provider requires,
                                       and removes our own and foreign signatures */
    bool whole;                     /* Responses: the body includes the previous conversation */
    bool foreign_kept; /* the history comes from another model: nothing signed may be sent */
};

struct wire_decoder;
struct wire_encoder;

/* One frame of a reply, and the result of parsing it. */
struct wire_frame {
    str name, data;         /* SSE event name or "", and its data; a line; a body */
    str raw;                /* the original bytes, with line ends */
    const struct json *doc; /* parsed data; NULL if it is not JSON ([DONE], a comment) or `again` */
    unsigned shape;         /* frames of one number differ only in one text; 0: unique */
    bool restart;           /* the decoder changed it: repaired or redacted */
    struct wire_decoder *again; /* the last frame with another text, or a row of those; or NULL */
};

struct wire {
    enum chat_dialect dialect;
    const char *name;
    enum wire_framing stream_framing;
    bool in_turn, one_call; /* arguments without a break; one call at a time: call_order.h */
    bool one_thought;       /* clients join all reasoning of a reply to one text */
    bool whole_lasts; /* texts of a whole reply's events stay valid until its frame is freed: see
                         defer_events.h */
    const char *whole_type, *stream_type; /* Content-Type of replies */

    /* ERR_INPUT names the wrong member and the expected value. NULL if no client uses the
     * dialect. */
    bool (*read)(const struct json *doc, struct arena *a, struct chat_request *out, struct err *e);
    /* Writes the request in this dialect, as a client of it would. Parameters that the dialect does
     * not have are dropped, and so are reasoning parts that only their own provider accepts. */
    void (*write)(const struct chat_request *r, struct buf *out);
    void (*patch)(const struct json *doc, const struct wire_plan *plan, struct json_edits *edits);
    /* Path and query after base_url: "/chat/completions". A dialect with a function has no text. */
    const char *path_text;
    void (*path)(str model, bool stream, struct buf *out);

    size_t decoder_size, encoder_size; /* of their private states */
    void (*decode)(struct wire_decoder *d, const struct wire_frame *f);       /* a stream's */
    void (*decode_whole)(struct wire_decoder *d, const struct wire_frame *f); /* a whole body */
    void (*decode_end)(struct wire_decoder *d); /* before END or the error of a cut; may be NULL */
    /* The effects of decode, apart from the event, for a frame that repeats the last one with
     * another text. NULL: every frame is decoded. If set, relay gets frames without a doc. */
    void (*again)(struct wire_decoder *d, const struct chat_event *ev);

    void (*encode)(struct wire_encoder *en, const struct chat_event *ev);
    void (*relay)(struct wire_encoder *en, const struct wire_frame *f,
                  const struct chat_event *events, size_t n, bool touched);
    void (*ping)(struct wire_encoder *en);            /* a keep-alive, if not a comment; or NULL */
    void (*note)(struct wire_encoder *en, str words); /* the same for a note beside the reply */
    /* Writes an error as a client of this dialect expects it: a whole JSON body. */
    void (*write_error)(const struct chat_error *error, struct buf *out);
    /* Reads a provider's error body; members that it does not have stay unchanged. Texts are in the
     * arena or in the doc's source. */
    void (*read_error)(const struct json *doc, struct arena *a, struct chat_error *out);
};

/* NULL if the name is unknown. Names: openai responses anthropic gemini mistral ollama generate
 * converse cohere. */
const struct wire *wire_find(str name);
const struct wire *wire_get(enum chat_dialect dialect);

/* ---- decoding ---- */

struct wire_decoder {
    const struct wire *wire;
    struct arena *arena; /* for data that lives as long as the reply; the dialect limits its size */
    struct chat_sink sink;
    struct json doc;                    /* of the current frame */
    struct arena scratch;               /* for the current frame */
    void *state;                        /* zeroed, decoder_size bytes */
    bool started, stopped, ended, deaf; /* START, STOP, END were emitted; nothing more is emitted */
    bool done;           /* [DONE] or a whole body was read: no choice is truncated */
    bool relays;         /* the client gets the frames: a choice's failure is a STOP, no ERROR */
    bool hides, splits;  /* reasoning is hidden (redact_reasoning.h); the text may contain some */
    uint32_t blocks;     /* started so far, in choice 0 */
    uint32_t text_ended; /* 1 + the block of text that the last frame has ended; or 0 */
    str salt;            /* makes generated call ids unique to this reply; may be empty */
    struct buf *repaired, *redacted; /* the current frame, if changed; NULL: no frame was so far */
    struct utf8_repair repair;
    struct repeat_frame repeat;
};

void wire_decoder_init(struct wire_decoder *d, const struct wire *w, struct arena *a,
                       struct chat_sink sink);
void wire_decoder_release(struct wire_decoder *d);
/* No frame will come for now: frees the memory of the last one. */
void wire_decoder_rest(struct wire_decoder *d);
/* The id for the nth call of the reply, if the provider sent none. */
str wire_call_id(struct wire_decoder *d, uint32_t n);

/* Decodes one frame of a stream. "[DONE]" is END for every SSE dialect; data that is not JSON is an
 * ERROR. */
void wire_decode(struct wire_decoder *d, struct wire_frame *f);
void wire_decode_whole(struct wire_decoder *d, struct wire_frame *f);
/* The same in two steps; the second only if the first returns true. */
bool wire_whole_parse(struct wire_decoder *d, struct wire_frame *f) MUST_USE;
void wire_whole_decode(struct wire_decoder *d, struct wire_frame *f);
/* The provider's bytes have ended. Emits END if a STOP came, else an ERROR, unless END or an ERROR
 * was emitted before. */
void wire_decode_end(struct wire_decoder *d);

/* For the dialects: emits an event; sets started, stopped, ended, deaf. Unset texts become "". */
void wire_emit(struct wire_decoder *d, const struct chat_event *ev);
void wire_emit_error(struct wire_decoder *d, const char *type, const char *message); /* 502 */

/* ---- encoding ---- */

struct wire_encoder {
    const struct wire *wire;
    const struct chat_request *request;
    struct arena *arena;
    struct buf *out;         /* bytes for the client; the caller sends and empties it */
    bool stream, both_names; /* else one whole body; relayed reasoning has both Chat names */
    void *state;             /* zeroed, encoder_size bytes */
    struct call_order *turns;
    str id, model; /* our id, if the dialect has one; model as the client named it: lent */
    int64_t created_s, first_ns, took_ns; /* since the request, for Ollama: first text, now */
    int64_t (*count_input)(void *ctx);    /* tokens of the request; NULL: unknown */
    void *count_ctx;
    bool cut, ended, failed, bare, failing, begun; /* cut: wire_end_cut_frame; bare: no comments */
};

void wire_encoder_init(struct wire_encoder *en, const struct wire *w, const struct chat_request *r,
                       bool stream, struct arena *a, struct buf *out);
void wire_encode(struct wire_encoder *en, const struct chat_event *ev);
void wire_relay(struct wire_encoder *en, const struct wire_frame *f,
                const struct chat_event *events, size_t n, bool touched);
/* The same frame with its doc, for a relay that needs the doc. */
struct wire_frame wire_frame_whole(const struct wire_frame *f);
/* A keep-alive during silence: a comment, or whatever readers of the dialect skip. */
void wire_encode_ping(struct wire_encoder *en);
void wire_encode_comment(struct wire_encoder *en, str words);
void wire_encode_note(struct wire_encoder *en, str words); /* or the dialect's substitute */

#define WIRE_SIGNATURE_PREFIX "rationale." /* of signatures that we make for reasoning blocks */
bool wire_signature_ours(str signature);

/* Like a Messages request, but without max_tokens. */
bool wire_anthropic_read_count(const struct json *doc, struct arena *a, struct chat_request *out,
                               struct err *e) MUST_USE;
extern const struct wire wire_ollama_prompt; /* CHAT_OLLAMA in the form of /api/generate */
/* A Gemini stream without alt=sse is a JSON array. */
void wire_gemini_array(struct wire_encoder *en);
/* For /generate: whether reasoning is sent as it arrives, and as one text at its end (default). */
void wire_generate_options(struct wire_encoder *en, bool delta, bool whole);
/* And the counts so far, for the event that ends the reasoning; -1: none. */
void wire_generate_counts(struct wire_encoder *en, int64_t tokens, int64_t cap);
