/* setup_cache_test.c - cached lookups give the same results as uncached ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/sha256.h"
#include "gateway/gateway.h"
#include "test.h"

#include <pthread.h>

static struct setup *setup_with(const char *const *keys)
{
    struct setup *s;
    struct config *c;
    struct buf yaml;
    struct err e;

    buf_init(&yaml, 65536);
    buf_add(&yaml, STR("keys:\n"));
    for (; *keys; keys++) {
        uint8_t digest[SHA256_SIZE];

        sha256_of(str_c(*keys), digest);
        buf_printf(&yaml, "  - name: %s\n    sha256: ", *keys);
        for (size_t i = 0; i < sizeof digest; i++)
            buf_printf(&yaml, "%02x", digest[i]);
        buf_add(&yaml, STR("\n"));
    }
    buf_add(&yaml,
            STR("providers:\n  p:\n    kind: openai\n    base_url: http://127.0.0.1:1/v1\n"));
    CHECK(config_parse(buf_str(&yaml), "test", &c, &e));
    CHECK(setup_new(c, &s, &e));
    buf_release(&yaml);
    return s;
}

static void begin(struct gateway *g, const char *const *keys)
{
    pthread_mutex_init(&g->lock, NULL);
    g->setup = setup_with(keys);
}

static void end(struct gateway *g, struct setup_cache *k)
{
    setup_cache_release(k);
    setup_release(g->setup);
    pthread_mutex_destroy(&g->lock);
}

static bool knows(struct setup_cache *k, const struct setup *s, const char *key)
{
    for (int i = 0; i < 3; i++) {
        const struct config_key *found = setup_cache_key(k, s, str_c(key));

        if (!found)
            return false;
        CHECK_STR(found->name, key);
    }
    return true;
}

TEST(keys_are_told_apart_however_often_and_in_whatever_order_they_are_shown)
{
    static const char *const keys[] = {"a1", "b1", "ab", "ba", "aab", "aXb", "aYb", NULL};
    static struct gateway g;
    struct setup_cache k = {0};
    struct setup *s;

    begin(&g, keys);
    s = setup_cache_setup(&k, &g);
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; keys[i]; i++) {
            CHECK(knows(&k, s, keys[i]));
            CHECK(!knows(&k, s, "aZb")); /* same size, same first and last byte */
            CHECK(!knows(&k, s, "a"));
            CHECK(!knows(&k, s, ""));
        }
    setup_release(s);
    end(&g, &k);
}

TEST(a_key_that_is_gone_with_a_new_setup_is_known_no_more)
{
    static const char *const before[] = {"old", "both", NULL}, *const after[] = {"both", NULL};
    static struct gateway g;
    struct setup_cache k = {0};
    struct setup *s, *then;

    begin(&g, before);
    s = setup_cache_setup(&k, &g);
    CHECK(knows(&k, s, "old") && knows(&k, s, "both"));
    gateway_setup_set(&g, setup_with(after));
    then = setup_cache_setup(&k, &g);
    CHECK(then != s && then == g.setup);
    CHECK(!knows(&k, then, "old") && knows(&k, then, "both"));
    CHECK(knows(&k, s, "old")); /* for a holder of the old setup */
    CHECK(!knows(&k, then, "old"));
    setup_release(s);
    setup_release(then);
    end(&g, &k);
}

TEST(a_name_is_clean_if_and_only_if_masking_leaves_it_alone)
{
    static const char *const keys[] = {"k", NULL};
    static const char *const names[] = {"gpt-5",
                                        "",
                                        "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH",
                                        "AKIAIOSFODNN7EXAMPLE",
                                        "/v1/chat/completions",
                                        "ghp_0123456789abcdefghijABCDEFGHIJ012345"};
    static struct gateway g;
    struct setup_cache k = {0};
    struct setup *s;

    begin(&g, keys);
    s = setup_cache_setup(&k, &g);
    CHECK(s->mask != NULL);
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < COUNT_OF(names); i++) {
            struct buf out;

            buf_init(&out, 65536);
            CHECK(setup_cache_clean(&k, s, str_c(names[i])) ==
                  !mask_text(s->mask, str_c(names[i]), &out, NULL));
            buf_release(&out);
        }
    setup_release(s);
    end(&g, &k);
}

/* Counts reported as clean must be unchanged by masking, in the first lookup and in a cached
 * one. */
static bool counts_clean(struct setup_cache *k, const struct setup *s, const char *json)
{
    bool clean = setup_cache_clean_counts(k, s, str_c(json));
    struct buf out;

    buf_init(&out, 65536);
    CHECK_F(!clean || !mask_json(s->mask, str_c(json), &out, NULL), "%s", json);
    CHECK(clean == setup_cache_clean_counts(k, s, str_c(json)));
    buf_release(&out);
    return clean;
}

TEST(counts_are_known_whatever_their_numbers_and_nothing_else_is)
{
    static const char *const keys[] = {"k", NULL};
    static const char *const known[] = {
        "{\"prompt_tokens\":219,\"details\":{\"cached_tokens\":0,\"audio\":null},\"total\":539}",
        ("{\"prompt_tokens\":7,\"details\":{\"cached_tokens\":123456789012,\"audio\":null},"
         "\"total\":0}"),
        "{\"prompt_tokens\": 219, \"total\": 5}",
        "{\"prompt_tokens\": 2190, \"total\": 55}",
        "{\"a1\":219}",
        "{\"a2\":219}",
        "{}",
    };
    static const char *const others[] = {
        /* a card number, a text, a name of a secret, other kinds of number, other names */
        ("{\"prompt_tokens\":4111111111111111,\"details\":{\"cached_tokens\":0,\"audio\":null},"
         "\"total\":539}"),
        "{\"prompt_tokens\":\"219\"}",
        "{\"pin\":219}",
        "{\"prompt_tokens\":1.5}",
        "{\"prompt_tokens\":-5}",
        "{\"prompt_tokens\":[1]}",
        "{\"prompt tokens\":1}",
        "{\"prompt_tokens\":1e5}",
        "[1]",
        "",
        "\"pin:5\"",
    };
    static struct gateway g;
    struct setup_cache k = {0};
    struct setup *s;

    begin(&g, keys);
    s = setup_cache_setup(&k, &g);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < COUNT_OF(known); i++)
            CHECK_F(counts_clean(&k, s, known[i]), "%s", known[i]);
        for (size_t i = 0; i < COUNT_OF(others); i++)
            CHECK_F(!counts_clean(&k, s, others[i]), "%s", others[i]);
    }
    setup_release(s);
    end(&g, &k);
}

TEST(counts_that_are_cut_or_changed_anywhere_are_no_others)
{
    static const char *const keys[] = {"k", NULL};
    static const char counts[] = "{\"in\":219,\"of\":{\"pi\": 12,\"b\":0},\"out\":5}";
    static const char put[] = "0n,:\" {}";
    static struct gateway g;
    struct setup_cache k = {0};
    struct setup *s;

    begin(&g, keys);
    s = setup_cache_setup(&k, &g);
    CHECK(counts_clean(&k, s, counts));
    for (size_t at = 0; at < sizeof counts - 1; at++)
        for (size_t c = 0; c < sizeof put - 1; c++) {
            char text[sizeof counts + 1];

            /* replaces one byte, and inserts one */
            memcpy(text, counts, sizeof counts);
            text[at] = put[c];
            (void)counts_clean(&k, s, text);
            memcpy(text + at + 1, counts + at, sizeof counts - at);
            (void)counts_clean(&k, s, text);
        }
    CHECK(!setup_cache_clean_counts(&k, s, STR("{\"in\":219,\"pin\": 12,\"b\":0},\"out\":5}")));
    CHECK(!setup_cache_clean_counts(
        &k, s, STR("{\"in\":219,\"of\":{\"pin\": 12,\"b\":0},\"out\":5}")));
    setup_release(s);
    end(&g, &k);
}

TEST_MAIN(T(keys_are_told_apart_however_often_and_in_whatever_order_they_are_shown),
          T(a_key_that_is_gone_with_a_new_setup_is_known_no_more),
          T(a_name_is_clean_if_and_only_if_masking_leaves_it_alone),
          T(counts_are_known_whatever_their_numbers_and_nothing_else_is),
          T(counts_that_are_cut_or_changed_anywhere_are_no_others))
