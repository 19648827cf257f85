"""TLS between brokers: both sides show a certificate of the chart's authority, which names the broker that holds it."""

import ssl
from typing import Any

from skyband.broker.chart.field import BadChart
from skyband.broker.chart.network_chart import TlsFiles


def peer_context(files: TlsFiles, is_server: bool) -> ssl.SSLContext:
    """What both ends of a link are opened with: without a certificate of the authority nobody is let in."""
    context = _context(files, is_server)
    _trust(context, files.authority)
    # Names are those of the chart, not of machines, and are compared by `check_name`.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def client_port_context(files: TlsFiles, authority: Any = None) -> ssl.SSLContext:
    """What a port for clients is opened with; with an authority, clients have to show a certificate of it."""
    context = _context(files, True)
    if authority is not None:
        _trust(context, authority)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def names_in(certificate: dict[str, Any] | None) -> set[str]:
    """The names in a certificate: its common name and its DNS names."""
    if not certificate:
        return set()
    subject = [pair for part in certificate.get("subject", ()) for pair in part]
    common = {value for key, value in subject if key == "commonName"}
    return common | {value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"}


def reason_against(error: BaseException) -> str:
    """What is wrong with a handshake, in a sentence."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS was refused: the certificate of the other side is not good: {error.verify_message}."
    if isinstance(error, ssl.SSLError):
        reason = (error.reason or str(error)).replace("_", " ").lower()
        return f"TLS was refused: {reason}."
    return f"The connection was lost: {error}." if str(error) else "The connection was lost."


def _context(files: TlsFiles, is_server: bool) -> ssl.SSLContext:
    purpose = ssl.PROTOCOL_TLS_SERVER if is_server else ssl.PROTOCOL_TLS_CLIENT
    context = ssl.SSLContext(purpose)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(files.certificate, files.key)
    except FileNotFoundError:
        raise BadChart(f"There is no certificate {files.certificate} with the key {files.key}.") from None
    except (OSError, ssl.SSLError) as error:
        raise BadChart(
            f"The certificate {files.certificate} and the key {files.key} cannot be used: {error}."
        ) from None
    return context


def _trust(context: ssl.SSLContext, authority: Any) -> None:
    try:
        context.load_verify_locations(authority)
    except FileNotFoundError:
        raise BadChart(f"There is no certificate of an authority {authority}.") from None
    except (OSError, ssl.SSLError) as error:
        raise BadChart(f"The certificate of the authority {authority} cannot be used: {error}.") from None
