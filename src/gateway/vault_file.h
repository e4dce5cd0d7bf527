/* vault_file.h - the vault on disk, so that conversations continue after a restart of the daemon
 * even in the middle of their tool calls.
 *
 *     struct vault_file *f = vault_file_open(dir, secret, clock, vault);   reads it into the vault
 *     vault_file_add(f, fragments, n);                                     of one reply; any thread
 *     vault_file_forget(f);                                                something was erased
 *     vault_file_close(f);
 *
 * Fragments are encrypted (vault_seal.h) and appended to DIR/vault. The fragments of a reply are
 * read back all or not at all. A file that is full or half a day old becomes DIR/vault.old, which
 * replaces the one before: so nothing needs to be rewritten, and what is a day old goes. There is
 * no sync: the file survives the end of the process, but perhaps not the end of the machine.
 * If the disk fails, the vault is in memory only, and a warning is logged once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/vault_seal.h"

#define VAULT_FILE_MAX ((size_t)32 << 20) /* of each of the two files */

struct vault_file;

/* Only one process may have the folder open: the journal's lock sees to that. */
struct vault_file *vault_file_open(const char *dir, const uint8_t secret[VAULT_SECRET_SIZE],
                                   const struct clock *clock, struct vault *v);
void vault_file_close(struct vault_file *f); /* NULL is allowed */
/* NULL is allowed: nothing is written. */
void vault_file_add(struct vault_file *f, const struct vault_fragment *fragments, size_t n);
/* Deletes both files. The vault in memory stays. */
void vault_file_forget(struct vault_file *f);
