/* SPDX-License-Identifier: Apache-2.0 */
#include "net/gzip.h"

#include "net/http1.h"

#include <zlib.h>

#define LEVEL 3 /* most of what can be saved of text, at half the time of 6 */
#define GZIP_BITS (15 + 16)
#define ROOM_MIN 256
#define EMBEDDED_MAX ((size_t)16 << 20)
#define PIECE_MAX (1u << 30) /* zlib counts in unsigned int */

struct gzip {
    z_stream z;
};

struct gzip *gzip_new(void)
{
    struct gzip *g = base_alloc(sizeof *g);

    g->z = (z_stream){0};
    if (deflateInit2(&g->z, LEVEL, Z_DEFLATED, GZIP_BITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        base_die("gzip: no memory");
    return g;
}

void gzip_free(struct gzip *g)
{
    if (!g)
        return;
    deflateEnd(&g->z);
    free(g);
}

/* zlib does not write through next_in, but its type is not const. */
static void gzip_set_input(z_stream *z, str s)
{
    assert(s.n <= PIECE_MAX);
    memcpy(&z->next_in, &s.p, sizeof s.p);
    z->avail_in = (uInt)s.n;
}

void gzip_pack(struct gzip *g, str body, struct buf *out)
{
    deflateReset(&g->z);
    gzip_set_input(&g->z, body);
    do {
        size_t want = g->z.avail_in / 4 + ROOM_MIN;
        char *p = buf_room(out, want);

        if (!p)
            return;
        g->z.next_out = (Bytef *)p;
        g->z.avail_out = (uInt)want;
        deflate(&g->z, Z_FINISH);
        buf_wrote(out, want - g->z.avail_out);
    } while (g->z.avail_out == 0);
}

struct gzip_unpacker {
    z_stream z;
    const Bytef *end; /* of the packed bytes */
    size_t packed;    /* their size */
    struct buf plain;
    bool open;       /* more packed bytes may come; the following are only used then */
    bool deflate;    /* the coding, which has two forms */
    bool begun;      /* the form is known */
    bool within;     /* a member has begun and not ended */
    size_t made;     /* all plain bytes */
    struct buf held; /* packed bytes; those that were not read yet are at its end */
};

struct gzip_unpacker *gzip_unpacker_new(str packed, size_t size_max)
{
    struct gzip_unpacker *u = base_alloc(sizeof *u);

    *u = (struct gzip_unpacker){.packed = packed.n};
    buf_init(&u->plain, size_max);
    if (inflateInit2(&u->z, GZIP_BITS) != Z_OK)
        base_die("gzip: no memory");
    memcpy(&u->z.next_in, &packed.p, sizeof packed.p);
    u->end = u->z.next_in + packed.n;
    return u;
}

void gzip_unpacker_free(struct gzip_unpacker *u)
{
    if (!u)
        return;
    inflateEnd(&u->z);
    buf_release(&u->plain);
    buf_release(&u->held);
    free(u);
}

bool gzip_knows(str coding)
{
    return http1_same(coding, STR("gzip")) || http1_same(coding, STR("x-gzip")) ||
           http1_same(coding, STR("deflate"));
}

struct gzip_unpacker *gzip_unpacker_open(str coding, size_t size_max)
{
    struct gzip_unpacker *u = gzip_unpacker_new(STR(""), size_max);

    assert(gzip_knows(coding));
    u->open = true;
    u->deflate = http1_same(coding, STR("deflate"));
    buf_init(&u->held, PIECE_MAX);
    return u;
}

/* A deflate body should have zlib's header, but some servers leave it out. Two bytes decide. */
static int gzip_deflate_bits(str front)
{
    unsigned first, second;

    assert(front.p && front.n >= 2);
    first = (unsigned char)front.p[0];
    second = (unsigned char)front.p[1];
    return (first & 15) == Z_DEFLATED && (first * 256 + second) % 31 == 0 ? 15 : -15;
}

void gzip_unpacker_feed(struct gzip_unpacker *u, str packed)
{
    size_t left = (size_t)(u->end - u->z.next_in);
    str all;

    assert(u->open && left <= u->held.n);
    buf_drop(&u->held, u->held.n - left);
    buf_add(&u->held, packed);
    all = buf_str(&u->held);
    if (!u->begun && all.n >= 2) {
        if (u->deflate)
            inflateReset2(&u->z, gzip_deflate_bits(all));
        u->begun = true;
    }
    u->packed = all.n;
    memcpy(&u->z.next_in, &all.p, sizeof all.p);
    u->end = u->z.next_in + all.n;
}

bool gzip_unpacker_is_whole(const struct gzip_unpacker *u)
{
    return u->open && !u->within && u->z.next_in == u->end;
}

struct buf *gzip_unpacker_plain(struct gzip_unpacker *u)
{
    return &u->plain;
}

/* How much room to ask for next: as much again as there is, but never past the ceiling. */
static size_t gzip_room_for(const struct gzip_unpacker *u)
{
    const struct buf *out = &u->plain;
    size_t left = out->size_max - (u->open ? u->made : out->n);
    size_t want = out->n > u->packed * 3 ? out->n : u->packed * 3 + ROOM_MIN;

    assert(out->n <= out->size_max && u->made <= out->size_max);
    want = want < GZIP_STEP_SIZE ? want : GZIP_STEP_SIZE;
    return want < left ? want : left;
}

/* One call of zlib. A buffer at its ceiling gets one byte more, which tells a body that just fits
 * from one that does not. */
static enum gzip_progress gzip_inflate(struct gzip_unpacker *u, struct err *e)
{
    size_t want = gzip_room_for(u);
    char one, *p = want ? buf_room(&u->plain, want) : &one;
    z_stream *z = &u->z;
    int got;

    assert(p && z->next_in <= u->end);
    z->next_out = (Bytef *)p;
    z->avail_out = want ? (uInt)want : 1;
    got = inflate(z, Z_NO_FLUSH);
    if (!want && z->avail_out == 0) {
        err_set(e, ERR_LIMIT, "the body, unpacked, is over %zu bytes", u->plain.size_max);
        return GZIP_FAILED;
    }
    if (want)
        buf_wrote(&u->plain, want - z->avail_out);
    u->made += want ? want - z->avail_out : 0;
    u->within = got != Z_STREAM_END;
    if (got == Z_STREAM_END && z->next_in == u->end && !u->open)
        return GZIP_DONE;
    if (got == Z_STREAM_END) {
        inflateReset(z);
        return z->next_in == u->end ? GZIP_WAITS : GZIP_MORE;
    }
    if (u->open && (got == Z_OK || got == Z_BUF_ERROR) && z->next_in == u->end && z->avail_out > 0)
        return GZIP_WAITS;
    if (got != Z_OK || (z->next_in == u->end && z->avail_out > 0)) {
        err_input(e, "the body is not whole %s", u->deflate ? "deflate" : "gzip");
        return GZIP_FAILED;
    }
    return GZIP_MORE;
}

enum gzip_progress gzip_unpacker_step(struct gzip_unpacker *u, struct err *e)
{
    size_t left = (size_t)(u->end - u->z.next_in), before = u->plain.n;
    enum gzip_progress p;

    if (buf_full(&u->held)) {
        err_set(e, ERR_LIMIT, "over %zu packed bytes wait to be unpacked", u->held.size_max);
        return GZIP_FAILED;
    }
    if (u->open && (!u->begun || (left == 0 && !u->within)))
        return GZIP_WAITS;
    u->z.avail_in = (uInt)(left < GZIP_STEP_SIZE ? left : GZIP_STEP_SIZE);
    do
        p = gzip_inflate(u, e);
    while (p == GZIP_MORE && u->z.avail_in > 0 && u->plain.n - before < GZIP_STEP_SIZE);
    return p;
}

bool gzip_unpack(str packed, struct buf *out, struct err *e)
{
    struct gzip_unpacker *u = gzip_unpacker_new(packed, out->size_max);
    enum gzip_progress p;

    assert(out->n == 0);
    do
        p = gzip_unpacker_step(u, e);
    while (p == GZIP_MORE);
    if (p == GZIP_DONE) {
        buf_release(out);
        buf_move(out, &u->plain);
    }
    gzip_unpacker_free(u);
    return p == GZIP_DONE;
}

void gzip_unpack_embedded(const struct embed *file, struct buf *out)
{
    struct err e;

    buf_init(out, EMBEDDED_MAX);
    if (!gzip_unpack((str){file->bytes, file->size}, out, &e))
        base_die("%s in the program is damaged: %s", file->name, e.text);
}

/* "q=0.25" in thousandths; 1000 if absent, -1 if invalid. */
static int gzip_parse_quality(str item, str *name)
{
    size_t semicolon = str_find(item, STR(";"));
    str q = semicolon == STR_NONE ? STR("q=1") : str_trim(str_slice(item, semicolon + 1, item.n));
    int value, unit = 100;

    *name = str_trim(str_slice(item, 0, semicolon));
    if (q.n < 3 || (q.p[0] | 0x20) != 'q' || q.p[1] != '=' || (q.p[2] != '0' && q.p[2] != '1'))
        return -1;
    value = (q.p[2] - '0') * 1000;
    if (q.n > 7 || (q.n > 3 && q.p[3] != '.'))
        return -1;
    for (size_t i = 4; i < q.n; i++, unit /= 10) {
        if (q.p[i] < '0' || q.p[i] > '9')
            return -1;
        value += (q.p[i] - '0') * unit;
    }
    return value <= 1000 ? value : -1;
}

bool gzip_accepted(str accept_encoding)
{
    int gzip = -1, any = -1, plain = -1;
    str item, name;

    while (http1_list_next(&accept_encoding, &item)) {
        int q = gzip_parse_quality(item, &name);

        if (q < 0)
            continue;
        if (http1_same(name, STR("gzip")) || http1_same(name, STR("x-gzip")))
            gzip = q;
        else if (http1_same(name, STR("identity")))
            plain = q;
        else if (str_eq(name, STR("*")))
            any = q;
    }
    if (gzip < 0)
        gzip = any;
    return gzip > 0 && gzip >= plain;
}
