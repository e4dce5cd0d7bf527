/* base64.h - base64 (RFC 4648): with padding, and the URL alphabet.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

void mcp_base64(struct buf *out, str bytes);
/* The URL alphabet, no padding. */
void mcp_base64_url(struct buf *out, str bytes);
/* Strict: the standard alphabet, padded, no white space; false otherwise, and out is unchanged.
 */
bool mcp_base64_decode(str text, struct buf *out) MUST_USE;
