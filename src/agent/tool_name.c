/* tool_name.c - makes names that every provider accepts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/tool_box.h"

#include "base/ctype.h"
#include "base/sha256.h"

#define CALLED_MAX 64
#define DIGEST_DIGITS 10

static bool agent_tool_name_allowed(char c)
{
    return char_is_alnum(c) || c == '_' || c == '-';
}

/* Gemini requires a letter or an underscore first. */
bool tool_name_plain(str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!agent_tool_name_allowed(name.p[i]))
            return false;
    return name.n > 0 && name.n <= CALLED_MAX && name.p[0] != '-' &&
           !(name.p[0] >= '0' && name.p[0] <= '9');
}

str tool_called(str name, struct arena *a)
{
    char hex[SHA256_HEX_SIZE], out[CALLED_MAX];
    uint8_t digest[SHA256_SIZE];
    struct sha256 h;
    size_t n = 0;

    if (tool_name_plain(name))
        return arena_dup(a, name);
    sha256_init(&h);
    sha256_feed(&h, name);
    sha256_finish(&h, digest);
    if (name.n && (name.p[0] == '-' || (name.p[0] >= '0' && name.p[0] <= '9')))
        out[n++] = '_';
    for (size_t i = 0; i < name.n && n < CALLED_MAX - 1 - DIGEST_DIGITS; i++)
        out[n++] = agent_tool_name_allowed(name.p[i]) ? name.p[i] : '_';
    out[n++] = '_';
    assert(n + DIGEST_DIGITS <= CALLED_MAX);
    memcpy(out + n, sha256_hex(digest, hex).p, DIGEST_DIGITS);
    return arena_dup(a, (str){out, n + DIGEST_DIGITS});
}
