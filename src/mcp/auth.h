/* auth.h - OAuth as MCP has it: from a challenge to a token that the server takes.
 *
 *     struct mcp_auth *a = mcp_auth_new(io, &options, server_url, e);
 *     mcp_auth_challenged(a, 401, www_authenticate, deadline_ns, e)   then ask again, with
 *     mcp_auth_header(a, &headers)                                    Authorization: Bearer ...
 *
 * The way (RFC 9728, 8414, 7591, 7636, 8707, 9207 and their like): the server's metadata names its
 * authorization server and what scopes there are; that one's metadata names its endpoints; we are
 * registered beforehand, or are a URL that says who we are, or register now; the user agrees, in a
 * browser that is the caller's business; the code becomes a token for this server alone.
 *
 * Promises:
 *   - Metadata that speak for another server or another issuer are refused, and so is an answer
 *     from another issuer than the one that was asked. Nothing is sent to a plain http address
 *     but of this machine.
 *   - What an issuer gave us is shown to that issuer only.
 *   - A scope that was asked for already is not asked for again: no loop.
 *   - One thread at a time runs the flow; the others wait and use what it got.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "mcp/io.h"

struct mcp_auth;

/* What is empty or NULL is not there; texts are lent as long as the mcp_auth. */
struct mcp_auth_options {
    str client_name;
    str client_id, client_secret; /* registered beforehand, */
    str client_issuer;            /* with this issuer, or with any if it is empty */
    str metadata_url;             /* that says who we are (a client id metadata document) */
    str redirect_uri;
    bool client_credentials; /* the client acts for itself: no user, no browser */
    /* Lets the user agree at this URL; where the browser was sent in the end goes into out. */
    bool (*authorize)(void *ctx, str url, struct buf *out, struct err *e);
    void *ctx;
};

struct mcp_auth *mcp_auth_new(struct mcp_io *io, const struct mcp_auth_options *o, str server_url);
void mcp_auth_free(struct mcp_auth *a);

/* The server said 401, or 403 with a scope that is missing. `used` is the number that
 * mcp_auth_header gave: if another thread has a newer token by now, that is enough. */
bool mcp_auth_challenged(struct mcp_auth *a, int status, str challenge, unsigned used,
                         uint64_t deadline_ns, struct err *e) MUST_USE;
/* The header line, if there is a token. Returns the token's number, 0 for none. */
unsigned mcp_auth_header(struct mcp_auth *a, struct buf *headers);
