/* auth.h - OAuth for MCP: from a challenge to a token that the server accepts.
 *
 *     struct mcp_auth *a = mcp_auth_new(io, &options, server_url, e);
 * mcp_auth_challenged(a, 401, www_authenticate, used, patience, e) then ask again, with
 *     mcp_auth_header(a, &headers)                                       Authorization: Bearer ...
 *
 * The flow (RFC 9728, 8414, 7591, 7636, 8707, 9207 and related ones): the server's metadata names
 * its authorization server and scopes, and the metadata of that server names its endpoints. The
 * client was registered before, or identifies itself by a URL, or registers now. The user agrees in
 * a browser, which the caller provides. The code is exchanged for a token for this server alone.
 *
 * Promises:
 *   - Metadata of another server or another issuer are refused, and so is a reply from another
 *     issuer than the one asked. Nothing is sent to a plain http address, except on this machine.
 *   - Credentials of an issuer are sent to that issuer only.
 *   - A scope is not requested twice, so the flow cannot loop.
 *   - One thread at a time runs the flow; the others wait and use its result.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "mcp/io.h"

struct mcp_auth;

/* Empty or NULL means not given; texts must live as long as the mcp_auth. */
struct mcp_auth_options {
    str client_name;
    str client_id, client_secret; /* of an earlier registration, */
    str client_issuer;            /* with this issuer, or with any if it is empty */
    str metadata_url;             /* URL of our client id metadata document */
    str redirect_uri;
    bool client_credentials; /* the client acts for itself, without a user and a browser */
    /* Lets the user agree at this URL; writes the URL of the final redirect to out. */
    bool (*authorize)(void *ctx, str url, struct buf *out, struct err *e);
    void *ctx;
};

struct mcp_auth *mcp_auth_new(struct mcp_io *io, const struct mcp_auth_options *o, str server_url);
void mcp_auth_free(struct mcp_auth *a);

/* The server replied 401, or 403 with a missing scope. `used` is the number that mcp_auth_header
 * returned: if another thread has got a newer token since, this succeeds at once. */
bool mcp_auth_challenged(struct mcp_auth *a, int status, str challenge, unsigned used,
                         struct mcp_patience patience, struct err *e) MUST_USE;
/* Writes the header line, if there is a token. Returns the token's number, 0 without one. */
unsigned mcp_auth_header(struct mcp_auth *a, struct buf *headers);
