/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "mask/internal.h"
#include "test.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static struct mask *masker(unsigned groups)
{
    struct mask_options o = {.groups = groups};
    struct mask *m;
    struct err e;

    CHECK_F(mask_new(&o, &m, &e), "%s", e.text);
    return m;
}

TEST(a_quoted_value_of_any_length_is_masked_to_its_quotes)
{
    struct mask *m = masker(MASK_DEFAULT);
    struct buf text, out;

    buf_init(&text, 1 << 20);
    buf_init(&out, 1 << 20);
    buf_add(&text, STR("secret=\""));
    while (text.n < 100000)
        buf_add(&text, STR("w0rd "));
    buf_add(&text, STR("\" end"));
    CHECK(mask_text(m, buf_str(&text), &out, NULL));
    CHECK_STR(buf_str(&out), "secret=\"[MASKED:secret]\" end");
    buf_release(&text);
    buf_release(&out);
    mask_free(m);
}

/* An unreadable page follows the text. */
TEST(patterns_do_not_read_past_the_text)
{
    static const struct mask_pattern p = {STR_INIT("p"), STR_INIT("\\bPAT-\\d+\\b"), STR_INIT("")};
    static const char *const ends[] = {"", "\xC3", "\xE2\x82", "\xF0\x9F\x98", "\xBF", "\xFF"};
    struct mask_options o = {0, &p, 1};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct mask_spans f = {0};
    struct mask *m;
    struct err e;

    CHECK(memory != MAP_FAILED && mprotect(memory + page, page, PROT_NONE) == 0);
    CHECK_F(mask_new(&o, &m, &e), "%s", e.text);
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        for (int final = 0; final < 2; final++) {
            char text[64];
            size_t n = (size_t)snprintf(text, sizeof text, "a PAT-1 word and PAT%s", ends[i]);
            struct mask_view t = {{memory + page - n, n}, final, 0};

            memcpy(memory + page - n, text, n);
            mask_scan(m, &t, &f);
            CHECK(f.n == 1 && f.p[0].from == 2 && f.p[0].to == 7);
        }
    mask_spans_release(&f);
    mask_free(m);
    CHECK(munmap(memory, 2 * page) == 0);
}

/* 256 KiB full of prefixes that look like a secret's take a fraction of a second. Reading from each
 * prefix to the end of the text would take several. */
TEST(hostile_texts_take_linear_time)
{
    static const char *const parts[] = {
        "pass",
        "password=${",
        "password=a(",
        "Cookie: ${",
        "-eyJ",
        "basic%20",
        "://u:",
        "kind: Secret\n",
        "kind: Secret\ndata: x\n",
        "kind: Secret ",
        "\"kind\":\"Secret\"",
        "{\"kind\":\"Secret\"",
        "-----BEGIN PRIVATE KEY-----\n",
        "password=-----BEGIN ",
        "{\"kind\":\"Secret\",\"last-applied-configuration\":\"x\"",
    };
    struct mask *m = masker(MASK_ALL);
    struct buf text, out;

    buf_init(&text, 4 << 20);
    buf_init(&out, 64 << 20);
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        clock_t before = clock();
        double took;

        buf_reset(&text);
        while (text.n < 1 << 18)
            buf_add(&text, str_c(parts[i]));
        buf_reset(&out);
        (void)mask_text(m, buf_str(&text), &out, NULL);
        buf_reset(&out);
        (void)json_quote(&out, buf_str(&text));
        text.n = 0;
        buf_add(&text, buf_str(&out));
        (void)mask_json(m, buf_str(&text), &out, NULL);
        took = (double)(clock() - before) / CLOCKS_PER_SEC;
        CHECK_F(took < 2, "%s: %.1f s", parts[i], took);
    }
    buf_release(&text);
    buf_release(&out);
    mask_free(m);
}

TEST_MAIN(T(a_quoted_value_of_any_length_is_masked_to_its_quotes),
          T(patterns_do_not_read_past_the_text), T(hostile_texts_take_linear_time))
