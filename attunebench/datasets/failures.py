"""What a failed download is called: in a sentence, with the remedy, and whether it may heal by itself.

A `TransientError` is worth another try, a `DataError` is not. No address is shown but host and path, and nothing of
what a server or a proxy says about credentials.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urljoin, urlsplit, urlunsplit

from attunebench.backends.caught import fault_of_exception
from attunebench.backends.waits import asked_wait
from attunebench.datasets.sources import Address
from attunebench.errors import AttuneBenchError, DataError, TransientError
from attunebench.text import printable

OTHERWISE = "download it by other means, and give the file or the unpacked folder with --from"
_TRANSIENT = frozenset((408, 421, 425, 429))
_SENTENCES: Mapping[int, str] = {
    401: "{address} wants a login (401), which is not given here: {otherwise}.",
    403: "{address} may not be read from here (403): {otherwise}.",
    404: "There is nothing at {address} (404): it may have moved, or not be public. Give another address, a zip, a tar "
    "or a folder with --from.",
    407: "The proxy on the way to {host} wants a user and password (407): check HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, "
    "or {otherwise}.",
    410: "There is nothing at {address} any more (410): give another address, a zip, a tar or a folder with --from.",
}


def error_of_status(status: int, headers: Mapping[str, str], address: Address) -> AttuneBenchError:
    """The error for a response that brings no archive; header names in lower case."""
    if status in _TRANSIENT or status >= 500:
        reason = "takes no more requests for now (429)" if status == 429 else f"answered {status}"
        return TransientError(f"{address.host} {reason}", retry_after=asked_wait(status, headers, {}))
    sentence = _SENTENCES.get(status, "{address} answered {status} and no archive: {otherwise}.")
    return DataError(sentence.format(address=address, host=address.host, status=status, otherwise=OTHERWISE))


def error_of_exception(error: Exception, address: Address) -> AttuneBenchError:
    """The error for what the HTTP client or the system raised (`session.CATCHABLE`)."""
    fault = fault_of_exception(error)
    said = printable(fault.message, 200).rstrip(".")
    host = address.host
    if fault.line == "unknown host":
        return DataError(f"The host {host} is not known: check the address and the network connection, or {OTHERWISE}.")
    if fault.line == "certificate":
        return DataError(
            f"{host} shows no certificate that can be trusted ({said}): name the file of its authority in "
            f"SSL_CERT_FILE, or {OTHERWISE}."
        )
    if fault.line == "no tls":
        return DataError(f"{host} does not speak TLS at this address: is it http:// rather than https://?")
    if fault.line == "proxy" and 400 <= fault.status < 500 and fault.status not in _TRANSIENT:
        return DataError(
            f"The proxy on the way to {host} refuses the connection ({fault.status}): check HTTP_PROXY, HTTPS_PROXY "
            f"or ALL_PROXY, or {OTHERWISE}."
        )
    if fault.line in ("address", "client"):
        return DataError(f"{address} cannot be asked for: check the address, or {OTHERWISE}.")
    reasons = {
        "unreachable": f"no connection to {host} could be made",
        "timeout": f"{host} sent nothing for too long",
        "proxy": f"the proxy on the way to {host} did not connect",
    }
    reason = reasons.get(fault.line, f"the connection to {host} broke")
    return TransientError(f"{reason} ({said})" if said else reason)


def given_up(error: TransientError, tries: int, kept: str) -> DataError:
    """The error where no further try is made; `kept` says what is there to go on with, "" for nothing."""
    asked = f", and asks to wait {error.retry_after:.0f} s" if error.retry_after else ""
    reason = str(error).rstrip(".")
    count = "1 try" if tries == 1 else f"{tries} tries"
    return DataError(
        f"The download failed: {reason}{asked} (after {count}). {kept}Repeat the command later, or {OTHERWISE}."
    )


def next_address(here: Address, location: str) -> Address:
    """Where a redirect leads. Raises DataError where that is nowhere on the web, or would leave TLS behind."""
    try:
        parts = urlsplit(urljoin(here.url, location))
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or not location.isprintable():
        raise DataError(f"{here} redirects to what is no address on the web: {OTHERWISE}.")
    if urlsplit(here.url).scheme.lower() == "https" and parts.scheme == "http":
        raise DataError(
            f"{here} redirects from https to http ({printable(parts.netloc.rpartition('@')[2])}), where anybody on the "
            f"way could change the data: {OTHERWISE}."
        )
    return Address(urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="")))
