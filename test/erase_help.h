/* erase_help.h - an erasure, compared with a dry run of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "store_help.h"

/* Erases; checks that the counts of a dry run before it are those of the receipt. */
void erase_as_counted(struct place *p, struct store *s, enum store_erase_what what,
                      const char *name, struct store_receipt *got);
