/* json.h - JSON as a tape of spans into the source, and JSON out.
 *
 * Reading. One array of nodes, in document order, reused from call to call; nothing is copied, so
 * the source must outlive the use of the nodes:
 *
 *     struct json doc;
 *     if (!json_open(&doc, body, e)) ...
 *     const struct json_node *model = json_find(&doc, json_root(&doc), STR("model"));
 *     if (model && json_text(&doc, model, &arena, &name)) ...
 *     json_release(&doc);
 *
 * The grammar is RFC 8259 to the letter: no comments, no trailing commas, no BOM, one value and
 * white space around it; UTF-8 is checked (no overlong forms, no surrogates), escaped surrogates
 * must come in pairs, raw control characters are refused, depth is at most JSON_DEPTH_MAX. A number
 * is kept as its text, whatever its size. If an object has a key twice, json_find returns the last.
 *
 * Rewriting. json_splice returns the source with one value replaced (or one member added or
 * removed) and all other bytes unchanged.
 *
 * Writing. A sticky writer over a buf: it writes commas, escapes text, and remembers its first
 * error (the buffer is full, or a text is not UTF-8).
 *
 *     struct json_out o;
 *     json_out_init_object(&o, &buf);
 *     json_member_str(&o, "id", id);
 *     json_out_end(&o);
 *     if (!json_out_ok(&o, e)) ...
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

#define JSON_DEPTH_MAX 512
#define JSON_SIZE_MAX ((size_t)1 << 30)

enum json_kind {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

/* An object's children alternate: key (a JSON_STRING), value, key, value ... */
struct json_node {
    uint32_t at;     /* where the value begins in the source; a string's opening quote */
    uint32_t size;   /* its bytes in the source, quotes and brackets included */
    uint32_t span;   /* nodes it takes on the tape, itself included */
    uint8_t kind;    /* enum json_kind */
    uint8_t escaped; /* a string with a backslash in it; a number with a fraction or an exponent; an
                      * object that may have a key twice */
    uint16_t keys;   /* of an object: one bit for each json_key_kind among its keys; else 0 */
};

struct json {
    str src;
    struct json_node *nodes;
    uint32_t n, cap;
};

void json_init(struct json *doc);
void json_release(struct json *doc);

/* False: e has the error with its line and column (from 1, in characters) and byte (from 0), and
 * the tape is empty. src must stay valid as long as the nodes are used. */
bool json_parse(struct json *doc, str src, struct err *e) MUST_USE;
/* json_init and json_parse in one: json_release is needed in any case. */
bool json_open(struct json *doc, str src, struct err *e) MUST_USE;

/* NULL if the last parse failed. */
const struct json_node *json_root(const struct json *doc);

/* The number of elements of an array or members of an object; 0 for other values. Linear. */
size_t json_count(const struct json *doc, const struct json_node *v);

/* The first child, and the next after `child`; NULL at the end. The children of an object are its
 * keys; json_value returns the value of a key. */
static inline const struct json_node *json_first(const struct json *doc, const struct json_node *v)
{
    (void)doc;
    return v && v->kind >= JSON_ARRAY && v->span > 1 ? v + 1 : NULL;
}

static inline const struct json_node *json_next(const struct json *doc, const struct json_node *v,
                                                const struct json_node *child)
{
    const struct json_node *next = v->kind == JSON_OBJECT ? child + 1 : child;

    (void)doc;
    assert(v->kind >= JSON_ARRAY && child > v && child < v + v->span);
    next += next->span;
    return next < v + v->span ? next : NULL;
}

/* Each child of v in turn; none if v is NULL or not a container. */
#define JSON_FOREACH(child, doc, v)                                                                \
    for (const struct json_node *child = json_first(doc, v); child;                                \
         child = json_next(doc, v, child))

static inline bool json_is_array(const struct json_node *v)
{
    return v && v->kind == JSON_ARRAY;
}

static inline bool json_is_object(const struct json_node *v)
{
    return v && v->kind == JSON_OBJECT;
}

/* Each element of an array; none if v is NULL or no array. */
#define JSON_FOREACH_ITEM(item, doc, v)                                                            \
    for (const struct json_node *item = json_is_array(v) ? json_first(doc, v) : NULL; item;        \
         item = json_next(doc, v, item))

static inline const struct json_node *json_value(const struct json_node *key)
{
    assert_slow(key->kind == JSON_STRING && key->span == 1);
    return key + 1;
}

/* Dialects look for dozens of members that most objects do not have, so each object has a bit for
 * each of 16 kinds of keys. Keys with escapes count as every kind. For an empty key, p points
 * between its quotes. */
static inline unsigned json_key_kind(const char *p, size_t n)
{
    /* The factors are chosen to spread the keys of the dialects' objects. */
    return (n + (unsigned char)p[0] * 11u + (unsigned char)p[(ptrdiff_t)n - 1] * 2u) & 15;
}

static inline bool json_may_have(const struct json_node *object, str key)
{
    return object->keys >> (key.n ? json_key_kind(key.p, key.n) : json_key_kind(&"\"\""[1], 0)) & 1;
}

/* The value of a member, or NULL; v may be NULL or not an object. Compares the unescaped key. */
const struct json_node *json_find_among(const struct json *doc, const struct json_node *v, str key);
static inline const struct json_node *json_find(const struct json *doc, const struct json_node *v,
                                                str key)
{
    if (!v || v->kind != JSON_OBJECT || !json_may_have(v, key))
        return NULL;
    return json_find_among(doc, v, key);
}

/* The element at an index, or NULL; v may be NULL or not an array. */
const struct json_node *json_at(const struct json *doc, const struct json_node *v, size_t index);
/* The value at a JSON Pointer (RFC 6901), or NULL. */
const struct json_node *json_pointer(const struct json *doc, str pointer);

/* The value's bytes in the source, unchanged. */
str json_raw(const struct json *doc, const struct json_node *v);

/* A string's text: a span of the source if it has no escapes, else a copy in the arena. False if v
 * is NULL or not a string. */
bool json_text(const struct json *doc, const struct json_node *v, struct arena *a,
               str *out) MUST_USE;
/* Whether v is a string and its text is s; allocates nothing. */
bool json_is_escaped(const struct json *doc, const struct json_node *v, str s);
static inline bool json_is(const struct json *doc, const struct json_node *v, str s)
{
    if (!v || v->kind != JSON_STRING)
        return false;
    if (v->escaped)
        return json_is_escaped(doc, v, s);
    return v->size - 2 == s.n && str_same(doc->src.p + v->at + 1, s.p, s.n);
}

/* An integer that fits; 1.0 and 1e2 count as integers. */
bool json_i64(const struct json *doc, const struct json_node *v, int64_t *out) MUST_USE;
/* The nearest double, independent of the locale; infinity if out of range. */
bool json_double(const struct json *doc, const struct json_node *v, double *out) MUST_USE;
bool json_bool(const struct json_node *v, bool *out) MUST_USE;

/* Deep equality as JSON Schema defines it: 1 equals 1.0, members in any order, text unescaped. */
bool json_equal(const struct json *da, const struct json_node *a, const struct json *db,
                const struct json_node *b);

/* Rewriting: writes the whole source to out, with the bytes of v replaced by `with` (JSON text).
 * Check out with buf_full. */
void json_splice(const struct json *doc, const struct json_node *v, str with, struct buf *out);
/* The same, setting member `key` of object v: replaced in place (if the key occurs twice, the one
 * that json_find returns), otherwise added at the end. */
void json_splice_set(const struct json *doc, const struct json_node *v, str key, str with,
                     struct buf *out);
/* The same without that member and its comma: without all of them if the key occurs twice. */
void json_splice_remove(const struct json *doc, const struct json_node *v, str key,
                        struct buf *out);

/* Text as a JSON string with its quotes. False: some bytes are not UTF-8 and become U+FFFD. */
bool json_quote(struct buf *out, str text);
/* Whether the text needs no escapes as a JSON string. */
bool json_plain(str text);

struct json_out {
    struct buf *buf;
    uint64_t comma[JSON_DEPTH_MAX / 64 + 1];  /* a bit for each level: the next needs a comma */
    uint64_t object[JSON_DEPTH_MAX / 64 + 1]; /* one bit for each level: an object, not an array */
    unsigned depth;
    bool after_key, bad_text, too_deep;
};

void json_out_init(struct json_out *o, struct buf *buf);
void json_out_init_object(struct json_out *o, struct buf *buf); /* and opens an object */
void json_out_object(struct json_out *o);
void json_out_array(struct json_out *o);
void json_out_end(struct json_out *o);               /* ends the innermost object or array */
void json_out_close(struct json_out *o, unsigned n); /* ends the innermost n */
void json_out_key(struct json_out *o, str key);
void json_out_str(struct json_out *o, str text);
void json_out_i64(struct json_out *o, int64_t v);
void json_out_u64(struct json_out *o, uint64_t v);
void json_out_double(struct json_out *o, double v); /* the shortest form; NaN and inf: null */
void json_out_bool(struct json_out *o, bool v);
void json_out_null(struct json_out *o);
void json_out_raw(struct json_out *o, str json); /* JSON text, written unchanged */
/* A key and its value. */
void json_member_str(struct json_out *o, const char *name, str text);
void json_member_str_or_null(struct json_out *o, const char *name, str text); /* "": null */
void json_member_i64(struct json_out *o, const char *name, int64_t n);
void json_member_i64_or_null(struct json_out *o, const char *name, int64_t n); /* < 0: null */
void json_member_u64(struct json_out *o, const char *name, uint64_t n);
void json_member_double(struct json_out *o, const char *name, double v);
void json_member_double_or_null(struct json_out *o, const char *name, double v); /* < 0: null */
void json_member_raw(struct json_out *o, const char *name, str json);
void json_member_bool(struct json_out *o, const char *name, bool v);
void json_member_null(struct json_out *o, const char *name);
void json_member_object(struct json_out *o, const char *name); /* the caller must end it */
void json_member_array(struct json_out *o, const char *name);
void json_member_texts(struct json_out *o, const char *name, const str *list, size_t n);

/* Whether everything is in the buffer, all objects are closed and all texts were valid. */
bool json_out_ok(const struct json_out *o, struct err *e) MUST_USE;

/* A JSON text of its own: the caller writes to t.o between the two calls. json_text_end closes all
 * that is open and copies the text into the arena; `otherwise` if it is larger than size_max. */
struct json_text {
    struct buf buf;
    struct json_out o;
};
void json_text_begin(struct json_text *t, size_t size_max); /* an object */
void json_text_begin_array(struct json_text *t, size_t size_max);
str json_text_end(struct json_text *t, struct arena *a, str otherwise);
