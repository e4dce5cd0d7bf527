/* split.h - separates a model's reasoning from its answer while the text is arriving.
 *
 * Feed the text in any pieces; the sink gets runs of it, in order, each of one kind:
 *
 *     struct split sp;
 *     split_init(&sp, format, false, (struct split_sink){on_run, NULL, ctx});
 *     while (next_piece(&piece))
 *         split_feed(&sp, piece);
 *     split_finish(&sp);
 *
 * The text does not show whether it begins inside reasoning, because the prompt may have opened it.
 * The caller has to say so; it is never guessed.
 *
 * Places, and the markers that lead from one to another (formats.c has one row for each format):
 *
 *     OUT ---open---> REASON ---close---> OUT        OUT ---wrapper---> WRAP ---its end---> OUT
 *     OUT, WRAP, sometimes REASON ---tool---> TOOL ---its end---> OUT
 *
 * The rules, in short (docs/explanation/splitting.md has them at length, with the reasons):
 *   - White space and a marker that begin the text are framing: an opener, one stray closer, and
 *     repeated openers inside.
 *   - A text tag opens only at the start of a line or right after a block, and not in a code
 *     fence; a special token opens anywhere. A closer that closes nothing is answer for a text tag
 *     and framing for a special token.
 *   - A marker with the same quote character on both sides is text.
 *   - A closer inside an open code fence closes and is noted as ambiguous; if another closer
 *     follows before any tool or new block, the text between them was reasoning: SPLIT_RECLASSIFY.
 *     The same for the closer of another tag (<think>...</thinking>), until its own one comes.
 *   - With the format "auto" the start of the text selects the format, once.
 *
 * Promises:
 *   - Cutting the text elsewhere never changes the runs of each kind, joined, nor the notes.
 *   - The runs, joined, are the input: not a byte is lost, changed or made up.
 *   - The splitter buffers only text that may still be part of a marker or of its white space, and
 *     incomplete characters; a run never ends inside a UTF-8 sequence.
 *   - It does no I/O and cannot fail. Its memory is the struct, unless the caller sets `arena`.
 *   - Time is linear in the text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "split/format.h"
#include "split/line.h"

enum split_kind {
    SPLIT_REASONING,
    SPLIT_ANSWER,
    SPLIT_TOOL,
    SPLIT_FRAMING, /* markers, headers, and the white space that belongs to them */
    SPLIT_KIND_COUNT
};

enum split_state {
    SPLIT_NONE,     /* no reasoning */
    SPLIT_COMPLETE, /* reasoning, and it was closed */
    SPLIT_UNCLOSED, /* the text ended inside it */
};

/* Facts about the result for its reader; bits. */
enum split_flag {
    SPLIT_AMBIGUOUS_CLOSE = 1 << 0,  /* a closer was in an open code fence */
    SPLIT_RECLASSIFIED = 1 << 1,     /* and another one showed that it was text */
    SPLIT_MALFORMED = 1 << 2,        /* a header did not have its format's form */
    SPLIT_INVALID_UTF8 = 1 << 3,     /* bytes that are no characters were passed on unchanged */
    SPLIT_STRAY_CLOSE = 1 << 4,      /* a closer that closed nothing was treated as framing */
    SPLIT_IMPLICIT_END = 1 << 5,     /* tools or another block ended the reasoning, without a
                                        closer */
    SPLIT_CUT_TOOL = 1 << 6,         /* the text ended inside tool markup */
    SPLIT_UNOPENED_CLOSE = 1 << 7,   /* a closer in the answer, and nothing was opened: perhaps
                                       the text began inside reasoning */
    SPLIT_UNREAD_TOOL = 1 << 8,      /* markup that gave no call: set by the reader of the calls */
    SPLIT_MISMATCHED_CLOSE = 1 << 9, /* the closer of another tag closed the reasoning */
    SPLIT_UNCLOSED_REPLY = 1 << 10,  /* set by the gateway: the reply ended inside reasoning */
};
#define SPLIT_FLAG_COUNT 11

enum split_note_what {
    SPLIT_BEGIN,      /* a block of `kind` begins; `name` is the tool a header addressed, if any */
    SPLIT_END,        /* it has ended */
    SPLIT_AMBIGUOUS,  /* the closer that follows as framing may turn out to be text */
    SPLIT_SETTLED,    /* it was a closer; only this note's position in the bytes may vary */
    SPLIT_RECLASSIFY, /* it was text: the last `size` bytes of the runs were reasoning, all of them
                       */
};

struct split_note {
    enum split_note_what what;
    enum split_kind kind;
    str name;                    /* lent for the call */
    size_t size;                 /* bytes */
    bool mismatched;             /* of AMBIGUOUS: the closer is another tag's */
    enum split_call_style calls; /* of a tool block: how its calls are written */
};

struct split_sink {
    /* run is lent for the call, and never empty. */
    void (*on_run)(void *ctx, enum split_kind kind, str run);
    void (*on_note)(void *ctx, const struct split_note *note); /* may be NULL */
    void *ctx;
};

/* Why the last closer of the reasoning may have been text. */
enum split_doubt {
    SPLIT_DOUBT_NONE,
    SPLIT_DOUBT_FENCE,  /* it was in an open code fence */
    SPLIT_DOUBT_TAG,    /* it was the closer of another tag */
    SPLIT_DOUBT_NESTED, /* it may have closed a nested block */
};

/* The splitter may buffer a whole header or run of framing white space, up to this size. Most texts
 * never need more than the smaller size. */
#define SPLIT_HOLD_MAX 512
#define SPLIT_HOLD_SMALL 64

struct split {
    const struct split_format *format; /* lent until split_finish; for "auto": the selected one */
    struct split_sink sink;
    unsigned flags;
    enum split_state state;
    bool trusted; /* the caller sets it after split_init: pieces are UTF-8, no character cut */
    bool nests;   /* the caller's to set as well: a block may contain others. A closer after another
                   opener is then in doubt, as one in a code fence is */
    struct arena
        *arena;  /* likewise: memory for `large`, lives as long as the splitter; NULL: room */
    char *large; /* SPLIT_HOLD_MAX bytes; NULL: not needed yet */
    size_t size[SPLIT_KIND_COUNT]; /* bytes of each kind so far, without buffered bytes */

    /* All members below are private. */
    unsigned depth;                  /* openers inside reasoning that need their own closer */
    const struct split_index *index; /* the format's, or own */
    const struct split_format *also; /* NULL, or a format whose markers count as well */
    uint8_t spelling;                /* enum split_spelling: how the block's opener was written */
    uint8_t place, gap, back, pair;
    uint8_t back_pair; /* of the reasoning that tools interrupt */
    uint8_t outer;     /* where the current block of reasoning began */
    uint8_t calls;     /* enum split_call_style of the current tool block */
    bool picking;      /* the format is not known yet */
    bool started, seen, fresh, implicit;
    uint8_t doubt;            /* enum split_doubt: of the last closer */
    bool steady;              /* a piece without a `marking` byte is text of `plain_kind` */
    bool plain;               /* and changes nothing else if it has no `special` byte */
    uint8_t marking, special; /* bits of the index's table of first bytes */
    uint8_t plain_kind;       /* enum split_kind */
    char before;              /* the last byte of this block's text; 0 at its start */
    str eat;                  /* text that may follow the last marker and is still framing */
    size_t since;             /* bytes since the ambiguous closer, including it */
    size_t since_framing;     /* how many of them were emitted as framing */
    unsigned nested;          /* openers inside reasoning: each leaves one closer in doubt */
    struct split_line answer, reason, answer_then;
    size_t held;
    char *hold; /* the buffered bytes: small or large */
    char small[SPLIT_HOLD_SMALL];
    struct split_index own;    /* split_size may leave it out */
    char room[SPLIT_HOLD_MAX]; /* split_size leaves it out */
};

/* The size of a splitter for this format, for callers with many, who set `arena`: a format with an
 * index needs none in the splitter. */
static inline size_t split_size(const struct split_format *format)
{
    return format->index && !format->picks ? offsetof(struct split, own)
                                           : offsetof(struct split, room);
}

void split_init(struct split *sp, const struct split_format *format, bool inside,
                struct split_sink sink);
/* After split_init with "auto", for a text that continues in a format selected before. */
void split_use(struct split *sp, const struct split_format *picked);
void split_feed(struct split *sp, str piece);

/* Whether the piece, which is UTF-8 with no character cut, is answer from its first byte to its
 * last, whatever follows it. Fed next, alone or together with others of which this is true, it
 * becomes one run. */
bool split_is_answer(const struct split *sp, str piece);

/* The text has ended: emits the buffered bytes; state and flags are final. */
void split_finish(struct split *sp);
/* Whether the text so far ends in reasoning. */
bool split_is_inside(const struct split *sp);

const char *split_kind_name(enum split_kind kind);
const char *split_state_name(enum split_state state);
/* The name of the flag with this number, 0 to SPLIT_FLAG_COUNT - 1. */
const char *split_flag_name(unsigned number);
