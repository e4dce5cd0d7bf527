/* vault_seal.c - see vault_seal.h: AES-256-GCM with a random nonce before the bytes and a tag after
 * them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/vault_seal.h"

#include "base/rand.h"

#include <limits.h>
#include <openssl/evp.h>

#define NONCE_SIZE 12
#define TAG_SIZE 16

/* ---- encryption ---- */

/* Encrypts or decrypts n bytes in place. The tag is written or checked. */
static bool vault_seal_cipher(const uint8_t secret[VAULT_SECRET_SIZE], const char *nonce, char *p,
                              size_t n, char *tag, bool encrypt)
{
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    const unsigned char *iv = (const unsigned char *)nonce;
    unsigned char *bytes = (unsigned char *)p;
    int done = 0;
    bool ok;

    ok = c && n < INT_MAX && EVP_CipherInit_ex(c, EVP_aes_256_gcm(), NULL, secret, iv, encrypt) &&
         (encrypt || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, TAG_SIZE, tag)) &&
         EVP_CipherUpdate(c, bytes, &done, bytes, (int)n) && (size_t)done == n &&
         EVP_CipherFinal_ex(c, bytes + n, &done) && done == 0 &&
         (!encrypt || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, TAG_SIZE, tag));
    EVP_CIPHER_CTX_free(c);
    return ok;
}

/* ---- the bytes of a fragment ---- */

static void vault_seal_add_part(struct buf *b, str s)
{
    uint64_t n = s.n;

    buf_add(b, (str){(const char *)&n, sizeof n});
    buf_add(b, s);
}

bool vault_take_part(str *from, str *out)
{
    uint64_t n;

    if (from->n < sizeof n)
        return false;
    memcpy(&n, from->p, sizeof n);
    if (n > from->n - sizeof n)
        return false;
    *out = str_slice(*from, sizeof n, sizeof n + (size_t)n);
    *from = str_slice(*from, sizeof n + (size_t)n, from->n);
    return true;
}

bool vault_seal(const uint8_t secret[VAULT_SECRET_SIZE], const struct vault_fragment *f,
                struct buf *out)
{
    const struct vault_call *call = &f->call;
    uint64_t numbers[] = {call->asked, call->system, call->results, call->reply, call->age_ns};
    char nonce[NONCE_SIZE], tag[TAG_SIZE] = {0};
    size_t from = out->n + sizeof nonce;

    rand_os(nonce, sizeof nonce);
    buf_add(out, (str){nonce, sizeof nonce});
    vault_seal_add_part(out, f->origin);
    vault_seal_add_part(out, call->id);
    vault_seal_add_part(out, (str){(const char *)numbers, sizeof numbers});
    vault_seal_add_part(out, f->name);
    vault_seal_add_part(out, f->text);
    buf_add(out, (str){tag, sizeof tag});
    return !buf_full(out) && vault_seal_cipher(secret,
                                               nonce,
                                               out->p + from,
                                               out->n - from - sizeof tag,
                                               out->p + out->n - sizeof tag,
                                               true);
}

bool vault_unseal(const uint8_t secret[VAULT_SECRET_SIZE], str bytes, struct buf *plain,
                  struct vault_fragment *out)
{
    uint64_t numbers[5];
    char tag[TAG_SIZE];
    str rest, found;

    if (bytes.n < NONCE_SIZE + TAG_SIZE)
        return false;
    rest = str_slice(bytes, NONCE_SIZE, bytes.n - TAG_SIZE);
    memcpy(tag, bytes.p + bytes.n - TAG_SIZE, TAG_SIZE);
    buf_reset(plain);
    buf_add(plain, rest);
    if (buf_full(plain) || !vault_seal_cipher(secret, bytes.p, plain->p, rest.n, tag, false))
        return false;
    rest = buf_str(plain);
    *out = (struct vault_fragment){0};
    if (!vault_take_part(&rest, &out->origin) || !vault_take_part(&rest, &out->call.id) ||
        !vault_take_part(&rest, &found) || found.n != sizeof numbers ||
        !vault_take_part(&rest, &out->name) || !vault_take_part(&rest, &out->text))
        return false;
    memcpy(numbers, found.p, sizeof numbers);
    out->call.asked = numbers[0];
    out->call.system = numbers[1];
    out->call.results = (uint32_t)numbers[2];
    out->call.reply = numbers[3];
    out->call.age_ns = numbers[4];
    return true;
}
