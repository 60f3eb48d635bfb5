"""Drives a gateway with the official `openai` package, retries off.

Arguments: base URL of a gateway with the demo model, access key, base URL of a gateway whose
upstream is down. Exits non-zero with the reason on anything that is not as it should be.
"""

import sys

import openai

BASE, KEY, BROKEN = sys.argv[1:4]
MODEL = "demo-small"
HELLO = [{"role": "user", "content": "Hello there"}]


def client(base=BASE, upstream_key="sk-test", headers=None):
    headers = {"X-Monitor-Api-Key": KEY} if headers is None else headers
    return openai.OpenAI(
        base_url=base, api_key=upstream_key, default_headers=headers, max_retries=0, timeout=20
    )


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def fails(kind, status, error_type, call):
    """Runs a call that must fail in this way."""
    try:
        call()
    except openai.APIStatusError as error:
        expect(type(error) is kind, f"{type(error).__name__} instead of {kind.__name__}: {error}")
        expect(error.status_code == status, f"status {error.status_code} instead of {status}")
        expect(isinstance(error.body, dict), f"no envelope: {error.body!r}")
        expect(error.body.get("type") == error_type, f"{error.body} instead of {error_type}")
        expect(error.body.get("message"), f"no message: {error.body}")
        return error
    raise AssertionError(f"{kind.__name__} {status} was expected, the call succeeded")


def ask(api, **changes):
    return api.chat.completions.create(**({"model": MODEL, "messages": HELLO} | changes))


def chat():
    answer = ask(client())
    expect(answer.object == "chat.completion", answer)
    expect(answer.model == MODEL, answer)
    expect(answer.choices[0].message.role == "assistant", answer)
    expect(answer.choices[0].message.content, "an empty answer")
    expect(answer.choices[0].finish_reason == "stop", answer)
    usage = answer.usage
    expect(usage.total_tokens == usage.prompt_tokens + usage.completion_tokens, usage)


def stream():
    text, chunks, reasons = "", 0, []
    for chunk in ask(client(), stream=True):
        expect(chunk.object == "chat.completion.chunk", chunk)
        chunks += 1
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reasons += [choice.finish_reason] if choice.finish_reason else []
    expect(chunks > 2, f"only {chunks} chunks")
    expect(reasons == ["stop"], reasons)
    expect(text == ask(client()).choices[0].message.content, f"stream and plain differ: {text!r}")


def stream_left_early():
    """Leaving a stream must not disturb the calls after it."""
    with ask(client(), stream=True) as chunks:
        next(iter(chunks))
    chat()


def embeddings():
    for coding in ("float", "base64"):
        answer = client().embeddings.create(model=MODEL, input=["one", "two"], encoding_format=coding)
        expect([item.index for item in answer.data] == [0, 1], answer)
        expect(all(item.embedding for item in answer.data), "an empty vector")
    vectors = client().embeddings.create(model=MODEL, input="one").data
    expect(len(vectors) == 1 and isinstance(vectors[0].embedding[0], float), "no vector of floats")


def models():
    expect(MODEL in [model.id for model in client().models.list()], "the demo's model is not listed")


def refusals_by_the_gateway():
    keyless = client(headers={})
    calls = [
        lambda: ask(keyless),
        lambda: ask(keyless, stream=True),
        lambda: keyless.embeddings.create(model=MODEL, input="x"),
        lambda: keyless.models.list(),
    ]
    for call in calls:
        error = fails(openai.AuthenticationError, 401, "invalid_request_error", call)
        expect(error.body["code"] == 401, error.body)


def refusals_by_the_upstream():
    api = client()
    error = fails(openai.RateLimitError, 429, "rate_limit_error", lambda: ask(api, model="rate-limited"))
    expect(error.response.headers.get("x-request-id"), "no X-Request-Id on an error")
    rejected = client(upstream_key="invalid")
    fails(openai.AuthenticationError, 401, "invalid_request_error", lambda: ask(rejected))
    incomplete = {"model": MODEL}
    fails(
        openai.BadRequestError,
        400,
        "invalid_request_error",
        lambda: api.post("/chat/completions", body=incomplete, cast_to=object),
    )
    for changes in ({}, {"stream": True}):
        call = lambda: ask(api, model="overloaded", **changes)
        error = fails(openai.InternalServerError, 503, "upstream_error", call)
        expect(error.body["code"] == 503, error.body)


def an_upstream_that_is_down():
    api = client(base=BROKEN)
    calls = [
        lambda: ask(api),
        lambda: ask(api, stream=True),
        lambda: api.embeddings.create(model=MODEL, input="x"),
        lambda: api.models.list(),
    ]
    for call in calls:
        error = fails(openai.InternalServerError, 502, "gateway_error", call)
        expect(error.body["code"] == 502, error.body)


if __name__ == "__main__":
    for check in (
        chat,
        stream,
        stream_left_early,
        embeddings,
        models,
        refusals_by_the_gateway,
        refusals_by_the_upstream,
        an_upstream_that_is_down,
    ):
        try:
            check()
        except Exception as error:
            sys.exit(f"{check.__name__}: {type(error).__name__}: {error}")
        print(f"ok {check.__name__}")
