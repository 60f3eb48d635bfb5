"""What the generator has to be told of NDJSON, the media type of batches."""

import json

import schemathesis
from hypothesis import strategies as st

NDJSON = "application/x-ndjson"

texts = st.text(st.characters(codec="utf-8"), max_size=60)
bodies = st.fixed_dictionaries(
    {"message": texts},
    optional={"additional_parameters": st.dictionaries(texts, texts, max_size=3)},
)
calls = st.fixed_dictionaries({"stage": st.sampled_from(["pre", "post"]), "body": bodies})
lines = st.one_of(calls.map(json.dumps), texts)
batches = st.lists(lines, max_size=5).map(lambda batch: "\n".join(batch).encode())

schemathesis.openapi.media_type(NDJSON, batches)


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """A type with a strategy of its own takes no example that is text."""
    batch = raw_schema["paths"]["/process_batch"]["post"]
    batch["requestBody"]["content"][NDJSON].pop("example", None)
