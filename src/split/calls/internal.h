/* internal.h - what the readers of tool markup share: a cursor, finders and givers.
 *
 * A reader walks over c->raw with c->at, gives each call it is sure of, and says calls_doubt where
 * it is not. Time stays linear by three rules:
 *
 *   - What is looked for far ahead is looked for with a finder, which remembers where it stands.
 *   - A bracket is scanned to its end once; if it has none, the flags below keep the next one from
 *     being scanned to the end of the text again.
 *   - What failed is stepped over, never tried again from within.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/json.h"
#include "split/calls.h"

#define CALLS_DEPTH_MAX 128 /* of values that are read by recursion */
#define CALLS_MARK_MAX 128  /* bytes of a marker that is only framing */

/* The next place of a needle; cheap as long as it is asked for places that only move on. */
struct calls_find {
    str needle;
    size_t from, at; /* asked from here, found there */
    bool known;
};

struct calls {
    str raw, recipient;
    size_t at; /* where the reader stands in raw */
    struct arena *arena;
    struct split_call_sink sink;
    size_t given;
    bool doubt;                          /* some of it was not understood */
    bool lists_cut, objects_cut;         /* one was met that is never closed */
    bool spoilt;                         /* an object of calls was no JSON */
    struct calls_find end;               /* what ends JSON whose brackets cannot be trusted */
    struct json doc, inner;              /* inner: for a text within what doc holds */
    struct buf made, text;               /* arguments being made; a text being decoded */
    struct json_out out;                 /* writes to made */
    void (*give_object)(struct calls *); /* c->doc's root is an object or list of calls */
};

typedef void calls_reader(struct calls *c);

calls_reader calls_body, calls_tags, calls_json, calls_apertus, calls_marked_deepseek,
    calls_marked_kimi, calls_marked_solar, calls_mistral, calls_kimi_k3, calls_gemma,
    calls_pythonic, calls_m3;

/* The cursor. */
str calls_rest(const struct calls *c);
bool calls_done(const struct calls *c);
char calls_peek(const struct calls *c); /* '\0' at the end */
void calls_space(struct calls *c);
bool calls_eat(struct calls *c, str text); /* moves over it if it stands here */
void calls_doubt(struct calls *c);

/* Moves over one marker such as <|x|> or </x> if one stands here. */
bool calls_eat_mark(struct calls *c);
/* Moves to `to`; all but white space and markers on the way is a doubt. */
void calls_framing(struct calls *c, size_t to);
/* Where the needle stands next, from `from` on; raw.n if nowhere. */
size_t calls_seek(const struct calls *c, struct calls_find *f, size_t from);

bool calls_is_space(char ch);
bool calls_is_one_of(char ch, const char *set); /* NUL is in no set */
/* Whether text without quotes around it can be a name: no space, no bracket, no quote. */
bool calls_is_bare(str name);
/* The value of key="value" among attributes, or false. */
bool calls_attr(str attrs, str key, str *out);
/* With &lt; &gt; &amp; &quot; and &apos; decoded, in the arena if there are any. */
str calls_unescape(struct calls *c, str text);

/* Hands a call on, if the name can be one. The arguments are known to be a JSON object. */
void calls_give(struct calls *c, str name, str arguments);

/* Arguments that are made one by one: begin, then key and value by turns, then give. */
void calls_make(struct calls *c);
void calls_made(struct calls *c, str name);

enum calls_value_flags {
    CALLS_PYTHON = 1,   /* True, False and None too, and Python's lists and dicts */
    CALLS_NO_NULL = 2,  /* "null" is a word */
    CALLS_NEWLINES = 4, /* a newline before the text is framing, and one after it then */
};

/* Text that carries no quotes, as a value: JSON's numbers, words, objects and lists are those, all
 * else is a string. */
void calls_value(struct calls *c, str text, unsigned flags);

/* JSON. Bytes of the object or list at the front of s by its brackets alone, 0 if not closed. */
size_t calls_json_size(str s);
/* Parses text; where only raw control characters within strings spoil it, parses a mended copy. */
bool calls_json_parse(struct calls *c, struct json *doc, str text);
/* The object that stands here as arguments, up to its end or c->end; {} if c->end stands here.
 * False, and a doubt, if there is none; the cursor is past it either way. */
bool calls_arguments(struct calls *c, str *out);
/* One step over a list or object of calls, or what stands between such; false if none is here. */
bool calls_json_step(struct calls *c);
/* Gives the calls in c->doc: {"name": ..., "arguments": ...} in all its spellings. */
void calls_give_named(struct calls *c);

/* A Python literal at the cursor as JSON; false leaves c->out spoilt. */
bool calls_python_value(struct calls *c, unsigned depth);
