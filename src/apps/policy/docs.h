/* docs.h - the documents of a configuration: loaded together, kept as long as they are in use.
 *
 *     if (!policy_docs_load(config, &d, e)) ...
 *     policy_docs_hold(d); policy_docs_release(d);
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "apps/policy/service.h"

bool policy_docs_load(struct config *c, struct policy_docs **out, struct err *e) MUST_USE;
struct policy_docs *policy_docs_hold(struct policy_docs *d);
bool policy_docs_of(const struct policy_docs *d, const struct config *c);
struct config *policy_docs_config(struct policy_docs *d); /* lent */
