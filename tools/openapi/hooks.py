"""What schemathesis has to be told about binary bodies. Loaded by it, for tools/schemathesis.py."""

import base64
import hashlib

import schemathesis

schemathesis.serializer.alias(
    ["application/vnd.tidemark.shipment", "application/partial-upload", "application/offset+octet-stream"], "application/octet-stream")


@schemathesis.hook
def before_call(context, case, kwargs):
    """Gives shipments that are right otherwise the digest of their bytes: that a digest is wrong is only one of the things to be found."""
    fields = case.headers or {}
    if isinstance(case.body, bytes) and fields.get("Content-Digest", "").startswith("sha-256=:") and hash(case.body) % 2 == 0:
        fields["Content-Digest"] = f"sha-256=:{base64.b64encode(hashlib.sha256(case.body).digest()).decode()}:"
