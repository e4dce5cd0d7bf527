/* pipe.h - what a provider's reply becomes on its way to the client: split, counted, held to its
 * budget, hidden where policy says so.
 *
 *     pipe_init(&p, &options, &arena);
 *     for each frame:
 *         pipe_begin(&p);
 *         ... pipe_feed(&p, &event) for each event of the frame
 *         use p.events[0..p.count), p.touched
 *         if (p.over) ...                      the budget is spent: cut the reply here
 *     pipe_flush(&p);                          what was held back comes out as one more frame
 *
 * A stage: it does no I/O and cannot fail. What comes out is in order and has fresh block numbers.
 *
 *   - With a format, text is split: reasoning becomes REASONING, tool markup CALL and ARGUMENTS;
 *     the white space beside the markers goes. Without one, text is text.
 *   - With the format "auto", the opening marker that the text begins with decides. If it begins
 *     with none, text is text. Reasoning in a field of its own changes nothing: hosts give both.
 *   - Reasoning is counted in tokens, exactly, whoever may see it.
 *   - When it passes the cap, it ends right before the token that was too much, and `over` is set.
 *     The rest of the reply then has no reasoning, whatever comes: `muted`. How much of it was
 *     `dropped` is counted, and what had come `before`, so that whoever lets the reply go on can
 *     tell whether it has come to its answer: pipe_resumes.
 *     A signature or opaque data of a reply that goes on past its cap still comes out.
 *     A word at the cap waits until it is whole: "pond" may be a token too many and "ponder" none.
 *   - A reply that is let go at its cap says nothing more: `ends_at_cap`, unless it `may_resume`.
 *   - Hidden, no event of reasoning comes out: no text, signature or opaque data of it. Text after
 *     a closer that is in doubt (split.h) waits until the splitter is certain, 1 MiB at most.
 *   - `touched` is false if the events of this frame are those that came in.
 *
 * Texts come as the dialects' JSON gave them: UTF-8 that was checked, no character cut. Events and
 * their texts are lent until the next pipe_begin.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"
#include "split/reader.h"
#include "tokens/tokens.h"
#include "wire/arena_text.h"

#define PIPE_EVENTS_FIRST 8
#define PIPE_MAP_FIRST 8
#define PIPE_SPACE_FIRST 64
#define PIPE_SPACE_MAX 4096               /* white space held back before it is text after all */
#define PIPE_DOUBT_MAX ((size_t)1 << 20)  /* text that may be reasoning or all of an answer */
#define PIPE_WAITING_MAX 64               /* a word of which nobody knows yet whether it fits */
#define PIPE_MARKUP_MAX ((size_t)1 << 20) /* tool markup of one block */

struct pipe_options {
    const struct split_format *format; /* NULL: the provider splits, or nothing does */
    bool inside;                       /* the text begins inside reasoning */
    bool hide;
    bool announce; /* that there is reasoning is told, by an event without text, if it is hidden */
    bool both_names;  /* the client asked to be shown reasoning: every frame of it is touched, so
                         that it goes out under both names that Chat Completions clients read */
    bool as_it_is;    /* the frames are relayed: usage stays as the provider reported it, unless
                         reasoning was split out of the text or is hidden */
    bool ends_at_cap; /* nothing of the reply is used behind its cap */
    bool truncates;   /* the reply goes on after its cap: reasoning beyond the cap is counted */
    bool may_resume;  /* unless that ends its reasoning only; not behind a tool call */
    int64_t cap;      /* tokens of reasoning; -1: no cap */
    str id;           /* goes into the ids of calls read from markup; lent */
    const struct tokens_vocab *vocab;
    /* Reasoning under the cap, seen or hidden; may be NULL. */
    void (*on_thought)(void *ctx, str text);
    /* The cap is reached: a higher one if it is to be raised. May be NULL. */
    int64_t (*on_cap)(void *ctx);
    void *ctx;
};

struct pipe {
    /* What came of the frame at hand. */
    struct chat_event *events;
    size_t count, events_max;
    bool touched;

    /* What is known so far. */
    bool ever_touched;
    bool over, muted;
    bool capped;                        /* another choice was over its cap, and is muted */
    uint32_t cut_block;                 /* 1 + the block that lost text at the cap; 0: none */
    bool continued;                     /* by a second call */
    bool reasoned, answered, called;    /* something of it came, white space apart */
    bool opaque;                        /* reasoning that nobody can read came */
    bool summary;                       /* what came was only a summary */
    bool tagged;                        /* it came out of the text */
    unsigned flags;                     /* enum split_flag */
    size_t reasoning_size, answer_size; /* bytes */
    size_t arguments_size;              /* of calls, the same */
    size_t dropped; /* bytes of reasoning after the event that passed the cap; of a reply that
                       `truncates`, after the cap */
    struct {
        size_t answer_size;
        bool called;
    } before; /* the cap was passed */

    /* Its own, as is the rest. */
    struct tokens_counter *counter;         /* of the block at hand */
    struct tokens_counter *dropped_counter; /* of reasoning beyond the cap; NULL: none came */
    size_t counted_before;                  /* tokens of the blocks before it */
    int64_t counted;                        /* of all, or -1: not known since more came */
    int64_t room;                           /* bytes that surely fit under the cap */
    struct arena *arena;                    /* as long as the reply */
    struct pipe_other *others;
    struct split *split;
    struct split_reader *reader; /* once there is tool markup */
    struct arena frame;          /* what the frame at hand needs */

    struct pipe_options options;
    char *space; /* white space that may turn out to be beside a marker */
    size_t space_n, space_cap;
    enum split_kind space_kind; /* of which text */
    bool usage_said;            /* the frame at hand has a usage already */
    bool closing;               /* no more of the reasoning at hand comes */
    bool fresh;                 /* right behind a marker: white space goes */
    bool resumed;               /* the marker was ours: the same of the text that comes first */
    bool splitting, started;
    bool doubtful;             /* the text may be inside reasoning or not: that of a second call, or
                               the text after a call that came while reasoning was open */
    struct arena_text doubt;   /* what came meanwhile */
    struct pipe_doubt *unsure; /* NULL, or what came after a closer that is in doubt */
    const struct split_format *picked; /* of "auto", once it is known */
    bool plain;                        /* of "auto": the text has no reasoning in it */
    bool from_split;                   /* the current block was cut out of a text */
    bool boundary;                     /* the next content begins a block */
    int last;                          /* what the current block is, or -1 */
    uint32_t block, blocks;            /* the number it goes out with, and how many there are */
    uint32_t in_block;                 /* its number coming in */
    uint32_t text_block;
    uint32_t said_block; /* 1 + the last number coming in of a block with text or a signature */
    uint32_t runs;       /* that the splitter gave */
    uint32_t calls;      /* read from markup */
    str text;            /* of the event at hand */
    const struct json_node *text_node; /* of the last event of text in the frame at hand */
    uint32_t *map; /* by number coming in: 1 + number going out, 0 if not seen */
    size_t map_max;
    uint32_t map_first[PIPE_MAP_FIRST]; /* the map of most replies */
    size_t waiting_n;                   /* of the word at the cap */
    /* What most replies need and no more; not cleared. */
    struct chat_usage usage_first;
    char space_first[PIPE_SPACE_FIRST];
    char waiting[PIPE_WAITING_MAX];
    struct chat_event first[PIPE_EVENTS_FIRST];
};

/* Another choice than the first: see pipe_others.h. */
struct pipe_other {
    struct pipe pipe;
    uint32_t choice;
    struct pipe_other *next;
};

void pipe_init(struct pipe *p, const struct pipe_options *o, struct arena *a);
void pipe_release(struct pipe *p);
/* How the reply marks reasoning in its text; NULL: not at all. Of "auto" the picked format, once it
 * is known. */
const struct split_format *pipe_format(const struct pipe *p);
/* Whether the format is "auto" and no text of this choice has come. */
bool pipe_is_picking(const struct pipe *p, uint32_t choice);
/* Of such a choice: its text begins with no marker. */
void pipe_set_plain(struct pipe *p, uint32_t choice);
void pipe_begin(struct pipe *p);
void pipe_feed(struct pipe *p, const struct chat_event *ev);
/* Whether the event, which is about to be fed, is all there is of a thought: opaque data, or the
 * signature of a block without text. */
bool pipe_is_sealed(const struct pipe *p, const struct chat_event *ev);
/* The text is over (or goes on in another call): what was held back comes out. */
void pipe_flush(struct pipe *p);
/* Whether something else than reasoning has come since the cap was passed. */
bool pipe_resumes(const struct pipe *p);
/* A second call goes on where the first was cut: its text begins outside reasoning. */
void pipe_continue(struct pipe *p);
/* Before another try of it, perhaps of a provider that marks its reasoning otherwise. */
void pipe_goes_on(struct pipe *p, const struct split_format *format, bool inside);
/* One that begins inside and is asked anew, not continued, may do so again: its text is held back
 * until its reasoning ends, and is the answer if it comes to its end without. */
void pipe_continue_anew(struct pipe *p);
/* Tokens of reasoning that came through, seen or hidden, of all choices. */
int64_t pipe_tokens(struct pipe *p);
/* The same, and those that were dropped beyond the cap. */
int64_t pipe_thought(struct pipe *p);
/* Whether another choice than the first has come to its answer. */
bool pipe_others_answer(const struct pipe *p);
/* Those of all that came, answer and calls too: of these about four bytes are one. */
int64_t pipe_made(struct pipe *p);
