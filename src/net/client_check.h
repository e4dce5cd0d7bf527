/* client_check.h - whether a request can be sent as it is.
 *
 * Within src/net only. What is sent must be what was meant: one request, its head ended where we
 * end it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/client.h"

bool client_check(const struct client_request *r, bool has_tls, struct err *e) MUST_USE;
