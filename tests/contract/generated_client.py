"""Calls the gateway and the analysis API through the clients that openapi-python-client made of their documents.

Arguments: folder of both clients, `gateway` and `analysis`, beside the documents of the same names; base URLs of
gateway and analysis API; access key. Exits non-zero with the reason on anything that is not as it should be.
"""

import importlib
import json
import re
import sys
from http import HTTPStatus
from io import BytesIO

FOLDER, GATEWAY, ANALYSIS, KEY = sys.argv[1:5]
sys.path.insert(0, FOLDER)

import analysis  # noqa: E402
import gateway  # noqa: E402
from analysis import models as shapes  # noqa: E402
from analysis.types import File  # noqa: E402
from gateway import models as chat  # noqa: E402

PHRASE = "I cannot help with that."


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def operations(document):
    """Tag and id of every operation of a document."""
    with open(f"{FOLDER}/{document}.json", encoding="utf-8") as file:
        paths = json.load(file)["paths"]
    for item in paths.values():
        for operation in item.values():
            yield operation["tags"][0], operation["operationId"]


def module(package, tag, operation):
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", operation).lower()
    return importlib.import_module(f"{package}.api.{tag.replace(' ', '_')}.{name}")


def everything_is_there():
    for document in ("gateway", "analysis"):
        for tag, operation in operations(document):
            expect(hasattr(module(document, tag, operation), "sync_detailed"), operation)


class Api:
    """The operations of one document by their ids."""

    def __init__(self, package, client):
        self.client = client
        self.modules = {name: module(package, tag, name) for tag, name in operations(package)}

    def answer(self, operation, *path, status=HTTPStatus.OK, **arguments):
        """Calls an operation and gives what the client made of the answer."""
        call = self.modules[operation].sync_detailed
        response = call(*path, client=self.client, **arguments)
        expect(response.status_code == status, f"{operation}: {response}")
        return response.parsed


def gateway_api(key=KEY):
    make = gateway.AuthenticatedClient
    client = make(base_url=GATEWAY, token=key, prefix="", auth_header_name="X-Monitor-Api-Key")
    return Api("gateway", client)


def analysis_api():
    return Api("analysis", analysis.AuthenticatedClient(base_url=ANALYSIS, token=KEY))


def request(text):
    message = chat.ChatMessage(role="user", content=text)
    return chat.ChatCompletionRequest(model="demo-small", messages=[message])


def chat_and_embeddings():
    api = gateway_api()
    files = json.dumps([{"content_base64": "aGVsbG8=", "name": "a.txt"}])
    answer = api.answer(
        "createChatCompletion", body=request("hello"), x_attached_files=files, x_user_id="u-generated"
    )
    expect(isinstance(answer, chat.ChatCompletion), answer)
    expect(answer.choices[0].message.content, answer)
    for given in ("The food was good.", ["one", "two"], [1, 2], [[1, 2], [3]]):
        body = chat.EmbeddingsRequest(model="demo-small", input_=given)
        vectors = api.answer("createEmbedding", body=body)
        expect(vectors.data[0].embedding, vectors)
    expect(api.answer("listModels").data[0].id, "no models")
    refused = gateway_api(key="invented").answer(
        "createChatCompletion", body=request("hello"), status=HTTPStatus.UNAUTHORIZED
    )
    expect(refused.error.code == 401, refused)


def applications(api):
    """An application that blocks, and its policy in steps."""
    made = api.answer(
        "createApplication",
        body=shapes.NewApplication.from_dict(
            {"name": "generated", "policy": {"app_mode": "sync", "phrase": "No.", "local_patterns": None}}
        ),
        status=HTTPStatus.CREATED,
    )
    patch = shapes.ChangePolicy.from_dict({"version": made.version, "policy": {"phrase": PHRASE}})
    changed = api.answer("changePolicy", made.id, body=patch)
    expect(changed.policy.phrase == PHRASE, changed)
    replaced = api.answer(
        "replacePolicy",
        made.id,
        body=shapes.ReplacePolicy.from_dict(
            {
                "policy": {
                    "app_mode": "sync",
                    "phrase": PHRASE,
                    "stream_in_sync": "hold_back",
                    "replace_response": False,
                    "redact_upstream": None,
                    "block_on": {"dataclean": True},
                }
            }
        ),
        if_match=f'"{changed.version}"',
    )
    expect(replaced.policy.stream_in_sync == "hold_back", replaced)
    return made.id


def blocked(application):
    answer = gateway_api().answer(
        "createChatCompletion", body=request("My card is 4111 1111 1111 1111"), x_application_id=str(application)
    )
    expect(answer.id.startswith("monitor-guardrails-"), answer)
    expect(answer.choices[0].message.content == PHRASE, answer)
    expect(answer.metadata.monitor.response_replacement.type_ == "dataclean", answer)


def messages(api, application):
    """Both stages, with rules of the application and of the request; the record; a file."""
    message = shapes.Message.from_dict(
        {
            "application_id": str(application),
            "message": "Write to anna@example.com",
            "additional_parameters": {"user_id": "u-generated"},
        }
    )
    verdict = api.answer("processRequest", body=message)
    expect(verdict.dataclean.types[0].type_ == "EMAILS", verdict)
    expect(api.answer("processResponse", body=message).status == "success", verdict)
    inline = {"source": "inline", "inline": {"dataclean": {"enabled": True, "patterns": ["IP"]}}}
    own = shapes.OverrideMessage.from_dict(
        {"application_id": str(application), "message": "from 192.0.2.7", "validation_config": inline}
    )
    for operation in ("processRequestOverride", "processResponseOverride"):
        expect(api.answer(operation, body=own).dataclean.flagged, operation)
    lines = "".join(
        json.dumps({"stage": stage, "body": {"application_id": str(application), "message": "one"}}) + "\n"
        for stage in ("pre", "post")
    )
    batch = File(payload=BytesIO(lines.encode()))
    verdicts = api.answer("processBatch", body=batch).payload.read()
    expect([json.loads(line)["status"] for line in verdicts.splitlines()] == [200, 200], verdicts)
    file = File(payload=BytesIO(b"to anna@example.com"), file_name="a.txt", mime_type="text/plain")
    attached = api.answer(
        "attachToPrompt", verdict.request_id, body=shapes.AttachedFiles(attached_files=[file])
    )
    record = api.answer("getRecord", verdict.request_id)
    expect(record.attachments[0].sha256 == attached[0].sha256, record)
    return verdict


def records(api):
    page = api.answer("listRecords", user_id="u-generated", stage=shapes.Stage.PRE, limit=1)
    expect(len(page.records) == 1, page)
    exported = api.answer("exportRecords", user_id="u-generated").payload.read()
    expect(json.loads(exported.splitlines()[0])["user_id"] == "u-generated", exported)
    expect(api.answer("getStatistics").days[0].messages > 0, "no statistics")
    missing = api.answer(
        "getRecord", "00000000-0000-4000-8000-000000000000", status=HTTPStatus.NOT_FOUND
    )
    expect(missing.error.code == 404, missing)


def tokens(api):
    made = api.answer(
        "createToken",
        body=shapes.NewToken.from_dict({"name": "generated", "scopes": ["ingest"], "expires_in": "90d"}),
        status=HTTPStatus.CREATED,
    )
    expect(made.value.startswith("mon_"), "no value")
    api.answer("revokeToken", made.id)
    expect(api.answer("getToken", made.id).revoked_at_ms, "not revoked")


def main():
    everything_is_there()
    chat_and_embeddings()
    api = analysis_api()
    application = applications(api)
    blocked(application)
    messages(api, application)
    records(api)
    tokens(api)
    print("every call through the generated Python clients is right")


main()
