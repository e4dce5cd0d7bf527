/* generate.h - what the gateway may ask of an encoder of /generate.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/wire.h"

/* Whether reasoning that is shown goes out as it comes (reasoning_delta), and whether it goes out
 * as one text when it is over (reasoning). Unasked, only the latter. */
void wire_generate_options(struct wire_encoder *en, bool delta, bool whole);

/* What has been counted so far, for the "analysis" event that ends the reasoning: tokens of
 * reasoning, and their cap; -1 is not known, or none. */
void wire_generate_counts(struct wire_encoder *en, int64_t tokens, int64_t cap);
