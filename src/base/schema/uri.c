/* Resolves relative references as in RFC 3986, section 5.2.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/schema/internal.h"

struct uri { /* parts of one text; `has_` distinguishes an empty part from an absent one */
    str scheme, authority, path, query, fragment;
    bool has_authority, has_query;
};

static size_t schema_uri_find_any(str s, size_t from, const char *set)
{
    while (from < s.n && !memchr(set, s.p[from], strlen(set)))
        from++;
    return from;
}

static bool schema_is_scheme(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

        if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.')))
            return false;
    }
    return s.n > 0;
}

static struct uri schema_uri_split(str s)
{
    struct uri u = {.scheme = STR(""), .authority = STR(""), .query = STR("")};
    size_t at = schema_uri_find_any(s, 0, "#");

    u.fragment = str_slice(s, at + 1, s.n);
    s = str_slice(s, 0, at);
    at = schema_uri_find_any(s, 0, ":/?");
    if (at < s.n && s.p[at] == ':' && schema_is_scheme(str_slice(s, 0, at))) {
        u.scheme = str_slice(s, 0, at);
        s = str_slice(s, at + 1, s.n);
    }
    at = schema_uri_find_any(s, 0, "?");
    u.has_query = at < s.n;
    u.query = str_slice(s, at + 1, s.n);
    s = str_slice(s, 0, at);
    if (str_starts(s, STR("//"))) {
        at = schema_uri_find_any(s, 2, "/");
        u.has_authority = true;
        u.authority = str_slice(s, 2, at);
        s = str_slice(s, at, s.n);
    }
    u.path = s;
    return u;
}

/* Adds a path without its "." and ".." segments. `from` is where the path begins in out. */
static void schema_uri_add_path(struct buf *out, str path)
{
    size_t from = out->n, at = 0;

    while (at < path.n) {
        size_t end = schema_uri_find_any(path, at + (path.p[at] == '/'), "/");
        str segment = str_slice(path, at, end);
        bool slash = segment.p[0] == '/';
        str name = str_slice(segment, slash, segment.n);
        bool last = end == path.n;

        at = end;
        if (!str_eq(name, STR(".")) && !str_eq(name, STR(".."))) {
            buf_add(out, segment);
            continue;
        }
        if (name.n == 2) {
            while (out->n > from && out->p[out->n - 1] != '/')
                out->n--;
            if (out->n > from)
                out->n--;
        }
        if (last && slash)
            buf_add_c(out, '/');
    }
}

/* Merges the reference's path with the base's: it replaces the part after the base's last "/". */
static void schema_merge_path(const struct uri *base, str path, struct buf *out)
{
    size_t keep = base->path.n;
    struct buf both;

    buf_init(&both, (size_t)SCHEMA_URI_MAX * 2);
    while (keep > 0 && base->path.p[keep - 1] != '/')
        keep--;
    if (base->has_authority && base->path.n == 0)
        buf_add_c(&both, '/');
    buf_add(&both, str_slice(base->path, 0, keep));
    buf_add(&both, path);
    if (buf_full(&both))
        out->full = true;
    schema_uri_add_path(out, buf_str(&both));
    buf_release(&both);
}

bool schema_uri_resolve(str base, str ref, struct buf *out, struct err *e)
{
    struct uri b = schema_uri_split(base), r = schema_uri_split(ref);
    const struct uri *from = r.scheme.n > 0 ? &r : &b; /* where scheme and authority come from */
    const struct uri *host = r.scheme.n > 0 || r.has_authority ? &r : &b;
    bool whole = host == &r, own_query = true;

    assert(out->size_max <= SCHEMA_URI_MAX);
    if (from->scheme.n > 0) {
        buf_add(out, from->scheme);
        buf_add_c(out, ':');
    }
    if (host->has_authority) {
        buf_add(out, STR("//"));
        buf_add(out, host->authority);
    }
    if (whole || str_starts(r.path, STR("/"))) {
        schema_uri_add_path(out, r.path);
    } else if (r.path.n > 0) {
        schema_merge_path(&b, r.path, out);
    } else {
        buf_add(out, b.path);
        own_query = r.has_query;
    }
    if (own_query ? r.has_query : b.has_query) {
        buf_add_c(out, '?');
        buf_add(out, own_query ? r.query : b.query);
    }
    if (r.fragment.n > 0) { /* "x#" and "x" are the same place */
        buf_add_c(out, '#');
        buf_add(out, r.fragment);
    }
    return buf_ok(out, "the reference", e);
}
