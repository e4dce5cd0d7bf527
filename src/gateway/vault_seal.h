/* vault_seal.h - a fragment of the vault as bytes that only the daemons of one store can read. The
 * texts of the vault are not masked, so they leave the process in this form only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/vault.h"

#define VAULT_SECRET_SIZE 32

/* Appends the encrypted fragment. False: out is full. */
bool vault_seal(const uint8_t secret[VAULT_SECRET_SIZE], const struct vault_fragment *f,
                struct buf *out) MUST_USE;
/* The texts of *out are in `plain`, which is overwritten. False: the bytes are damaged, or were
 * encrypted with another secret. */
bool vault_unseal(const uint8_t secret[VAULT_SECRET_SIZE], str bytes, struct buf *plain,
                  struct vault_fragment *out) MUST_USE;
/* Takes bytes with their size, 64 bits in the byte order of the machine, before them. False: there
 * are fewer. */
bool vault_take_part(str *from, str *out) MUST_USE;
