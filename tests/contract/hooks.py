"""NDJSON for the batch endpoint: how it is made up, and how it is sent."""

import json

import schemathesis
from hypothesis import strategies as st

texts = st.text(st.characters(codec="utf-8"), max_size=60)
bodies = st.fixed_dictionaries(
    {"message": texts},
    optional={"additional_parameters": st.dictionaries(texts, texts, max_size=3)},
)
calls = st.fixed_dictionaries({"stage": st.sampled_from(["pre", "post"]), "body": bodies})
lines = st.one_of(calls.map(json.dumps), texts)
batches = st.lists(lines, max_size=5).map(lambda batch: "\n".join(batch).encode())

schemathesis.openapi.media_type("application/x-ndjson", batches)


@schemathesis.serializer("application/x-ndjson")
def ndjson(context, value):
    return value if isinstance(value, bytes) else str(value).encode()
