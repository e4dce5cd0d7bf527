/* name.c - the reversible table of tool names.
 *
 * SERVER__TOOL is unambiguous if the first two underscores in a row are the border: the server's
 * name contains no such pair and does not end in an underscore. All other names carry a digest.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/name.h"

#include "base/sha256.h"

#define DIGEST_DIGITS 10

struct mcp_named {
    str server, tool;
};

static bool mcp_name_allowed(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           c == '-';
}

static bool mcp_all_allowed(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!mcp_name_allowed(s.p[i]))
            return false;
    return s.n > 0;
}

static bool mcp_name_is_plain(str server, str tool)
{
    return mcp_all_allowed(server) && mcp_all_allowed(tool) &&
           str_find(server, STR("__")) == STR_NONE && server.p[server.n - 1] != '_' &&
           server.n + 2 + tool.n <= MCP_NAME_MAX;
}

/* SERVER__TOOL with invalid characters replaced, truncated to leave room for the digits. */
static str mcp_with_digest(struct arena *a, str server, str tool, size_t digits)
{
    char hex[SHA256_HEX_SIZE], out[MCP_NAME_MAX + 1];
    uint8_t digest[SHA256_SIZE];
    size_t n = 0, room = MCP_NAME_MAX - 1 - digits;
    struct sha256 h;
    str both = arena_join(a, server, STR("__"), tool);

    sha256_init(&h);
    sha256_feed(&h, server);
    sha256_feed(&h, (str){"", 1}); /* a NUL between the two names */
    sha256_feed(&h, tool);
    sha256_finish(&h, digest);
    for (; n < both.n && n < room; n++)
        out[n] = mcp_name_allowed(both.p[n]) ? both.p[n] : '_';
    out[n++] = '_';
    assert(n + digits <= MCP_NAME_MAX);
    memcpy(out + n, sha256_hex(digest, hex).p, digits);
    return arena_dup(a, (str){out, n + digits});
}

void mcp_names_init(struct mcp_names *n, struct arena *a)
{
    n->arena = a;
    map_init(&n->map, a, MCP_NAMES_MAX);
}

void mcp_names_release(struct mcp_names *n)
{
    map_release(&n->map);
}

static bool mcp_is_same(const struct map_entry *found, str server, str tool)
{
    const struct mcp_named *named = found->value.ptr;

    return str_eq(named->server, server) && str_eq(named->tool, tool);
}

bool mcp_names_add(struct mcp_names *n, str server, str tool, str *name, struct err *e)
{
    str made = mcp_name_is_plain(server, tool)
                   ? arena_join(n->arena, server, STR("__"), tool)
                   : mcp_with_digest(n->arena, server, tool, DIGEST_DIGITS);
    struct map_entry *found = map_find(&n->map, made);
    struct mcp_named *named;

    assert(made.n > 0 && made.n <= MCP_NAME_MAX);
    /* A plain name may look like one with a digest: then the later one gets a longer digest. */
    if (found && !mcp_is_same(found, server, tool)) {
        made = mcp_with_digest(n->arena, server, tool, 2 * DIGEST_DIGITS);
        found = map_find(&n->map, made);
    }
    if (found) {
        if (!mcp_is_same(found, server, tool))
            return err_input(e, "two tools have the name " STR_FMT, STR_ARG(made));
        *name = found->key;
        return true;
    }
    named = arena_alloc(n->arena, sizeof *named);
    *named = (struct mcp_named){arena_dup(n->arena, server), arena_dup(n->arena, tool)};
    if (!map_set(&n->map, made, MAP_PTR(named), e))
        return err_prefix(e, "names of tools: ");
    *name = made;
    return true;
}

bool mcp_names_find(const struct mcp_names *n, str name, str *server, str *tool)
{
    const struct map_entry *found = map_find(&n->map, name);
    const struct mcp_named *named;

    if (!found)
        return false;
    named = found->value.ptr;
    *server = named->server;
    *tool = named->tool;
    return true;
}
