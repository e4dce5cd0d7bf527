/* tls.c - contexts and connections of OpenSSL, and the meaning of its errors.
 *
 * A link reads and writes its socket through our own BIO, because OpenSSL's uses write(), which
 * raises SIGPIPE. The context is reference-counted: a link may outlive tls_free.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/tls.h"

#include "net/tls_link.h"
#include "net/tls_sessions.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOST_MAX 253 /* the longest name DNS knows */

struct tls {
    SSL_CTX *ctx; /* NULL: a client that trusts the system's certificate authorities */
    BIO_METHOD *bio;
    bool server;
    struct tls_sessions *sessions; /* of a client */
    atomic_size_t uses;
};

struct tls_link {
    struct tls *tls;
    SSL *ssl;
    int fd;
    int error;         /* the errno of the last call to the socket, or 0 */
    bool eof, shaken;  /* of the socket; of the handshake */
    struct err *fault; /* found after bytes that had to be delivered first */
    char host[HOST_MAX + 1];
};

/* Where systems keep the bundle. The folder that OpenSSL looks in by itself is read again and again
 * from the loop, so it is the last resort. */
static const char *const bundles[] = {
    "/etc/ssl/certs/ca-certificates.crt",                /* Debian, Arch */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* Fedora */
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem", /* SUSE */
    "/etc/ssl/cert.pem",      /* Alpine */
};

static const char *tls_ssl_reason(void)
{
    unsigned long code = ERR_peek_error();
    const char *reason = code == 0 ? NULL : ERR_reason_error_string(code);

    if (code != 0 && ERR_SYSTEM_ERROR(code))
        reason = strerrordesc_np(ERR_GET_REASON(code));
    return reason ? reason : "OpenSSL does not say why";
}

/* The socket under OpenSSL. */

static int bio_read(BIO *b, char *bytes, int size)
{
    struct tls_link *k = BIO_get_data(b);
    ssize_t n;

    do
        n = recv(k->fd, bytes, size < 0 ? 0 : (size_t)size, 0);
    while (n < 0 && errno == EINTR);
    BIO_clear_retry_flags(b);
    k->error = 0;
    if (n == 0)
        k->eof = true;
    if (n >= 0)
        return (int)n;
    if (errno == EAGAIN)
        BIO_set_retry_read(b);
    else
        k->error = errno;
    return -1;
}

static int bio_write(BIO *b, const char *bytes, int size)
{
    struct tls_link *k = BIO_get_data(b);
    ssize_t n;

    do
        n = send(k->fd, bytes, size < 0 ? 0 : (size_t)size, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    BIO_clear_retry_flags(b);
    k->error = 0;
    if (n >= 0)
        return (int)n;
    if (errno == EAGAIN)
        BIO_set_retry_write(b);
    else
        k->error = errno;
    return -1;
}

static long bio_ctrl(BIO *b, int what, long number, void *p)
{
    const struct tls_link *k = BIO_get_data(b);

    (void)number;
    (void)p;
    if (what == BIO_CTRL_EOF)
        return k->eof;
    return what == BIO_CTRL_FLUSH;
}

static BIO_METHOD *bio_method(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");

    if (!m || BIO_meth_set_read(m, bio_read) != 1 || BIO_meth_set_write(m, bio_write) != 1 ||
        BIO_meth_set_ctrl(m, bio_ctrl) != 1)
        base_die("OpenSSL has no memory left");
    return m;
}

/* Contexts. */

/* A key under a password would have OpenSSL ask on the terminal. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the type of the callback is OpenSSL's */
static int tls_no_password(char *buf, int size, int for_writing, void *ctx)
{
    (void)buf;
    (void)size;
    (void)for_writing;
    (void)ctx;
    return 0;
}

static SSL_CTX *tls_context_new(const SSL_METHOD *method)
{
    SSL_CTX *ctx = SSL_CTX_new(method);

    if (!ctx || SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1)
        base_die("OpenSSL makes no context: %s", tls_ssl_reason());
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(ctx,
                     SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                         SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    /* Many records in one recv; a read continues until the socket is empty, so none is left. */
    SSL_CTX_set_read_ahead(ctx, 1);
    SSL_CTX_set_default_passwd_cb(ctx, tls_no_password);
    return ctx;
}

static struct tls *tls_new(SSL_CTX *ctx, bool server)
{
    struct tls *t = base_alloc(sizeof *t);

    *t = (struct tls){.server = server, .ctx = ctx, .bio = bio_method()};
    atomic_init(&t->uses, 1);
    return t;
}

static void tls_drop(struct tls *t)
{
    assert(atomic_load_explicit(&t->uses, memory_order_relaxed) > 0);
    if (atomic_fetch_sub_explicit(&t->uses, 1, memory_order_acq_rel) > 1)
        return;
    SSL_CTX_free(t->ctx);
    BIO_meth_free(t->bio);
    tls_sessions_free(t->sessions);
    free(t);
}

void tls_free(struct tls *t)
{
    if (t)
        tls_drop(t);
}

static int tls_on_session(SSL *ssl, SSL_SESSION *session)
{
    struct tls_link *k = SSL_get_app_data(ssl);

    assert(!k->tls->server && k->tls->sessions);
    tls_sessions_add(k->tls->sessions, str_c(k->host), session);
    return 1; /* it is ours to free */
}

static SSL_CTX *tls_client_context_new(void)
{
    static const unsigned char alpn[] = "\x08http/1.1";
    SSL_CTX *ctx = tls_context_new(TLS_client_method());

    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(ctx, tls_on_session);
    if (SSL_CTX_set_alpn_protos(ctx, alpn, sizeof alpn - 1) != 0)
        base_die("OpenSSL has no memory left");
    return ctx;
}

/* The context of all clients that trust the system's certificate authorities. There are more than a
 * hundred, and OpenSSL's first context takes milliseconds and a megabyte, so all of it waits until
 * somebody connects. */
static SSL_CTX *tls_system_ctx;
static pthread_once_t tls_system_once = PTHREAD_ONCE_INIT;

static void tls_system_load(void)
{
    const char *named = getenv("SSL_CERT_FILE");
    SSL_CTX *ctx = tls_client_context_new();
    X509_STORE *store = SSL_CTX_get_cert_store(ctx);
    bool loaded = false;

    if (named)
        loaded = X509_STORE_load_file(store, named) == 1;
    for (size_t i = 0; i < COUNT_OF(bundles) && !loaded; i++)
        loaded = access(bundles[i], R_OK) == 0 && X509_STORE_load_file(store, bundles[i]) == 1;
    if (!loaded && X509_STORE_set_default_paths(store) != 1)
        base_die("OpenSSL has no memory left");
    OPENSSL_thread_stop(); /* nothing of this thread is left if the process ends before it */
    tls_system_ctx = ctx;
}

void tls_load_authorities(void)
{
    (void)pthread_once(&tls_system_once, tls_system_load);
}

/* A certificate that the configuration names is trusted, even if it is self-signed. */
static bool tls_trust_file(SSL_CTX *ctx, const char *ca_file, struct err *e)
{
    ERR_clear_error();
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(ctx), X509_V_FLAG_PARTIAL_CHAIN);
    if (SSL_CTX_load_verify_file(ctx, ca_file) != 1)
        return err_input(
            e, "no certificate authorities can be read from %s: %s", ca_file, tls_ssl_reason());
    return true;
}

struct tls *tls_client_new(const char *ca_file, struct err *e)
{
    struct tls *t = tls_new(ca_file ? tls_client_context_new() : NULL, false);

    t->sessions = tls_sessions_new();
    if (!ca_file || tls_trust_file(t->ctx, ca_file, e))
        return t;
    tls_free(t);
    return NULL;
}

/* The context of a new link. */
static SSL_CTX *tls_context(const struct tls *t)
{
    if (t->ctx)
        return t->ctx;
    tls_load_authorities();
    assert(tls_system_ctx);
    return tls_system_ctx;
}

static int tls_on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_size,
                       const unsigned char *offered, unsigned offered_size, void *ctx)
{
    static const unsigned char ours[] = "\x08http/1.1\x08http/1.0";
    unsigned char *chosen;

    (void)ssl;
    (void)ctx;
    if (SSL_select_next_proto(&chosen, out_size, ours, sizeof ours - 1, offered, offered_size) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL; /* it speaks only what we do not */
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

struct tls *tls_server_new(const char *cert_file, const char *key_file, struct err *e)
{
    static const unsigned char name[] = "rationale";
    struct tls *t = tls_new(tls_context_new(TLS_server_method()), true);

    ERR_clear_error();
    SSL_CTX_set_alpn_select_cb(t->ctx, tls_on_alpn, NULL);
    if (SSL_CTX_set_session_id_context(t->ctx, name, sizeof name - 1) != 1)
        base_die("OpenSSL takes no session context");
    if (SSL_CTX_use_certificate_chain_file(t->ctx, cert_file) != 1)
        err_input(e, "no certificate can be read from %s: %s", cert_file, tls_ssl_reason());
    else if (SSL_CTX_use_PrivateKey_file(t->ctx, key_file, SSL_FILETYPE_PEM) != 1 &&
             ERR_GET_REASON(ERR_peek_error()) != X509_R_KEY_VALUES_MISMATCH)
        err_input(e, "no private key can be read from %s: %s", key_file, tls_ssl_reason());
    else if (SSL_CTX_check_private_key(t->ctx) != 1)
        err_input(e, "the key in %s is not that of %s: %s", key_file, cert_file, tls_ssl_reason());
    else
        return t;
    tls_free(t);
    return NULL;
}

static bool tls_are_dates_current(const char *file, const X509 *cert, struct err *e)
{
    const ASN1_TIME *from = X509_get0_notBefore(cert), *until = X509_get0_notAfter(cert);
    bool early = X509_cmp_current_time(from) > 0;
    struct tm t;
    char day[32];

    if ((!early && X509_cmp_current_time(until) >= 0) ||
        ASN1_TIME_to_tm(early ? from : until, &t) != 1)
        return true;
    (void)strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S UTC", &t);
    return err_input(e,
                     "the certificate in %s %s %s, so clients refuse it: renew it, or check the "
                     "clock of this machine",
                     file,
                     early ? "is not valid before" : "expired on",
                     day);
}

bool tls_is_current(const char *cert_file, struct err *e)
{
    BIO *file = BIO_new_file(cert_file, "r");
    X509 *cert = file ? PEM_read_bio_X509(file, NULL, NULL, NULL) : NULL;
    bool ok = !cert || tls_are_dates_current(cert_file, cert, e);

    X509_free(cert);
    BIO_free(file);
    ERR_clear_error();
    return ok;
}

/* Links. */

static bool tls_is_address(const char *host)
{
    unsigned char bytes[16];

    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

/* Sets the name that a client sends and verifies. */
static bool tls_name_host(struct tls_link *k)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(k->ssl);
    SSL_SESSION *session;

    assert(k->host[0] && k->tls->sessions);
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (tls_is_address(k->host)) {
        if (X509_VERIFY_PARAM_set1_ip_asc(param, k->host) != 1)
            return false;
    } else if (SSL_set1_host(k->ssl, k->host) != 1 ||
               SSL_set_tlsext_host_name(k->ssl, k->host) != 1) {
        return false;
    }
    session = tls_sessions_take(k->tls->sessions, str_c(k->host));
    if (session) {
        SSL_set_session(k->ssl, session);
        SSL_SESSION_free(session);
    }
    return true;
}

struct tls_link *tls_link_new(struct tls *t, int fd, str host, struct err *e)
{
    struct tls_link *k;
    BIO *bio;

    if (!t->server && (host.n == 0 || host.n > HOST_MAX || memchr(host.p, 0, host.n))) {
        err_input(e, "TLS needs a host name of 1 to %d bytes", HOST_MAX);
        return NULL;
    }
    k = base_alloc(sizeof *k);
    *k = (struct tls_link){.tls = t, .fd = fd};
    memcpy(k->host, host.p, t->server ? 0 : host.n);
    ERR_clear_error();
    k->ssl = SSL_new(tls_context(t));
    bio = BIO_new(t->bio);
    if (!k->ssl || !bio)
        base_die("OpenSSL has no memory left");
    atomic_fetch_add_explicit(&t->uses, 1, memory_order_relaxed);
    BIO_set_data(bio, k);
    BIO_set_init(bio, 1);
    SSL_set_bio(k->ssl, bio, bio);
    SSL_set_app_data(k->ssl, k);
    if (t->server)
        SSL_set_accept_state(k->ssl);
    else
        SSL_set_connect_state(k->ssl);
    if (t->server || tls_name_host(k))
        return k;
    err_input(e, "TLS cannot verify the host %s: %s", k->host, tls_ssl_reason());
    tls_link_free(k);
    return NULL;
}

void tls_link_no_alpn(struct tls_link *k)
{
    if (SSL_set_alpn_protos(k->ssl, NULL, 0) != 0)
        base_die("OpenSSL has no memory left");
}

void tls_link_free(struct tls_link *k)
{
    if (!k)
        return;
    /* Otherwise OpenSSL takes the session for a bad one, and it cannot be resumed. */
    if (k->shaken)
        SSL_set_shutdown(k->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(k->ssl);
    tls_drop(k->tls);
    free(k->fault);
    free(k);
}

/* Errors of certificates for which OpenSSL's text does not help. */
static const struct {
    long code;
    const char *what;
} verdicts[] = {
    {X509_V_ERR_HOSTNAME_MISMATCH, "is for another name"},
    {X509_V_ERR_IP_ADDRESS_MISMATCH, "is for another address"},
    {X509_V_ERR_CERT_HAS_EXPIRED, "has expired"},
    {X509_V_ERR_CERT_NOT_YET_VALID, "is not valid yet"},
    {X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, "is not trusted: it is self-signed"},
    {X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, "is not trusted: its authority is unknown here"},
    {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, "is not trusted: its authority is unknown here"},
    {X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, "is not trusted: its authority is unknown here"},
};

static void tls_describe_verdict(const struct tls_link *k, long code, struct err *e)
{
    for (size_t i = 0; i < COUNT_OF(verdicts); i++)
        if (verdicts[i].code == code) {
            err_set(e, ERR_UPSTREAM, "the certificate of %s %s", k->host, verdicts[i].what);
            return;
        }
    err_set(e,
            ERR_UPSTREAM,
            "the certificate of %s is not trusted: %s",
            k->host,
            X509_verify_cert_error_string(code));
}

static enum tls_result tls_report_failure(struct tls_link *k, struct err *e)
{
    int reason = ERR_GET_REASON(ERR_peek_error());
    long verdict = SSL_get_verify_result(k->ssl);
    const char *when = k->shaken ? "" : " during the TLS handshake";

    if (!k->tls->server && !k->shaken && verdict != X509_V_OK)
        tls_describe_verdict(k, verdict, e);
    else if (k->error != 0)
        err_set(e, ERR_UPSTREAM, "the connection broke%s: %s", when, strerrordesc_np(k->error));
    else if (k->eof)
        err_set(e,
                ERR_UPSTREAM,
                "the peer closed the connection%s%s",
                when,
                k->shaken ? " without ending TLS first" : "");
    else if (!k->shaken && (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST))
        err_set(e, ERR_UPSTREAM, "the peer does not speak TLS here");
    else
        err_set(e, ERR_UPSTREAM, "TLS failed%s: %s", when, tls_ssl_reason());
    ERR_clear_error();
    return TLS_FAILED;
}

/* The result of a call that did not succeed. */
static enum tls_result tls_judge(struct tls_link *k, int returned, struct err *e)
{
    switch (SSL_get_error(k->ssl, returned)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return TLS_AGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return TLS_END;
    default:
        return tls_report_failure(k, e);
    }
}

enum tls_result tls_link_shake(struct tls_link *k, struct err *e)
{
    enum tls_result result;
    int returned;

    ERR_clear_error();
    returned = SSL_do_handshake(k->ssl);
    if (returned != 1) {
        result = tls_judge(k, returned, e);
        return result == TLS_END ? tls_report_failure(k, e) : result;
    }
    k->shaken = true;
    /* Before 1.3 a session may be used again, and no new one is sent when it was. */
    if (!k->tls->server && SSL_session_reused(k->ssl) && SSL_version(k->ssl) < TLS1_3_VERSION)
        tls_sessions_add(k->tls->sessions, str_c(k->host), SSL_get1_session(k->ssl));
    return TLS_DONE;
}

enum tls_result tls_link_read(struct tls_link *k, char *bytes, size_t size, size_t *n,
                              struct err *e)
{
    enum tls_result result = TLS_DONE;
    struct err fault;

    *n = 0;
    if (k->fault) {
        *e = *k->fault;
        return TLS_FAILED;
    }
    while (*n < size && result == TLS_DONE) {
        size_t got = 0;
        int returned;

        ERR_clear_error();
        returned = SSL_read_ex(k->ssl, bytes + *n, size - *n, &got);
        *n += got;
        if (returned != 1)
            result = tls_judge(k, returned, &fault);
    }
    assert(*n <= size);
    if (result == TLS_FAILED && *n > 0) {
        k->fault = base_alloc(sizeof *k->fault);
        *k->fault = fault;
    } else if (result == TLS_FAILED) {
        *e = fault;
    }
    return *n > 0 && result != TLS_AGAIN ? TLS_DONE : result;
}

enum tls_result tls_link_write(struct tls_link *k, str bytes, size_t *n, struct err *e)
{
    *n = 0;
    while (*n < bytes.n) {
        size_t taken = 0;
        int returned;

        ERR_clear_error();
        returned = SSL_write_ex(k->ssl, bytes.p + *n, bytes.n - *n, &taken);
        if (returned != 1) {
            enum tls_result result = tls_judge(k, returned, e);

            return result == TLS_END ? tls_report_failure(k, e) : result;
        }
        *n += taken;
        assert(*n <= bytes.n);
    }
    return TLS_DONE;
}

void tls_link_end(struct tls_link *k)
{
    if (!k->shaken || k->error != 0)
        return;
    ERR_clear_error();
    SSL_shutdown(k->ssl);
    ERR_clear_error();
}

bool tls_link_resumed(const struct tls_link *k)
{
    return SSL_session_reused(k->ssl);
}
