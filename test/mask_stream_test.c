/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rand.h"
#include "mask/mask.h"
#include "test.h"

static struct mask *masker(void)
{
    static const struct mask_pattern patterns[] = {
        {STR_INIT("patient"), STR_INIT("\\bPAT-\\d{6}\\b"), STR_INIT("")},
        {STR_INIT("room"), STR_INIT("room number \\d+"), STR_INIT("<room>")},
        {STR_INIT("after"), STR_INIT("(?<=code )[A-Z]{4}"), STR_INIT("")},
    };
    struct mask_options o = {MASK_ALL, patterns, COUNT_OF(patterns)};
    struct mask *m;
    struct err e;

    CHECK_F(mask_new(&o, &m, &e), "%s", e.text);
    return m;
}

static const char *const texts[] = {
    "nothing here",
    "",
    "a sk-abcdefGHIJ0123456789 b sk-ant-api03-abc_DEF-0123456789",
    "password=hunter2 and password: correct horse\nuser: x\n",
    "{\"password\": \"hun\\\"ter2\", \"n\": 1}",
    "Authorization: Bearer abc123def456\nHost: x",
    "postgres://app:s3cr3t@db:5432/x and redis://:hunter2@cache.",
    "postgres:\\/\\/app:s3cr3t@db:5432\\/x and token\\u003dabcdef0123 x",
    "x -----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0123\nabc=\n-----END RSA PRIVATE KEY-----\n"
    "token=abc123 -----BEGIN PRIVATE KEY----- is how it begins",
    "x -----BEGIN PRIVATE "
    "KEY-----\nMIIEpAIBAAKCAQEA0123456789abcdefghijklmnopqrstuvwxyz0123456789\n"
    "MIIEpAIBAAKCAQEA0123456789abcdefghijklmnopqrstuvwxyz0123456789\ncut",
    "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0123\n-----END PRIVATE KEY-----pwd=hunter2 x",
    "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0123\n-----END PRIVATE KEY-----BEGIN PRIVATE "
    "KEY-----\nMIIEpAIBAAKCAQEA0123\n",
    "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0123\n-----END PRIVATE KEY-----@example.org x",
    "a:\n  private_key: |\n    -----BEGIN PRIVATE KEY-----\n    MIIEpAIBAAKCAQEA0123\n    "
    "-----END PRIVATE KEY-----\n  user: x\n",
    "tls_secret=-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0123\n-----END PRIVATE KEY-----\nx",
    "access key AKIAIOSFODNN7EXAMPLE\\n\\twJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY and",
    "card 4111 1111 1111 1111 and 378282246310005, 4111-1111-1111-1112 no",
    "card 4111 1111\xC2\xA0"
    "1111\xE2\x80\xAF"
    "1111 or 4111-1111 1111\xE2\x80\x91"
    "1111 and DE89\xC2\xA0"
    "3704 0044\xC2\xA0"
    "0532 0130 00.",
    "write anna.b+c@mail.example.org or call +49 30 1234567 or (555) 010-9999.",
    "IBAN DE89 3704 0044 0532 0130 00 bank GB82WEST12345698765432",
    "ssn 123-45-6789. from 192.168.1.10:80 and fe80::1 2001:db8::8a2e:370:7334",
    "PAT-123456, PAT-12345, room number 12345 code ABCD codes room number x",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLWhlcmU and eyJ",
    "the password is hunter2, the token is required; api key: abcdef123456",
    "- name: DB_PASSWORD\n  value: hunter2\n- name: X\n  value: y\n",
    "password: |\n  hunter2\nuser: x",
    "a:\n  token: |-\n    one two # 3\n\n      four\n    five  \n  user: x",
    "a:\n  token: |-\n    one two # 3\n\n   \n\n",
    "https://b/o?X-Amz-Expires=60&X-Amz-Signature=0a1b2c3d4e5f&x=1 http://a1b2a1b2a1b2a1b2a1b2@h/",
    "curl -u admin:hunter2 https://x/?key=abcdef123456&q=1 --password hunter3",
    "apiVersion: v1\nkind: Secret\ndata:\n  a: Yg==\n  b: |\n    long\n    text\ntype: Opaque\n",
    "apiVersion: v1\ndata:\n  a: Yg==\nkind: Secret\nmetadata:\n  name: x\n---\nkind: ConfigMap\n"
    "data:\n  a: b\n",
    "see:\n\n```yaml\napiVersion: v1\nitems:\n- apiVersion: v1\n  data:\n    a: Yg==\n  kind: "
    "Secret\n- apiVersion: v1\n  data:\n    a: b\n  kind: ConfigMap\nkind: List\n```\nthat is it",
    "mysqldump -h db -u root -phunter2 shop; mysql -p'a b' -p\"$PW\" sshpass -p x1y2z3 ssh a@b",
    "redis-cli -a x1y2z3 ping | ldapsearch -w x1y2z3 -b a; docker run --name mongo -p 1:2 b mongo "
    "-p x1y2 a",
    "CREATE USER 'a'@'%' IDENTIFIED WITH plugin BY 'hunt er2'; identified by 'x' IDENTIFIED BY "
    "PASSWORD "
    "\"x\" alter user b\n identified by 'y'",
    "contrase\xC3\xB1"
    "a: hunter2 mot de passe : x1y2z3 \xD0\xBF\xD0\xB0\xD1\x80\xD0\xBE\xD0\xBB\xD1\x8C: hunter2",
    "a https://api.telegram.org/bot123456789:AAabcDEF-123_ghiJKL456mnoPQ7/sendMessage?chat_id=1 "
    "https://discord.com/api/webhooks/123456789012345678/abcDEF-123_ghiJKL456mnoPQ7abcDEF x",
    "Output: {\"apiVersion\":\"v1\",\"data\":{\"a\":\"Yg==\"},\"kind\":\"Secret\"} done",
    "Gr\xC3\xBC\xC3\x9F"
    "e an anna@example.org \xF0\x9F\x98\x80 PAT-123456 \xff\xfe",
};

static void whole(const struct mask *m, str text, struct buf *out)
{
    buf_reset(out);
    if (!mask_text(m, text, out, NULL)) {
        buf_reset(out);
        buf_add(out, text);
    }
}

static void check_same(str text, size_t cut, struct buf *got, struct buf *want)
{
    if (!str_eq(buf_str(got), buf_str(want)))
        fail_msg(STR_FMT "\n cut at %zu became\n" STR_FMT "\nnot\n" STR_FMT,
                 STR_ARG(text),
                 cut,
                 STR_ARG(buf_str(got)),
                 STR_ARG(buf_str(want)));
}

TEST(a_stream_does_not_see_the_cuts)
{
    struct mask *m = masker();
    struct mask_stream s;
    struct buf want, got;

    buf_init(&want, 1 << 20);
    buf_init(&got, 1 << 20);
    mask_stream_init(&s, m);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        str text = str_c(texts[i]);

        whole(m, text, &want);
        for (size_t cut = 0; cut <= text.n; cut++) {
            buf_reset(&got);
            mask_stream_feed(&s, str_slice(text, 0, cut), &got, NULL);
            mask_stream_feed(&s, str_slice(text, cut, text.n), &got, NULL);
            mask_stream_finish(&s, &got, NULL);
            check_same(text, cut, &got, &want);
        }
        buf_reset(&got);
        for (size_t k = 0; k < text.n; k++)
            mask_stream_feed(&s, str_slice(text, k, k + 1), &got, NULL);
        mask_stream_finish(&s, &got, NULL);
        check_same(text, 1, &got, &want);
    }
    mask_stream_release(&s);
    buf_release(&got);
    buf_release(&want);
    mask_free(m);
}

/* Random concatenations of texts, in random pieces. */
TEST(texts_behind_one_another_are_the_same_in_pieces)
{
    struct mask *m = masker();
    struct mask_stream s;
    struct buf text, want, got;
    struct rand r;

    rand_init(&r, 42);
    buf_init(&text, 1 << 20);
    buf_init(&want, 1 << 20);
    buf_init(&got, 1 << 20);
    mask_stream_init(&s, m);
    for (int round = 0; round < 2000; round++) {
        str all;

        buf_reset(&text);
        for (int k = 0; k < 4; k++) {
            str one = str_c(texts[rand_u64(&r) % COUNT_OF(texts)]);

            /* A manifest without its first line is recognised by its kind, which may arrive after
             * the text was emitted. */
            bool manifest = str_find(one, STR("kind")) != STR_NONE;

            if (manifest)
                buf_add(&text, STR("\n---\n"));
            buf_add(&text, str_slice(one, manifest ? 0 : rand_u64(&r) % (one.n + 1), one.n));
            buf_add_c(&text, " \n,"[manifest ? 1 : rand_u64(&r) % 3]);
        }
        all = buf_str(&text);
        whole(m, all, &want);
        buf_reset(&got);
        for (size_t at = 0; at < all.n;) {
            size_t n = 1 + rand_u64(&r) % 24;

            mask_stream_feed(&s, str_slice(all, at, at + n), &got, NULL);
            at += n;
        }
        mask_stream_finish(&s, &got, NULL);
        check_same(all, 0, &got, &want);
    }
    mask_stream_release(&s);
    buf_release(&text);
    buf_release(&got);
    buf_release(&want);
    mask_free(m);
}

TEST(plain_words_are_not_held_for_long)
{
    struct mask *m = masker();
    struct mask_stream s;
    struct buf got;

    buf_init(&got, 1 << 20);
    mask_stream_init(&s, m);
    mask_stream_feed(&s, STR("the quick brown fox jumps over the lazy dog"), &got, NULL);
    CHECK(got.n > 30);
    mask_stream_finish(&s, &got, NULL);
    CHECK_STR(buf_str(&got), "the quick brown fox jumps over the lazy dog");
    buf_reset(&got);
    for (size_t i = 0; i < 100000; i++)
        mask_stream_feed(&s, STR("x"), &got, NULL);
    CHECK(got.n > 100000 - 2 * MASK_HOLD_MAX);
    mask_stream_finish(&s, &got, NULL);
    CHECK_INT(got.n, 100000);
    mask_stream_release(&s);
    buf_release(&got);
    mask_free(m);
}

TEST(blanks_in_a_long_manifest_are_not_buffered)
{
    struct mask *m = masker();
    struct mask_stream s;
    struct buf got;

    buf_init(&got, 1 << 20);
    mask_stream_init(&s, m);
    mask_stream_feed(&s, STR("apiVersion: v1\nkind: Secret\ndata:\n"), &got, NULL);
    for (size_t i = 0; i < 500; i++)
        mask_stream_feed(&s, STR("  a: aHVudGVyMg==\n"), &got, NULL);
    for (size_t i = 0; i < 1000; i++) {
        mask_stream_feed(&s, STR("                                "), &got, NULL);
        CHECK(s.held.n < (size_t)4 * MASK_HOLD_MAX);
    }
    mask_stream_feed(&s, STR("b: aHVudGVyMg==\nkind: end"), &got, NULL);
    mask_stream_finish(&s, &got, NULL);
    CHECK(str_find(buf_str(&got), STR("aHVud")) == STR_NONE);
    CHECK(str_ends(buf_str(&got), STR("\nkind: end")));
    mask_stream_release(&s);
    buf_release(&got);
    mask_free(m);
}

/* Values larger than the stream's buffer are masked to their end, not to the end of a word. */
TEST(a_long_value_is_masked_to_its_end)
{
    static const struct {
        const char *begin, *word, *end;
    } values[] = {
        {"\"secret\": \"", "w0rd line\\n", "\", \"x\": 1 end"},
        {"{\\\"private_key\\\": \\\"", "w0rd\\\\n line ", "\\\", \\\"x\\\": 1} end"},
        {"password='", "w0rd \\' and ", "\nend"},
        {"Cookie: ", "w0rd=x; ", "\r\nHost: x end"},
        {"a:\n  token: |\n    w0rd", "\n\n    w0rd line", "\n  x: end"},
        {"api_key: -----BEGIN PRIVATE KEY-----\n",
         "w0rd0123456789abcdef\n",
         "-----END X-----\nend"},
    };
    struct mask *m = masker();
    struct mask_stream s;
    struct buf text, got;

    buf_init(&text, 1 << 20);
    buf_init(&got, 1 << 20);
    mask_stream_init(&s, m);
    for (size_t i = 0; i < COUNT_OF(values); i++)
        for (size_t each = 1; each < 10000; each = 3 * each + 1) {
            buf_reset(&text);
            buf_reset(&got);
            buf_add(&text, str_c(values[i].begin));
            while (text.n < 10000)
                buf_add(&text, str_c(values[i].word));
            buf_add(&text, str_c(values[i].end));
            for (size_t at = 0; at < text.n; at += each)
                mask_stream_feed(&s, str_slice(buf_str(&text), at, at + each), &got, NULL);
            mask_stream_finish(&s, &got, NULL);
            CHECK_F(str_find(buf_str(&got), STR("w0rd")) == STR_NONE,
                    "%s in pieces of %zu: " STR_FMT,
                    values[i].begin,
                    each,
                    STR_ARG(str_slice(buf_str(&got), 0, 200)));
            CHECK(str_ends(buf_str(&got), STR("end")));
        }
    mask_stream_release(&s);
    buf_release(&text);
    buf_release(&got);
    mask_free(m);
}

/* If a text stays undecided beyond the buffer, it is masked, and none of it is emitted. */
TEST(a_secret_without_an_end_is_masked)
{
    static const char *const begins[] = {"sk-", "password=\"", "https://u:", "eyJ", "PAT-"};
    struct mask *m = masker();
    struct mask_stream s;
    struct buf got;

    buf_init(&got, 1 << 20);
    mask_stream_init(&s, m);
    for (size_t i = 0; i < COUNT_OF(begins) - 1; i++) {
        buf_reset(&got);
        mask_stream_feed(&s, str_c(begins[i]), &got, NULL);
        for (size_t k = 0; k < 20000; k++)
            mask_stream_feed(&s, STR("aB3x"), &got, NULL);
        mask_stream_feed(&s, STR("\" end"), &got, NULL);
        mask_stream_finish(&s, &got, NULL);
        if (i == 2)
            continue; /* longer than any password in a URL */
        CHECK_F(str_find(buf_str(&got), STR("aB3x")) == STR_NONE, "%s", begins[i]);
        CHECK(str_ends(buf_str(&got), STR("\" end")));
    }
    mask_stream_release(&s);
    buf_release(&got);
    mask_free(m);
}

TEST_MAIN(T(a_stream_does_not_see_the_cuts), T(texts_behind_one_another_are_the_same_in_pieces),
          T(plain_words_are_not_held_for_long), T(blanks_in_a_long_manifest_are_not_buffered),
          T(a_long_value_is_masked_to_its_end), T(a_secret_without_an_end_is_masked))
