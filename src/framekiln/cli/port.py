"""The address of the service: whether it is free, which service uses it, and its URL."""

import errno
import json
import socket
from http.client import HTTPConnection, HTTPException  # noqa: TID251 - asks its own port
from typing import Final
from urllib.parse import urlsplit

from framekiln.kit.errors import Unavailable

_ANSWER_WITHIN_S: Final = 10
_BACKLOG: Final = 2048
"""Connections that wait for a process to accept them."""
_MAX_ANSWER_BYTES: Final = 4096
# The keys in our response to /readyz, unlike that of any other program; see `api/health.py`.
_OUR_CHECKS: Final = {"database", "storage"}


Socket = socket.socket


class PortUnavailable(Unavailable):
    """The service cannot listen on the address."""

    code = "port_unavailable"
    retryable = False


def require_free_port(host: str, port: int) -> None:
    """Raise, with the reason, if it is not possible to listen on this address."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            # Like the server, ignore connections that are closing.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen()
    except OSError as error:
        raise PortUnavailable(_explain(error, host, port)) from error


def listen(host: str, port: int) -> list[socket.socket]:
    """Return sockets that listen on all addresses of a host, for several processes."""
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            listener = socket.socket(family, kind, protocol)
            sockets.append(listener)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind(address)
            listener.listen(_BACKLOG)
    except OSError as error:
        for listener in sockets:
            listener.close()
        raise PortUnavailable(_explain(error, host, port)) from error
    return sockets


def take_listener(file_number: int) -> socket.socket:
    """Return a listening socket that the process that started us has opened."""
    listener = socket.socket(fileno=file_number)
    listener.setblocking(False)
    return listener


def keep_backlog(listener: socket.socket) -> None:
    """Let connections wait that no process has accepted yet."""
    listener.listen(_BACKLOG)


def local_url(host: str, port: int) -> str:
    """Return a URL at which this machine reaches a server that listens on `host`."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104
    return f"http://[{reachable}]:{port}" if ":" in reachable else f"http://{reachable}:{port}"


def is_service_at(host: str, port: int) -> bool:
    """Whether a Framekiln service responds at this URL."""
    reachable = urlsplit(local_url(host, port)).hostname
    assert reachable is not None, "a host was given"
    connection = HTTPConnection(reachable, port, timeout=_ANSWER_WITHIN_S)
    try:
        connection.request("GET", "/readyz")
        health = json.loads(connection.getresponse().read(_MAX_ANSWER_BYTES))
        return set(health["checks"]) == _OUR_CHECKS
    except (OSError, HTTPException, ValueError, TypeError, KeyError):
        return False
    finally:
        connection.close()


def _explain(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} on {host} is already in use; set FRAMEKILN_PORT"
    if error.errno == errno.EACCES:
        return (
            f"port {port} on {host} needs more rights than we have; set FRAMEKILN_PORT above 1023"
        )
    return f"cannot listen on {host}: {error.strerror}; set FRAMEKILN_HOST"
