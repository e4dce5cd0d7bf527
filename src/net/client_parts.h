/* client_parts.h - what a client connects with. Within src/net only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/dial.h"

/* Sets the loop, the resolver and, if wanted, the client's TLS. */
void client_dial_to(struct client *c, bool tls, struct dial_to *out);
