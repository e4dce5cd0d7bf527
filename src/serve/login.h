/* login.h - logins of browsers: a cookie in exchange for a key.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

struct config_key;
struct daemon;
struct exchange;
struct login;

struct login *login_new(struct daemon *d);
void login_free(struct login *l); /* NULL is allowed */
/* The digest of a cookie's key; false if no such login is valid. */
bool login_find(struct login *l, str cookies, uint8_t sha256[32]) MUST_USE;
/* A code for a link that logs in with this key: once, while the run lasts. Written to hex. */
str login_code_new(struct login *l, const struct config_key *key, char hex[65]);
/* The run is over: its code is not accepted any more. Any thread. */
void login_code_drop(struct login *l, str code);
/* The login whose cookie has this digest, in hex, was ended early. Any thread. */
void login_end(struct login *l, str digest, int64_t until_ms);
void login_handle(struct exchange *ex), logout_handle(struct exchange *ex);
