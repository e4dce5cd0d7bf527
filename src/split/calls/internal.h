/* internal.h - shared by the readers of tool markup: a cursor, searches, and output of calls.
 *
 * A reader moves c->at over c->raw, emits each call it is sure of, and calls calls_doubt where it
 * is not. Time stays linear by three rules:
 *
 *   - A search far ahead uses a struct calls_find, which remembers its position.
 *   - A bracket is scanned to its end once; if it has none, the flags below keep the next one from
 *     being scanned to the end of the text again.
 *   - Text that failed is skipped, and never tried again from inside.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/ctype.h"
#include "base/json.h"
#include "split/calls.h"

#define CALLS_DEPTH_MAX 128 /* nesting of values that are read by recursion */
#define CALLS_MARK_MAX 128  /* bytes of a marker that is only framing */

/* The next position of a needle; cheap as long as the start positions only increase. */
struct calls_find {
    str needle;
    size_t from, at; /* searched from here, found there */
    bool known;
};

struct calls {
    str raw, recipient;
    size_t at; /* position of the reader in raw */
    struct arena *arena;
    struct split_call_sink sink;
    size_t given;
    bool doubt;                          /* part of it was not understood */
    bool lists_cut, objects_cut;         /* one was found that is never closed */
    bool spoilt;                         /* an object of calls was not JSON */
    struct calls_find end;               /* the end of JSON whose brackets cannot be trusted */
    struct json doc, inner;              /* inner: for a text inside a value of doc */
    struct buf made, text;               /* arguments being built; a text being decoded */
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
bool calls_eat(struct calls *c, str text); /* moves over the text if it is here */
void calls_doubt(struct calls *c);

/* Moves over one marker such as <|x|> or </x> if one is here. */
bool calls_eat_mark(struct calls *c);
/* Moves to `to`; everything on the way except white space and markers is a doubt. */
void calls_framing(struct calls *c, size_t to);
/* The next position of the needle, from `from`; raw.n if not found. */
size_t calls_seek(const struct calls *c, struct calls_find *f, size_t from);

bool calls_is_one_of(char ch, const char *set); /* NUL is in no set */
/* Whether text without quotes can be a name: no space, no bracket, no quote. */
bool calls_is_bare(str name);
/* Whether the text between < and > begins with this name. */
bool calls_is_tag(str inside, str name);
/* The value of key="value" among attributes, or false. */
bool calls_attr(str attrs, str key, str *out);
/* With &lt; &gt; &amp; &quot; and &apos; decoded, in the arena if there are any. */
str calls_unescape(struct calls *c, str text);

/* Emits a call, if the name is valid. The arguments must be a JSON object. */
void calls_give(struct calls *c, str name, str arguments);

/* Builds arguments one by one: calls_make, then key and value in turn, then calls_finish_object. */
void calls_make(struct calls *c);
void calls_finish_object(struct calls *c, str name);

enum calls_value_flags {
    CALLS_PYTHON = 1,   /* also True, False and None, and Python's lists and dicts */
    CALLS_NO_NULL = 2,  /* "null" is a string */
    CALLS_NEWLINES = 4, /* a newline before the text, and then one after it, is framing */
};

/* Writes text without quotes as a value: JSON numbers, literals, objects and lists stay, everything
 * else is a string. */
void calls_value(struct calls *c, str text, unsigned flags);

/* JSON. Bytes of the object or list at the start of s, by its brackets alone; 0 if it is not
 * closed. */
size_t calls_json_size(str s);
/* Parses text; if only raw control characters inside strings make it invalid, parses a repaired
 * copy. */
bool calls_json_parse(struct calls *c, struct json *doc, str text);
/* Reads the object at the cursor as arguments, up to its end or c->end; {} if c->end is here.
 * False, with a doubt, if there is none; the cursor is past it in both cases. */
bool calls_arguments(struct calls *c, str *out);
/* Moves over a list or object of calls, or over text between such; false if none is here. */
bool calls_json_step(struct calls *c);
/* Emits the calls in c->doc: {"name": ..., "arguments": ...} in all its spellings. */
void calls_give_named(struct calls *c);

/* Writes a Python literal at the cursor as JSON; if false, c->out is invalid. */
bool calls_python_value(struct calls *c, unsigned depth);
