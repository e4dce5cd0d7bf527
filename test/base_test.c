/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/spare.h"
#include "test.h"

#include <errno.h>

TEST(str_views_compare_and_cut)
{
    CHECK(str_eq(STR("abc"), str_c("abc")));
    CHECK(!str_eq(STR("abc"), STR("abd")));
    CHECK(!str_eq(STR("abc"), STR("ab")));
    CHECK(str_eq(str_c(NULL), STR("")));
    CHECK(str_cmp(STR("a"), STR("ab")) < 0);
    CHECK(str_cmp(STR("b"), STR("ab")) > 0);
    CHECK(str_cmp(STR("\xff"), STR("a")) > 0);
    CHECK_STR(str_slice(STR("abc"), 1, 2), "b");
    CHECK_STR(str_slice(STR("abc"), 2, 9), "c");
    CHECK_STR(str_slice(STR("abc"), 9, 1), "");
    CHECK_INT(str_find(STR("abcabc"), STR("ca")), 2);
    CHECK(str_find(STR("abc"), STR("cb")) == STR_NONE);
    CHECK_STR(str_trim(STR(" \t\n a b \r\n")), "a b");
    CHECK_STR(str_trim(STR("  ")), "");
    CHECK(str_is_one_of(STR("a"), "a bc"));
    CHECK(str_is_one_of(STR("bc"), "a bc"));
    CHECK(!str_is_one_of(STR("b"), "a bc"));
    CHECK(!str_is_one_of(STR("a b"), "a bc"));
    CHECK(!str_is_one_of(STR(""), "a bc"));
    CHECK(str_is_one_of_nocase(STR("Bc"), "a bC"));
    CHECK(!str_is_one_of_nocase(STR("B"), "a bC"));
    CHECK_INT(str_place(STR("bc"), "a bc"), 1);
    CHECK(str_place(STR("c"), "a bc") == STR_NONE);
    CHECK_INT(str_find_last(STR("a/b/c"), '/'), 3);
    CHECK(str_find_last(STR("abc"), '/') == STR_NONE);
}

TEST(str_cut_takes_a_text_apart_at_its_marks)
{
    str rest = STR("a,,b");

    CHECK_STR(str_cut(&rest, ','), "a");
    CHECK_STR(str_cut(&rest, ','), "");
    CHECK_STR(rest, "b");
    CHECK_STR(str_cut(&rest, ','), "b");
    CHECK_STR(str_cut(&rest, ','), "");
}

TEST(a_grown_list_keeps_its_elements)
{
    size_t max = 0;
    int *list = NULL;

    for (int i = 0; i < 1000; i++) {
        list = base_grow(list, (size_t)i, &max, sizeof *list);
        list[i] = i;
    }
    CHECK(max >= 1000 && list[0] == 0 && list[999] == 999);
    free(list);
}

TEST(str_u64_takes_digits_that_fit_and_nothing_else)
{
    static const struct {
        const char *text;
        bool ok;
        uint64_t value;
    } cases[] = {
        {"0", true, 0},
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"99999999999999999999", false, 0},
        {"", false, 0},
        {"+1", false, 0},
        {"1 ", false, 0},
        {"-1", false, 0},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint64_t v = 0;

        CHECK_F(str_u64(str_c(cases[i].text), &v) == cases[i].ok, "\"%s\"", cases[i].text);
        CHECK(v == cases[i].value);
    }
}

TEST(arena_gives_aligned_memory_up_to_its_ceiling)
{
    struct arena a;

    arena_init(&a, 1 << 16);
    for (size_t i = 1; i < 200; i++) {
        char *p = arena_alloc(&a, i);

        CHECK((uintptr_t)p % _Alignof(max_align_t) == 0);
        memset(p, 'x', i);
    }
    CHECK_STR(arena_dup(&a, STR("kept")), "kept");
    CHECK_STR(arena_printf(&a, "%d-%s", 7, "x"), "7-x");
    CHECK(a.size <= a.size_max);
    arena_reset(&a);
    CHECK_INT(arena_left(&a), 1 << 16);
    CHECK(arena_alloc(&a, 1 << 15) != NULL);
    arena_release(&a);
}

TEST(buf_keeps_whole_adds_under_its_ceiling_and_remembers)
{
    struct buf b;
    struct err e;

    buf_init(&b, 10);
    buf_add(&b, STR("12345"));
    buf_printf(&b, "%d", 678);
    CHECK(buf_ok(&b, "x", &e));
    buf_add(&b, STR("too much"));
    CHECK(buf_full(&b));
    buf_add_c(&b, '9');
    CHECK_STR(buf_str(&b), "12345678");
    CHECK(!buf_ok(&b, "reply", &e));
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_STR(str_c(e.text), "reply: larger than 10 bytes");
    buf_reset(&b);
    CHECK(!buf_full(&b));
    buf_add(&b, STR("0123456789"));
    CHECK(!buf_full(&b));
    buf_drop(&b, 4);
    CHECK_STR(buf_str(&b), "456789");
    buf_release(&b);
}

TEST(base64_is_read_back_and_nothing_else_is_read)
{
    static const char *const bad[] = {"A",
                                      "AA",
                                      "AAA",
                                      "AA=A",
                                      "A===",
                                      "====",
                                      "AA A",
                                      "AB==",
                                      "AAB=",
                                      "AA-_",
                                      "AAAA=",
                                      "AA==AAAA"};
    struct buf b, back;
    char bytes[64];

    buf_init(&b, 1000);
    buf_init(&back, 1000);
    for (size_t n = 0; n < sizeof bytes; n++) {
        for (size_t i = 0; i < n; i++)
            bytes[i] = (char)(i * 37 + n * 11);
        buf_reset(&b);
        buf_reset(&back);
        base64_add(&b, (str){bytes, n});
        CHECK_INT(b.n, (n + 2) / 3 * 4);
        CHECK(base64_decode(buf_str(&b), &back) && str_eq(buf_str(&back), (str){bytes, n}));
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        buf_reset(&back);
        CHECK_F(!base64_decode(str_c(bad[i]), &back) && back.n == 0, "%s", bad[i]);
    }
    buf_reset(&b);
    base64_add_url(&b, STR("\xff\xfe\xfd\xfc"));
    CHECK_STR(buf_str(&b), "__79_A");
    buf_release(&back);
    buf_release(&b);
}

TEST(urls_have_percent_signs_for_all_but_plain_characters)
{
    struct buf b;

    buf_init(&b, 1000);
    buf_add_percent(&b, STR("az AZ09-._~/@\xc3\xa9%\0"), "@/");
    buf_add_percent(&b, STR("/@"), "");
    CHECK_STR(buf_str(&b), "az%20AZ09-._~/@%C3%A9%25%00%2F%40");
    buf_release(&b);
}

TEST(buf_with_a_front_is_as_one_without_until_something_is_put_there)
{
    struct buf_pool pool = {0};
    struct buf b, other;

    buf_init(&b, 5000);
    for (int round = 0; round < 3; round++) { /* no memory, its own memory, memory of the pool */
        buf_front(&b, 8);
        CHECK_STR(buf_str(&b), "");
        CHECK(!buf_put_front(&b, STR("nothing is there yet")));
        for (int i = 0; i < 1000; i++)
            buf_add(&b, STR("1234"));
        CHECK(!buf_put_front(&b, STR("nine more")) && b.n == 4000);
        CHECK(buf_put_front(&b, STR("head")) && buf_put_front(&b, STR("the ")));
        CHECK(!buf_put_front(&b, STR("!")));
        CHECK(str_starts(buf_str(&b), STR("the head1234123412")) && b.n == 4008);
        buf_init(&other, 6000);
        buf_move(&other, &b);
        CHECK(b.n == 0 && !b.p && str_starts(buf_str(&other), STR("the head1234")));
        buf_add(&other, STR("5"));
        CHECK(other.n == 4009 && other.p[4008] == '5');
        buf_give(&pool, &other);
        CHECK_INT(pool.n, 1);
        if (round == 0)
            buf_add(&b, STR("small"));
        else
            buf_take(&pool, &b);
        buf_reset(&b);
        buf_pool_release(&pool);
    }
    buf_release(&b);
}

TEST(buf_printf_takes_more_than_its_small_buffer)
{
    struct buf b;

    buf_init(&b, 1000);
    buf_printf(&b, "%0300d", 7);
    CHECK_INT(b.n, 300);
    CHECK(b.p[299] == '7');
    buf_release(&b);
}

TEST(err_says_what_and_never_half_a_character)
{
    struct err e;
    char long_text[600];

    CHECK(!err_set(&e, ERR_INPUT, "line %d", 3));
    CHECK(!err_prefix(&e, "a.yaml: "));
    CHECK_STR(str_c(e.text), "a.yaml: line 3");
    CHECK_INT(e.code, ERR_INPUT);

    errno = ENOENT;
    CHECK(!err_sys(&e, "open %s", "x"));
    CHECK_STR(str_c(e.text), "open x: No such file or directory");

    for (size_t shift = 0; shift < 4; shift++) {
        size_t n = shift;

        memset(long_text, 'a', shift);
        while (n + 4 < sizeof long_text)
            memcpy(long_text + n, "\xF0\x9F\x8C\x88", 4), n += 4;
        long_text[n] = '\0';
        err_set(&e, ERR_INPUT, "%s", long_text);
        CHECK((strlen(e.text) - shift) % 4 == 0);
    }
}

TEST(err_codes_have_a_status_and_say_if_a_retry_makes_sense)
{
    CHECK_INT(err_http_status(ERR_INPUT), 400);
    CHECK_INT(err_http_status(ERR_UPSTREAM), 502);
    CHECK(err_retry(ERR_TIMEOUT) && !err_retry(ERR_AUTH));
    for (int c = 0; c < ERR_CODE_COUNT; c++)
        CHECK(err_name((enum err_code)c)[0] != '\0');
}

TEST(str_same_looks_at_every_byte)
{
    char a[40], b[40];

    memset(a, 'x', sizeof a);
    for (size_t n = 0; n < sizeof a; n++) {
        memcpy(b, a, sizeof a);
        CHECK(str_same(a, b, n));
        for (size_t i = 0; i < sizeof a; i++) {
            b[i] = 'y';
            CHECK(str_same(a, b, n) == (i >= n));
            b[i] = 'x';
        }
    }
}

TEST(spare_memory_goes_round_and_keeps_what_it_holds)
{
    static const size_t sizes[] = {1, 1023, 1024, 1025, 4096, 5000, 32768, 32769, 100000};
    void *held[COUNT_OF(sizes)];
    size_t got[COUNT_OF(sizes)];

    for (int open = 0; open < 2; open++) {
        if (open)
            spare_open();
        for (int round = 0; round < 200; round++)
            for (size_t i = 0; i < COUNT_OF(sizes); i++) {
                size_t more = 3 * sizes[i];

                got[i] = sizes[i];
                held[i] = spare_alloc(&got[i]);
                CHECK(got[i] >= sizes[i]);
                memset(held[i], (int)i + 1, got[i]);
                held[i] = spare_grow(held[i], got[i], sizes[i], &more);
                CHECK(more >= 3 * sizes[i]);
                CHECK_INT(((char *)held[i])[sizes[i] - 1], i + 1);
                spare_free(held[i], more);
            }
    }
    spare_close();
    spare_free(NULL, 0);
}

TEST(arena_that_is_reserved_for_needs_no_second_block)
{
    struct arena a;

    arena_init(&a, 1 << 20);
    arena_reserve(&a, 8000);
    CHECK(a.size >= 8000 && a.size < 16000 && arena_left(&a) <= 1 << 20);
    for (int i = 0; i < 80; i++) {
        size_t size = a.size;

        memset(arena_alloc(&a, 96), i, 96);
        CHECK_INT(a.size, size);
    }
    arena_reserve(&a, 8000); /* the arena is in use: no effect */
    CHECK(a.size < 16000);
    arena_release(&a);
    arena_init(&a, 100);
    arena_reserve(&a, 8000);
    CHECK(a.size <= 100 && arena_left(&a) <= 100);
    arena_release(&a);
}

/* A large allocation gets a block of its own; small ones continue in the block with more room. */
TEST(arena_goes_on_where_there_is_more_room)
{
    struct arena a;
    size_t first, size;
    char *p;

    arena_init(&a, 1 << 20);
    p = arena_alloc(&a, 64);
    first = a.size;
    CHECK(first < 512);
    memset(arena_alloc(&a, 4016), 1, 4016);
    size = a.size;
    CHECK(size < 2 * 4096);
    CHECK(arena_alloc(&a, 64) == p + 64);
    CHECK_INT(a.size, size);
    memset(arena_alloc(&a, first), 2, first); /* does not fit there: a new small block */
    CHECK(a.size < size + 1024);
    arena_reset(&a);
    CHECK_INT(a.size, first);
    CHECK(arena_alloc(&a, 64) == p);
    arena_release(&a);
}

TEST(arena_uses_what_it_was_lent_first)
{
    const size_t unit = _Alignof(max_align_t);
    max_align_t room[8];
    struct arena a;

    arena_init(&a, 1 << 16);
    arena_lend(&a, room, sizeof room);
    CHECK(arena_alloc(&a, 1) == (void *)&room[0]);
    CHECK(arena_alloc(&a, sizeof room - unit) == (char *)room + unit);
    CHECK_INT(a.size, 0);
    CHECK_STR(arena_dup(&a, STR("more")), "more"); /* from a block of the arena itself */
    CHECK(a.size > 0 && a.size <= a.size_max);
    arena_reset(&a);
    CHECK_STR(arena_dup(&a, STR("again")), "again");
    CHECK(a.at < (char *)room || a.at > (char *)(room + 8));
    arena_release(&a);
}

TEST(str_hex_digits_are_those_of_printf)
{
    uint32_t n = 0;
    char want[16], got[16];

    for (int i = 0; i < 100000; i++, n = n * 1664525 + 1013904223 + (uint32_t)i) {
        (void)snprintf(want, sizeof want, "%08x", (unsigned)n);
        CHECK(str_put_hex(got, n) == got + 8);
        CHECK(memcmp(got, want, 8) == 0);
    }
}

TEST(numbers_have_their_digits_at_every_size)
{
    uint64_t powers[] = {1, 10, 99, 100, 12345, 1000000007, 9999999999, UINT64_MAX / 10};
    struct buf b;
    char text[32];

    buf_init(&b, 64);
    for (size_t i = 0; i < COUNT_OF(powers); i++)
        for (uint64_t n = powers[i]; n; n = n > UINT64_MAX / 10 ? 0 : n * 10)
            for (uint64_t one = n - 1; one - n + 1 < 3; one++) {
                (void)snprintf(text, sizeof text, "%llu", (unsigned long long)one);
                buf_reset(&b);
                buf_add_u64(&b, one);
                CHECK_STR(buf_str(&b), text);
                CHECK(str_u64_size(one) == strlen(text));
            }
    buf_reset(&b);
    buf_add_u64(&b, UINT64_MAX);
    CHECK_STR(buf_str(&b), "18446744073709551615");
    buf_release(&b);
    str_put_u64(text, 5, 42); /* writes exactly 5 digits, the lowest ones */
    str_put_u64(text + 5, 2, 12345);
    CHECK(memcmp(text, "0004245", 7) == 0);
}

TEST(an_arena_grows_a_list_and_keeps_its_elements)
{
    struct arena a;
    int *list = NULL;
    size_t max = 0;

    arena_init(&a, 100000);
    for (size_t n = 0; n < 1000; n++) {
        list = arena_grow(&a, list, n, &max, sizeof *list);
        CHECK(max > n && list[n] == 0);
        list[n] = (int)n + 1;
    }
    for (size_t n = 0; n < 1000; n++)
        CHECK(list[n] == (int)n + 1);
    arena_release(&a);
}

/* A wrong answer lets an allocation exceed the ceiling, which ends the process and the test. */
TEST(what_fits_into_an_arena_can_be_allocated)
{
    uint64_t seed = 1;

    for (int round = 0; round < 200; round++) {
        struct arena a;

        arena_init(&a, 1 << 20);
        for (int i = 0; i < 200; i++) {
            size_t size, more;

            seed = seed * 6364136223846793005u + 1442695040888963407u;
            size = (size_t)(seed >> 33) % (i % 8 ? 20000 : 700000);
            more = (size_t)(seed >> 20) % 20000;
            if (!arena_fits(&a, size, more))
                continue;
            CHECK(arena_alloc(&a, size) != NULL);
            for (; more >= 16; more -= 16)
                CHECK(arena_alloc(&a, 16) != NULL);
        }
        CHECK(!arena_fits(&a, (size_t)1 << 20, 0));
        arena_release(&a);
    }
}

TEST(allocations_fit_into_an_arena_that_has_room_for_twice_their_sum_at_once)
{
    uint64_t seed = 1;

    for (int round = 0; round < 400; round++) {
        struct arena a;

        arena_init(&a, 1 << 20);
        for (int i = 0; i < 200; i++) {
            size_t size;

            seed = seed * 6364136223846793005u + 1442695040888963407u;
            size = (size_t)(seed >> 33) % (i % 8 ? 5000 : 500000) / 16 * 16;
            if (!arena_fits(&a, 2 * size, 0))
                continue;
            for (size_t piece; size > 0; size -= piece) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                piece = (1 + (size_t)(seed >> 33) % (size / 16)) * 16;
                CHECK(arena_alloc(&a, piece) != NULL);
            }
        }
        arena_release(&a);
    }
}

TEST_MAIN(T(allocations_fit_into_an_arena_that_has_room_for_twice_their_sum_at_once),
          T(an_arena_grows_a_list_and_keeps_its_elements), T(arena_uses_what_it_was_lent_first),
          T(arena_that_is_reserved_for_needs_no_second_block),
          T(arena_goes_on_where_there_is_more_room), T(str_hex_digits_are_those_of_printf),
          T(numbers_have_their_digits_at_every_size), T(str_views_compare_and_cut),
          T(str_cut_takes_a_text_apart_at_its_marks), T(a_grown_list_keeps_its_elements),
          T(str_same_looks_at_every_byte), T(spare_memory_goes_round_and_keeps_what_it_holds),
          T(str_u64_takes_digits_that_fit_and_nothing_else),
          T(arena_gives_aligned_memory_up_to_its_ceiling),
          T(buf_keeps_whole_adds_under_its_ceiling_and_remembers),
          T(base64_is_read_back_and_nothing_else_is_read),
          T(urls_have_percent_signs_for_all_but_plain_characters),
          T(buf_with_a_front_is_as_one_without_until_something_is_put_there),
          T(buf_printf_takes_more_than_its_small_buffer),
          T(err_says_what_and_never_half_a_character),
          T(err_codes_have_a_status_and_say_if_a_retry_makes_sense),
          T(what_fits_into_an_arena_can_be_allocated))
