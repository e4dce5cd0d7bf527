/* sha256.h - SHA-256 (FIPS 180-4), HMAC over it (RFC 2104), and comparison in constant time.
 *
 *     struct sha256 h;
 *     uint8_t digest[SHA256_SIZE];
 *     sha256_init(&h);
 *     while (next_piece(&piece))
 *         sha256_feed(&h, piece);
 *     sha256_finish(&h, digest);
 *
 * Promises:
 *   - The digest does not depend on how the input is cut into pieces.
 *   - It uses the processor's SHA instructions if available, with the same result.
 *   - sha256_mac_finish erases the key from memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

#define SHA256_SIZE 32
#define SHA256_BLOCK_SIZE 64
#define SHA256_HEX_SIZE 65 /* 64 characters and a NUL */

struct sha256 {
    uint32_t state[8];
    uint64_t size; /* of all input; block has the bytes of an incomplete block */
    uint8_t block[SHA256_BLOCK_SIZE];
    void (*compress)(uint32_t state[8], const uint8_t *blocks, size_t count);
};

void sha256_init(struct sha256 *h);

/* The same in plain C, without special instructions. */
void sha256_init_plain(struct sha256 *h);
void sha256_feed(struct sha256 *h, str piece);

/* Afterwards, only sha256_init may follow. */
void sha256_finish(struct sha256 *h, uint8_t out[SHA256_SIZE]);

/* The digest of one text; in hex, the returned text is in out, in lower case. */
void sha256_of(str text, uint8_t out[SHA256_SIZE]);
str sha256_hex(const uint8_t digest[SHA256_SIZE], char out[SHA256_HEX_SIZE]);

struct sha256_mac {
    struct sha256 inner, outer;
};

void sha256_mac_init(struct sha256_mac *m, str key);
void sha256_mac_feed(struct sha256_mac *m, str piece);
void sha256_mac_finish(struct sha256_mac *m, uint8_t out[SHA256_SIZE]);

/* Whether two byte ranges are equal, in a time that does not depend on where they differ. */
bool mem_equal_ct(const void *a, const void *b, size_t size);
