"""Asks a gateway through one library and says what its user sees.

Arguments: the library's name, the gateway's base URL, an access key, and the cells to fill as JSON, a list of
[name, what to do, application, text, what the user should see]. Prints a JSON object with the library's version
and what was seen in each cell: "shown", "nothing", or how it failed; null for what the library has no way to do.
"""

import asyncio
import importlib.metadata
import json
import subprocess
import sys

LIBRARY, BASE, KEY, CELLS = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
MODEL = "test-model"
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


class OpenAI:
    package = "openai"

    def client(self, app):
        from openai import OpenAI

        return OpenAI(base_url=BASE, api_key="sk-test", default_headers=headers(app), max_retries=0)

    def ask(self, app, text, **changes):
        return self.client(app).chat.completions.create(model=MODEL, messages=user(text), **changes)

    def call(self, app, text):
        return self.ask(app, text).choices[0].message.content

    def stream(self, app, text):
        chunks = self.ask(app, text, stream=True, stream_options={"include_usage": True})
        return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)

    def tools(self, app, text):
        call = self.ask(app, text, tools=[WEATHER]).choices[0].message.tool_calls[0].function
        return f"{call.name} {json.loads(call.arguments)['city']}"


class LangChain:
    package = "langchain-openai"

    def chat(self, app):
        from langchain_openai import ChatOpenAI

        own = {"default_headers": headers(app), "max_retries": 0}
        return ChatOpenAI(model=MODEL, base_url=BASE, api_key="sk-test", **own)

    def call(self, app, text):
        return self.chat(app).invoke(text).content

    def stream(self, app, text):
        return "".join(chunk.content for chunk in self.chat(app).stream(text))

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
        return asyncio.run(self.agent(app).run(text)).output

    def stream(self, app, text):
        async def read():
            async with self.agent(app).run_stream(text) as answer:
                return await answer.get_output()

        return asyncio.run(read())

    def tools(self, app, text):
        agent, called = self.agent(app), []

        @agent.tool_plain
        def weather(city: str) -> str:
            called.append(f"weather {city}")
            return "sunny"

        asyncio.run(agent.run(text))
        return called[0]


class LiteLlm:
    package = "litellm"

    def ask(self, app, text, **changes):
        import litellm

        own = {"extra_headers": headers(app), "max_retries": 0, "api_base": BASE, "api_key": "sk-test"}
        return litellm.completion(model=f"openai/{MODEL}", messages=user(text), **own, **changes)

    def call(self, app, text):
        return self.ask(app, text).choices[0].message.content

    def stream(self, app, text):
        return "".join(chunk.choices[0].delta.content or "" for chunk in self.ask(app, text, stream=True))

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
        return self.llm(app).chat(self.messages(text)).message.content

    def stream(self, app, text):
        return "".join(part.delta or "" for part in self.llm(app).stream_chat(self.messages(text)))

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
    package = "instructor"

    def tools(self, app, text):
        import instructor
        from pydantic import BaseModel

        class weather(BaseModel):
            city: str

        client = instructor.from_openai(OpenAI().client(app))
        answer = client.chat.completions.create(
            model=MODEL, messages=user(text), response_model=weather, max_retries=0
        )
        return f"weather {answer.city}"

    # It has no answers but those of a form, which a phrase has not.


class Curl:
    package = None

    def ask(self, app, body):
        own = [part for header in headers(app).items() for part in ("-H", ": ".join(header))]
        body = ["-H", "Content-Type: application/json", "-d", json.dumps({"model": MODEL} | body)]
        command = ["curl", "-sSN", f"{BASE}/chat/completions", *own, *body]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def call(self, app, text):
        return json.loads(self.ask(app, {"messages": user(text)}))["choices"][0]["message"]["content"]

    def stream(self, app, text):
        lines = self.ask(app, {"messages": user(text), "stream": True}).splitlines()
        data = [line.removeprefix("data: ") for line in lines if line.startswith("data: {")]
        choices = [choice for event in data for choice in json.loads(event)["choices"]]
        return "".join(choice["delta"].get("content") or "" for choice in choices)

    def tools(self, app, text):
        answer = json.loads(self.ask(app, {"messages": user(text), "tools": [WEATHER]}))
        call = answer["choices"][0]["message"]["tool_calls"][0]["function"]
        return f"{call['name']} {json.loads(call['arguments'])['city']}"


LIBRARIES = {
    "openai": OpenAI,
    "langchain-openai": LangChain,
    "pydantic-ai": PydanticAi,
    "litellm": LiteLlm,
    "llama-index": LlamaIndex,
    "instructor": Instructor,
    "curl": Curl,
}


def seen(library, action, app, text, expected):
    if not hasattr(library, action):
        return None
    try:
        got = getattr(library, action)(app, text)
    except Exception as error:
        return type(error).__name__
    return "shown" if got == expected else "nothing" if not got else f"other: {got}"


if __name__ == "__main__":
    library = LIBRARIES[LIBRARY]()
    version = library.package and importlib.metadata.version(library.package)
    cells = {name: seen(library, *cell) for name, *cell in CELLS}
    print(json.dumps({"version": version, "cells": cells}))
