"""Asks a gateway through one library and says what its user sees.

Arguments: the library's name, the gateway's base URL, an access key, and the cells to fill as JSON, a list of
[name, what to do, application, text, what the user should see, whether it is a block]. Prints a JSON object with the
library's version and what was seen in each cell: "shown", "nothing", "no id" for a block whose phrase is shown without
the id that says what it is, or how it failed; null for what the library has no way to do.
"""

import asyncio
import importlib.metadata
import json
import subprocess
import sys

LIBRARY, BASE, KEY, CELLS = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
MODEL = "test-model"
BLOCK = "monitor-guardrails-"
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather in a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def headers(app):
    return {"X-Monitor-Api-Key": KEY, "X-Application-Id": app}


def user(text):
    return [{"role": "user", "content": text}]


class Answer:
    """The text of an answer, and every id that the library hands over with it."""

    def __init__(self, text, *ids):
        self.text, self.ids = text, {one for one in ids if one}


def joined(parts):
    """One answer of (text, id) pairs."""
    parts = list(parts)
    return Answer("".join(text or "" for text, _ in parts), *(one for _, one in parts))


class OpenAI:
    package = "openai"

    def client(self, app):
        from openai import OpenAI

        return OpenAI(base_url=BASE, api_key="sk-test", default_headers=headers(app), max_retries=0)

    def ask(self, app, text, **changes):
        return self.client(app).chat.completions.create(model=MODEL, messages=user(text), **changes)

    def call(self, app, text):
        answer = self.ask(app, text)
        return Answer(answer.choices[0].message.content, answer.id)

    def stream(self, app, text):
        chunks = self.ask(app, text, stream=True, stream_options={"include_usage": True})
        return joined((choice.delta.content, chunk.id) for chunk in chunks for choice in chunk.choices)

    def tools(self, app, text):
        call = self.ask(app, text, tools=[WEATHER]).choices[0].message.tool_calls[0].function
        return f"{call.name} {json.loads(call.arguments)['city']}"


class LangChain:
    package = "langchain-openai"

    def chat(self, app):
        from langchain_openai import ChatOpenAI

        own = {"default_headers": headers(app), "max_retries": 0}
        return ChatOpenAI(model=MODEL, base_url=BASE, api_key="sk-test", **own)

    def answer(self, message):
        return Answer(message.content, message.response_metadata.get("id"))

    def call(self, app, text):
        return self.answer(self.chat(app).invoke(text))

    def stream(self, app, text):
        chunks = list(self.chat(app).stream(text))
        return self.answer(sum(chunks[1:], chunks[0]))

    def tools(self, app, text):
        call = self.chat(app).bind_tools([WEATHER]).invoke(text).tool_calls[0]
        return f"{call['name']} {call['args']['city']}"


class PydanticAi:
    package = "pydantic-ai-slim"

    def agent(self, app):
        from openai import AsyncOpenAI
        from pydantic_ai import Agent
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        client = AsyncOpenAI(base_url=BASE, api_key="sk-test", default_headers=headers(app), max_retries=0)
        return Agent(OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client)))

    def call(self, app, text):
        answer = asyncio.run(self.agent(app).run(text))
        return Answer(answer.output, answer.response.provider_response_id)

    def stream(self, app, text):
        async def read():
            async with self.agent(app).run_stream(text) as answer:
                said = await answer.get_output()
                return Answer(said, answer.response.provider_response_id)

        return asyncio.run(read())

    def tools(self, app, text):
        agent, called = self.agent(app), []

        @agent.tool_plain
        def weather(city: str) -> str:
            called.append(f"weather {city}")
            return "sunny"

        asyncio.run(agent.run(text))
        return called[0]


class Agents:
    """The Agents SDK with its model of chat completions; its default is the Responses API."""

    package = "openai-agents"

    def agent(self, app, tools=()):
        import agents
        from openai import AsyncOpenAI

        agents.set_tracing_disabled(True)
        client = AsyncOpenAI(base_url=BASE, api_key="sk-test", default_headers=headers(app), max_retries=0)
        model = agents.OpenAIChatCompletionsModel(model=MODEL, openai_client=client)
        return agents.Agent(name="matrix", model=model, tools=list(tools))

    def call(self, app, text):
        import agents

        result = asyncio.run(agents.Runner.run(self.agent(app), text))
        return Answer(result.final_output, result.raw_responses[-1].response_id)

    def stream(self, app, text):
        import agents

        async def read():
            parts, ids = [], []
            result = agents.Runner.run_streamed(self.agent(app), text)
            async for event in result.stream_events():
                if event.type != "raw_response_event":
                    continue
                if event.data.type == "response.output_text.delta":
                    parts.append(event.data.delta)
                if event.data.type == "response.completed":
                    ids.append(event.data.response.id)
            ids += [response.response_id for response in result.raw_responses]
            return Answer("".join(parts), *ids)

        return asyncio.run(read())

    def tools(self, app, text):
        import agents

        called = []

        @agents.function_tool
        def weather(city: str) -> str:
            called.append(f"weather {city}")
            return "sunny"

        asyncio.run(agents.Runner.run(self.agent(app, [weather]), text))
        return called[0]


class AutoGen:
    package = "autogen-agentchat"

    def client(self, app):
        from autogen_ext.models.openai import OpenAIChatCompletionClient

        own = {"default_headers": headers(app), "max_retries": 0}
        able = {"vision": False, "function_calling": True, "json_output": False, "structured_output": False}
        own["model_info"] = able | {"family": "unknown"}
        return OpenAIChatCompletionClient(model=MODEL, base_url=BASE, api_key="sk-test", **own)

    def agent(self, app, tools=()):
        from autogen_agentchat.agents import AssistantAgent

        return AssistantAgent("matrix", model_client=self.client(app), tools=list(tools))

    def call(self, app, text):
        result = asyncio.run(self.agent(app).run(task=text))
        return Answer(result.messages[-1].content)

    def stream(self, app, text):
        from autogen_core.models import UserMessage

        async def read():
            parts = []
            async for part in self.client(app).create_stream([UserMessage(content=text, source="user")]):
                if isinstance(part, str):
                    parts.append(part)
            return Answer("".join(parts))

        return asyncio.run(read())

    def tools(self, app, text):
        called = []

        def weather(city: str) -> str:
            """The weather in a city"""
            called.append(f"weather {city}")
            return "sunny"

        asyncio.run(self.agent(app, [weather]).run(task=text))
        return called[0]


class Haystack:
    package = "haystack-ai"

    def ask(self, app, text, **changes):
        from haystack.components.generators.chat import OpenAIChatGenerator
        from haystack.dataclasses import ChatMessage
        from haystack.utils import Secret

        own = {"max_retries": 0, "http_client_kwargs": {"headers": headers(app)}}
        generator = OpenAIChatGenerator(Secret.from_token("sk-test"), MODEL, api_base_url=BASE, **own, **changes)
        return generator.run([ChatMessage.from_user(text)])["replies"]

    def answer(self, replies):
        return joined((reply.text, reply.meta.get("id")) for reply in replies)

    def call(self, app, text):
        return self.answer(self.ask(app, text))

    def stream(self, app, text):
        parts = []
        replies = self.ask(app, text, streaming_callback=lambda part: parts.append((part.content, part.meta.get("id"))))
        return joined(parts or [(reply.text, None) for reply in replies])

    def tools(self, app, text):
        from haystack.tools import Tool

        about = WEATHER["function"]
        tool = Tool(about["name"], about["description"], about["parameters"], lambda city: city)
        call = self.ask(app, text, tools=[tool])[0].tool_calls[0]
        return f"{call.tool_name} {call.arguments['city']}"


class LiteLlm:
    package = "litellm"

    def ask(self, app, text, **changes):
        import litellm

        own = {"extra_headers": headers(app), "max_retries": 0, "api_base": BASE, "api_key": "sk-test"}
        return litellm.completion(model=f"openai/{MODEL}", messages=user(text), **own, **changes)

    def call(self, app, text):
        answer = self.ask(app, text)
        return Answer(answer.choices[0].message.content, answer.id)

    def stream(self, app, text):
        chunks = self.ask(app, text, stream=True)
        return joined((chunk.choices[0].delta.content, chunk.id) for chunk in chunks)

    def tools(self, app, text):
        call = self.ask(app, text, tools=[WEATHER]).choices[0].message.tool_calls[0].function
        return f"{call.name} {json.loads(call.arguments)['city']}"


class LlamaIndex:
    package = "llama-index-llms-openai-like"

    def llm(self, app):
        from llama_index.llms.openai_like import OpenAILike

        own = {"default_headers": headers(app), "max_retries": 0, "is_chat_model": True}
        return OpenAILike(model=MODEL, api_base=BASE, api_key="sk-test", is_function_calling_model=True, **own)

    def messages(self, text):
        from llama_index.core.llms import ChatMessage

        return [ChatMessage(role="user", content=text)]

    def call(self, app, text):
        answer = self.llm(app).chat(self.messages(text))
        return Answer(answer.message.content, answer.raw.id)

    def stream(self, app, text):
        return joined((part.delta, part.raw.id) for part in self.llm(app).stream_chat(self.messages(text)))

    def tools(self, app, text):
        from llama_index.core.tools import FunctionTool

        def weather(city: str) -> str:
            """The weather in a city"""
            return city

        llm = self.llm(app)
        answer = llm.chat_with_tools([FunctionTool.from_defaults(weather)], user_msg=text)
        call = llm.get_tool_calls_from_response(answer)[0]
        return f"{call.tool_name} {call.tool_kwargs['city']}"


class Instructor:
    """It has no answers but those of a form, which a phrase has not: a block raises, with the answer."""

    package = "instructor"

    def form(self, app, text):
        import instructor
        from pydantic import BaseModel

        class weather(BaseModel):
            city: str

        client = instructor.from_openai(OpenAI().client(app))
        return client.chat.completions.create(
            model=MODEL, messages=user(text), response_model=weather, max_retries=0
        )

    def tools(self, app, text):
        return f"weather {self.form(app, text).city}"

    def blocked_call(self, app, text):
        try:
            self.form(app, text)
        except Exception as error:
            answer = error.last_completion
            said = Answer(answer.choices[0].message.content, answer.id)
            if is_right(said, PHRASES[app], True):
                raise
            return said


class Curl:
    package = None

    def ask(self, app, body):
        own = [part for header in headers(app).items() for part in ("-H", ": ".join(header))]
        body = ["-H", "Content-Type: application/json", "-d", json.dumps({"model": MODEL} | body)]
        command = ["curl", "-sSN", f"{BASE}/chat/completions", *own, *body]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def call(self, app, text):
        answer = json.loads(self.ask(app, {"messages": user(text)}))
        return Answer(answer["choices"][0]["message"]["content"], answer["id"])

    def stream(self, app, text):
        lines = self.ask(app, {"messages": user(text), "stream": True}).splitlines()
        events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]
        return joined((choice["delta"].get("content"), event["id"]) for event in events for choice in event["choices"])

    def tools(self, app, text):
        answer = json.loads(self.ask(app, {"messages": user(text), "tools": [WEATHER]}))
        call = answer["choices"][0]["message"]["tool_calls"][0]["function"]
        return f"{call['name']} {json.loads(call['arguments'])['city']}"


LIBRARIES = {
    "openai": OpenAI,
    "langchain-openai": LangChain,
    "pydantic-ai": PydanticAi,
    "openai-agents": Agents,
    "autogen": AutoGen,
    "haystack": Haystack,
    "litellm": LiteLlm,
    "llama-index": LlamaIndex,
    "instructor": Instructor,
    "curl": Curl,
}


def is_right(answer, expected, is_block):
    """Whether the user sees what is sent, and can tell by the id whether it is a block."""
    if not isinstance(answer, Answer):
        return answer == expected
    return answer.text == expected and any(one.startswith(BLOCK) for one in answer.ids) == is_block


def seen(library, action, app, text, expected, is_block):
    if is_block and action == "call":
        action = "blocked_call" if hasattr(library, "blocked_call") else "call"
    if not hasattr(library, action):
        return None
    try:
        got = getattr(library, action)(app, text)
    except Exception as error:
        return type(error).__name__
    if is_right(got, expected, is_block):
        return "shown"
    if is_block and is_right(got, expected, False):
        return "no id"
    if isinstance(got, Answer):
        got = got.text and f"{got.text} {sorted(got.ids)}"
    return f"other: {got}" if got else "nothing"


# What a block of each application says.
PHRASES = {app: expected for _, _, app, _, expected, is_block in CELLS if is_block}


if __name__ == "__main__":
    library = LIBRARIES[LIBRARY]()
    version = library.package and importlib.metadata.version(library.package)
    cells = {name: seen(library, *cell) for name, *cell in CELLS}
    print(json.dumps({"version": version, "cells": cells}))
