/* words.h - writes the JSON of each message to the hub's scratch; the hub is locked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "live/internal.h"

void hub_say_started(struct hub *h, const struct hub_channel *to, const struct hub_call *c);
void hub_say_status(struct hub *h, const struct hub_channel *to, const struct hub_call *c,
                    bool shown);
void hub_say_text(struct hub *h, const struct hub_channel *to, const struct hub_call *c,
                  enum hub_text kind, str text, uint64_t at);
void hub_say_end(struct hub *h, const struct hub_channel *to, const struct hub_call *c,
                 const struct hub_end *e, bool decision);
void hub_say_session(struct hub *h, const struct hub_channel *to, const struct hub_session *s,
                     str model);
void hub_say_event(struct hub *h, const struct hub_channel *to, const char *type, str members);
void hub_say_gap(struct hub *h, const struct hub_channel *to, int64_t missed);
void hub_say_health(struct hub *h, str members);
void hub_say_alert(struct hub *h, const struct hub_channel *to, str status);
void hub_say_alert_status(struct hub *h, const struct hub_channel *to, str members);
/* session.c: the session of a call that no application runs is in progress while a call is. */
void hub_tell_session(const struct hub_call *c, struct hub_channel *to, const struct hub_end *e);
uint64_t hub_units(str text); /* in UTF-16 */
