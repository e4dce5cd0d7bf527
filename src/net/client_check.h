/* client_check.h - whether a request is valid to send.
 *
 * Within src/net only. The checks guarantee that the bytes are exactly one request whose head ends
 * where we end it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/client.h"

bool client_check(const struct client_request *r, bool has_tls, struct err *e) MUST_USE;
