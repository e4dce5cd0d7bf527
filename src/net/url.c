/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ctype.h"
#include "net/client.h"

#include <arpa/inet.h>
#include <strings.h>

#define URL_MAX 2048
#define HOST_MAX 253

static bool url_is_host_char(char c)
{
    return char_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
}

static bool url_take_scheme(str *rest, bool *tls, struct err *e)
{
    static const struct {
        str text;
        bool tls;
    } schemes[] = {{STR_INIT("http://"), false}, {STR_INIT("https://"), true}};

    for (size_t i = 0; i < COUNT_OF(schemes); i++) {
        str text = schemes[i].text;

        if (rest->n < text.n || strncasecmp(rest->p, text.p, text.n) != 0)
            continue;
        *tls = schemes[i].tls;
        *rest = str_slice(*rest, text.n, rest->n);
        return true;
    }
    return err_input(e, "the URL must begin with http:// or https://");
}

static bool url_check_text(str text, struct err *e)
{
    if (text.n > URL_MAX)
        return err_set(e, ERR_LIMIT, "the URL is longer than %d bytes", URL_MAX);
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if (c <= ' ' || c == 0x7f)
            return err_input(e, "the URL holds a space or a control character");
        if (c > 0x7f)
            return err_input(e,
                             "the URL holds a character outside ASCII: write a host as xn--..., a "
                             "path with %%XX");
        if (c == '?' || c == '#')
            return err_input(
                e, "the URL may have no query and no fragment: end it before the %c", c);
    }
    return true;
}

/* The host of "host" or "host:port" or "[address]:port"; *rest then begins at the colon. */
static bool url_take_host(str *rest, str *host, struct err *e)
{
    char address[INET6_ADDRSTRLEN];
    unsigned char bytes[16];
    size_t n = 0;

    if (rest->n > 0 && rest->p[0] == '[') {
        n = str_find(*rest, STR("]"));
        if (n == STR_NONE)
            return err_input(e, "the URL's IPv6 address lacks its closing bracket");
        *host = str_slice(*rest, 1, n);
        if (host->n < sizeof address) {
            memcpy(address, host->p, host->n);
            address[host->n] = 0;
        }
        if (host->n >= sizeof address || inet_pton(AF_INET6, address, bytes) != 1)
            return err_input(e, "the text in brackets of the URL is not an IPv6 address");
        *rest = str_slice(*rest, n + 1, rest->n);
        return true;
    }
    while (n < rest->n && url_is_host_char(rest->p[n]))
        n++;
    *host = str_slice(*rest, 0, n);
    *rest = str_slice(*rest, n, rest->n);
    if (rest->n > 0 && rest->p[0] != ':')
        return err_input(e, "the URL's host may not hold \"%c\"", rest->p[0]);
    if (n == 0)
        return err_input(e, "the URL names no host");
    if (n > HOST_MAX)
        return err_set(e, ERR_LIMIT, "the URL's host is longer than %d bytes", HOST_MAX);
    if (host->p[0] == '.' || host->p[n - 1] == '.' || str_find(*host, STR("..")) != STR_NONE)
        return err_input(e, "the URL's host has an empty part before or after a dot");
    return true;
}

static bool url_take_port(str rest, unsigned *port, struct err *e)
{
    uint64_t number;

    if (rest.n == 0)
        return true;
    if (rest.p[0] != ':')
        return err_input(e, "the URL has something between its host and its port");
    rest = str_slice(rest, 1, rest.n);
    if (rest.n > 5 || !str_u64(rest, &number) || number == 0 || number > 65535)
        return err_input(e, "the URL's port must be a number from 1 to 65535");
    *port = (unsigned)number;
    return true;
}

bool client_url_parse(str text, struct client_url *out, struct err *e)
{
    struct client_url url = {.host = STR("")};
    str rest = text;
    size_t slash;

    if (!url_check_text(text, e) || !url_take_scheme(&rest, &url.tls, e))
        return false;
    slash = str_find(rest, STR("/"));
    url.authority = str_slice(rest, 0, slash);
    url.path = slash == STR_NONE ? STR("") : str_slice(rest, slash, rest.n);
    while (url.path.n > 0 && url.path.p[url.path.n - 1] == '/')
        url.path.n--;
    if (url.path.n == 0)
        url.path = STR("");
    /* Not shown: the part before the sign may be a password. */
    if (str_find(url.authority, STR("@")) != STR_NONE)
        return err_input(e, "the URL may hold no user name and no password");
    url.port = url.tls ? 443 : 80;
    rest = url.authority;
    if (!url_take_host(&rest, &url.host, e) || !url_take_port(rest, &url.port, e))
        return false;
    assert(url.host.n > 0 && url.port > 0 && url.port <= 65535);
    *out = url;
    return true;
}
