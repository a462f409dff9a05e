#!/usr/bin/env python3
"""Makes tidemark/types.py from the server's description of its calls.

usage: scripts/openapi.py json docs/openapi.yaml | generate_types.py > tidemark/types.py
"""
import json
import keyword
import sys

HEAD = '''"""What the server's calls take and give. Made by generate_types.py from docs/openapi.yaml."""
from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union
'''
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "List[Any]",
         "object": "Dict[str, Any]"}
# Union of the forms that a reader meets; UnknownEvent and TruncatedEvent are EventEnvelopes like the others.
# Requests that a caller gives as arguments.
LEFT_OUT = {"UnknownEvent", "TruncatedEvent", "Event", "ConsumerRequest", "WebhookRequest"}


def name_of(ref: str) -> str:
    return ref.rsplit("/", 1)[1]


def type_of(schema: dict) -> str:
    if "$ref" in schema:
        return name_of(schema["$ref"])
    if "anyOf" in schema:
        kinds = [each for each in schema["anyOf"] if each != {"type": "null"}]
        inner = type_of(kinds[0]) if len(kinds) == 1 else f"Union[{', '.join(map(type_of, kinds))}]"
        return f"Optional[{inner}]" if len(kinds) < len(schema["anyOf"]) else inner
    if "const" in schema:
        return f"Literal[{json.dumps(schema['const'])}]"
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    plain = [each for each in kinds if each != "null"]
    if "enum" in schema:
        inner = f"Literal[{', '.join(json.dumps(each) for each in schema['enum'] if each is not None)}]"
    elif plain == ["array"] and "items" in schema:
        inner = f"List[{type_of(schema['items'])}]"
    elif plain == ["object"] and isinstance(schema.get("additionalProperties"), dict):
        inner = f"Dict[str, {type_of(schema['additionalProperties'])}]"
    else:
        inner = PLAIN.get(plain[0], "Any") if len(plain) == 1 else "Any"
    return f"Optional[{inner}]" if "null" in kinds else inner


def members_of(schema: dict, schemas: dict) -> "tuple[dict, set]":
    """Properties and the names of those that are always there."""
    if "$ref" in schema:
        return members_of(schemas[name_of(schema["$ref"])], schemas)
    properties, required = dict(schema.get("properties", {})), set(schema.get("required", []))
    for part in schema.get("allOf", []):
        more, always = members_of(part, schemas)
        properties.update(more)
        required |= always
    return properties, required


def lines_of(name: str, schema: dict, schemas: dict) -> "list[str]":
    properties, required = members_of(schema, schemas)
    always = [each for each in properties if each in required]
    sometimes = [each for each in properties if each not in required]
    doc = [f'    """{schema["description"].strip().splitlines()[0]}"""'] if "description" in schema else []
    if any(map(keyword.iskeyword, properties)):  # a class cannot have such members
        def dictionary(of: str, members: list, total: str = "") -> "list[str]":
            quoted = (f'    "{each}": {type_of(properties[each])!r},' for each in members)
            return [f'{of} = TypedDict("{of}", {{', *quoted, f"}}{total})"]
        if not sometimes:
            return dictionary(name, always)
        parts = [*dictionary(f"_{name}", always), "", "", *dictionary(f"_{name}Rest", sometimes, ", total=False"), "", ""]
        return [*parts, f"class {name}(_{name}, _{name}Rest):", *(doc or ["    pass"])]
    fields = {each: f"    {each}: {type_of(properties[each])}" for each in properties}
    if not always or not sometimes:
        total = "" if always else ", total=False"
        return [f"class {name}(TypedDict{total}):", *doc, *(fields[each] for each in always + sometimes)]
    return [f"class _{name}(TypedDict):", *(fields[each] for each in always), "", "",
            f"class {name}(_{name}, total=False):", *doc, *(fields[each] for each in sometimes)]


def generate(document: dict) -> str:
    schemas = document["components"]["schemas"]
    classes, aliases = [], []
    for name, schema in schemas.items():
        if name in LEFT_OUT:
            continue
        if members_of(schema, schemas)[0]:
            classes += ["", "", *lines_of(name, schema, schemas)]
        elif all("$ref" in each for each in schema.get("oneOf", [{}])):
            aliases.append((name, [name_of(each["$ref"]) for each in schema["oneOf"]]))
        else:
            kind = "Dict[str, Any]" if "oneOf" in schema else type_of(schema)
            aliases.insert(0, (name, [kind]))
    plain = [f"{name} = {parts[0]}" for name, parts in aliases if len(parts) == 1]
    unions = [line for name, parts in aliases if len(parts) > 1
              for line in [f"{name} = Union[", *(f"    {each}," for each in parts), "]"]]
    return "\n".join([HEAD, *sorted(plain), *classes, "", "", *unions,
                      "# A newer server may have types of events that are not among these.", "Event = KnownEvent", ""])


if __name__ == "__main__":
    sys.stdout.write(generate(json.load(sys.stdin)))
