/* SPDX-License-Identifier: Apache-2.0 */
#include "net/client.h"
#include "test.h"

TEST(url_gives_host_port_and_path)
{
    static const struct {
        const char *text;
        bool tls;
        const char *host;
        unsigned port;
        const char *authority, *path;
    } cases[] = {
        {"http://localhost", false, "localhost", 80, "localhost", ""},
        {"https://api.openai.com/v1", true, "api.openai.com", 443, "api.openai.com", "/v1"},
        {"https://api.openai.com/v1/", true, "api.openai.com", 443, "api.openai.com", "/v1"},
        {"HTTPS://API.openai.com:8443/a/b//",
         true,
         "API.openai.com",
         8443,
         "API.openai.com:8443",
         "/a/b"},
        {"http://127.0.0.1:11434/", false, "127.0.0.1", 11434, "127.0.0.1:11434", ""},
        {"http://[::1]:8080/x", false, "::1", 8080, "[::1]:8080", "/x"},
        {"https://[2001:db8::1]", true, "2001:db8::1", 443, "[2001:db8::1]", ""},
        {"http://h:65535", false, "h", 65535, "h:65535", ""},
        {"http://h:080", false, "h", 80, "h:080", ""},
        {"http://my_host.local/@user:x", false, "my_host.local", 80, "my_host.local", "/@user:x"},
        {"http://h///", false, "h", 80, "h", ""},
        {"http://h//a", false, "h", 80, "h", "//a"},
        {"http://h/%7Ea", false, "h", 80, "h", "/%7Ea"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct client_url u;
        struct err e;

        CHECK_F(client_url_parse(str_c(cases[i].text), &u, &e), "%s: %s", cases[i].text, e.text);
        CHECK(u.tls == cases[i].tls);
        CHECK_STR(u.host, cases[i].host);
        CHECK_INT(u.port, cases[i].port);
        CHECK_STR(u.authority, cases[i].authority);
        CHECK_STR(u.path, cases[i].path);
    }
}

TEST(url_that_is_none_is_refused_with_a_reason)
{
    static const struct {
        const char *text, *word;
    } cases[] = {
        {"", "must begin with http:// or https://"},
        {"localhost:8080", "must begin with"},
        {"ftp://h", "must begin with"},
        {"http:/h", "must begin with"},
        {"http:h", "must begin with"},
        {"//h", "must begin with"},
        {" http://h", "a space or a control"},
        {"http://h ", "a space or a control"},
        {"http://h\r\nX: y", "a space or a control"},
        {"http://h/\x7f", "a space or a control"},
        {"http://", "names no host"},
        {"http:///v1", "names no host"},
        {"http://:80", "names no host"},
        {"http://user@h", "no user name and no password"},
        {"http://user:secret@h", "no user name and no password"},
        {"http://h?x=1", "no query"},
        {"http://h/v1?x=1", "no query"},
        {"http://h/v1#f", "no fragment"},
        {"http://h:", "a number from 1 to 65535"},
        {"http://h:0", "a number from 1 to 65535"},
        {"http://h:65536", "a number from 1 to 65535"},
        {"http://h:99999999999999999999", "a number from 1 to 65535"},
        {"http://h:80a", "a number from 1 to 65535"},
        {"http://h:-1", "a number from 1 to 65535"},
        {"http://h:+1", "a number from 1 to 65535"},
        {"http://a:b:80", "a number from 1 to 65535"},
        {"http://::1/", "names no host"},
        {"http://[::1", "closing bracket"},
        {"http://[]", "not an IPv6 address"},
        {"http://[127.0.0.1]", "not an IPv6 address"},
        {"http://[fe80::1%eth0]", "not an IPv6 address"},
        {"http://[::1]x", "between its host and its port"},
        {"http://[::1]]", "between its host and its port"},
        {"http://h\\x", "may not hold \"\\\""},
        {"http://h%41", "may not hold \"%\""},
        {"http://a,b", "may not hold \",\""},
        {"http://.h", "empty part"},
        {"http://h.", "empty part"},
        {"http://a..b", "empty part"},
        {"http://m\xc3\xbcnchen.de", "outside ASCII"},
        {"http://h/\xc3\xbc", "outside ASCII"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct client_url u = {.port = 7};
        struct err e;

        CHECK_F(!client_url_parse(str_c(cases[i].text), &u, &e), "%s", cases[i].text);
        CHECK_F(str_find(str_c(e.text), str_c(cases[i].word)) != STR_NONE,
                "%s: %s",
                cases[i].text,
                e.text);
        CHECK(!strstr(e.text, "secret"));
        CHECK_INT(e.code, ERR_INPUT);
        CHECK_INT(u.port, 7);
    }
}

TEST(url_has_ceilings)
{
    static char text[4096];
    struct client_url u;
    struct err e;

    memset(text, 'a', sizeof text);
    memcpy(text, "http://", 7);
    CHECK(client_url_parse((str){text, 7 + 253}, &u, &e));
    CHECK(!client_url_parse((str){text, 7 + 254}, &u, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    text[8] = '/';
    CHECK(client_url_parse((str){text, 2048}, &u, &e));
    CHECK(!client_url_parse((str){text, 2049}, &u, &e));
    CHECK(!client_url_parse((str){"http://a\0b", 10}, &u, &e));
}

TEST_MAIN(T(url_gives_host_port_and_path), T(url_that_is_none_is_refused_with_a_reason),
          T(url_has_ceilings))
