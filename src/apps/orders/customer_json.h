/* customer_json.h - a JSON object that a model writes to a customer, with its reasoning in it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

/* `text` begins with "{". If the object has a member that speaks of thinking, at any depth, the
 * text of its member reply (answer, message, ...) is added to `said`, those of the thinking to
 * `hidden`, and the size of the object is returned: all of the text if it is never closed. Else 0.
 */
size_t customer_json_strip(str text, struct buf *said, struct buf *hidden);
