/* Arbitrary bytes as the body of a request: its canonical form is canonical, contains all that
 * distinguishes two requests, and finds a recording of the request. Arbitrary bytes as a cassette:
 * an error, or calls that survive writing and reading.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/cassette.h"

#include "gateway/cassette_internal.h"

#include <sys/mman.h>
#include <unistd.h>

#define MEMORY_MAX ((size_t)1 << 26)
#define HOLDS(claim) ((claim) ? (void)0 : base_die("line %d: %s", __LINE__, #claim))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool load(str text, struct cassette **out)
{
    int fd = memfd_create("cassette", MFD_CLOEXEC);
    char path[64];
    struct err e;
    bool ok;

    HOLDS(fd >= 0 && write(fd, text.p, text.n) == (ssize_t)text.n);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ok = cassette_load(path, out, &e);
    HOLDS(ok || strncmp(e.text, path, strlen(path)) == 0);
    close(fd);
    return ok;
}

static void canonical_of(str body, struct buf *out)
{
    struct json doc;
    struct buf quoted;

    json_init(&doc);
    buf_init(&quoted, MEMORY_MAX);
    cassette_body(body, &doc, &quoted);
    cassette_canonical(&doc, STR("/v1/x"), out);
    HOLDS(!cassette_differ(&doc, &doc, STR("/v1/x"), &quoted));
    buf_release(&quoted);
    json_release(&doc);
}

static void check_body(str body)
{
    struct cassette_piece piece = {7, body};
    struct cassette_call call = {STR("/p"), body, 200, STR("t"), &piece, 1};
    const struct cassette_call *found;
    struct cassette *c;
    struct buf once, twice, file;
    struct err e;

    buf_init(&once, MEMORY_MAX);
    buf_init(&twice, MEMORY_MAX);
    buf_init(&file, MEMORY_MAX);
    canonical_of(body, &once);
    canonical_of(buf_str(&once), &twice);
    HOLDS(str_eq(buf_str(&once), buf_str(&twice)));
    cassette_head(CHAT_OPENAI, &file);
    cassette_line(&call, &file);
    HOLDS(load(buf_str(&file), &c));
    HOLDS(cassette_find(c, STR("/p"), body, 0, &found, &e));
    HOLDS(found->piece_count == 1 && str_eq(found->pieces[0].bytes, body));
    HOLDS(cassette_find(c, STR("/p"), buf_str(&once), 3, &found, &e));
    cassette_free(c);
    buf_release(&file);
    buf_release(&twice);
    buf_release(&once);
}

static void check_file(str text)
{
    const struct cassette_call *found;
    struct cassette *c, *again;
    struct buf file;
    struct err e;

    if (!load(text, &c))
        return;
    buf_init(&file, MEMORY_MAX);
    cassette_head(cassette_dialect(c), &file);
    for (size_t i = 0; i < cassette_count(c); i++) {
        const struct cassette_call *call = cassette_at(c, i);

        cassette_line(call, &file);
        HOLDS(cassette_find(c, call->path, call->body, 0, &found, &e));
        HOLDS(!cassette_find(c, STR("/\n"), call->body, 0, &found, &e));
    }
    HOLDS(load(buf_str(&file), &again));
    HOLDS(cassette_count(again) == cassette_count(c));
    cassette_free(again);
    cassette_free(c);
    buf_release(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str text = size ? (str){(const char *)data, size} : STR("");

    check_body(text);
    check_file(text);
    return 0;
}
