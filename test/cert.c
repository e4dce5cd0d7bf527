/* SPDX-License-Identifier: Apache-2.0 */
#include "cert.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#define MUST(claim)                                                                                \
    do {                                                                                           \
        if (!(claim)) {                                                                            \
            fprintf(stderr, "%s\n", #claim);                                                       \
            abort();                                                                               \
        }                                                                                          \
    } while (0)
#define DAY_S (24 * 3600L)
#define NAMES "DNS:localhost,DNS:*.wild.test,IP:127.0.0.1"

static const struct {
    const char *name, *alt;
    long from_s, to_s;
    bool authority, self_signed;
} specs[] = {
    {"ca", NULL, -DAY_S, DAY_S, true, true},
    {"good", NAMES, -DAY_S, DAY_S, false, false},
    {"old", NAMES, -DAY_S, DAY_S, false, false},
    {"wrong", "DNS:other.test", -DAY_S, DAY_S, false, false},
    {"expired", NAMES, -2 * DAY_S, -DAY_S, false, false},
    {"early", NAMES, DAY_S, 2 * DAY_S, false, false},
    {"self", NAMES, -DAY_S, DAY_S, false, true},
};

const char *cert_path(const struct certs *c, const char *name, char out[CERT_PATH_SIZE])
{
    snprintf(out, CERT_PATH_SIZE, "%s/%s", c->dir, name);
    return out;
}

static void extend(X509 *x, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509_EXTENSION *ext;

    X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
    ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    MUST(ext && X509_add_ext(x, ext, -1) == 1);
    X509_EXTENSION_free(ext);
}

static X509 *sign(size_t i, EVP_PKEY *key, X509 *ca, EVP_PKEY *ca_key)
{
    X509 *x = X509_new(), *issuer = specs[i].self_signed ? x : ca;
    X509_NAME *name = X509_get_subject_name(x);

    MUST(X509_set_version(x, 2) == 1);
    MUST(ASN1_INTEGER_set(X509_get_serialNumber(x), (long)i + 1) == 1);
    MUST(X509_gmtime_adj(X509_getm_notBefore(x), specs[i].from_s));
    MUST(X509_gmtime_adj(X509_getm_notAfter(x), specs[i].to_s));
    MUST(X509_NAME_add_entry_by_txt(
             name, "CN", MBSTRING_ASC, (const unsigned char *)specs[i].name, -1, -1, 0) == 1);
    MUST(X509_set_issuer_name(x, X509_get_subject_name(issuer)) == 1);
    MUST(X509_set_pubkey(x, key) == 1);
    extend(x, issuer, NID_basic_constraints, specs[i].authority ? "critical,CA:TRUE" : "CA:FALSE");
    extend(x, issuer, NID_subject_key_identifier, "hash");
    if (specs[i].alt)
        extend(x, issuer, NID_subject_alt_name, specs[i].alt);
    MUST(X509_sign(x, specs[i].self_signed ? key : ca_key, EVP_sha256()) > 0);
    return x;
}

static void write_pem(const struct certs *c, const char *name, X509 *x, EVP_PKEY *key)
{
    char path[CERT_PATH_SIZE], file[32];
    FILE *f;

    snprintf(file, sizeof file, "%s.pem", name);
    f = fopen(cert_path(c, file, path), "we");
    MUST(f && PEM_write_X509(f, x) == 1 && fclose(f) == 0);
    snprintf(file, sizeof file, "%s.key", name);
    f = fopen(cert_path(c, file, path), "we");
    MUST(f && PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) == 1 && fclose(f) == 0);
}

void certs_make(struct certs *c)
{
    EVP_PKEY *ca_key = NULL;
    X509 *ca = NULL;

    snprintf(c->dir, sizeof c->dir, "/tmp/rationale-certs-XXXXXX");
    MUST(mkdtemp(c->dir));
    for (size_t i = 0; i < COUNT_OF(specs); i++) {
        EVP_PKEY *key = EVP_EC_gen("P-256");
        X509 *x;

        MUST(key);
        x = sign(i, key, ca, ca_key);
        write_pem(c, specs[i].name, x, key);
        if (specs[i].authority) {
            ca = x;
            ca_key = key;
            continue;
        }
        X509_free(x);
        EVP_PKEY_free(key);
    }
    X509_free(ca);
    EVP_PKEY_free(ca_key);
}

void certs_remove(struct certs *c)
{
    char path[CERT_PATH_SIZE], file[32];

    for (size_t i = 0; i < COUNT_OF(specs); i++) {
        snprintf(file, sizeof file, "%s.pem", specs[i].name);
        unlink(cert_path(c, file, path));
        snprintf(file, sizeof file, "%s.key", specs[i].name);
        unlink(cert_path(c, file, path));
    }
    rmdir(c->dir);
}
