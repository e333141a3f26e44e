"""Who may ask. The server runs on a person's own machine, where any web page they visit can send requests to it."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
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


class Guard:
    """Refuses requests that were not made by this server's own page, and adds the security headers to every answer.

    A page of another site may point a name of its own at 127.0.0.1 (DNS rebinding); its requests then carry that name as
    their Host. Numeric addresses cannot be rebound, so a server that listens everywhere takes those.
    """

    def __init__(self, app: ASGIApp, host: str) -> None:
        self.app = app
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
        else:
            await self.app(scope, receive, send)

    def _is_own(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name in self.names or (self.any_address and _is_address(name))


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


def _with_headers(send: Send) -> Send:
    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return wrapped
