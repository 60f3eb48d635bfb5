"""Python libraries that ask through the openai package, each in the way its users do."""

import asyncio
import json

from asking import BASE, MODEL, WEATHER, Answer, Raised, headers, joined, user


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
        return Answer(f"{call.name} {json.loads(call.arguments)['city']}")


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
        return Answer(f"{call['name']} {call['args']['city']}")


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
        return Answer(called[0])


class Agents:
    """The Agents SDK with its model of chat completions; its default is the Responses API."""

    package = "openai-agents"
    model = "OpenAIChatCompletionsModel"

    def agent(self, app, tools=()):
        import agents
        from openai import AsyncOpenAI

        agents.set_tracing_disabled(True)
        client = AsyncOpenAI(base_url=BASE, api_key="sk-test", default_headers=headers(app), max_retries=0)
        model = getattr(agents, self.model)(model=MODEL, openai_client=client)
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
        return Answer(called[0])


class AgentsResponses(Agents):
    """The Agents SDK with its default model, which calls the Responses API."""

    model = "OpenAIResponsesModel"


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
        return Answer(called[0])


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
        return Answer(f"{call.tool_name} {call.arguments['city']}")


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
        return Answer(f"{call.name} {json.loads(call.arguments)['city']}")


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
        return Answer(f"{call.tool_name} {call.tool_kwargs['city']}")


class Instructor:
    """Its answers are objects of a model: a block, which is none, raises with the answer."""

    package = "instructor"

    def ask(self, method, app, text, form):
        import instructor

        completions = instructor.from_openai(OpenAI().client(app)).chat.completions
        return getattr(completions, method)(
            model=MODEL, messages=user(text), response_model=form, max_retries=0
        )

    def call(self, app, text):
        from instructor.core import InstructorRetryException
        from pydantic import BaseModel

        class reply(BaseModel):
            text: str

        try:
            form, answer = self.ask("create_with_completion", app, text, reply)
        except InstructorRetryException as error:
            answer = error.last_completion
            raise Raised(error, Answer(answer.choices[0].message.content, answer.id)) from error
        return Answer(form.text, answer.id)

    def stream(self, app, text):
        from pydantic import BaseModel

        class reply(BaseModel):
            text: str

        parts = list(self.ask("create_partial", app, text, reply))
        return Answer(parts[-1].text if parts else "")

    def tools(self, app, text):
        from pydantic import BaseModel

        class weather(BaseModel):
            city: str

        return Answer(f"weather {self.ask('create', app, text, weather).city}")


class SemanticKernel:
    package = "semantic-kernel"

    def ask(self, method, app, text, tools=()):
        from openai import AsyncOpenAI
        from semantic_kernel import Kernel
        from semantic_kernel.connectors.ai import FunctionChoiceBehavior
        from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion, OpenAIChatPromptExecutionSettings
        from semantic_kernel.contents import ChatHistory

        client = AsyncOpenAI(base_url=BASE, api_key="sk-test", default_headers=headers(app), max_retries=0)
        service = OpenAIChatCompletion(ai_model_id=MODEL, async_client=client)
        settings, kernel = OpenAIChatPromptExecutionSettings(), Kernel()
        for tool in tools:
            kernel.add_function("matrix", tool)
            settings.function_choice_behavior = FunctionChoiceBehavior.Auto()
        history = ChatHistory()
        history.add_user_message(text)
        return getattr(service, method)(history, settings, kernel=kernel)

    def call(self, app, text):
        answer = asyncio.run(self.ask("get_chat_message_content", app, text))
        return Answer(answer.content, answer.metadata["id"])

    def stream(self, app, text):
        async def read():
            parts = self.ask("get_streaming_chat_message_content", app, text)
            return joined([(part.content, part.metadata["id"]) async for part in parts])

        return asyncio.run(read())

    def tools(self, app, text):
        from semantic_kernel.functions import kernel_function

        called = []

        @kernel_function
        def weather(city: str) -> str:
            """The weather in a city"""
            called.append(f"weather {city}")
            return "sunny"

        asyncio.run(self.ask("get_chat_message_content", app, text, [weather]))
        return Answer(called[0])
