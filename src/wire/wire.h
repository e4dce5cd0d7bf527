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
 * replies, relay.c frames passed on, X.h what these share. The files beside wire.h serve all of
 * them; ARCHITECTURE.md lists them.
 *
 * Promises: decoding never fails, is linear, and holds only what its state needs. The framing never
 * changes the events. Input without an event of its own becomes OPAQUE or EXTRA.
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

/* How a provider is told to think, and how much: what differs between hosts of one dialect. */
enum wire_think {
    WIRE_THINK_DEFAULT,    /* the dialect's own way: reasoning_effort, thinking, think... */
    WIRE_THINK_DEEPSEEK,   /* thinking.type, reasoning_effort low/high/max */
    WIRE_THINK_OPENROUTER, /* reasoning.{effort,max_tokens} */
    WIRE_THINK_VLLM,       /* reasoning_effort, thinking_token_budget, chat_template_kwargs */
    WIRE_THINK_SGLANG,     /* chat_template_kwargs, custom_params.thinking_budget */
    WIRE_THINK_LLAMACPP,   /* reasoning_effort, thinking_budget_tokens, chat_template_kwargs */
    WIRE_THINK_NONE,       /* it has no such thing: say nothing */
};

/* A message that the gateway adds behind those of the client. */
struct wire_tail {
    enum chat_role role;
    str text;
    str reasoning; /* of an ASSISTANT prefill: what was thought so far, without tags */
    bool prefill;  /* the model is to go on from here, in the way of this provider */
    bool closed;   /* the reasoning of the prefill is over */
};

/* What the vault knows to belong to a tool call: fragments as CHAT_KEEP gave them. */
struct wire_kept {
    str name, text;
};
struct wire_vault {
    /* How many there are for a call, the first n_max in out. Once for each call, in order. */
    size_t (*find)(void *ctx, str call_id, struct wire_kept *out, size_t n_max);
    void *ctx;
};

/* What the gateway wants of the upstream's body. An empty str or a zero changes nothing. */
struct wire_plan {
    str model;               /* the upstream's name of it */
    bool set_stream, stream; /* the latter is put in if the former is set */
    bool want_usage;  /* ask for usage at the end of a stream, where the dialect needs asking */
    str system_extra; /* appended to the system prompt, a blank line before it */
    str temperature, top_p, max_tokens; /* only where the body has none; the last in any case */
    bool drop_temperature, drop_top_p;  /* the provider refused them: the client's go, too */
    enum wire_think think;
    bool set_level; /* then level and budget_tokens are put in, in the provider's way */
    enum chat_level level;
    bool least, other_way; /* none was refused; the model's usual of level and budget was */
    int64_t budget_tokens; /* -1: none */
    bool drop_reasoning;   /* all reasoning parameters are taken out: the provider refused them */
    bool control;          /* llama.cpp: a call of its own may end the reasoning */
    str merge;             /* a JSON object merged deep into the body (reasoning_params) */
    const struct wire_tail *tails;
    size_t tail_count;
    bool drop_tools;                /* no tools are to be called in this turn */
    const struct wire_vault *vault; /* or NULL: reasoning that must go back is put back, and our own
                                       signatures and foreign ones are taken out */
    bool whole;        /* Responses: the body has what its previous_response_id stands for */
    bool foreign_kept; /* the history comes from another model: nothing signed may go out */
};

struct wire_decoder;
struct wire_encoder;

/* One frame of a reply, and what was read from it. */
struct wire_frame {
    str name, data;         /* SSE event name or "", and its data; a line; a body */
    str raw;                /* as it came, with its line ends */
    const struct json *doc; /* data parsed; NULL if it is no JSON ([DONE], a comment) or `again` */
    unsigned shape;         /* frames of one number differ in one text; 0: it is like no other */
    bool anew;              /* the decoder changed it: repaired or redacted */
    struct wire_decoder *again; /* the frame before with another text: who can parse it, or NULL */
};

struct wire {
    enum chat_dialect dialect;
    const char *name;
    enum wire_framing stream_framing;
    bool in_turn, one_call; /* the arguments of a call are written without a break; and each call
                               ends before the next begins: see call_order.h */
    bool whole_lasts; /* texts of a whole reply's events stay valid until its frame is freed: see
                         defer_events.h */
    const char *whole_type, *stream_type; /* Content-Type of replies */

    /* ERR_INPUT with the member at fault and what it should be. NULL where no client speaks it. */
    bool (*read)(const struct json *doc, struct arena *a, struct chat_request *out, struct err *e);
    /* The request in this dialect, as a client of it would have written it. What the dialect cannot
     * say is left out. Reasoning parts that only their own provider accepts are left out too. */
    void (*write)(const struct chat_request *r, struct buf *out);
    void (*patch)(const struct json *doc, const struct wire_plan *plan, struct json_edits *edits);
    /* Path and query behind base_url: "/chat/completions". */
    void (*path)(str model, bool stream, struct buf *out);

    size_t decoder_size, encoder_size; /* of their private states */
    void (*decode)(struct wire_decoder *d, const struct wire_frame *f);       /* of a stream */
    void (*decode_whole)(struct wire_decoder *d, const struct wire_frame *f); /* a whole body */
    void (*decode_end)(struct wire_decoder *d); /* before END or the error of a cut; may be NULL */
    /* What decode would do besides the event of a text that comes again in the same place. NULL: it
     * cannot say, every frame is decoded. With it, relay is given frames without a doc. */
    void (*again)(struct wire_decoder *d, const struct chat_event *ev);

    void (*encode)(struct wire_encoder *en, const struct chat_event *ev);
    void (*relay)(struct wire_encoder *en, const struct wire_frame *f,
                  const struct chat_event *events, size_t n, bool touched);
    void (*ping)(struct wire_encoder *en); /* a sign of life, if not by comments; or NULL */
    void (*note)(struct wire_encoder *en, str words); /* the same of words beside the reply */
    /* An error as a client of this dialect expects it: a whole JSON body. */
    void (*write_error)(const struct chat_error *error, struct buf *out);
    /* What a provider's error body says; members that it does not say stay as they were. Texts are
     * in the arena or in the doc's source. */
    void (*read_error)(const struct json *doc, struct arena *a, struct chat_error *out);
};

/* NULL where there is none of that name: openai responses anthropic gemini mistral ollama generate
 * converse cohere. */
const struct wire *wire_find(str name);
const struct wire *wire_get(enum chat_dialect dialect);

/* ---- decoding ---- */

struct wire_decoder {
    const struct wire *wire;
    struct arena *arena; /* for what must live as long as the reply: bounded by the dialect */
    struct chat_sink sink;
    struct json doc;                    /* of the frame at hand */
    struct arena scratch;               /* for the frame at hand */
    void *state;                        /* zeroed, decoder_size bytes */
    bool started, stopped, ended, deaf; /* START, STOP, END have gone out; nothing more comes out */
    bool done;       /* [DONE] came, or a whole body was read: no choice is cut off */
    bool hides;      /* reasoning is for nobody to see: see redact_reasoning.h */
    bool splits;     /* and it stands in the text, too */
    uint32_t blocks; /* begun so far, in choice 0 */
    str salt;        /* makes ids of calls that came without one this reply's own; may be empty */
    struct buf repaired, redacted; /* the current frame, if the decoder changed it */
    struct utf8_repair repair;
    struct repeat_frame repeat;
};

void wire_decoder_init(struct wire_decoder *d, const struct wire *w, struct arena *a,
                       struct chat_sink sink);
void wire_decoder_release(struct wire_decoder *d);
/* The id of the nth call of the reply, if the provider gave none. */
str wire_call_id(struct wire_decoder *d, uint32_t n);

/* One frame of a stream. "[DONE]" is END for every SSE dialect, what is no JSON an ERROR. */
void wire_decode(struct wire_decoder *d, struct wire_frame *f);
void wire_decode_whole(struct wire_decoder *d, struct wire_frame *f);
/* The same in two steps, the second if the first says so. */
bool wire_whole_parse(struct wire_decoder *d, struct wire_frame *f) MUST_USE;
void wire_whole_decode(struct wire_decoder *d, struct wire_frame *f);
/* The bytes are over: an ERROR comes out unless there was an END, or a STOP and no other end is. */
void wire_decode_end(struct wire_decoder *d);

/* For the dialects: sets started, stopped, ended, goes deaf. Texts that were left out are "". */
void wire_emit(struct wire_decoder *d, const struct chat_event *ev);
void wire_emit_error(struct wire_decoder *d, int status, const char *type, const char *message);

/* ---- encoding ---- */

struct wire_encoder {
    const struct wire *wire;
    const struct chat_request *request;
    struct arena *arena;
    struct buf *out; /* what the client is to get; the caller takes it away and empties it */
    bool stream, both_names; /* else one whole body; relayed reasoning has both Chat names */
    void *state;             /* zeroed, encoder_size bytes */
    struct call_order *turns;
    str id, model; /* ours, where the dialect has one; as the client asked for it: lent */
    int64_t created_s, first_ns, took_ns; /* since the request, for Ollama: its first words, now */
    int64_t (*count_input)(void *ctx);    /* tokens of the request; NULL: not known */
    void *count_ctx;
    bool cut, ended, failed, bare; /* cut: wire_end_cut_frame; bare: no comments */
};

void wire_encoder_init(struct wire_encoder *en, const struct wire *w, const struct chat_request *r,
                       bool stream, struct arena *a, struct buf *out);
void wire_encode(struct wire_encoder *en, const struct chat_event *ev);
void wire_relay(struct wire_encoder *en, const struct wire_frame *f,
                const struct chat_event *events, size_t n, bool touched);
/* The same frame with its doc, for a relay that needs it after all. */
struct wire_frame wire_frame_whole(const struct wire_frame *f);
/* A sign of life while nothing is said: a comment, or what else readers of the dialect skip. */
void wire_encode_ping(struct wire_encoder *en);
void wire_encode_comment(struct wire_encoder *en, str words);
void wire_encode_note(struct wire_encoder *en, str words); /* or what there is in its place */

#define WIRE_SIGNATURE_PREFIX "rationale." /* of those we make for reasoning blocks */
bool wire_signature_ours(str signature);

/* As a Messages request, but without max_tokens. */
bool wire_anthropic_read_count(const struct json *doc, struct arena *a, struct chat_request *out,
                               struct err *e) MUST_USE;
/* A Gemini stream without alt=sse is a JSON array. */
void wire_gemini_array(struct wire_encoder *en);
/* Of an encoder of /generate: whether reasoning that is shown goes out as it comes, and whether it
 * goes out as one text when it is over. Unasked, only the latter. */
void wire_generate_options(struct wire_encoder *en, bool delta, bool whole);
/* And what has been counted so far, for the event that ends the reasoning; -1 is none. */
void wire_generate_counts(struct wire_encoder *en, int64_t tokens, int64_t cap);
