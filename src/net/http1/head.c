/* head.c - the lines of a head: one pass, in place.
 *
 * The end of a line is the first byte that is invalid in a value, searched 16 bytes at a time;
 * anything else than a line end is an error. So no span contains a control character. Every byte of
 * a name is valid in a value, so the search for the line's end continues where the name ended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/ctype.h"
#include "net/http1/internal.h"

struct cursor {
    const char *p, *end;
    bool over; /* the input was cut at the limit: an incomplete head stays incomplete */
};

bool http1_bad(struct http1_reading *r, int status, const char *why)
{
    *r->fault = (struct http1_fault){r->head->is_request ? status : 502, why};
    return false;
}

/* Its line ends at q if it is whole and proper. */
static inline enum http1_result http1_head_end_line(struct cursor *c, const char *q)
{
    assert_slow(q >= c->p && q <= c->end);
    if (q == c->end)
        return HTTP1_MORE;
    if (*q == '\r' && ++q == c->end)
        return HTTP1_MORE;
    if (*q != '\n')
        return HTTP1_BAD;
    c->p = q + 1;
    return HTTP1_DONE;
}

/* DONE: the line without its end. */
static enum http1_result http1_head_take_line(struct cursor *c, str *line)
{
    const char *q = http1_text_end(c->p, c->end);

    *line = (str){c->p, (size_t)(q - c->p)};
    return http1_head_end_line(c, q);
}

static inline str http1_head_trim_value(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    while (end > p && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return (str){p, (size_t)(end - p)};
}

/* Sets the fault of a line that does not begin with a name and a colon; returns false. */
static NOINLINE bool bad_name(struct http1_reading *r, str line, size_t colon)
{
    if (line.p[0] == ' ' || line.p[0] == '\t')
        return http1_bad(r, 400, "a header line begins with white space");
    if (colon >= line.n)
        return http1_bad(r, 400, "a header line has no colon");
    if (line.p[colon] != ':')
        return http1_bad(r, 400, "a header's name has a character that may not be there");
    return http1_bad(r, 400, "a header has no name");
}

/* `colon` is the position of the line's first byte that is invalid in a name; at least the line's
 * end follows the line. */
static inline bool http1_head_take_field(struct http1_reading *r, str line, size_t colon)
{
    struct http1_head *h = r->head;
    struct http1_field *f = &h->fields[h->field_count];
    size_t kind;

    if (colon == 0 || line.p[colon] != ':')
        return bad_name(r, line, colon);
    if (h->field_count == HTTP1_FIELDS_MAX)
        return http1_bad(r, 431, "too many header fields");
    assert(h->field_count < HTTP1_FIELDS_MAX && HTTP1_FIELDS_MAX <= UINT8_MAX);
    f->name = (str){line.p, colon};
    f->value = http1_head_trim_value(line.p + colon + 1, line.p + line.n);
    h->field_count++;
    kind = HTTP1_KIND(colon, (unsigned char)line.p[0], (unsigned char)line.p[colon - 1]);
    if (h->at[kind] == 0)
        h->at[kind] = (uint8_t)h->field_count;
    return !(HTTP1_MEANT >> kind & 1) || http1_field_read(r, f);
}

static NOINLINE enum http1_result no_line(struct http1_reading *r, struct cursor *c,
                                          enum http1_result got)
{
    if (got == HTTP1_MORE && !c->over)
        return HTTP1_MORE;
    if (got == HTTP1_MORE)
        http1_bad(r, 431, "the head is too large");
    else
        http1_bad(r, 400, "a header has a control character");
    return HTTP1_BAD;
}

static enum http1_result http1_take_fields(struct http1_reading *r, struct cursor *c)
{
    for (;;) {
        const char *name = c->p, *colon = http1_token_end(name, c->end);
        const char *q = http1_text_end(colon, c->end);
        enum http1_result got = http1_head_end_line(c, q);

        if (got != HTTP1_DONE)
            return no_line(r, c, got);
        if (q == name)
            return HTTP1_DONE;
        if (!http1_head_take_field(r, (str){name, (size_t)(q - name)}, (size_t)(colon - name)))
            return HTTP1_BAD;
    }
}

/* "HTTP/1.1" */
static bool http1_read_version(struct http1_reading *r, str s)
{
    if (s.n != 8 || !str_starts(s, STR("HTTP/")) || !char_is_digit(s.p[5]) || s.p[6] != '.' ||
        !char_is_digit(s.p[7]))
        return http1_bad(r, 400, "the first line is not HTTP/1.1");
    if (s.p[5] != '1' || s.p[7] > '1')
        return http1_bad(r, 505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
    r->head->minor = s.p[7] - '0';
    return true;
}

static bool http1_read_request_line(struct http1_reading *r, str line)
{
    struct http1_head *h = r->head;
    const char *first = memchr(line.p, ' ', line.n);
    const char *last = first ? memrchr(line.p, ' ', line.n) : NULL;

    if (!first || first == last)
        return http1_bad(r, 400, "the request line is not METHOD TARGET VERSION");
    h->method = (str){line.p, (size_t)(first - line.p)};
    h->target = (str){first + 1, (size_t)(last - first - 1)};
    if (!http1_is_token(h->method))
        return http1_bad(r, 400, "the method is none");
    if (!http1_read_version(r, (str){last + 1, (size_t)(line.p + line.n - last - 1)}))
        return false;
    return http1_target(r);
}

/* Not whole yet: but what does not even begin with a method need not be waited for. */
static bool http1_may_be_request(str bytes)
{
    size_t n = 0;

    while (n < bytes.n && http1_is(bytes.p[n], HTTP1_TOKEN))
        n++;
    return n == bytes.n || (n > 0 && bytes.p[n] == ' ');
}

static struct cursor http1_cursor_of(str bytes, size_t size_max)
{
    bool over = bytes.n >= size_max;

    return (struct cursor){bytes.p, bytes.p + (over ? size_max : bytes.n), over};
}

static void head_init(struct http1_head *h, bool is_request)
{
    memset(h, 0, offsetof(struct http1_head, fields));
    h->is_request = is_request;
    h->method = h->target = h->path = h->query = h->host = h->reason = STR("");
}

/* Up to the fields. */
static enum http1_result http1_begin_request(struct http1_reading *r, struct cursor *c)
{
    enum http1_result got;
    str line;

    head_init(r->head, true);
    do
        got = http1_head_take_line(c, &line);
    while (got == HTTP1_DONE && line.n == 0);
    if (got == HTTP1_BAD) {
        http1_bad(r, 400, "the request line has a control character");
        return HTTP1_BAD;
    }
    if (got == HTTP1_MORE && !http1_may_be_request((str){c->p, (size_t)(c->end - c->p)}) &&
        c->p < c->end && *c->p != '\r') {
        http1_bad(r, 400, "the request line does not begin with a method");
        return HTTP1_BAD;
    }
    if (got == HTTP1_MORE && c->over)
        http1_bad(r, 414, "the request line is too long");
    if (got == HTTP1_MORE)
        return c->over ? HTTP1_BAD : HTTP1_MORE;
    return http1_read_request_line(r, line) ? HTTP1_DONE : HTTP1_BAD;
}

static enum http1_result http1_end_request(struct http1_reading *r, struct cursor *c)
{
    enum http1_result got = http1_take_fields(r, c);

    if (got != HTTP1_DONE)
        return got;
    return http1_request_done(r) ? HTTP1_DONE : HTTP1_BAD;
}

/* How many bytes a whole head took. */
static enum http1_result http1_head_used(enum http1_result got, const struct cursor *c, str bytes,
                                         size_t *used)
{
    if (got != HTTP1_DONE)
        return got;
    assert(c->p > bytes.p && c->p <= c->end);
    *used = (size_t)(c->p - bytes.p);
    return got;
}

enum http1_result http1_request(str bytes, size_t size_max, struct http1_head *out, size_t *used,
                                struct http1_fault *fault)
{
    struct http1_reading r = {.head = out, .fault = fault};
    struct cursor c = http1_cursor_of(bytes, size_max);
    enum http1_result got = http1_begin_request(&r, &c);

    if (got == HTTP1_DONE)
        got = http1_end_request(&r, &c);
    return http1_head_used(got, &c, bytes, used);
}

/* "HTTP/1.1 200 OK", "HTTP/1.1 200 ", "HTTP/1.1 200" */
static bool http1_read_status_line(struct http1_reading *r, str line)
{
    const char *p = line.p + 9;

    if (!http1_read_version(r, str_slice(line, 0, 8)))
        return false;
    if (line.n < 12 || line.p[8] != ' ' || p[0] < '1' || !char_is_digit(p[0]) ||
        !char_is_digit(p[1]) || !char_is_digit(p[2]) || (line.n > 12 && p[3] != ' '))
        return http1_bad(r, 502, "the status line has no status");
    r->head->status = (p[0] - '0') * 100 + (p[1] - '0') * 10 + (p[2] - '0');
    r->head->reason = str_slice(line, 13, line.n);
    return true;
}

static enum http1_result http1_begin_reply(struct http1_reading *r, struct cursor *c)
{
    size_t n = (size_t)(c->end - c->p);
    enum http1_result got;
    str line;

    head_init(r->head, false);
    if (n > 0 && memcmp(c->p, "HTTP/", n < 5 ? n : 5) != 0) {
        http1_bad(r, 502, "the reply is not HTTP");
        return HTTP1_BAD;
    }
    got = http1_head_take_line(c, &line);
    if (got == HTTP1_BAD)
        http1_bad(r, 502, "the status line has a control character");
    if (got == HTTP1_MORE && c->over) {
        http1_bad(r, 502, "the status line is too long");
        return HTTP1_BAD;
    }
    if (got != HTTP1_DONE)
        return got;
    return http1_read_status_line(r, line) ? HTTP1_DONE : HTTP1_BAD;
}

static enum http1_result http1_end_reply(struct http1_reading *r, struct cursor *c, bool no_body)
{
    enum http1_result got = http1_take_fields(r, c);

    if (got != HTTP1_DONE)
        return got;
    return http1_reply_done(r, no_body) ? HTTP1_DONE : HTTP1_BAD;
}

enum http1_result http1_reply(str bytes, size_t size_max, bool no_body, struct http1_head *out,
                              size_t *used, struct http1_fault *fault)
{
    struct http1_reading r = {.head = out, .fault = fault};
    struct cursor c = http1_cursor_of(bytes, size_max);
    enum http1_result got = http1_begin_reply(&r, &c);

    if (got == HTTP1_DONE)
        got = http1_end_reply(&r, &c, no_body);
    return http1_head_used(got, &c, bytes, used);
}

enum http1_result http1_from(const struct http1_again *a, str bytes, struct http1_reply_rules rules,
                             struct http1_head *out, size_t *used, struct http1_fault *fault)
{
    struct http1_reading r = a->reading;
    struct cursor c = http1_cursor_of(bytes, rules.size_max);
    enum http1_result got;

    assert(a->size > 0 && a->size <= bytes.n && a->size <= rules.size_max);
    memcpy(out,
           &a->head,
           offsetof(struct http1_head, fields) + a->head.field_count * sizeof a->head.fields[0]);
    http1_head_move(out, (str){a->bytes, a->size}, bytes.p);
    r.head = out;
    r.fault = fault;
    c.p += a->size;
    got = out->is_request ? http1_end_request(&r, &c) : http1_end_reply(&r, &c, rules.no_body);
    return http1_head_used(got, &c, bytes, used);
}

bool http1_front(struct http1_again *a, size_t size, bool is_request)
{
    struct http1_fault fault;
    struct http1_reading *r = &a->reading;
    struct cursor c = {.p = a->bytes, .end = a->bytes + size};

    assert(size > 0 && size <= sizeof a->bytes);
    *r = (struct http1_reading){.head = &a->head, .fault = &fault};
    if ((is_request ? http1_begin_request(r, &c) : http1_begin_reply(r, &c)) != HTTP1_DONE ||
        http1_take_fields(r, &c) != HTTP1_MORE)
        return false;
    r->fault = NULL;
    return c.p == c.end;
}

/* A head ends after the first empty line that is not at its start. */
size_t http1_head_end(str bytes, size_t from)
{
    size_t front = 0;

    while (front < bytes.n && (bytes.p[front] == '\r' || bytes.p[front] == '\n'))
        front++;
    from = from > 3 ? from - 3 : 0;
    if (from < front)
        from = front;
    while (from < bytes.n) {
        const char *lf = memchr(bytes.p + from, '\n', bytes.n - from);
        size_t next = lf ? (size_t)(lf - bytes.p) + 1 : bytes.n;

        if (next < bytes.n && bytes.p[next] == '\r')
            next++;
        if (next < bytes.n && bytes.p[next] == '\n')
            return next + 1;
        from = lf ? (size_t)(lf - bytes.p) + 1 : bytes.n;
    }
    return STR_NONE;
}

static void net_http1_head_move(str *s, str from, const char *to)
{
    if (s->p >= from.p && s->p <= from.p + from.n)
        s->p = to + (s->p - from.p);
}

void http1_head_move(struct http1_head *h, str from, const char *to)
{
    str *const spans[] = {&h->method, &h->target, &h->path, &h->query, &h->host, &h->reason};

    for (size_t i = 0; i < COUNT_OF(spans); i++)
        net_http1_head_move(spans[i], from, to);
    for (size_t i = 0; i < h->field_count; i++) {
        struct http1_field *f = &h->fields[i];

        f->name.p = to + (f->name.p - from.p);
        f->value.p = to + (f->value.p - from.p);
    }
}

const struct http1_field *http1_field_from(const struct http1_head *h, size_t at, str name)
{
    for (; at < h->field_count; at++)
        if (http1_same(h->fields[at].name, name))
            return &h->fields[at];
    return NULL;
}
