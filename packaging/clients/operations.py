#!/usr/bin/env python3
"""Writes the operations of both client packages from an OpenAPI document; build.sh calls it.

Arguments: the document; then the files to write: the document as the packages need it (calls that
succeed, without examples), the Python module and the JavaScript module.
"""

import json
import keyword
import re
import sys

#: Fields that identify a call, beside the request id of its exchange.
CALL_IDS = ("tool_call_id",)
METHODS = ("get", "put", "post", "patch", "delete")
PYTHON_TYPES = {"integer": "int", "number": "float", "boolean": "bool"}


def snake(name):
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def python_name(name):
    name = snake(name.replace("-", "_")).replace("__", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


class Document:
    """An OpenAPI document whose references can be followed."""

    def __init__(self, text):
        self.root = json.loads(text)

    def resolved(self, value):
        while "$ref" in value:
            target = value["$ref"]
            value = self.root
            for part in target.removeprefix("#/").split("/"):
                value = value[part]
        return value

    def operations(self):
        """Every operation that needs a token: pages for people are no calls."""
        for path, item in self.root["paths"].items():
            for method in METHODS:
                operation = item.get(method)
                if operation and operation.get("security") != []:
                    yield Operation(self, path, method.upper(), operation)

    def without_refusals(self):
        """The document for generators of types: calls that succeed, and no examples."""
        for operation in self.operations():
            responses = operation.source["responses"]
            operation.source["responses"] = {
                status: {
                    "description": response["description"],
                    **({"content": response["content"]} if "content" in response else {}),
                }
                for status, response in responses.items()
                if status.startswith("2")
            }
        self.root["paths"].pop("/", None)
        trimmed(self.root)
        components = self.root["components"]
        schemas = components["schemas"]
        self.root["components"] = {"schemas": schemas}
        used = set(references(self.root["paths"]))
        found = list(used)
        while found:
            new = set(references(schemas[found.pop()])) - used
            used |= new
            found.extend(new)
        for name in [name for name in schemas if name not in used]:
            del schemas[name]
        self.root["security"] = []
        return self.root


def references(value):
    text = json.dumps(value)
    return re.findall(r'"#/components/schemas/([^"]+)"', text)


def trimmed(value):
    """Leaves out examples, and that objects have no other fields: a later version may add some."""
    if isinstance(value, dict):
        if "content" in value or "schema" in value:
            value.pop("example", None)
            value.pop("examples", None)
        if value.get("additionalProperties") is False:
            del value["additionalProperties"]
        for inner in value.values():
            trimmed(inner)
    elif isinstance(value, list):
        for inner in value:
            trimmed(inner)


class Operation:
    """One operation, in the words of both packages."""

    def __init__(self, document, path, method, source):
        self.document, self.path, self.method, self.source = document, path, method, source
        self.id = source["operationId"]
        self.summary = source["summary"].rstrip(".")
        parameters = [document.resolved(one) for one in source.get("parameters", [])]
        # In the order of the path: the order of the document may be another one.
        names = re.findall(r"\{(\w+)\}", path)
        by_name = {one["name"]: one for one in parameters if one["in"] == "path"}
        self.in_path = [by_name[name] for name in names]
        self.in_query = [one for one in parameters if one["in"] == "query"]
        self.in_header = [one for one in parameters if one["in"] == "header"]

    def request(self):
        """Media type and schema of the body; none where there is no body."""
        content = self.document.resolved(self.source.get("requestBody", {})).get("content", {})
        return next(((kind, media["schema"]) for kind, media in content.items()), None)

    def body_is_optional(self):
        return not self.source["requestBody"].get("required", False)

    def sends(self):
        """How the body is written: json, files, text, or not at all."""
        kind = (self.request() or (None,))[0]
        kinds = {None: None, "application/json": "json", "multipart/form-data": "files"}
        return kinds.get(kind, "text")

    def files_field(self):
        """The field of a form that files are sent in."""
        if self.sends() != "files":
            return None
        fields = self.document.resolved(self.request()[1])["properties"]
        return next(name for name, schema in fields.items() if schema.get("type") == "array")

    def media_type(self):
        return self.request()[0] if self.sends() == "text" else None

    def identified_by(self):
        """The fields of a message that identify it: sent twice with the same ones, it is stored once."""
        if self.sends() != "json":
            return []
        fields = self.document.resolved(self.request()[1]).get("properties", {})
        if "additional_parameters" not in fields:
            return []
        return ["request_id", *(name for name in CALL_IDS if name in fields)]

    def answer(self):
        """Media type and schema of the answer; none where it has no body."""
        for status, response in self.source["responses"].items():
            if status.startswith("2"):
                content = self.document.resolved(response).get("content", {})
                return next(((kind, media["schema"]) for kind, media in content.items()), None)
        raise ValueError(f"{self.id} never succeeds")

    def returns(self):
        answer = self.answer()
        if answer is None:
            return None
        return "json" if answer[0] == "application/json" else "bytes"

    # Python

    def constant(self):
        return snake(self.id).upper()

    def python_table(self):
        values = [f'"{self.method}"', f'"{self.path}"']
        for name, value in (
            ("sends", self.sends()),
            ("field", self.files_field()),
            ("media_type", self.media_type()),
            ("returns", self.returns()),
        ):
            if value is not None:
                values.append(f'{name}="{value}"')
        if self.identified_by():
            values.append(f"identified_by={tuple(self.identified_by())}")
        return f"{self.constant()} = Operation({', '.join(values)})"

    def python_type(self, schema):
        """The type of a schema, which the module `types` has where it is a component."""
        if "$ref" in schema:
            return f"types.{schema['$ref'].rsplit('/', 1)[1]}"
        if schema.get("type") == "array":
            return f"list[{self.python_type(schema['items'])}]"
        if "enum" in schema and all(isinstance(word, str) for word in schema["enum"]):
            return f"Literal[{', '.join(json.dumps(word) for word in schema['enum'])}]"
        for either in ("oneOf", "anyOf"):
            if either in schema:
                kinds = [self.python_type(one) for one in schema[either]]
                return " | ".join(kind for kind in dict.fromkeys(kinds) if kind != "None")
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next(one for one in kind if one != "null")
        if kind == "null":
            return "None"
        if kind == "object":
            return "dict[str, Any]"
        return PYTHON_TYPES.get(kind, "str")

    def python_return(self):
        match self.returns():
            case None:
                return "None"
            case "bytes":
                return "bytes"
            case _:
                return self.python_type(self.answer()[1])

    def python_method(self, is_async):
        needed, optional, passed = [], [], []
        for one in self.in_path:
            needed.append(f"{python_name(one['name'])}: {self.python_type(one['schema'])}")
        if self.in_path:
            pairs = (f'"{one["name"]}": {python_name(one["name"])}' for one in self.in_path)
            passed.append(f"path={{{', '.join(pairs)}}}")
        kind = self.sends()
        if kind is not None:
            annotation = {"files": "Files", "text": "str | bytes"}.get(kind)
            annotation = annotation or self.python_type(self.request()[1])
            name = "files" if kind == "files" else "body"
            if self.body_is_optional():
                needed.append(f"{name}: {annotation} | None = None")
            else:
                needed.append(f"{name}: {annotation}")
            passed.append(f"body={name}")
        for place, parameters in (("query", self.in_query), ("headers", self.in_header)):
            for one in parameters:
                annotation = self.python_type(one["schema"])
                default = "" if one.get("required") else " | None = None"
                optional.append(f"{python_name(one['name'])}: {annotation}{default}")
            if parameters:
                pairs = (f'"{one["name"]}": {python_name(one["name"])}' for one in parameters)
                passed.append(f"{place}={{{', '.join(pairs)}}}")
        # Keywords that must be given come first.
        optional.sort(key=lambda text: "=" in text)
        arguments = ["self", *needed, *(["*", *optional] if optional else [])]
        head = f"{'async ' if is_async else ''}def {snake(self.id)}"
        call = ", ".join([self.constant(), *passed])
        wait = "await " if is_async else ""
        return (
            f"    {head}({', '.join(arguments)}) -> {self.python_return()}:\n"
            f'        """{self.summary}."""\n'
            f"        return {wait}self._call({call})\n"
        )

    # JavaScript

    def javascript_row(self):
        row = {"method": self.method, "path": self.path}
        row |= {
            name: value
            for name, value in (
                ("sends", self.sends()),
                ("field", self.files_field()),
                ("mediaType", self.media_type()),
                ("returns", self.returns()),
                ("identifiedBy", self.identified_by()),
            )
            if value
        }
        return f"  {self.id}: {json.dumps(row)},\n"


def python_module(operations):
    table = "\n".join(operation.python_table() for operation in operations)
    classes = []
    for name, is_async in (("Operations", False), ("AsyncOperations", True)):
        methods = "\n".join(operation.python_method(is_async) for operation in operations)
        call = f"    {'async ' if is_async else ''}def _call(self, operation: Operation, **parts: Any) -> Any:\n"
        end = "        raise NotImplementedError\n"
        doc = f'    """The operations of the analysis API{", to be awaited" if is_async else ""}."""\n'
        classes.append(f"class {name}:\n{doc}\n{call}{end}\n{methods}")
    return (
        '"""The operations of the analysis API. Made by packaging/clients/build.sh."""\n\n'
        "from typing import Any, Literal\n\n"
        "from . import types\n"
        "from .operation import Files, Operation\n\n"
        f"{table}\n\n\n" + "\n\n".join(classes)
    )


def javascript_module(operations):
    rows = "".join(operation.javascript_row() for operation in operations)
    return (
        "// The operations of the analysis API. Made by packaging/clients/build.sh.\n\n"
        f"export const operations = {{\n{rows}}};\n"
    )


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    source, calls, python, javascript = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        document = Document(file.read())
    operations = list(document.operations())
    write(python, python_module(operations))
    write(javascript, javascript_module(operations))
    write(calls, json.dumps(document.without_refusals(), indent=1))


if __name__ == "__main__":
    main()
