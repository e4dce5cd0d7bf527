/* rationale.h - separates a language model's reasoning from its answer and counts tokens.
 *
 * While the text arrives, in pieces of any size:
 *
 *     struct rationale_split_options options = {.format = "qwen3", .on_run = show};
 *     struct rationale_split *split = rationale_split_new(&options, &error);
 *
 *     while ((n = read(fd, piece, sizeof piece)) > 0)
 *         rationale_split_feed(split, piece, (size_t)n);
 *     rationale_split_finish(split);
 *     rationale_split_free(split);
 *
 * A whole text, for a record:
 *
 *     struct rationale_extract *x = rationale_extract_new(text, size);
 *
 *     if (x->has_reasoning)
 *         keep(x->raw_reasoning, x->summary);
 *     rationale_extract_free(x);
 *
 * Tokens:
 *
 *     if (!rationale_count("o200k_base", text, size, &count, &error))
 *         fail(error.text);
 *
 * Compile and link with `pkg-config --cflags --libs rationale`, and with `--static` before it for
 * the archive; example/split_stream.c is a whole program.
 *
 * Rules:
 *   - A function that can fail returns false (or NULL) and writes the reason into the error, which
 *     may be NULL. It then leaves its outputs unchanged.
 *   - Text has a size and need not end in NUL; it may be NULL if the size is 0. Text that the
 *     library returns ends in a NUL that the size does not count. Text that a callback gets does
 *     not, and is valid only during the call.
 *   - An object is never NULL except for the functions that free it. A callback must not feed,
 *     finish or free the object that called it.
 *   - One object belongs to one thread at a time; different objects may be used by different
 *     threads. The library needs no initialization and has no global state.
 *   - Feeding never fails, never allocates (unless on_call asks for calls), and never loses or
 *     changes a byte: the joined runs are the input, and other piece boundaries give the same
 *     result.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RATIONALE_H
#define RATIONALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RATIONALE_API __attribute__((visibility("default")))

RATIONALE_API const char *rationale_version(void);

struct rationale_error {
    int code; /* enum rationale_error_code */
    char text[240];
};

enum rationale_error_code {
    RATIONALE_ERROR_NONE,
    RATIONALE_ERROR_INPUT,     /* an argument is invalid */
    RATIONALE_ERROR_NOT_FOUND, /* unknown format or vocabulary */
    RATIONALE_ERROR_LIMIT,     /* too large */
};

/* ---- formats ---- */

/* The ids of the formats, from index 0; NULL after the last. */
RATIONALE_API const char *rationale_format_id(size_t index);

/* ---- splitting a stream ---- */

enum rationale_kind {
    RATIONALE_REASONING,
    RATIONALE_ANSWER,
    RATIONALE_TOOL,
    RATIONALE_FRAMING, /* markers, headers and the white space that belongs to them */
};

enum rationale_state {
    RATIONALE_NONE,     /* no reasoning */
    RATIONALE_COMPLETE, /* reasoning, and it was closed */
    RATIONALE_UNCLOSED, /* the text ended inside it */
};

/* Facts about the text; bits. */
enum rationale_flag {
    RATIONALE_AMBIGUOUS_CLOSE = 1 << 0,  /* a closer was inside an open code fence */
    RATIONALE_RECLASSIFIED = 1 << 1,     /* a later closer showed that it was text */
    RATIONALE_MALFORMED = 1 << 2,        /* a header did not have its format's form */
    RATIONALE_INVALID_UTF8 = 1 << 3,     /* invalid bytes passed through */
    RATIONALE_STRAY_CLOSE = 1 << 4,      /* a closer without reasoning was framing */
    RATIONALE_IMPLICIT_END = 1 << 5,     /* tools or another block ended the reasoning */
    RATIONALE_CUT_TOOL = 1 << 6,         /* the text ended inside tool markup */
    RATIONALE_UNOPENED_CLOSE = 1 << 7,   /* a closer in the answer without an opener: the text may
                                           have begun inside reasoning */
    RATIONALE_UNREAD_TOOL = 1 << 8,      /* with on_call: markup without a readable call */
    RATIONALE_MISMATCHED_CLOSE = 1 << 9, /* the closer of another tag closed the reasoning */
};

enum rationale_event {
    RATIONALE_BEGIN,      /* a block of `kind` begins; `name` is the tool a header addressed */
    RATIONALE_END,        /* the block has ended */
    RATIONALE_AMBIGUOUS,  /* the next closer, reported as framing, may turn out to be text */
    RATIONALE_SETTLED,    /* it was a closer */
    RATIONALE_RECLASSIFY, /* it was text: the last `size` bytes of the runs were reasoning */
};

struct rationale_note {
    enum rationale_event event;
    enum rationale_kind kind;
    const char *name; /* not ended by a NUL */
    size_t name_size;
    size_t size;
};

struct rationale_call {
    const char *name; /* both end in a NUL that the size does not count, and are valid during the
                         call */
    size_t name_size;
    const char *arguments;
    size_t arguments_size;
};

struct rationale_split_options {
    /* An id; "auto": the opening marker at the start of the text selects the format, and a text
     * without one is all answer. NULL for "think" or for the pair below. */
    const char *format;
    const char *open; /* a pair of your own instead of a format: both or none */
    const char *close;
    bool inside; /* the text begins inside reasoning, because the prompt opened it */
    void (*on_run)(void *context, enum rationale_kind kind, const char *text, size_t size);
    void (*on_note)(void *context, const struct rationale_note *note); /* may be NULL */
    /* NULL, or receives each tool call once its block of markup is complete; `arguments` is one
     * JSON object. The markup is buffered until then, at most 64 MiB. */
    void (*on_call)(void *context, const struct rationale_call *call);
    void *context;
};

struct rationale_split;

/* NULL if the format is unknown or the pair cannot work. Only the callbacks and the context must
 * outlive the call. */
RATIONALE_API struct rationale_split *
rationale_split_new(const struct rationale_split_options *options, struct rationale_error *error);
RATIONALE_API void rationale_split_feed(struct rationale_split *split, const char *text,
                                        size_t size);
/* Ends the text and reports the buffered rest. Feeding afterwards begins a new text. */
RATIONALE_API void rationale_split_finish(struct rationale_split *split);
/* Final after rationale_split_finish. */
RATIONALE_API enum rationale_state rationale_split_state(const struct rationale_split *split);
RATIONALE_API unsigned rationale_split_flags(const struct rationale_split *split);
/* The number of input bytes of that kind. */
RATIONALE_API size_t rationale_split_size(const struct rationale_split *split,
                                          enum rationale_kind kind);
RATIONALE_API void rationale_split_free(struct rationale_split *split);

/* ---- a whole text ---- */

/* For a model that was asked to wrap its thoughts in <thinking>, <reasoning>, <analysis> or
 * <think>. */
struct rationale_extract {
    bool has_reasoning;
    bool unclosed; /* the text ended inside reasoning; final_response is the text before it */
    const char *raw_reasoning;
    size_t raw_reasoning_size;
    const char *summary; /* the first 200 characters, and "..." if there are more */
    size_t summary_size;
    const char *final_response;
    size_t final_response_size;
};

RATIONALE_API struct rationale_extract *rationale_extract_new(const char *text, size_t size);
RATIONALE_API void rationale_extract_free(struct rationale_extract *extract);

/* ---- tokens ---- */

/* The names of the vocabularies, from index 0; NULL after the last. */
RATIONALE_API const char *rationale_vocab_name(size_t index);

RATIONALE_API bool rationale_count(const char *vocab, const char *text, size_t size, size_t *count,
                                   struct rationale_error *error);

/* Writes at most ids_max ids; *count is the number of all of them, so that the caller can retry
 * with a larger array. */
RATIONALE_API bool rationale_encode(const char *vocab, const char *text, size_t size, uint32_t *ids,
                                    size_t ids_max, size_t *count, struct rationale_error *error);

struct rationale_counter;

/* Counts the tokens of a stream. NULL if the vocabulary is unknown. */
RATIONALE_API struct rationale_counter *rationale_counter_new(const char *vocab,
                                                              struct rationale_error *error);
RATIONALE_API void rationale_counter_feed(struct rationale_counter *counter, const char *text,
                                          size_t size);
/* The exact number of tokens of the text so far. */
RATIONALE_API size_t rationale_counter_count(struct rationale_counter *counter);
RATIONALE_API void rationale_counter_free(struct rationale_counter *counter);

#ifdef __cplusplus
}
#endif

#endif
