/* runbook_test.c - runbooks come only from the folder or from allowed hosts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/file.h"
#include "incident_help.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

static struct arena arena;
static char dir[64];

static int setup(void **state)
{
    struct err e;

    (void)state;
    arena_init(&arena, 1 << 28);
    (void)snprintf(dir, sizeof dir, "/tmp/runbook_test.XXXXXX");
    if (!mkdtemp(dir) || !file_mkdirs(arena_printf(&arena, "%s/books/sub", dir).p, 0700, &e))
        return -1;
    CHECK(file_write_atomic(arena_printf(&arena, "%s/books/a.md", dir).p, STR("# A\n"), 0600, &e));
    CHECK(file_write_atomic(
        arena_printf(&arena, "%s/books/sub/b.md", dir).p, STR("# B\n"), 0600, &e));
    CHECK(file_write_atomic(
        arena_printf(&arena, "%s/books/bin.md", dir).p, STR("\xff\xfe"), 0600, &e));
    CHECK(file_write_atomic(arena_printf(&arena, "%s/secret.md", dir).p, STR("secret"), 0600, &e));
    CHECK(symlink("../secret.md", arena_printf(&arena, "%s/books/out.md", dir).p) == 0);
    CHECK(symlink("/etc", arena_printf(&arena, "%s/books/etc", dir).p) == 0);
    CHECK(symlink("a.md", arena_printf(&arena, "%s/books/in.md", dir).p) == 0);
    return 0;
}

static int teardown(void **state)
{
    char command[128];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    arena_release(&arena);
    return system(command);
}

static bool read_book(const char *name, const str *domains, size_t n, str *out, struct err *e)
{
    struct runbook_source source = {.folder = arena_printf(&arena, "%s/books", dir).p,
                                    .name = str_c(name),
                                    .domains = domains,
                                    .domain_count = n};
    struct buf text;
    bool ok;

    buf_init(&text, 4 << 20);
    ok = runbook_read(&source, &text, e);
    *out = arena_dup(&arena, buf_str(&text));
    buf_release(&text);
    return ok;
}

TEST(a_runbook_is_a_file_in_the_folder)
{
    struct err e;
    str text;

    CHECK(read_book("a.md", NULL, 0, &text, &e));
    CHECK_STR(text, "# A\n");
    CHECK(read_book("sub/b.md", NULL, 0, &text, &e));
    CHECK_STR(text, "# B\n");
    CHECK(read_book("in.md", NULL, 0, &text, &e));
    CHECK(read_book("sub/../a.md", NULL, 0, &text, &e));
}

TEST(no_name_and_no_link_leads_out_of_the_folder)
{
    static const char *const names[] = {"../secret.md",
                                        "sub/../../secret.md",
                                        "/etc/passwd",
                                        "etc/passwd",
                                        "out.md",
                                        "..",
                                        ".",
                                        "",
                                        "sub",
                                        "missing.md",
                                        "bin.md",
                                        "a.md/x",
                                        "file:///etc/passwd"};

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct err e;
        str text;

        CHECK_F(!read_book(names[i], NULL, 0, &text, &e) && text.n == 0 && e.text[0],
                "%s was read: " STR_FMT,
                names[i],
                STR_ARG(text));
    }
}

TEST(a_page_of_github_is_fetched_as_the_file_itself)
{
    static const struct {
        const char *url, *raw;
    } cases[] = {
        {"https://github.com/o/r/blob/main/a/b.md",
         "https://raw.githubusercontent.com/o/r/main/a/b.md"},
        {"https://github.com/o/r/blob/v1/b.md?plain=1#L3",
         "https://raw.githubusercontent.com/o/r/v1/b.md"},
        {"https://github.com/o/r/raw/main/b.md", "https://raw.githubusercontent.com/o/r/main/b.md"},
        {"https://github.com/o/r/tree/main/b.md", "https://github.com/o/r/tree/main/b.md"},
        {"https://github.com/o/r", "https://github.com/o/r"},
        {"https://github.com.evil/o/r/blob/m/b.md", "https://github.com.evil/o/r/blob/m/b.md"},
        {"http://example.org/b.md", "http://example.org/b.md"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        CHECK_STR(runbook_raw_url(str_c(cases[i].url), &arena), cases[i].raw);
}

/* ---- an HTTP server with one answer per connection ---- */

struct page {
    int fd;
    unsigned port;
    const char *const *answers;
    size_t n;
};

static void *serve(void *arg)
{
    struct page *p = arg;

    for (size_t i = 0; i < p->n; i++) {
        char bytes[4096];
        int c = accept(p->fd, NULL, NULL);
        size_t size = strlen(p->answers[i]);

        if (c < 0 || read(c, bytes, sizeof bytes) < 0)
            return NULL;
        if (write(c, p->answers[i], size) != (ssize_t)size)
            return NULL;
        close(c);
    }
    return NULL;
}

static void listen_on(struct page *p)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof a;

    p->fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(p->fd >= 0 && bind(p->fd, (struct sockaddr *)&a, sizeof a) == 0);
    CHECK(listen(p->fd, 8) == 0 && getsockname(p->fd, (struct sockaddr *)&a, &n) == 0);
    p->port = ntohs(a.sin_port);
}

#define OK "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/markdown\r\n"

TEST(a_page_is_fetched_from_allowed_hosts_only_also_after_a_redirect)
{
    static const char *const answers[] = {
        OK "Content-Length: 4\r\n\r\n# P\n",
        ("HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: http://elsewhere.example/x\r\n"
         "Content-Length: 0\r\n\r\n"),
        "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"};
    const str domains[] = {STR("127.0.0.1"), STR("example.org")};
    struct page p = {.answers = answers, .n = COUNT_OF(answers)};
    pthread_t thread;
    const char *url;
    struct err e;
    str text;

    listen_on(&p);
    CHECK(pthread_create(&thread, NULL, serve, &p) == 0);
    url = arena_printf(&arena, "http://127.0.0.1:%u/p.md?x=1", p.port).p;
    CHECK_F(read_book(url, domains, 2, &text, &e), "%s", e.text);
    CHECK_STR(text, "# P\n");
    CHECK(!read_book(url, domains, 2, &text, &e) && strstr(e.text, "elsewhere.example"));
    CHECK(!read_book(url, domains, 2, &text, &e) && strstr(e.text, "404"));
    pthread_join(thread, NULL);
    close(p.fd);
    CHECK(!read_book(url, domains + 1, 1, &text, &e) && e.code == ERR_AUTH);
    CHECK(!read_book("http://notexample.org/", domains + 1, 1, &text, &e) && e.code == ERR_AUTH);
    CHECK(!read_book("http://example.org@127.0.0.1/", domains + 1, 1, &text, &e));
    CHECK(!read_book("http://", domains, 2, &text, &e));
    CHECK(!read_book("http://127.0.0.1:1/x", domains, 2, &text, &e) &&
          strstr(e.text, "cannot be fetched"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_runbook_is_a_file_in_the_folder),
        T(no_name_and_no_link_leads_out_of_the_folder),
        T(a_page_of_github_is_fetched_as_the_file_itself),
        T(a_page_is_fetched_from_allowed_hosts_only_also_after_a_redirect),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
