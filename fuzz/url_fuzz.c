/* An accepted URL can be assembled from its parts, and reads as the same URL.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/buf.h"
#include "net/client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(str s)
{
    for (size_t i = 0; i < s.n; i++)
        assert(s.p[i] > ' ' && s.p[i] < 0x7f && s.p[i] != '?' && s.p[i] != '#');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct client_url u, again;
    struct buf b;
    struct err e;
    bool ok;

    if (!client_url_parse((str){(const char *)data, size}, &u, &e)) {
        assert(e.text[0] != 0);
        return 0;
    }
    check_text(u.authority);
    check_text(u.path);
    assert(u.port > 0 && u.port <= 65535 && u.host.n > 0);
    assert(!memchr(u.authority.p, '@', u.authority.n) &&
           !memchr(u.authority.p, '/', u.authority.n));
    assert(u.path.n == 0 || (u.path.p[0] == '/' && u.path.p[u.path.n - 1] != '/'));
    buf_init(&b, 1 << 16);
    buf_add(&b, u.tls ? STR("https://") : STR("http://"));
    buf_add(&b, u.authority);
    buf_add(&b, u.path);
    ok = client_url_parse(buf_str(&b), &again, &e);
    assert(ok && again.tls == u.tls && again.port == u.port);
    assert(str_eq(again.host, u.host) && str_eq(again.path, u.path));
    buf_release(&b);
    return 0;
}
