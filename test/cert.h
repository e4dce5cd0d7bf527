/* cert.h - creates certificates for tests: an authority and certificates that it signed.
 *
 *     struct certs c;
 *     certs_make(&c);
 *     cert_path(&c, "good.pem", path);  with good.key, signed by ca.pem
 *     certs_remove(&c);
 *
 * good: localhost, *.wild.test and 127.0.0.1. wrong: other.test only. expired, early: as good, but
 * expired or not yet valid. self: as good, self-signed. old: as good, with its own key.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/str.h"

#define CERT_PATH_SIZE 128

struct certs {
    char dir[64];
};

void certs_make(struct certs *c);
void certs_remove(struct certs *c);
const char *cert_path(const struct certs *c, const char *name, char out[CERT_PATH_SIZE]);
