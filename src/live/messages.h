/* messages.h - writes the JSON of each message to the hub's scratch; the hub is locked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "live/internal.h"

void hub_send_started(struct hub *h, const struct hub_channel *to, const struct hub_call *c);
void hub_send_status(struct hub *h, const struct hub_channel *to, const struct hub_call *c,
                     bool shown);
void hub_send_text(struct hub *h, const struct hub_channel *to, const struct hub_call *c,
                   enum hub_text kind, str text, uint64_t at);
void hub_send_end(struct hub *h, const struct hub_channel *to, const struct hub_call *c,
                  const struct hub_end *e);
void hub_send_session(struct hub *h, const struct hub_channel *to, const struct hub_session *s,
                      str model);
void hub_send_event(struct hub *h, const struct hub_channel *to, const char *type, str members);
void hub_send_gap(struct hub *h, const struct hub_channel *to, int64_t missed);
void hub_send_health(struct hub *h, str members);
void hub_send_alert(struct hub *h, const struct hub_channel *to, str status);
void hub_send_alert_status(struct hub *h, const struct hub_channel *to, str members);
/* session.c: the session of a call that no application runs is in progress while a call is. */
void hub_publish_session(const struct hub_call *c, struct hub_channel *to, const struct hub_end *e,
                         enum hub_audience audience);
uint64_t hub_units(str text); /* in UTF-16 */
