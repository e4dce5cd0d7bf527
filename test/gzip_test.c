/* SPDX-License-Identifier: Apache-2.0 */
#include "net/gzip.h"

#include "base/rand.h"
#include "test.h"

#include <zlib.h>

#define OUT_MAX ((size_t)1 << 22)

static void fill(struct buf *b, size_t size, bool noise)
{
    struct rand chance;

    rand_init(&chance, size);
    while (b->n < size)
        buf_add_c(b, noise ? (char)rand_u64(&chance) : "the same words "[b->n % 15]);
}

TEST(gzip_unpacks_what_it_packed)
{
    static const size_t sizes[] = {0, 1, 255, 4096, 1000000};
    struct gzip *g = gzip_new();
    struct buf body, packed, out;
    struct err e;

    buf_init(&body, OUT_MAX), buf_init(&packed, OUT_MAX), buf_init(&out, OUT_MAX);
    for (size_t i = 0; i < COUNT_OF(sizes) * 2; i++) {
        buf_reset(&body), buf_reset(&packed), buf_reset(&out);
        fill(&body, sizes[i / 2], i % 2);
        gzip_pack(g, buf_str(&body), &packed);
        CHECK(!packed.full);
        CHECK_F(gzip_unpack(buf_str(&packed), &out, &e), "%s", e.text);
        CHECK(str_eq(buf_str(&body), buf_str(&out)));
        CHECK(i != 8 || packed.n < body.n / 50);
    }
    buf_release(&body), buf_release(&packed), buf_release(&out);
    gzip_free(g);
    gzip_free(NULL);
}

TEST(gzip_refuses_what_is_cut_changed_or_too_large)
{
    struct gzip *g = gzip_new();
    struct buf body, packed, out;
    struct err e;

    buf_init(&body, OUT_MAX), buf_init(&packed, OUT_MAX), buf_init(&out, 1000);
    fill(&body, 1000, false);
    gzip_pack(g, buf_str(&body), &packed);
    CHECK(gzip_unpack(buf_str(&packed), &out, &e));
    for (size_t n = 0; n < packed.n; n++) {
        buf_reset(&out);
        CHECK(!gzip_unpack(str_slice(buf_str(&packed), 0, n), &out, &e) && e.code == ERR_INPUT);
    }
    packed.p[packed.n - 6] ^= 1; /* corrupts the checksum */
    buf_reset(&out);
    CHECK(!gzip_unpack(buf_str(&packed), &out, &e) && e.code == ERR_INPUT);
    packed.p[packed.n - 6] ^= 1;
    buf_add(&packed, STR("x"));
    buf_reset(&out);
    CHECK(!gzip_unpack(buf_str(&packed), &out, &e) && e.code == ERR_INPUT);
    CHECK(!gzip_unpack(STR("{\"a\": 1}"), &out, &e) && e.code == ERR_INPUT);

    buf_reset(&packed);
    fill(&body, 1001, false);
    gzip_pack(g, buf_str(&body), &packed);
    buf_reset(&out);
    CHECK(!gzip_unpack(buf_str(&packed), &out, &e) && e.code == ERR_LIMIT);
    buf_reset(&packed);
    fill(&body, 1 << 21, false);
    gzip_pack(g, buf_str(&body), &packed);
    buf_reset(&out);
    CHECK(!gzip_unpack(buf_str(&packed), &out, &e) && e.code == ERR_LIMIT);
    {
        struct gzip_unpacker *u = gzip_unpacker_new(buf_str(&packed), 1000);

        while (gzip_unpacker_step(u, &e) == GZIP_MORE)
            ;
        CHECK(gzip_unpacker_plain(u)->cap <= 4096); /* a bomb cannot exceed the limit */
        gzip_unpacker_free(u);
    }
    buf_release(&body), buf_release(&packed), buf_release(&out);
    gzip_free(g);
}

TEST(gzip_joins_members)
{
    struct gzip *g = gzip_new();
    struct buf packed, out;
    struct err e;

    buf_init(&packed, 1000), buf_init(&out, 3);
    gzip_pack(g, STR("a"), &packed);
    gzip_pack(g, STR(""), &packed);
    gzip_pack(g, STR("bc"), &packed);
    CHECK(gzip_unpack(buf_str(&packed), &out, &e));
    CHECK_STR(buf_str(&out), "abc");
    buf_reset(&out);
    gzip_pack(g, STR("d"), &packed);
    CHECK(!gzip_unpack(buf_str(&packed), &out, &e) && e.code == ERR_LIMIT);
    buf_release(&packed), buf_release(&out);
    gzip_free(g);
}

/* Compresses one member in the format that `bits` selects: gzip, zlib, or raw deflate. */
static void pack_as(str text, int bits, struct buf *packed)
{
    z_stream z = {0};

    CHECK(deflateInit2(&z, 9, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    memcpy(&z.next_in, &text.p, sizeof text.p);
    z.avail_in = (uInt)text.n;
    z.next_out = (Bytef *)buf_room(packed, text.n + 1000);
    z.avail_out = (uInt)text.n + 1000;
    CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
    buf_wrote(packed, text.n + 1000 - z.avail_out);
    deflateEnd(&z);
}

/* True if the pieces are a whole body. `out` gets the bytes unpacked, also on failure. */
static bool unpack_pieces(str coding, str packed, size_t size, size_t size_max, struct buf *out,
                          struct err *e)
{
    struct gzip_unpacker *u = gzip_unpacker_open(coding, size_max);
    enum gzip_progress p = GZIP_WAITS;
    bool whole;

    buf_reset(out);
    err_set(e, ERR_INPUT, "cut short");
    for (size_t at = 0; at < packed.n && p == GZIP_WAITS; at += size) {
        gzip_unpacker_feed(u, str_slice(packed, at, at + size));
        do {
            p = gzip_unpacker_step(u, e);
            CHECK(gzip_unpacker_plain(u)->n <= 2 * GZIP_STEP_SIZE);
            buf_add(out, buf_str(gzip_unpacker_plain(u)));
            buf_reset(gzip_unpacker_plain(u));
        } while (p == GZIP_MORE);
    }
    CHECK(p != GZIP_DONE);
    whole = p == GZIP_WAITS && gzip_unpacker_is_whole(u);
    gzip_unpacker_free(u);
    return whole;
}

TEST(gzip_unpacks_pieces_alike_for_every_cut)
{
    static const struct {
        const char *coding;
        int bits;
        size_t members, size;
    } cases[] = {{"gzip", 31, 1, 4000},
                 {"X-GZIP", 31, 3, 200},
                 {"deflate", 15, 1, 4000},
                 {"deflate", -15, 1, 4000},
                 {"gzip", 31, 1, 3000000}};
    struct buf body, packed, out;
    struct err e;

    buf_init(&body, OUT_MAX), buf_init(&packed, OUT_MAX), buf_init(&out, OUT_MAX);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        str coding = str_c(cases[i].coding), text;
        size_t all = cases[i].members * cases[i].size;

        CHECK(gzip_knows(coding));
        buf_reset(&body), buf_reset(&packed);
        fill(&body, cases[i].size, false);
        text = buf_str(&body);
        for (size_t n = 0; n < cases[i].members; n++)
            pack_as(text, cases[i].bits, &packed);
        for (size_t size = 1; size <= packed.n; size = size * 2 + 1) {
            CHECK(unpack_pieces(coding, buf_str(&packed), size, all, &out, &e));
            CHECK(out.n == all && str_eq(str_slice(buf_str(&out), all - text.n, all), text));
            CHECK(!unpack_pieces(coding, buf_str(&packed), size, all - 1, &out, &e));
            CHECK_INT(e.code, ERR_LIMIT);
            CHECK_INT(out.n, all - 1); /* `out` has all bytes that fit */
        }
        for (size_t n = 1; n < packed.n && packed.n < 1000; n++)
            if (cases[i].members == 1)
                CHECK(!unpack_pieces(coding, str_slice(buf_str(&packed), 0, n), 7, all, &out, &e));
        buf_add(&packed, STR("more"));
        for (size_t size = 1; size <= packed.n && packed.n < 1000; size++)
            CHECK(!unpack_pieces(coding, buf_str(&packed), size, all * 2, &out, &e));
    }
    buf_reset(&body), buf_reset(&packed); /* incompressible data grows when packed */
    fill(&body, 300, true);
    pack_as(buf_str(&body), 31, &packed);
    for (size_t size = 1; size <= packed.n; size++)
        CHECK(unpack_pieces(STR("gzip"), buf_str(&packed), size, 300, &out, &e));
    CHECK(unpack_pieces(STR("gzip"), STR(""), 1, 10, &out, &e));
    CHECK(!unpack_pieces(STR("gzip"), STR("{\"a\": 1}"), 3, 10, &out, &e));
    CHECK(!gzip_knows(STR("br")) && !gzip_knows(STR("gzip, gzip")) && !gzip_knows(STR("")));
    buf_release(&body), buf_release(&packed), buf_release(&out);
}

/* A deflate stream with many empty blocks, which take input and give no output. */
static void pack_emptiness(struct buf *packed, str text, size_t blocks)
{
    static const char empty[] = {0, 0, 0, (char)0xFF, (char)0xFF};
    char room[256];
    z_stream z = {.avail_in = (uInt)text.n, .avail_out = sizeof room, .next_out = (Bytef *)room};

    memcpy(&z.next_in, &text.p, sizeof text.p);
    CHECK(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    CHECK(deflate(&z, Z_SYNC_FLUSH) == Z_OK);
    buf_add(packed, (str){room, z.total_out});
    while (blocks-- > 0)
        buf_add(packed, (str){empty, sizeof empty});
    z.next_out = (Bytef *)room, z.avail_out = sizeof room;
    CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
    buf_add(packed, (str){room, sizeof room - z.avail_out});
    deflateEnd(&z);
}

/* The number of steps until the end; 0 on failure. */
static size_t count_steps(str packed, size_t size_max, str want, struct err *e)
{
    struct gzip_unpacker *u = gzip_unpacker_new(packed, size_max);
    enum gzip_progress p = GZIP_MORE;
    size_t steps = 0, before = 0;

    for (; p == GZIP_MORE; steps++, before = gzip_unpacker_plain(u)->n) {
        p = gzip_unpacker_step(u, e);
        CHECK(gzip_unpacker_plain(u)->n - before < 2 * GZIP_STEP_SIZE);
    }
    CHECK(p == GZIP_FAILED || str_eq(buf_str(gzip_unpacker_plain(u)), want));
    gzip_unpacker_free(u);
    return p == GZIP_DONE ? steps : 0;
}

TEST(gzip_unpacks_in_short_steps)
{
    struct gzip *g = gzip_new();
    struct buf body, packed;
    struct err e;

    buf_init(&body, OUT_MAX), buf_init(&packed, OUT_MAX);
    gzip_unpacker_free(NULL);
    fill(&body, OUT_MAX, false);
    gzip_pack(g, buf_str(&body), &packed);
    CHECK(count_steps(buf_str(&packed), OUT_MAX, buf_str(&body), &e) >=
          OUT_MAX / GZIP_STEP_SIZE / 2);
    CHECK(!count_steps(buf_str(&packed), OUT_MAX - 1, STR(""), &e) && e.code == ERR_LIMIT);

    buf_reset(&packed); /* many members, each with little input and output */
    for (int i = 0; i < 20000; i++)
        gzip_pack(g, i % 2 ? STR("") : STR("x"), &packed);
    buf_reset(&body);
    while (body.n < 10000)
        buf_add_c(&body, 'x');
    CHECK(count_steps(buf_str(&packed), 10000, buf_str(&body), &e) >= packed.n / GZIP_STEP_SIZE);
    CHECK(!count_steps(buf_str(&packed), 9999, STR(""), &e) && e.code == ERR_LIMIT);

    buf_reset(&packed); /* the output buffer is full while several steps of packed bytes remain */
    pack_emptiness(&packed, STR("full"), 100000);
    CHECK(count_steps(buf_str(&packed), 4, STR("full"), &e) >= packed.n / GZIP_STEP_SIZE);
    CHECK(!count_steps(buf_str(&packed), 3, STR(""), &e) && e.code == ERR_LIMIT);
    CHECK(!count_steps(str_slice(buf_str(&packed), 0, packed.n - 9), 4, STR(""), &e) &&
          e.code == ERR_INPUT);
    buf_release(&body), buf_release(&packed);
    gzip_free(g);
}

TEST(gzip_is_sent_to_who_asks_for_it)
{
    static const struct {
        const char *accept;
        bool gzip;
    } table[] = {
        {"", false},
        {"gzip", true},
        {"GZIP", true},
        {"x-gzip", true},
        {"deflate, br", false},
        {"deflate, gzip;q=1.0, *;q=0.5", true},
        {"gzip;q=0", false},
        {"gzip;q=0.000", false},
        {"gzip ; q=0.001", true},
        {"*", true},
        {"*;q=0", false},
        {"gzip;q=0, *", false},
        {"*;q=0, gzip", true},
        {"identity", false},
        {"identity;q=1, gzip;q=0.5", false},
        {"identity;q=0.5, gzip;q=0.5", true},
        {"gzip;q=2", false},
        {"gzip;q=1.5", false},
        {"gzip;q=0.1234", false},
        {"gzip;x", false},
        {"gzipped", false},
    };

    for (size_t i = 0; i < COUNT_OF(table); i++)
        CHECK_F(gzip_accepted(str_c(table[i].accept)) == table[i].gzip, "%s", table[i].accept);
}

TEST_MAIN(T(gzip_unpacks_what_it_packed), T(gzip_refuses_what_is_cut_changed_or_too_large),
          T(gzip_joins_members), T(gzip_unpacks_pieces_alike_for_every_cut),
          T(gzip_unpacks_in_short_steps), T(gzip_is_sent_to_who_asks_for_it))
