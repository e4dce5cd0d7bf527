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

/* What has been fed can be read at once, by any gzip reader. */
TEST(gzip_flushes_after_each_piece)
{
    static const char *const pieces[] = {"data: a\n\n", "", "data: b\n\n", "data: c\n\n"};
    struct gzip *g = gzip_new();
    z_stream z = {0};
    char plain[256];
    struct buf packed;
    size_t want = 0;
    struct err e;

    buf_init(&packed, OUT_MAX);
    CHECK(inflateInit2(&z, 15 + 16) == Z_OK);
    z.next_out = (Bytef *)plain;
    z.avail_out = sizeof plain;
    gzip_begin(g);
    for (size_t i = 0, from = 0; i < COUNT_OF(pieces); i++, from = packed.n) {
        gzip_feed(g, str_c(pieces[i]), &packed);
        CHECK((packed.n > from) == (pieces[i][0] != '\0'));
        z.next_in = (Bytef *)packed.p + from;
        z.avail_in = (uInt)(packed.n - from);
        inflate(&z, Z_SYNC_FLUSH);
        want += strlen(pieces[i]);
        CHECK_INT(z.total_out, want);
    }
    gzip_finish(g, &packed);
    inflateEnd(&z);
    {
        struct buf out;

        buf_init(&out, 64);
        CHECK(gzip_unpack(buf_str(&packed), &out, &e));
        CHECK_STR(buf_str(&out), "data: a\n\ndata: b\n\ndata: c\n\n");
        buf_release(&out);
    }
    buf_release(&packed);
    gzip_free(g);
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
    packed.p[packed.n - 6] ^= 1; /* in the checksum */
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
        CHECK(gzip_unpacker_plain(u)->cap <= 4096); /* a bomb costs no more than the ceiling */
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

/* A deflate stream of empty blocks: many bytes that make none. */
static void pack_emptiness(struct buf *packed, str text, size_t blocks)
{
    static const char empty[] = {0, 0, 0, (char)0xFF, (char)0xFF};
    struct gzip *g = gzip_new();

    gzip_begin(g);
    gzip_feed(g, text, packed);
    while (blocks-- > 0)
        buf_add(packed, (str){empty, sizeof empty});
    gzip_finish(g, packed);
    gzip_free(g);
}

/* How many steps it takes; 0 if it fails. */
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

    buf_reset(&packed); /* little goes in and out of each member, and there are many */
    for (int i = 0; i < 20000; i++)
        gzip_pack(g, i % 2 ? STR("") : STR("x"), &packed);
    buf_reset(&body);
    while (body.n < 10000)
        buf_add_c(&body, 'x');
    CHECK(count_steps(buf_str(&packed), 10000, buf_str(&body), &e) >= packed.n / GZIP_STEP_SIZE);
    CHECK(!count_steps(buf_str(&packed), 9999, STR(""), &e) && e.code == ERR_LIMIT);

    buf_reset(&packed); /* a full buffer, with several steps to the end of the packed bytes */
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

TEST_MAIN(T(gzip_unpacks_what_it_packed), T(gzip_flushes_after_each_piece),
          T(gzip_refuses_what_is_cut_changed_or_too_large), T(gzip_joins_members),
          T(gzip_unpacks_in_short_steps), T(gzip_is_sent_to_who_asks_for_it))
