/* cassette.c - recorded calls in, and found again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/cassette.h"

#include "base/base64.h"
#include "base/map.h"
#include "base/utf8.h"
#include "gateway/cassette_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_SIZE_MAX 4096
#define LINE_SIZE_MAX ((size_t)64 << 20)
#define READ_SIZE ((size_t)256 << 10)
#define CALLS_MAX 65536
#define MEMORY_MAX ((size_t)2 << 30)
#define MEMORY_FACTOR 16 /* more than a line can become once it is taken apart */
#define BODY_MAX ((size_t)1 << 30)
#define SAID_MAX 60 /* bytes of a recorded text in an error */
#define MS_MAX ((int64_t)24 * 3600 * 1000)

struct tape {
    struct cassette_call call;
    str canonical; /* of the body */
    size_t line;
    size_t next; /* 1 + the index of the next one with the same request; 0: none */
    size_t same; /* of the first of them: how many there are, and 1 + the index of the last */
    size_t last;
};

struct cassette {
    enum chat_dialect dialect;
    struct arena arena;
    struct tape *tapes;
    size_t n, cap;
    struct map first; /* from path and canonical body to 1 + the index of the first */
};

/* ---- the first line ---- */

static bool cassette_read_head(str line, enum chat_dialect *out, struct err *e)
{
    struct json doc;
    struct arena a;
    str kind = STR("");
    int64_t version;
    bool ok;

    json_init(&doc);
    arena_init(&a, 4 * HEAD_SIZE_MAX);
    ok = line.n < HEAD_SIZE_MAX && json_parse(&doc, line, e);
    if (!ok || !json_i64(&doc, json_find(&doc, json_root(&doc), STR("cassette")), &version))
        ok = err_input(e, "not a cassette: it begins with {\"cassette\": 1, ...}");
    else if (version != 1)
        ok = err_input(e, "a cassette of version 1 is expected");
    if (ok && !json_text(&doc, json_find(&doc, json_root(&doc), STR("kind")), &a, &kind))
        ok = err_input(e, "\"kind\" is missing");
    for (int d = 0; ok; d++) {
        if (d > CHAT_OLLAMA) {
            ok = err_input(e,
                           "no kind \"" STR_FMT
                           "\": openai, responses, anthropic, gemini, mistral or ollama",
                           STR_ARG(str_slice(kind, 0, 32)));
        } else if (str_eq(kind, str_c(chat_dialect_name((enum chat_dialect)d)))) {
            *out = (enum chat_dialect)d;
            break;
        }
    }
    arena_release(&a);
    json_release(&doc);
    return ok;
}

/* Only a regular file: anything else may have no end, or nothing yet. */
static int cassette_open_file(const char *path, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0) {
        bool missing = errno == ENOENT;

        err_sys(e, "%s", path);
        e->code = missing ? ERR_NOT_FOUND : e->code;
        return -1;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    err_input(e, "%s: not a file", path);
    close(fd);
    return -1;
}

bool cassette_peek(const char *path, enum chat_dialect *out, struct err *e)
{
    int fd = cassette_open_file(path, e);
    char bytes[HEAD_SIZE_MAX];
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, bytes, sizeof bytes);
    close(fd);
    if (n < 0)
        return err_set(e, ERR_SYSTEM, "%s: it cannot be read", path);
    str all = {bytes, (size_t)n};
    if (!cassette_read_head(str_slice(all, 0, str_find(all, STR("\n"))), out, e))
        return err_prefix(e, "%s:1: ", path);
    return true;
}

/* ---- the other lines ---- */

static bool cassette_read_piece(struct cassette *c, const struct json *doc,
                                const struct json_node *v, struct cassette_piece *out,
                                struct err *e)
{
    const struct json_node *bytes = json_at(doc, v, 1), *b64 = json_find(doc, bytes, STR("b64"));
    int64_t ms = 0;
    str text = STR("");

    if (!json_i64(doc, json_at(doc, v, 0), &ms) || ms < 0 || ms > MS_MAX || json_count(doc, v) != 2)
        return err_input(e, "a piece is [milliseconds, text]");
    out->after_ms = (uint64_t)ms;
    if (b64) {
        struct buf raw;
        bool ok = json_text(doc, b64, &c->arena, &text);

        buf_init(&raw, LINE_SIZE_MAX);
        ok = ok && base64_decode(text, &raw);
        out->bytes = arena_move_buf(&c->arena, &raw);
        return ok || err_input(e, "\"b64\" is not base64");
    }
    if (!json_text(doc, bytes, &c->arena, &text))
        return err_input(e, "a piece's text is a string or {\"b64\": ...}");
    out->bytes = arena_dup(&c->arena, text);
    return true;
}

static bool cassette_read_pieces(struct cassette *c, const struct json *doc,
                                 const struct json_node *v, struct cassette_call *call,
                                 struct err *e)
{
    size_t n = json_count(doc, v);
    struct cassette_piece *pieces;

    if (!v || v->kind != JSON_ARRAY)
        return err_input(e, "\"pieces\" must be an array");
    pieces = arena_zero(&c->arena, n, sizeof *pieces);
    call->pieces = pieces;
    for (const struct json_node *p = json_first(doc, v); p; p = json_next(doc, v, p))
        if (!cassette_read_piece(c, doc, p, &pieces[call->piece_count++], e))
            return false;
    assert(call->piece_count == n);
    return true;
}

/* The reply of a line before this one, shared. */
static bool cassette_read_like(const struct cassette *c, const struct json *doc,
                               const struct json_node *v, struct cassette_call *call, struct err *e)
{
    int64_t line;

    if (json_i64(doc, v, &line))
        for (size_t i = 0; i < c->n; i++)
            if ((int64_t)c->tapes[i].line == line) {
                const struct cassette_call *other = &c->tapes[i].call;

                call->status = other->status;
                call->type = other->type;
                call->pieces = other->pieces;
                call->piece_count = other->piece_count;
                return true;
            }
    return err_input(e, "\"like\" must be the line of a call before this one");
}

static bool cassette_read_reply(struct cassette *c, const struct json *doc,
                                struct cassette_call *call, struct err *e)
{
    const struct json_node *root = json_root(doc), *like = json_find(doc, root, STR("like"));
    const struct json_node *type = json_find(doc, root, STR("type"));
    int64_t status;
    str text;

    if (like)
        return cassette_read_like(c, doc, like, call, e);
    if (!json_i64(doc, json_find(doc, root, STR("status")), &status) || status < 100 ||
        status > 599)
        return err_input(e, "\"status\" must be 100 to 599");
    call->status = (int)status;
    call->type = STR("application/json");
    if (type && !json_text(doc, type, &c->arena, &text))
        return err_input(e, "\"type\" must be a string");
    if (type)
        call->type = arena_dup(&c->arena, text);
    return cassette_read_pieces(c, doc, json_find(doc, root, STR("pieces")), call, e);
}

static bool cassette_read_call(struct cassette *c, const struct json *doc,
                               struct cassette_call *call, struct err *e)
{
    const struct json_node *request = json_find(doc, json_root(doc), STR("request"));
    const struct json_node *body = json_find(doc, request, STR("body"));
    str text;

    if (!json_text(doc, json_find(doc, request, STR("path")), &c->arena, &text))
        return err_input(e, "\"request\" must have a \"path\"");
    call->path = arena_dup(&c->arena, text);
    call->body = body ? arena_dup(&c->arena, json_raw(doc, body)) : STR("null");
    return cassette_read_reply(c, doc, call, e);
}

/* Path and canonical body, as the map has them. */
static void cassette_add_name(struct buf *out, str path, str canonical)
{
    buf_add(out, path);
    buf_add_c(out, '\n');
    buf_add(out, canonical);
}

static bool cassette_keep(struct cassette *c, const struct tape *t, struct err *e)
{
    struct map_entry *found;
    struct buf name;
    bool ok = true;

    assert(c->n <= c->cap);
    buf_init(&name, 2 * BODY_MAX);
    cassette_add_name(&name, t->call.path, t->canonical);
    found = map_find(&c->first, buf_str(&name));
    c->tapes = base_grow(c->tapes, c->n, &c->cap, sizeof *c->tapes);
    c->tapes[c->n++] = *t;
    if (found) {
        struct tape *first = &c->tapes[found->value.u64 - 1];

        assert(first->last > 0 && first->last < c->n && c->tapes[first->last - 1].next == 0);
        c->tapes[first->last - 1].next = c->n;
        first->last = c->n;
        first->same++;
    } else {
        c->tapes[c->n - 1].same = 1;
        c->tapes[c->n - 1].last = c->n;
        ok = map_set(&c->first, buf_str(&name), MAP_U64(c->n), e);
    }
    buf_release(&name);
    return ok;
}

static bool cassette_read_line(struct cassette *c, struct json *doc, str line, size_t number,
                               struct err *e)
{
    struct tape t = {.line = number};
    struct json body;
    struct buf canonical;
    bool ok;

    if (str_trim(line).n == 0)
        return true;
    if (c->n == CALLS_MAX)
        return err_set(e, ERR_LIMIT, "more than %d calls", CALLS_MAX);
    if (arena_left(&c->arena) < line.n * MEMORY_FACTOR + 65536)
        return err_set(e, ERR_LIMIT, "the cassette is too large to be held in memory");
    if (!json_parse(doc, line, e) || !cassette_read_call(c, doc, &t.call, e))
        return false;
    buf_init(&canonical, BODY_MAX);
    ok = json_open(&body, t.call.body, e);
    if (ok)
        cassette_canonical(&body, t.call.path, &canonical);
    t.canonical = arena_dup(&c->arena, buf_str(&canonical));
    ok = ok && buf_ok(&canonical, "a request's body is", e) && cassette_keep(c, &t, e);
    buf_release(&canonical);
    json_release(&body);
    return ok;
}

/* ---- the file ---- */

struct lines {
    struct cassette *c;
    struct json doc;
    size_t number;
    size_t scanned; /* bytes of the buffer that have no line end in them */
};

static bool cassette_take_line(struct lines *l, str line, struct err *e)
{
    l->number++;
    if (l->number == 1)
        return cassette_read_head(line, &l->c->dialect, e);
    return cassette_read_line(l->c, &l->doc, line, l->number, e);
}

/* Takes whole lines from the buffer; at the end of the file the rest is a line, too. */
static bool cassette_take_lines(struct lines *l, struct buf *b, bool end, struct err *e)
{
    size_t at = 0;
    bool ok = true;

    assert(l->scanned <= b->n);
    while (ok && at < b->n) {
        str rest = str_slice(buf_str(b), at, b->n);
        size_t skip = at == 0 ? l->scanned : 0;
        const char *found = memchr(rest.p + skip, '\n', rest.n - skip);

        if (!found && !end)
            break;
        rest.n = found ? (size_t)(found - rest.p) : rest.n;
        ok = cassette_take_line(l, rest, e);
        at += rest.n + 1;
    }
    buf_drop(b, at < b->n ? at : b->n);
    l->scanned = b->n;
    return ok;
}

static bool cassette_read_file(struct lines *l, int fd, struct err *e)
{
    struct buf b;
    bool ok = true;
    ssize_t n = 1;

    buf_init(&b, LINE_SIZE_MAX + READ_SIZE);
    while (ok && n > 0) {
        char *room = buf_room(&b, READ_SIZE);

        if (!room) {
            l->number++;
            ok = err_set(e, ERR_LIMIT, "a line longer than %zu bytes", LINE_SIZE_MAX);
            break;
        }
        n = read(fd, room, READ_SIZE);
        if (n < 0)
            ok = err_sys(e, "read");
        else
            buf_wrote(&b, (size_t)n);
        ok = ok && cassette_take_lines(l, &b, n == 0, e);
    }
    if (ok && l->number == 0)
        ok = cassette_take_line(l, STR(""), e);
    buf_release(&b);
    return ok;
}

bool cassette_load(const char *path, struct cassette **out, struct err *e)
{
    int fd = cassette_open_file(path, e);
    struct cassette *c;
    struct lines l;
    bool ok;

    if (fd < 0)
        return false;
    c = base_alloc(sizeof *c);
    *c = (struct cassette){0};
    arena_init(&c->arena, MEMORY_MAX);
    map_init(&c->first, &c->arena, CALLS_MAX);
    l = (struct lines){.c = c};
    json_init(&l.doc);
    ok = cassette_read_file(&l, fd, e);
    close(fd);
    json_release(&l.doc);
    if (ok) {
        *out = c;
        return true;
    }
    cassette_free(c);
    return err_prefix(e, "%s:%zu: ", path, l.number);
}

void cassette_free(struct cassette *c)
{
    if (!c)
        return;
    map_release(&c->first);
    arena_release(&c->arena);
    free(c->tapes);
    free(c);
}

enum chat_dialect cassette_dialect(const struct cassette *c)
{
    return c->dialect;
}

size_t cassette_count(const struct cassette *c)
{
    return c->n;
}

const struct cassette_call *cassette_at(const struct cassette *c, size_t index)
{
    return index < c->n ? &c->tapes[index].call : NULL;
}

/* ---- finding ---- */

/* How much two texts have in common at both ends. */
static size_t cassette_measure_likeness(str a, str b)
{
    size_t n = a.n < b.n ? a.n : b.n, front = 0, back = 0;

    while (front < n && a.p[front] == b.p[front])
        front++;
    while (back < n - front && a.p[a.n - 1 - back] == b.p[b.n - 1 - back])
        back++;
    return front + back;
}

static const struct tape *cassette_nearest(const struct cassette *c, str path, str canonical)
{
    const struct tape *best = NULL;
    size_t best_score = 0;

    for (size_t i = 0; i < c->n; i++) {
        const struct tape *t = &c->tapes[i];
        size_t score = cassette_measure_likeness(t->canonical, canonical) * 2 + 1;

        score += str_eq(t->call.path, path) ? canonical.n : 0;
        if (score > best_score) {
            best_score = score;
            best = t;
        }
    }
    return best;
}

/* Where they differ and, if that is a text, how the recorded one begins. */
static void cassette_describe_difference(const struct tape *t, const struct json *recorded,
                                         str pointer, struct err *e)
{
    const struct json_node *there = json_pointer(recorded, pointer);
    struct arena a;
    str text = STR("");

    arena_init(&a, BODY_MAX);
    if (pointer.n && there && !json_text(recorded, there, &a, &text))
        text = STR("");
    err_set(e,
            ERR_NOT_FOUND,
            "no recording of this request; the nearest (line %zu) differs first at %s" STR_FMT
            "%s" STR_FMT "%s",
            t->line,
            pointer.n ? "" : "its root",
            STR_ARG(str_slice(pointer, 0, 80)),
            text.n ? ": there it has \"" : "",
            STR_ARG(utf8_cut_size(text, SAID_MAX)),
            text.n > SAID_MAX ? "...\""
            : text.n          ? "\""
                              : "");
    arena_release(&a);
}

static bool cassette_report_miss(const struct cassette *c, str path, const struct json *doc,
                                 str canonical, struct err *e)
{
    const struct tape *t = cassette_nearest(c, path, canonical);
    struct json body;
    struct buf pointer;
    struct err bad;

    if (!t)
        return err_set(e, ERR_NOT_FOUND, "the cassette has no recordings");
    buf_init(&pointer, 4096);
    if (!json_open(&body, t->call.body, &bad) || !cassette_differ(&body, doc, path, &pointer))
        err_set(e,
                ERR_NOT_FOUND,
                "no recording for the path " STR_FMT "; the nearest (line %zu) is for " STR_FMT,
                STR_ARG(str_slice(path, 0, 60)),
                t->line,
                STR_ARG(str_slice(t->call.path, 0, 60)));
    else
        cassette_describe_difference(t, &body, buf_str(&pointer), e);
    buf_release(&pointer);
    json_release(&body);
    return false;
}

bool cassette_find(const struct cassette *c, str path, str body, size_t nth,
                   const struct cassette_call **out, struct err *e)
{
    struct map_entry *found;
    struct json doc;
    struct buf quoted, canonical, name;
    bool ok = true;

    json_init(&doc);
    buf_init(&quoted, BODY_MAX);
    buf_init(&canonical, BODY_MAX);
    buf_init(&name, 2 * BODY_MAX);
    cassette_body(body, &doc, &quoted);
    cassette_canonical(&doc, path, &canonical);
    cassette_add_name(&name, path, buf_str(&canonical));
    found = map_find(&c->first, buf_str(&name));
    if (found) {
        const struct tape *t = &c->tapes[found->value.u64 - 1];

        assert(t->same > 0 && found->value.u64 <= c->n);
        for (nth %= t->same; nth > 0; nth--)
            t = &c->tapes[t->next - 1];
        *out = &t->call;
    } else {
        ok = cassette_report_miss(c, path, &doc, buf_str(&canonical), e);
    }
    buf_release(&name);
    buf_release(&canonical);
    buf_release(&quoted);
    json_release(&doc);
    return ok;
}
