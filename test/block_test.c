/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rand.h"
#include "store/block.h"
#include "test.h"

#define ARENA_MAX ((size_t)64 << 20)

/* Entries */

static void check_texts(const struct block_texts *got, const struct block_texts *want)
{
    for (size_t i = 0; i < BLOCK_TEXT_COUNT; i++) {
        CHECK(got->text[i].p);
        CHECK_F(str_eq(got->text[i], want->text[i]), "text %zu", i);
    }
    CHECK(memcmp(&got->request_from, &want->request_from, sizeof got->request_from) == 0);
}

/* Writes an entry, reads it back, and then reads each of its prefixes. Returns its size. */
static size_t check_entry(const struct block_texts *t)
{
    struct block_texts got;
    struct arena a;
    struct buf b;
    struct err e;
    size_t n;

    arena_init(&a, (size_t)1 << 28);
    buf_init(&b, 1 << 24);
    block_entry_put(t, &b);
    CHECK(block_entry_get(buf_str(&b), &a, &got, &e));
    check_texts(&got, t);
    for (n = 0; n < b.n && b.n < 1000; n++) {
        str cut = str_slice(buf_str(&b), 0, n);

        if (block_entry_get(
                cut, &a, &got, &e)) { /* truncated between two texts: the later ones are empty */
            for (size_t i = 0; i < BLOCK_TEXT_COUNT; i++)
                CHECK(got.text[i].n == 0 || str_eq(got.text[i], t->text[i]));
        } else {
            CHECK_INT(e.code, ERR_SYSTEM);
        }
    }
    n = b.n;
    buf_release(&b);
    arena_release(&a);
    return n;
}

TEST(an_entry_gives_back_each_text_alone)
{
    static char large[300000];

    memset(large, 'x', sizeof large);
    for (size_t i = 0; i < BLOCK_TEXT_COUNT; i++) {
        struct block_texts t = {0};

        for (size_t k = 0; k < BLOCK_TEXT_COUNT; k++)
            t.text[k] = STR("");
        CHECK_INT(check_entry(&t), 0);
        t.text[i] = STR("a\0b");
        CHECK_INT(check_entry(&t), 5);
        t.text[i] = (str){large, 127};
        CHECK_INT(check_entry(&t), 129);
        t.text[i] = (str){large, 128};
        CHECK_INT(check_entry(&t), 131);
        t.text[i] = (str){large, sizeof large};
        CHECK_INT(check_entry(&t), 4 + sizeof large);
    }
}

TEST(an_entry_gives_back_all_texts_together)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    struct block_texts t = {0};

    for (size_t i = 0; i < BLOCK_TEXT_COUNT; i++)
        t.text[i] = (str){letters + i, 1 + i % 7};
    check_entry(&t);
    t.request_from = (struct block_delta){.call_n = 1};
    check_entry(&t);
    t.request_from = (struct block_delta){.call_n = 1, .answer = {0, 0, 1}};
    check_entry(&t);
    t.request_from = (struct block_delta){
        INT64_MAX, UINT64_MAX, UINT64_MAX, {UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    check_entry(&t);
    t.text[BLOCK_REQUEST] = STR(""); /* the same request again */
    check_entry(&t);
}

TEST(a_damaged_entry_is_an_error)
{
    static const struct {
        str bytes;
        const char *why;
    } bad[] = {
        {STR_INIT("\x0E\x01x"), "unknown tag"},
        {STR_INIT("\xFF\x01x"), "unknown tag"},
        {STR_INIT("\x01"), "no size"},
        {STR_INIT("\x01\x80"), "half a size"},
        {STR_INIT("\x01\x02x"), "too large"},
        {STR_INIT("\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01x"), "much too large"},
        {STR_INIT("\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02x"), "65 bits"},
        {STR_INIT("\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01x"), "11 bytes of size"},
        {STR_INIT("\x01\x01x\x01\x01x"), "twice"},
        {STR_INIT("\x02\x01x\x01\x01x"), "out of order"},
        {STR_INIT("\x01\x01x\x00\x01\x01\x01"), "from after a text"},
        {STR_INIT("\x00\x00\x01\x01"), "from call 0"},
        {STR_INIT("\x00\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x01\x01"), "from a negative call"},
        {STR_INIT("\x00\x01\x01"), "from without back"},
        {STR_INIT("\x03\x01x\x44"), "a copy of nothing"},
        {STR_INIT("\x03\x01x\x44\x03\x00\x00\x01\x00"), "a copy of itself"},
        {STR_INIT("\x03\x01x\x44\x02\x00\x00\x02\x00"), "a copy of too much"},
        {STR_INIT("\x03\x01x\x44\x02\x00\x02\x00\x00"), "a copy from behind the end"},
        {STR_INIT("\x03\x01x\x44\x02\x01\x00\x01\x00"), "a copy without its lead"},
        {STR_INIT("\x03\x01x\x44\x02\x01\x00\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01x"),
         "a copy with too much of a tail"},
        {STR_INIT("\x40"), "a delta with an answer, without its call"},
        {STR_INIT("\x40\x01\x01\x01\x01\x01"), "an answer without its size"},
        {STR_INIT("\x00\x01\x01\x01\x40\x01\x01\x01\x01\x01\x01"), "two deltas"},
    };
    struct block_texts t;
    struct arena a;
    struct err e;

    arena_init(&a, 1 << 20);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CHECK_F(!block_entry_get(bad[i].bytes, &a, &t, &e), "%s", bad[i].why);
        CHECK_INT(e.code, ERR_SYSTEM);
    }
    arena_release(&a);
}

TEST(a_text_that_is_a_part_of_another_is_stored_as_such)
{
    static const struct {
        enum block_text text, of;
    } pairs[] = {{BLOCK_SUMMARY, BLOCK_REASONING},
                 {BLOCK_ASKED, BLOCK_REQUEST},
                 {BLOCK_DECISION, BLOCK_REASONING},
                 {BLOCK_DECISION, BLOCK_ANSWER}};
    char whole[500], derived[500];

    for (uint32_t i = 0, n = 1; i < sizeof whole; i++, n = n * 1103515245u + 12345u)
        whole[i] = (char)('a' + (n >> 16) % 26);
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        for (size_t lead = 0; lead < 30; lead += 7)
            for (size_t at = 0; at < 200; at += 67)
                for (size_t tail = 0; tail < 8; tail += 3) {
                    struct block_texts t = {0};
                    size_t literal;

                    for (size_t k = 0; k < BLOCK_TEXT_COUNT; k++)
                        t.text[k] = STR("");
                    memset(derived, '#', sizeof derived);
                    memcpy(derived + lead, whole + at, 200);
                    t.text[pairs[i].of] = (str){whole, sizeof whole};
                    literal = check_entry(&t);
                    t.text[pairs[i].text] = (str){derived, lead + 200 + tail};
                    CHECK_F(check_entry(&t) <= literal + lead + tail + 8,
                            "%zu %zu %zu %zu",
                            i,
                            lead,
                            at,
                            tail);
                    t.request_from = (struct block_delta){7, 3, 4, {5, 6, 7}};
                    (void)check_entry(&t);
                }
}

/* Deltas */

/* front, back: bytes that base and request share. The request must be restored from the delta. */
static void check_delta(str base, str request, size_t front, size_t back)
{
    struct block_base from = {base, STR("")};
    struct block_delta d = {.call_n = 7};
    struct arena a;
    struct err e;
    str between, got;

    CHECK(block_delta_make(base, request, &d, &between));
    CHECK_INT(d.call_n, 7);
    CHECK_INT(d.front, front);
    CHECK_INT(d.back, back);
    arena_init(&a, ARENA_MAX);
    CHECK(block_delta_apply(&from, &d, between, &a, &got, &e));
    CHECK(str_eq(got, request));
    arena_release(&a);
}

static char *random_bytes(struct rand *r, size_t size)
{
    char *p = base_alloc(size);

    for (size_t i = 0; i < size; i++)
        p[i] = (char)rand_u64(r);
    return p;
}

TEST(a_delta_finds_a_change_at_every_place)
{
    enum { SIZE = 1200 };
    struct rand r;
    char *base, request[SIZE + 3];

    rand_init(&r, 3);
    base = random_bytes(&r, SIZE);
    for (size_t at = 0; at < SIZE; at++) {
        memcpy(request, base, SIZE);
        request[at] ^= 1;
        check_delta((str){base, SIZE}, (str){request, SIZE}, at, SIZE - 1 - at);
    }
    for (size_t at = 0; at <= SIZE; at++) { /* insert three bytes unlike their neighbours */
        memcpy(request, base, at);
        request[at] = (char)(at < SIZE ? base[at] ^ 1 : 0);
        request[at + 1] = 0;
        request[at + 2] = (char)(at ? base[at - 1] ^ 1 : 0);
        memcpy(request + at + 3, base + at, SIZE - at);
        check_delta((str){base, SIZE}, (str){request, SIZE + 3}, at, SIZE - at);
        if (at > 0) /* and the reverse: three bytes less */
            check_delta((str){request, SIZE + 3}, (str){base, SIZE}, at, SIZE - at);
    }
    free(base);
}

TEST(a_delta_never_overlaps)
{
    char same[2000];
    str whole = {same, sizeof same};

    memset(same, 'a', sizeof same);
    check_delta(whole, whole, 2000, 0);
    check_delta(str_slice(whole, 0, 700), str_slice(whole, 0, 1000), 700, 0);
    check_delta(str_slice(whole, 0, 1000), str_slice(whole, 0, 700), 700, 0);
    same[300] = 'b'; /* "aaa" is both before and after the only b */
    check_delta(str_slice(whole, 0, 600), str_slice(whole, 0, 620), 600, 0);
    check_delta(str_slice(whole, 10, 600), whole, 290, 299);
}

TEST(a_delta_that_saves_little_is_not_made)
{
    struct rand r;
    struct block_delta d = {.call_n = 1, .front = 2, .back = 3};
    str between = STR("untouched");
    char *p, *q;

    rand_init(&r, 5);
    p = random_bytes(&r, 8192);
    q = random_bytes(&r, 8192);
    q[255] = (char)(p[255] ^ 1);
    q[8191] = (char)(p[8191] ^ 1);
    memcpy(q, p, 255);
    CHECK(!block_delta_make(STR(""), STR(""), &d, &between));
    CHECK(!block_delta_make((str){p, 8192}, STR(""), &d, &between));
    CHECK(!block_delta_make(STR(""), (str){p, 8192}, &d, &between));
    CHECK(!block_delta_make((str){p, 255}, (str){p, 255}, &d, &between));
    CHECK(!block_delta_make((str){p, 600}, (str){q, 600}, &d, &between));
    memcpy(q, p, 2047);
    q[2047] = (char)(p[2047] ^ 1);
    CHECK(!block_delta_make((str){p, 8192}, (str){q, 8192}, &d, &between));
    CHECK(d.call_n == 1 && d.front == 2 && d.back == 3);
    CHECK_STR(between, "untouched");
    q[2047] = p[2047];
    q[2048] = (char)(p[2048] ^ 1);
    check_delta((str){p, 8192}, (str){q, 8192}, 2048, 0);
    check_delta((str){p, 256}, (str){p, 256}, 256, 0);
    free(p);
    free(q);
}

TEST(a_delta_that_does_not_fit_its_base_is_an_error)
{
    static const struct block_delta bad[] = {{1, 11, 0, {0, 0, 0}},
                                             {1, 0, 11, {0, 0, 0}},
                                             {1, 6, 5, {0, 0, 0}},
                                             {1, UINT64_MAX, 1, {0, 0, 0}},
                                             {1, 1, UINT64_MAX, {0, 0, 0}},
                                             {1, 1, 1, {2, 0, 1}},
                                             {1, 1, 1, {UINT64_MAX, 0, 1}},
                                             {1, 1, 1, {0, 7, 1}},
                                             {1, 1, 1, {0, UINT64_MAX, 2}},
                                             {1, 1, 1, {0, 0, 7}},
                                             {1, 1, 1, {0, 2, UINT64_MAX}}};
    const struct block_base base = {STR("0123456789"), STR("ab\ncd")};
    const struct block_delta plain = {.call_n = 1, .front = 2, .back = 1};
    const struct block_delta quotes = {1, 2, 1, {1, 1, 4}};
    static char large[100];
    const struct block_base wide = {STR("0123456789"), {large, sizeof large}};
    struct arena a;
    struct err e;
    str got;

    arena_init(&a, 96);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        arena_reset(&a);
        CHECK_F(!block_delta_apply(&base, &bad[i], STR("x"), &a, &got, &e), "%zu", i);
        CHECK_INT(e.code, ERR_SYSTEM);
    }
    CHECK(!block_delta_apply(&base, &plain, (str){large, sizeof large}, &a, &got, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK(!block_delta_apply(&base, &quotes, (str){large, sizeof large}, &a, &got, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK(!block_delta_apply(&wide, &quotes, STR("--"), &a, &got, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    arena_reset(&a);
    CHECK(block_delta_apply(&base, &plain, STR("--"), &a, &got, &e));
    CHECK_STR(got, "01--9");
    arena_reset(&a);
    CHECK(block_delta_apply(&base, &quotes, STR("--"), &a, &got, &e));
    CHECK_STR(got, "01-b\\nc-9");
    arena_release(&a);
}

/* The answer is found in its JSON escapes, and the request is restored with the client's bytes. */
TEST(a_request_that_repeats_an_answer_is_stored_without_it)
{
    static const char lines[] = "The tide turns at six.\nMoor at \"Pier 4\"\tand wait \\ watch:"
                                " the wind is from the west \xC3\xA0 4 m/s \x01\x7F.";
    static const char sent[] =
        "The tide turns at six.\\nMoor at \\\"Pier 4\\\"\\tand wait \\\\ watch:"
        " the wind is from the west \xC3\xA0 4 m/s \\u0001\x7F.";
    static const char before[] = ",{\"role\":\"assistant\",\"content\":\"";
    static const char after[] = "\"},{\"role\":\"user\",\"content\":\"And then?\"}";
    struct block_base base = {STR("[1]"), {lines, sizeof lines - 1}};
    struct block_delta d = {.call_n = 1, .front = 2, .back = 1};
    char request[sizeof before + sizeof sent + sizeof after];
    struct arena a;
    struct err e;
    str own, got;
    int n = snprintf(request, sizeof request, "%s%s%s", before, sent, after);

    arena_init(&a, ARENA_MAX);
    own = block_quote_make(base.answer, (str){request, (size_t)n}, &a, &d.answer);
    CHECK_INT(own.n, sizeof before + sizeof after - 2);
    CHECK_INT(d.answer.at, sizeof before - 1);
    CHECK_INT(d.answer.from, 0);
    CHECK_INT(d.answer.n, sizeof sent - 1);
    CHECK(block_delta_apply(&base, &d, own, &a, &got, &e));
    CHECK(str_eq(str_slice(got, 2, got.n - 1), (str){request, (size_t)n}));
    CHECK(str_eq(block_quote_make(STR("Something else."), own, &a, &d.answer), own));
    CHECK_INT(d.answer.n, 0);
    arena_release(&a);
}

/* Blocks */

enum opened { OPENED_SAME, OPENED_OTHER, OPENED_ERROR };

static enum opened open_block(str packed, const str *entries, size_t count)
{
    enum opened result = OPENED_SAME;
    struct block_view v;
    struct arena a;
    struct err e;

    arena_init(&a, ARENA_MAX);
    if (!block_open(packed, &a, &v, &e)) {
        CHECK_F(e.code == ERR_SYSTEM, "%s", e.text);
        result = OPENED_ERROR;
    } else {
        if (v.count != count)
            result = OPENED_OTHER;
        for (size_t i = 0; i <= count; i++)
            if (!str_eq(block_entry(&v, i), i < count ? entries[i] : STR("")))
                result = OPENED_OTHER;
    }
    arena_release(&a);
    return result;
}

/* Packs the entries and checks that they come back. */
static void check_block(struct block *b, const str *entries, size_t count, struct buf *packed)
{
    struct block_view v;
    struct arena a;
    struct err e;
    size_t size = 0;

    block_reset(b);
    for (size_t i = 0; i < count; i++) {
        block_add(b, entries[i]);
        size += entries[i].n;
    }
    CHECK_INT(block_size(b), size);
    CHECK_F(block_pack(b, packed, &e), "%s", e.text);
    CHECK_INT(block_size(b), size);
    arena_init(&a, ARENA_MAX);
    CHECK_F(block_open(buf_str(packed), &a, &v, &e), "%s", e.text);
    CHECK_INT(v.count, count);
    for (size_t i = 0; i < count; i++)
        CHECK(str_eq(block_entry(&v, i), entries[i]));
    CHECK_STR(block_entry(&v, count), "");
    CHECK_STR(block_entry(&v, SIZE_MAX), "");
    arena_release(&a);
}

TEST(a_block_gives_back_its_entries_and_erased_places)
{
    static const str entries[] = {STR_INIT(""),
                                  STR_INIT("\x01\x03one"),
                                  STR_INIT(""),
                                  STR_INIT(""),
                                  STR_INIT("\x02\x03two"),
                                  STR_INIT("")};
    struct block b;
    struct buf packed;

    block_init(&b);
    buf_init(&packed, 1 << 20);
    for (size_t from = 0; from < COUNT_OF(entries); from++)
        for (size_t n = 0; n <= COUNT_OF(entries) - from; n++) {
            buf_reset(&packed);
            check_block(&b, entries + from, n, &packed);
        }
    block_release(&b);
    buf_release(&packed);
}

TEST(a_block_is_appended_to_other_bytes_and_packed_again)
{
    static const str entries[] = {STR_INIT("\x01\x03one"), STR_INIT("\x01\x03two")};
    struct block b;
    struct buf packed;
    struct err e;
    size_t n;

    block_init(&b);
    buf_init(&packed, 1 << 20);
    block_add(&b, entries[0]);
    CHECK(block_pack(&b, &packed, &e));
    n = packed.n;
    block_add(&b, entries[1]);
    CHECK(block_pack(&b, &packed, &e));
    CHECK(open_block(str_slice(buf_str(&packed), 0, n), entries, 1) == OPENED_SAME);
    CHECK(open_block(str_slice(buf_str(&packed), n, packed.n), entries, 2) == OPENED_SAME);
    block_release(&b);
    buf_release(&packed);
}

TEST(a_large_call_is_a_block_of_its_own)
{
    size_t size = (size_t)20 << 20;
    struct rand r;
    struct block b;
    struct buf packed;
    char *bytes;

    rand_init(&r, 11);
    bytes = random_bytes(&r, size);
    block_init(&b);
    buf_init(&packed, BLOCK_RAW_MAX);
    check_block(&b, (str[]){{bytes, size}, STR(""), STR("x")}, 3, &packed);
    CHECK(block_due(&b));
    memset(bytes, 'a', size); /* the most compressible input */
    buf_reset(&packed);
    check_block(&b, &(str){bytes, size}, 1, &packed);
    CHECK(packed.n < 4096);
    block_reset(&b);
    CHECK(b.raw.cap < size && !block_due(&b));
    block_release(&b);
    buf_release(&packed);
    free(bytes);
}

TEST(a_block_of_too_many_calls_is_not_packed)
{
    struct block b;
    struct buf packed;
    struct err e;
    str *none = base_alloc(BLOCK_CALLS_MAX * sizeof *none);

    for (size_t i = 0; i < BLOCK_CALLS_MAX; i++)
        none[i] = STR("");
    block_init(&b);
    buf_init(&packed, 1 << 20);
    check_block(&b, none, BLOCK_CALLS_MAX, &packed);
    CHECK(block_due(&b));
    block_add(&b, STR(""));
    CHECK(!block_pack(&b, &packed, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    block_reset(&b);
    block_add(&b, STR("x"));
    buf_release(&packed);
    buf_init(&packed, 10);
    CHECK(!block_pack(&b, &packed, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_INT(packed.n, 0);
    block_release(&b);
    buf_release(&packed);
    free(none);
}

/* Each byte is replaced by each other byte, each prefix is read, and bytes are appended: each is an
 * error or does not change the content (zstd ignores one bit of its header). */
static void check_damage(const str *entries, size_t count)
{
    struct block b;
    struct buf packed;
    char *copy;
    size_t n;

    block_init(&b);
    buf_init(&packed, 1 << 20);
    check_block(&b, entries, count, &packed);
    n = packed.n;
    for (size_t i = 0; i < n; i++)
        for (int flip = 1; flip < 256; flip++) {
            packed.p[i] = (char)(packed.p[i] ^ flip);
            CHECK_F(open_block(buf_str(&packed), entries, count) != OPENED_OTHER,
                    "byte %zu of %zu",
                    i,
                    n);
            packed.p[i] = (char)(packed.p[i] ^ flip);
        }
    for (size_t i = 0; i < n; i++) { /* exact-size copies: a sanitizer detects an overread */
        struct block_view v;
        struct arena a;
        struct err e;

        copy = base_alloc(i + 1);
        memcpy(copy, packed.p, i);
        arena_init(&a, ARENA_MAX);
        CHECK(!block_open((str){copy, i}, &a, &v, &e));
        CHECK_INT(e.code, ERR_SYSTEM);
        arena_release(&a);
        free(copy);
    }
    buf_add_c(&packed, 'x');
    CHECK(open_block(buf_str(&packed), entries, count) == OPENED_ERROR);
    packed.n = n;
    buf_add(&packed, str_slice(buf_str(&packed), 1, n)); /* a second frame */
    CHECK(open_block(buf_str(&packed), entries, count) == OPENED_ERROR);
    block_release(&b);
    buf_release(&packed);
}

TEST(damage_is_an_error_or_changes_nothing)
{
    static const char prose[] =
        "\x01\x81\x02The model weighs the question, then weighs the question again, and then "
        "answers the question: a model that answers the question without weighing it is a model "
        "that must answer it again. The answer is in the question, and the question is in the "
        "model's prompt, which is.";

    check_damage((str[]){STR("\x01\x03one"), STR(""), STR("\x02\x03two")}, 3);
    check_damage((str[]){{prose, sizeof prose - 1}, STR(""), {prose, sizeof prose - 1}}, 3);
    check_damage(NULL, 0);
}

/* A declared size is trusted only if the frame could hold that much and the arena has room. */
TEST(a_size_that_cannot_be_right_takes_no_memory)
{
    /* One empty last block; the header declares 512 MiB - 1, 2^60, or no size. */
    static const str bad[] = {
        STR_INIT("\x01\x28\xB5\x2F\xFD\xA0\xFF\xFF\xFF\x1F\x01\x00\x00"),
        STR_INIT("\x01\x28\xB5\x2F\xFD\xE0\x00\x00\x00\x00\x00\x00\x00\x10\x01\x00\x00"),
        STR_INIT("\x01\x28\xB5\x2F\xFD\x00\x58\x01\x00\x00"),
    };
    struct block_view v;
    struct block b;
    struct arena a;
    struct buf packed;
    struct err e;
    char text[5000];

    arena_init(&a, (size_t)1 << 30);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CHECK(!block_open(bad[i], &a, &v, &e));
        CHECK_INT(e.code, ERR_SYSTEM);
        CHECK_INT(a.size, 0);
    }
    arena_release(&a);
    memset(text, 'x', sizeof text);
    block_init(&b);
    buf_init(&packed, 1 << 20);
    block_add(&b, (str){text, sizeof text});
    CHECK(block_pack(&b, &packed, &e));
    for (size_t room = 0; room < 6000; room += 8) {
        arena_init(&a, room);
        if (!block_open(buf_str(&packed), &a, &v, &e)) {
            CHECK_INT(e.code, ERR_LIMIT);
            CHECK(room < 5100);
        }
        arena_release(&a);
    }
    block_release(&b);
    buf_release(&packed);
}

TEST_MAIN(T(a_text_that_is_a_part_of_another_is_stored_as_such),
          T(an_entry_gives_back_each_text_alone), T(an_entry_gives_back_all_texts_together),
          T(a_damaged_entry_is_an_error), T(a_delta_finds_a_change_at_every_place),
          T(a_delta_never_overlaps), T(a_delta_that_saves_little_is_not_made),
          T(a_delta_that_does_not_fit_its_base_is_an_error),
          T(a_request_that_repeats_an_answer_is_stored_without_it),
          T(a_block_gives_back_its_entries_and_erased_places),
          T(a_block_is_appended_to_other_bytes_and_packed_again),
          T(a_large_call_is_a_block_of_its_own), T(a_block_of_too_many_calls_is_not_packed),
          T(damage_is_an_error_or_changes_nothing), T(a_size_that_cannot_be_right_takes_no_memory))
