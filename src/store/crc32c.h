/* crc32c.h - the Castagnoli checksum (RFC 3720, appendix B.4), with the CPU's instruction if it has
 * one.
 *
 *     uint32_t sum = crc32c(0, head);
 *     sum = crc32c(sum, rest);                  the same as of both in one piece
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

uint32_t crc32c(uint32_t crc, str bytes);

/* The same with a table, on any machine; tests compare the two. */
uint32_t crc32c_plain(uint32_t crc, str bytes);
