/* cassette.c - recorded calls in and out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/cassette.h"

#include "base/file.h"
#include "wire/wire.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_SIZE_MAX 4096

static bool read_head(str line, enum chat_dialect *out, struct err *e)
{
    struct json doc;
    struct arena a;
    str kind = STR("");
    int64_t version;
    bool ok;

    json_init(&doc);
    arena_init(&a, 1 << 16);
    ok = json_parse(&doc, line, e);
    if (ok && !json_i64(&doc, json_find(&doc, json_root(&doc), STR("cassette")), &version))
        ok = err_set(e, ERR_INPUT, "not a cassette: it begins with {\"cassette\": 1, ...}");
    else if (ok && version != 1)
        ok = err_set(e, ERR_INPUT, "a cassette of version 1 is expected");
    if (ok && !json_text(&doc, json_find(&doc, json_root(&doc), STR("kind")), &a, &kind))
        ok = err_set(e, ERR_INPUT, "\"kind\" is missing in the first line");
    for (int d = 0; ok; d++) {
        if (d > CHAT_OLLAMA) {
            ok = err_set(e, ERR_INPUT, "no kind \"" STR_FMT "\"", STR_ARG(str_slice(kind, 0, 32)));
        } else if (str_eq(kind, str_c(chat_dialect_name((enum chat_dialect)d)))) {
            *out = (enum chat_dialect)d;
            break;
        }
    }
    arena_release(&a);
    json_release(&doc);
    return ok;
}

bool cassette_peek(const char *path, enum chat_dialect *out, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char bytes[HEAD_SIZE_MAX];
    struct stat st;
    ssize_t n;

    if (fd < 0)
        return err_sys(e, "%s", path);
    n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, bytes, sizeof bytes) : -1;
    close(fd);
    if (n < 0)
        return err_set(e, ERR_INPUT, "%s: it cannot be read", path);
    str all = {bytes, (size_t)n};
    if (!read_head(str_slice(all, 0, str_find(all, STR("\n"))), out, e))
        return err_prefix(e, "%s:1: ", path);
    return true;
}
