"""Who may ask. The server runs on a person's own machine, where any web page they visit can send requests to it."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}


NO_TOKEN = "Open the address that gaits explore printed when it began, with the token at its end: ...?token=..."


class Guard:
    """Refuses requests that were not made by this server's own page, and adds the security headers to every answer.

    Others on this machine can reach the server too, so it asks for a token, as Jupyter does: it is in the address that is
    printed, and then in a cookie, which also tells browsers from each other. Without ``token``, nobody is asked for one.

    A page of another site may point a name of its own at 127.0.0.1 (DNS rebinding); its requests then carry that name as
    their Host. Numeric addresses cannot be rebound, so a server that listens everywhere takes those.
    """

    def __init__(self, app: ASGIApp, host: str, token: str | None = None) -> None:
        self.app, self.token = app, token
        everywhere = host in ("0.0.0.0", "::", "")
        self.any_address = everywhere
        own = {socket.gethostname(), socket.getfqdn()} if everywhere else {host}
        self.names = LOOPBACK | {name.lower() for name in own}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, _with_headers(send))
        else:  # websockets: there are none here
            await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            message = f"This server answers to {', '.join(sorted(self.names))}, not to {', '.join(hosts) or 'no name'}."
            await JSONResponse({"error": message}, 421)(scope, receive, send)
        elif _is_foreign(headers, hosts[0], scope):
            await JSONResponse({"error": "Requests from pages of other sites are refused."}, 403)(scope, receive, send)
        elif self.token is not None and self._is_token(_asked_with(scope)):
            cookie = f"{_cookie_name(hosts[0])}={self.token}.{secrets.token_hex(8)}; Path=/; HttpOnly; SameSite=Strict"
            await self.app(scope, receive, _with_cookie(send, cookie) if scope["path"] == "/" else send)
        elif self.token is not None and not self._is_known(headers, hosts[0], scope):
            await JSONResponse({"error": NO_TOKEN}, 403)(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _is_token(self, word: str) -> bool:
        return hmac.compare_digest(word.encode(errors="replace"), str(self.token).encode())

    def _is_known(self, headers: Headers, host: str, scope: Scope) -> bool:
        """Whether it comes with our cookie; what tells browsers apart is then the request's ``client_name``."""
        cookie = cookie_parser(headers.get("cookie", "")).get(_cookie_name(host), "")
        token, _, name = cookie.rpartition(".")
        scope["client_name"] = name[:32]
        return self._is_token(token)

    def _is_own(self, host: str) -> bool:
        try:
            parts = urlsplit(f"//{host}")
            name, _ = parts.hostname or "", parts.port
        except ValueError:
            return False
        return "@" not in host and (name in self.names or (self.any_address and _is_address(name)))


def _asked_with(scope: Scope) -> str:
    """The token in the address, if there is one."""
    try:
        found = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=10)
    except ValueError:
        return ""
    return found.get("token", [""])[0]


def _cookie_name(host: str) -> str:
    """Cookies are shared by all ports of a machine, and several explorers may run on one."""
    return f"gaits-{urlsplit(f'//{host}').port or 80}"


def _is_foreign(headers: Headers, host: str, scope: Scope) -> bool:
    origin = headers.get("origin")
    if origin is not None:
        try:
            return urlsplit(origin).netloc.lower() != host.lower()
        except ValueError:
            return True
    # Following a link to the page itself is harmless; fetching anything, or framing it, is not.
    visit = (
        scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    )
    return headers.get("sec-fetch-site", "none") not in ("same-origin", "none") and not visit


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _with_cookie(send: Send, cookie: str) -> Send:
    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).append("set-cookie", cookie)
        await send(message)

    return wrapped


def _with_headers(send: Send) -> Send:
    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return wrapped
