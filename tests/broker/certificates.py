"""Certificates for tests: authorities, and what they sign for brokers, good, expired, or for somebody else."""

import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = datetime.timedelta(days=1)


class Authority:
    """An authority, whose certificate is the file `authority.pem` of a folder."""

    def __init__(self, folder: Path, title: str = "authority") -> None:
        self.folder, self.file = folder, folder / f"{title}.pem"
        self._key, self._name = ec.generate_private_key(ec.SECP256R1()), _name(title)
        signed = _builder(self._name, self._name, self._key.public_key(), DAY)
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        signed = signed.add_extension(x509.BasicConstraints(True, None), True).add_extension(usage, True)
        certificate = signed.add_extension(identifier, False).sign(self._key, hashes.SHA256())
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def sign(self, name: str, file: str | None = None, good_for: datetime.timedelta = DAY) -> None:
        """Write a certificate for a broker and its key, named by the broker unless a file is given."""
        key = ec.generate_private_key(ec.SECP256R1())
        signed = _builder(_name(name), self._name, key.public_key(), good_for)
        names = x509.SubjectAlternativeName([x509.DNSName(name), x509.DNSName("localhost")])
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        signed = signed.add_extension(names, False).add_extension(authority, False)
        certificate = signed.sign(self._key, hashes.SHA256())
        place = self.folder / (file or name)
        place.with_suffix(".pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        place.with_suffix(".key").write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )


def _name(title: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, title)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, good_for: datetime.timedelta
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 2 * DAY)
        .not_valid_after(now + good_for)
    )
