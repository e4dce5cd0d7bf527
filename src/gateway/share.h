/* share.h - what the gateways of several daemons tell each other by the bus: the use of keys, the
 * running calls, conversations, and the vault.
 *
 *     gateway_share(g, bus);             before the bus and the loops start
 *     gateway_share_conversation(g, ...);        a call is recorded
 *     gateway_share_kept(g, ...);        a call is put into the vault
 *
 * A daemon that starts later reads conversations and spending from the record, and gets the latest
 * entries of the vault from the others. Without a bus nothing is sent.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/gateway.h"
#include "store/bus.h"

void gateway_share(struct gateway *g, struct bus *bus);
void gateway_share_stop(struct gateway *g); /* after the bus */
/* The responses of a session, or ("") of all, are dropped here and everywhere; and what the vault
 * has on disk, of all sessions. */
void gateway_share_forget(struct gateway *g, str session);
/* tools: the reply calls tools, so a program sends the next turn, and soon. */
void gateway_share_conversation(struct gateway *g, str session, str talk, bool tools);

void gateway_share_kept(struct gateway *g, const struct vault_fragment *f);
