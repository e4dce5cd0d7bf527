/* auth_parts.h - parts of the OAuth flow: challenges, forms, metadata.
 *
 * Within src/mcp only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "mcp/auth.h"

#define MCP_AUTH_BODY_MAX ((size_t)1 << 20) /* of a metadata document or a token */

/* A parameter of a WWW-Authenticate header's Bearer challenge, unquoted; empty if absent.
 */
str mcp_challenge_param(str challenge, str name, struct arena *a);

/* Appends name=value, both encoded, after a & if b is not empty; nothing for an empty value. */
void mcp_form_add(struct buf *b, str name, str value);
/* A parameter of a URL's query, decoded; false if absent. */
bool mcp_query_param(str url, str name, struct arena *a, str *out) MUST_USE;

/* "http://host:port" of a URL, and its path without a trailing slash. */
str mcp_url_origin(str url);
str mcp_url_path(str url);
/* Whether the URL has https, or is on this machine. */
bool mcp_url_is_safe(str url);
/* Whether a server may redirect us to this URL: to https, and from this machine to this machine. A
 * remote server must not reach services on the machine of the client. */
bool mcp_url_may_follow(str url, str server_url);

/* The metadata of a server: RFC 9728. */
struct mcp_resource_meta {
    str resource, issuer; /* the first authorization server */
    str scopes;           /* joined by spaces */
};

/* From the address in the challenge, or from the well-known ones. ERR_NOT_FOUND if no address has
 * metadata. */
struct mcp_meta_place {
    str server_url;
    str address; /* from the challenge, or "" */
};

bool mcp_meta_resource(struct mcp_io *io, struct mcp_meta_place place, struct mcp_patience patience,
                       struct arena *a, struct mcp_resource_meta *out, struct err *e) MUST_USE;

/* The metadata of an authorization server: RFC 8414 and OpenID Connect. */
struct mcp_issuer_meta {
    str issuer, authorize, token, registration;
    str scopes, methods; /* joined by spaces, and with one at both ends; empty if not given */
    bool pkce, cimd, iss;
};

bool mcp_meta_issuer(struct mcp_io *io, str issuer, struct mcp_patience patience, struct arena *a,
                     struct mcp_issuer_meta *out, struct err *e) MUST_USE;
/* Whether a list as above has a word. */
bool mcp_words_have(str list, str word);
