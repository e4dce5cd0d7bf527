"""A mail server (aiosmtpd) for tests: prints its port, then each accepted message as a line of
JSON.

    mail_server.py [--cert FILE --key FILE] [--mode plain|starttls|tls] [--user NAME --password WORD]
                   [--auth PLAIN,LOGIN]

An address that begins with "refused" is rejected permanently, one with "later" on its first
attempt only.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import asyncio
import json
import logging
import ssl
import warnings

from aiosmtpd.smtp import SMTP, AuthResult

logging.disable()
warnings.simplefilter("ignore")
p = argparse.ArgumentParser()
for name in ("cert", "key", "user", "password"):
    p.add_argument("--" + name)
p.add_argument("--mode", default="plain")
p.add_argument("--auth", default="PLAIN,LOGIN")
o = p.parse_args()


class Handler:
    seen = set()

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("refused"):
            return "550 5.1.1 no such mailbox"
        if address.startswith("later") and address not in self.seen:
            self.seen.add(address)
            return "451 4.3.0 come back later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        print(json.dumps({"from": envelope.mail_from, "to": envelope.rcpt_tos, "tls": session.ssl is not None,
                          "auth": bool(session.authenticated),
                          "content": envelope.content.decode("latin-1")}), flush=True)
        return "250 2.0.0 taken"


def check(server, session, envelope, mechanism, data):
    good = data.login.decode() == o.user and data.password.decode() == o.password
    return AuthResult(success=good, handled=False if not good else True)


async def serve():
    context = None
    if o.cert:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(o.cert, o.key)
    exclude = [m for m in ("PLAIN", "LOGIN") if m not in o.auth.split(",")]

    def protocol():
        return SMTP(Handler(), hostname="mail.test", tls_context=context if o.mode == "starttls" else None,
                    require_starttls=o.mode == "starttls", authenticator=check if o.user else None,
                    auth_required=bool(o.user), auth_require_tls=o.mode == "starttls",
                    auth_exclude_mechanism=exclude, loop=asyncio.get_running_loop())

    server = await asyncio.get_running_loop().create_server(
        protocol, "127.0.0.1", 0, ssl=context if o.mode == "tls" else None)
    print(f"port {server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


asyncio.run(serve())
