/* client_head.h - the head of a request as bytes. Within src/net only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/client.h"

/* How many bytes client_head_put writes; both return where they stopped. */
size_t client_head_size(const struct client_request *r);
char *client_head_put(char *p, const struct client_request *r);
/* The key of connections to a place: 's' for TLS or 'p', then host:port. */
char *client_head_put_key(char *p, const struct client_url *url);
