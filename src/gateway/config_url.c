/* config_url.c - base URLs, until net has its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/client.h"

__attribute__((weak)) bool client_url_parse(str text, struct client_url *out, struct err *e)
{
    struct client_url u = {.tls = str_starts(text, STR("https://"))};
    str rest = str_slice(text, u.tls ? 8 : 7, text.n);
    size_t slash, colon;
    uint64_t port;

    if (!u.tls && !str_starts(text, STR("http://")))
        return err_set(e, ERR_INPUT, "a URL begins with http:// or https://");
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] <= ' ' || strchr("@?#\\\x7f", text.p[i]))
            return err_set(e, ERR_INPUT, "a base URL has no user, query, fragment or white space");
    slash = str_find(rest, STR("/"));
    u.authority = str_slice(rest, 0, slash);
    u.path = slash == STR_NONE ? STR("") : str_slice(rest, slash, rest.n);
    while (str_ends(u.path, STR("/")))
        u.path.n--;
    u.host = u.authority;
    u.port = u.tls ? 443 : 80;
    colon = str_find(u.authority, u.authority.n && u.authority.p[0] == '[' ? STR("]:") : STR(":"));
    if (colon != STR_NONE) {
        colon += u.authority.p[colon] == ']';
        u.host = str_slice(u.authority, 0, colon);
        if (!str_u64(str_slice(u.authority, colon + 1, rest.n), &port) || !port || port > 65535)
            return err_set(e, ERR_INPUT, "a port is a number from 1 to 65535");
        u.port = (unsigned)port;
    }
    if (str_starts(u.host, STR("[")))
        u.host = str_slice(u.host, 1, u.host.n - 1);
    if (u.host.n == 0)
        return err_set(e, ERR_INPUT, "a URL needs a host");
    *out = u;
    return true;
}
