/* guesses_test.c - wrong keys from one address, and from many.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/guesses.h"

#include "test.h"

#define NOW ((uint64_t)5000000000)
#define MS ((uint64_t)1000000)

static const uint8_t v4[16] = {[10] = 0xFF, [11] = 0xFF, 192, 0, 2, 1};

TEST(an_address_that_guesses_must_wait_and_others_need_not)
{
    static const uint8_t other[16] = {[10] = 0xFF, [11] = 0xFF, 192, 0, 2, 2}, none[16] = {0};
    struct guesses *g = guesses_new();

    for (int i = 0; i < GUESSES_MAX; i++)
        CHECK_INT(guesses_add(g, v4, NOW), 0);
    CHECK_INT(guesses_add(g, v4, NOW), 1000);
    CHECK_INT(guesses_add(g, v4, NOW + 400 * MS + 1), 600);
    CHECK_INT(guesses_add(g, other, NOW), 0);
    CHECK_INT(guesses_add(g, none, NOW), 0);
    CHECK_INT(guesses_add(g, v4, NOW + 1000 * MS), 0); /* a refusal costs no more time */
    CHECK(guesses_add(g, v4, NOW + 1000 * MS) > 0);
    CHECK(guesses_add(g, v4, NOW) > 0); /* another thread's time */
    for (int i = 0; i < GUESSES_MAX; i++)
        CHECK_INT(guesses_add(g, v4, NOW + 120000 * MS), 0);
    CHECK(guesses_add(g, v4, NOW + 120000 * MS) > 0);
    guesses_free(g);
    guesses_free(NULL);
}

TEST(addresses_of_one_network_are_one)
{
    uint8_t v6[16] = {0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 7};
    struct guesses *g = guesses_new();

    for (int i = 0; i < GUESSES_MAX; i++) {
        v6[15] = (uint8_t)i;
        CHECK_INT(guesses_add(g, v6, NOW), 0);
    }
    CHECK(guesses_add(g, v6, NOW) > 0);
    v6[7] = 8;
    CHECK_INT(guesses_add(g, v6, NOW), 0);
    guesses_free(g);
}

TEST(very_many_addresses_take_no_more_memory)
{
    struct guesses *g = guesses_new();
    uint8_t a[16];

    memcpy(a, v4, sizeof a);
    for (uint32_t i = 0; i < 50 * GUESSES_PLACES; i++) {
        memcpy(a + 12, &i, sizeof i);
        CHECK_INT(guesses_add(g, a, NOW + i), 0);
    }
    guesses_free(g);
}

TEST_MAIN(T(an_address_that_guesses_must_wait_and_others_need_not),
          T(addresses_of_one_network_are_one), T(very_many_addresses_take_no_more_memory))
