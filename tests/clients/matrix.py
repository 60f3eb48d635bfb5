"""Asks a gateway through one library and says what the library hands over.

Arguments: the library's name, the gateway's base URL, an access key, and the cells to fill as JSON, a list of
[name, what to do, application, text]. Prints a JSON object with the library's version and what came back in each cell:
the text and the ids of an answer, or the name of an error, with an answer where the library hands one over with it.
"""

import importlib.metadata
import json
import sys

sys.dont_write_bytecode = True

import frameworks
import raw_http
from asking import LIBRARY, Raised

LIBRARIES = {
    "openai": frameworks.OpenAI,
    "langchain-openai": frameworks.LangChain,
    "pydantic-ai": frameworks.PydanticAi,
    "openai-agents": frameworks.Agents,
    "openai-agents-responses": frameworks.AgentsResponses,
    "autogen": frameworks.AutoGen,
    "haystack": frameworks.Haystack,
    "litellm": frameworks.LiteLlm,
    "llama-index": frameworks.LlamaIndex,
    "instructor": frameworks.Instructor,
    "semantic-kernel": frameworks.SemanticKernel,
    "curl": raw_http.Curl,
    "curl-http2": raw_http.CurlHttp2,
    "h2": raw_http.H2,
    "httpx": raw_http.Httpx,
    "aiohttp": raw_http.Aiohttp,
}


def got(method, app, text):
    try:
        return vars(method(app, text))
    except Raised as error:
        return {"error": error.name} | vars(error.answer)
    except Exception as error:
        return {"error": type(error).__name__}


if __name__ == "__main__":
    library = LIBRARIES[LIBRARY]()
    methods = {action: getattr(library, action) for action in ("call", "stream", "tools")}
    cells = {name: got(methods[action], *asked) for name, action, *asked in json.loads(sys.argv[4])}
    version = library.package and importlib.metadata.version(library.package)
    print(json.dumps({"version": version, "cells": cells}))
