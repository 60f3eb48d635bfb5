"""Drives the Responses or the Messages API of a gateway with the official packages, retries off.

Arguments: name of the package, base URL of a gateway with the demo model, without /v1, access key, and two
applications in synchronous mode, of which the second holds streams back. Exits non-zero with the reason on
anything that is not as it should be.
"""

import sys

PACKAGE, BASE, KEY, SYNC, HELD = sys.argv[1:6]
PHRASE = "This is not allowed here."
CARD = "4111 1111 1111 1111"
FORBIDDEN = f"My card is {CARD}"
# The demo model says what stands behind the word.
LEAK = f"echo: Your card is {CARD}, as you know"


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


class Openai:
    def __init__(self, key=KEY, application=None):
        import openai

        self.error = openai.APIStatusError
        self.kind = openai.AuthenticationError
        self.api = openai.OpenAI(
            base_url=f"{BASE}/v1", api_key="sk-test", default_headers=headers(key, application), max_retries=0, timeout=20
        )

    def ask(self, text):
        answer = self.api.responses.create(model="demo-small", input=text)
        expect(answer.status == "completed" and answer.model == "demo-small", answer)
        return answer.id, answer.output_text

    def stream(self, text):
        with self.api.responses.stream(model="demo-small", input=text) as stream:
            said = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
            whole = stream.get_final_response()
        expect(whole.output_text == said, f"{whole.output_text!r} instead of {said!r}")
        expect(whole.status == "completed" and whole.model == "demo-small", whole)
        return whole.id, said


class Anthropic:
    def __init__(self, key=KEY, application=None):
        import anthropic

        self.error = anthropic.APIStatusError
        self.kind = anthropic.AuthenticationError
        self.api = anthropic.Anthropic(
            base_url=BASE, api_key="sk-test", default_headers=headers(key, application), max_retries=0, timeout=20
        )

    def ask(self, text):
        answer = self.api.messages.create(model="demo-small", max_tokens=1000, messages=user(text))
        expect(answer.stop_reason == "end_turn" and answer.model == "demo-small", answer)
        return answer.id, answer.content[0].text

    def stream(self, text):
        with self.api.messages.stream(model="demo-small", max_tokens=1000, messages=user(text)) as stream:
            said = "".join(stream.text_stream)
            whole = stream.get_final_message()
        expect(whole.content[0].text == said, f"{whole} instead of {said!r}")
        expect(whole.stop_reason == "end_turn" and whole.model == "demo-small", whole)
        return whole.id, said


def user(text):
    return [{"role": "user", "content": text}]


def headers(key, application):
    named = {"X-Application-Id": application} if application else {}
    return {"X-Monitor-Api-Key": key} | named


def main():
    client = {"openai": Openai, "anthropic": Anthropic}[PACKAGE]
    for call in ("ask", "stream"):
        _, said = getattr(client(), call)("Hello there")
        expect(len(said.split()) > 3, f"{call}: {said!r}")
        _, said = getattr(client(application=SYNC), call)("Hello there")
        expect(len(said.split()) > 3, f"{call} in sync mode: {said!r}")
        first, said = getattr(client(application=SYNC), call)(FORBIDDEN)
        expect(said == PHRASE, f"{call}, blocked: {said!r}")
        second, _ = getattr(client(application=SYNC), call)(FORBIDDEN)
        expect(first.startswith("monitor-guardrails-") and first != second, (first, second))
    # The prompt passes there, since only answers are looked at.
    _, said = client(application=HELD).stream(LEAK)
    expect(said == f"Your card is {PHRASE}", f"held back: {said!r}")
    _, said = client(application=HELD).stream("echo: Nothing to see here.")
    expect(said == "Nothing to see here.", f"passed: {said!r}")
    refused = client(key="")
    try:
        refused.ask("Hello")
    except refused.error as error:
        expect(type(error) is refused.kind and error.status_code == 401, repr(error))
        expect("X-Monitor-Api-Key" in str(error), str(error))
    else:
        raise AssertionError("a call without a key succeeded")
    print(PACKAGE, "ok")


main()
