/* signature.c - see signature.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/signature.h"

#define SIGNATURES_MAX 16 /* in one header */

static str signature_hex(str secret, str body, char out[SHA256_HEX_SIZE])
{
    uint8_t digest[SHA256_SIZE];
    struct sha256_mac mac;

    sha256_mac_init(&mac, secret);
    sha256_mac_feed(&mac, body);
    sha256_mac_finish(&mac, digest);
    return sha256_hex(digest, out);
}

/* Whether one of the comma-separated signatures is ours. */
static bool signature_matches(str given, str prefix, str want)
{
    assert(want.n == SHA256_HEX_SIZE - 1);
    for (int i = 0; i < SIGNATURES_MAX && given.n; i++) {
        str one = str_trim(str_cut(&given, ','));
        if (!str_starts(one, prefix))
            continue;
        one = str_slice(one, prefix.n, one.n);
        if (one.n == want.n && mem_equal_ct(one.p, want.p, want.n))
            return true;
    }
    return false;
}

bool signature_check(const struct config_incidents *c, enum alert_source source, str given,
                     str body, struct err *e)
{
    bool pagerduty = source == ALERT_PAGERDUTY;
    const char *header = pagerduty ? "X-PagerDuty-Signature" : "X-Grafana-Alerting-Signature";
    str variable = pagerduty                 ? c->pagerduty_secret_env
                   : source == ALERT_GRAFANA ? c->grafana_secret_env
                                             : STR("");
    char hex[SHA256_HEX_SIZE];
    const char *secret;

    if (!variable.n)
        return true;
    secret = getenv(variable.p);
    if (!secret || !*secret)
        return err_set(e,
                       ERR_AUTH,
                       "the signature cannot be checked: the environment variable " STR_FMT
                       " is not set where the gateway runs",
                       STR_ARG(variable));
    if (!given.n)
        return err_set(e,
                       ERR_AUTH,
                       "the header %s is missing: the sender must sign with the secret of " STR_FMT,
                       header,
                       STR_ARG(variable));
    return signature_matches(
               given, pagerduty ? STR("v1=") : STR(""), signature_hex(str_c(secret), body, hex)) ||
           err_set(e,
                   ERR_AUTH,
                   "%s does not match the body and the secret of " STR_FMT
                   ": the sender signs with another secret, or the body was changed on its way",
                   header,
                   STR_ARG(variable));
}
