/* format.h - a reasoning format: its markers, where each is searched for and where it leads.
 *
 * A format is a row of data. The built-in rows are in formats.c; split_pair_init makes one from a
 * pair of markers that the user configured. Only the headers of typed messages need a function
 * (header.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/err.h"
#include "split/calls.h"

#define SPLIT_MARK_MAX 64
#define SPLIT_FIRST_MAX 8

/* The current place in the text, as bits, so that a marker can name several. */
enum split_place {
    SPLIT_OUT = 1 << 0,    /* answer, or between blocks */
    SPLIT_WRAP = 1 << 1,   /* answer inside a wrapper or a typed message */
    SPLIT_REASON = 1 << 2, /* reasoning */
    SPLIT_TOOLS = 1 << 3,  /* tool markup */
    SPLIT_TAIL = 1 << 4,   /* after the tools of a format that has no text there: framing */
    SPLIT_STAY = 0,        /* as a target: the same place */
};
#define SPLIT_PLACE_COUNT 5

/* A gap: white space that is framing if one of the gap's markers follows, and text if not. */
enum split_gap {
    SPLIT_GAP_START = 1 << 0,  /* the text begins, outside reasoning */
    SPLIT_GAP_INSIDE = 1 << 1, /* reasoning begins */
    SPLIT_GAP_AFTER = 1 << 2,  /* after a block */
    SPLIT_GAP_TOOL = 1 << 3,   /* after tool markup; at the end of the text it is framing too */
};

enum split_rule {
    SPLIT_AT_LINE = 1 << 0,    /* only at the start of a line or right after a block, outside a
                                fence */
    SPLIT_NOT_CODE = 1 << 1,   /* anywhere except in a fence or inline code */
    SPLIT_NOT_QUOTED = 1 << 2, /* not with the same quote character on both sides */
    SPLIT_FENCED = 1 << 3,     /* in an open fence it is ambiguous */
    SPLIT_AGAIN = 1 << 4,      /* only while a closer is in doubt; before any block, noted */
    SPLIT_LATE = 1 << 5,       /* only after tools that ended the reasoning */
    SPLIT_STRAY = 1 << 6,      /* it closes nothing: note it */
    SPLIT_SUFFIX = 1 << 7,     /* the text is followed by ">" or by ":word>" */
    SPLIT_EMPTY = 1 << 8,      /* a whole block with nothing in it */
    SPLIT_BACK = 1 << 9,       /* tools inside reasoning: the reasoning continues after them */
    SPLIT_TO_TAIL = 1 << 10,   /* tools after which nothing counts */
    SPLIT_MESSAGE = 1 << 11,   /* a separate message begins here */
    SPLIT_DEEPER = 1 << 12,    /* inside reasoning it needs its own closer; it is text */
    SPLIT_BAD = 1 << 13,       /* a malformed header */
    SPLIT_NAMED = 1 << 14,     /* in a gap, a tool's name may come before it */
    SPLIT_TELLS = 1 << 15,     /* a text that begins with it has this format: see split_pick */
    SPLIT_SIBLING = 1 << 16,   /* closes a block that another tag opened, in doubt: split.h */
    SPLIT_OUTER = 1 << 17,     /* the block ends where it began: in the message that contains it */
    SPLIT_NESTS = 1 << 18,     /* inside reasoning: text; where blocks may nest, a closer after it
                                  is in doubt */
};

struct split_mark {
    str text;
    str eat;        /* text that may follow it and is framing too */
    uint8_t in;     /* enum split_place bits: where it is searched for */
    uint8_t gap;    /* enum split_gap bits: after whose white space */
    uint8_t to;     /* one enum split_place */
    uint8_t pair;   /* closes only what was opened with the same number; 0 closes all, but a tag
                       with a number only in doubt: see split_closes_in_doubt */
    uint32_t rules; /* enum split_rule bits */
    enum split_call_style calls; /* of tool markup: how calls are written; NONE: the format's way */
};

/* A match at a position in the text. */
struct split_hit {
    struct split_mark mark; /* its text is not used: size is its length in the input */
    size_t size;            /* of the marker or header */
    size_t token;           /* of its first token: a quote character may follow it */
    size_t quoted;          /* bytes of it that are in quotes, and so are text */
    str name;               /* the tool a header addresses */
};

enum split_match { SPLIT_NO_MATCH, SPLIT_PART_MATCH, SPLIT_FULL_MATCH };

/* The input of a header matcher. */
struct split_at {
    str text;     /* from the position on */
    bool more;    /* more text may follow */
    bool between; /* between messages: plain words may begin a header */
    bool begun;   /* some text came before */
};

/* The first bytes of a format's markers. */
struct split_index {
    uint8_t first[256]; /* one bit for each place: a marker searched for there begins with this
                           byte */
    uint8_t byte[SPLIT_PLACE_COUNT][SPLIT_FIRST_MAX]; /* the same as lists */
    uint8_t byte_count[SPLIT_PLACE_COUNT];
    uint32_t second[8]; /* one bit for each byte: a marker has, or may have, it as its second
                           byte */
    uint8_t gaps;       /* enum split_gap bits: gaps in which markers are searched for */
    bool any_gap;       /* a marker after white space may begin with any byte */
    bool track_answer, track_reason, count_ticks; /* which facts about lines it needs */
};

struct split_format {
    const char *id;
    const char *families; /* for display */
    const char *inside;   /* whether its prompts open the reasoning: "no", "yes", "varies" */
    enum split_call_style calls;
    bool cut_is_framing; /* a marker cut by the end of the text is framing, if a token of it is
                            whole */
    const struct split_mark *marks;
    size_t mark_count;
    /* NULL, or finds the header of a typed message at the start of the text. */
    enum split_match (*header)(const struct split_at *at, struct split_hit *hit);
    const struct split_index *index; /* NULL: each splitter makes its own */
    /* NULL, or a format whose markers count as well; only its markers are used. */
    const struct split_format *also;
    bool picks; /* it has no markers: the start of each text selects a format */
};

/* Callers with many texts of one format build the index once and put it into a copy of the format.
 */
void split_index_init(struct split_index *x, const struct split_format *f);

/* NULL if no format has this id. "auto" is in no list: see split_format_auto. */
const struct split_format *split_format_find(str id);
/* All formats by index, in the order of the table; NULL after the last. */
const struct split_format *split_format_at(size_t index);
/* The format that selects another by the start of each text. */
const struct split_format *split_format_auto(void);
/* The format without markers: the whole text is answer. */
const struct split_format *split_format_plain(void);
/* Whether its reasoning is in a tag of plain text that prompts ask for: <think>, <thinking>... */
bool split_format_is_tag(const struct split_format *f);
/* Whether only prompts ask for its tag, no model writes it by itself: <reasoning>, <analysis>. The
 * format's id is the name of the tag. */
bool split_format_is_prompted(const struct split_format *f);
/* <thinking>, as the gateway asks for it by prompt: anywhere outside code and quotes. */
const struct split_format *split_format_asked(void);
/* How `extract` reads the tags that prompts ask for, anywhere outside code; in no list. */
enum split_prompted {
    SPLIT_PROMPTED_NESTED, /* a nested block belongs to the outer one */
    SPLIT_PROMPTED_FLAT,   /* a closer closes, unless it is quoted */
    SPLIT_PROMPTED_FIRST,  /* the first closer closes */
    SPLIT_PROMPTED_COUNT
};
const struct split_format *split_format_prompted(enum split_prompted reading);

/* The format that the start of a text selects: white space, then a marker with SPLIT_TELLS. `more`:
 * more text may follow. PART: more of the text is needed, never more than SPLIT_FRONT_MAX bytes.
 * FULL: *out is the format. NO: the text begins with no marker; *out is the plain format. */
#define SPLIT_FRONT_MAX 192
enum split_match split_pick(str front, bool more, const struct split_format **out);

#define SPLIT_PAIR_MARKS 6

/* A pair of markers that the user configured, as a format. */
struct split_pair {
    struct split_format format;
    struct split_mark marks[SPLIT_PAIR_MARKS];
};

/* Both markers are lent as long as the pair is used: 1 to SPLIT_MARK_MAX bytes of UTF-8, different,
 * and neither begins with white space. */
bool split_pair_init(struct split_pair *pair, str open, str close, struct err *e) MUST_USE;

/* The headers of Harmony (gpt-oss) and of Muse. */
enum split_match split_header_harmony(const struct split_at *at, struct split_hit *hit);
enum split_match split_header_muse(const struct split_at *at, struct split_hit *hit);
