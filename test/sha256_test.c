/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sha256.h"
#include "test.h"

#define MILLION 1000000

typedef void (*init_fn)(struct sha256 *);

static const init_fn inits[] = {sha256_init, sha256_init_plain};

static void check_digest(const uint8_t digest[SHA256_SIZE], const char *want)
{
    char hex[SHA256_HEX_SIZE];

    CHECK_STR(sha256_hex(digest, hex), want);
}

/* The examples published with FIPS 180-4, and the empty text. */
TEST(sha256_gives_the_published_digests_by_either_way)
{
    static const struct {
        const char *text, *digest;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
         "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t k = 0; k < COUNT_OF(inits); k++) {
            uint8_t digest[SHA256_SIZE];
            struct sha256 h;

            inits[k](&h);
            sha256_feed(&h, str_c(cases[i].text));
            sha256_finish(&h, digest);
            check_digest(digest, cases[i].digest);
        }
}

TEST(sha256_takes_a_million_letters)
{
    char *text = base_alloc(MILLION);
    uint8_t digest[SHA256_SIZE];

    memset(text, 'a', MILLION);
    sha256_of((str){text, MILLION}, digest);
    check_digest(digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(text);
}

/* All sizes around one and two blocks, divided at every byte; both interfaces must agree. */
TEST(sha256_does_not_see_the_cuts)
{
    char text[200];

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 7 + 1);
    for (size_t n = 0; n <= sizeof text; n++) {
        uint8_t want[SHA256_SIZE], got[SHA256_SIZE];

        sha256_of((str){text, n}, want);
        for (size_t cut = 0; cut <= n; cut++) {
            struct sha256 h;

            inits[cut % COUNT_OF(inits)](&h);
            sha256_feed(&h, (str){text, cut});
            sha256_feed(&h, STR(""));
            sha256_feed(&h, (str){text + cut, n - cut});
            sha256_finish(&h, got);
            CHECK_F(memcmp(got, want, sizeof got) == 0, "%zu bytes cut at %zu", n, cut);
        }
    }
}

/* RFC 4231, cases 1 to 4, 6 and 7. */
TEST(sha256_mac_gives_the_digests_of_rfc_4231)
{
    static const struct {
        char key_byte; /* the repeated byte; 0: `key` is the text, or counts up */
        size_t key_size;
        const char *key, *text, *digest;
        char text_byte;
    } cases[] = {
        {0x0B,
         20,
         NULL,
         "Hi There",
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
         0},
        {0,
         4,
         "Jefe",
         "what do ya want for nothing?",
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
         0},
        {'\xAA',
         20,
         NULL,
         NULL,
         "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
         '\xDD'},
        {0,
         25,
         NULL,
         NULL,
         "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
         '\xCD'},
        {'\xAA',
         131,
         NULL,
         "Test Using Larger Than Block-Size Key - Hash Key First",
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
         0},
        {'\xAA',
         131,
         NULL,
         "This is a test using a larger than block-size key and a larger than block-size data. "
         "The key needs to be hashed before being used by the HMAC algorithm.",
         "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
         0},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint8_t digest[SHA256_SIZE];
        struct sha256_mac m;
        char key[200], fifty[50];
        str text = {fifty, sizeof fifty};

        for (size_t k = 0; k < cases[i].key_size; k++)
            key[k] = cases[i].key        ? cases[i].key[k]
                     : cases[i].key_byte ? cases[i].key_byte
                                         : (char)(k + 1);
        memset(fifty, cases[i].text_byte, sizeof fifty);
        if (cases[i].text)
            text = str_c(cases[i].text);
        sha256_mac_init(&m, (str){key, cases[i].key_size});
        sha256_mac_feed(&m, str_slice(text, 0, 5));
        sha256_mac_feed(&m, str_slice(text, 5, text.n));
        sha256_mac_finish(&m, digest);
        check_digest(digest, cases[i].digest);
        for (size_t k = 0; k < sizeof m; k++)
            CHECK(((const char *)&m)[k] == 0);
    }
}

TEST(mem_equal_ct_sees_any_single_bit)
{
    unsigned char a[33] = {0}, b[33] = {0};

    CHECK(mem_equal_ct(a, b, sizeof a) && mem_equal_ct(a, b, 0));
    for (size_t bit = 0; bit < sizeof a * 8; bit++) {
        a[bit / 8] = (unsigned char)(1u << bit % 8);
        CHECK(!mem_equal_ct(a, b, sizeof a));
        a[bit / 8] = 0;
    }
}

TEST_MAIN(T(sha256_gives_the_published_digests_by_either_way), T(sha256_takes_a_million_letters),
          T(sha256_does_not_see_the_cuts), T(sha256_mac_gives_the_digests_of_rfc_4231),
          T(mem_equal_ct_sees_any_single_bit))
