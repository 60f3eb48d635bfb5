#!/usr/bin/env python3
"""Prints the bill of materials of the program as CycloneDX 1.5: every crate that is compiled into it,
with version, license, checksum and what it needs. From `cargo metadata` and Cargo.lock; no network once
the crates are there. `packaging/sbom.py > sbom.cdx.json`, with `--target TRIPLE` for another target than this machine.

With `--auditable` the same crates in the form of `cargo auditable` (JSON, compressed by zlib), which
packaging/deb.sh puts into the program as section `.dep-v0`."""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tomllib
import uuid
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent


def cargo(command, *arguments):
    program = [os.environ.get("CARGO", "cargo"), command, "--locked", *arguments]
    return subprocess.run(program, check=True, capture_output=True, text=True, cwd=ROOT).stdout


def compiled():
    """Name and version of what becomes part of the program: neither what only builds nor what only tests
    it, nor what belongs to features that nobody switched on."""
    target = ["--target", OPTIONS.target] if OPTIONS.target else []
    listed = cargo("tree", *target, "--edges", "normal", "--prefix", "none", "--no-dedupe", "--format", "{p}")
    lines = (line.split() for line in listed.splitlines() if line)
    return {(words[0], words[1].removeprefix("v")) for words in lines}


def needed(node):
    kinds = lambda dep: any(kind["kind"] is None for kind in dep["dep_kinds"])
    return sorted(dep["pkg"] for dep in node["deps"] if kinds(dep))


def reference(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, checksums):
    entry = {
        "type": "library",
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(package),
        "scope": "required",
    }
    if package.get("description"):
        entry["description"] = " ".join(package["description"].split())
    if package.get("license"):
        # The older spelling of "or" is no expression.
        entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package.get("repository"):
        entry["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return entry


class Crates:
    """What the program is made of, in a fixed order."""

    def __init__(self):
        data, parts = json.loads(cargo("metadata", "--format-version", "1")), compiled()
        self.packages = {package["id"]: package for package in data["packages"]}
        self.nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
        self.root = data["resolve"]["root"]
        names = lambda id: (self.packages[id]["name"], self.packages[id]["version"])
        found = [id for id in self.packages if names(id) in parts]
        self.found = sorted(found, key=lambda id: reference(self.packages[id]))

    def needed(self, id):
        return [other for other in needed(self.nodes[id]) if other in self.found]


def bill():
    crates = Crates()
    packages, found, root = crates.packages, crates.found, crates.root
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    checksums = {(p["name"], p["version"]): p.get("checksum") for p in lock["package"]}
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", "0")) or None
    at = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc) if seconds else datetime.datetime.now(datetime.timezone.utc)
    libraries = [component(packages[id], checksums) for id in found if id != root]
    product = component(packages[root], checksums) | {"type": "application"}
    del product["scope"]
    # The same crates have the same number.
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([product, libraries], sort_keys=True))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{number}",
        "version": 1,
        "metadata": {"timestamp": at.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": product},
        "components": libraries,
        "dependencies": [
            {"ref": reference(packages[id]), "dependsOn": [reference(packages[other]) for other in crates.needed(id)]}
            for id in found
        ],
    }


def auditable():
    crates = Crates()
    places = {id: place for place, id in enumerate(crates.found)}

    def entry(id):
        package = crates.packages[id]
        source = "crates.io" if package["source"] else "local"
        made = {"name": package["name"], "version": package["version"], "source": source}
        if others := crates.needed(id):
            made["dependencies"] = sorted(places[other] for other in others)
        return made | ({"root": True} if id == crates.root else {})

    text = json.dumps({"packages": [entry(id) for id in crates.found]}, separators=(",", ":"))
    return zlib.compress(text.encode(), 9)


parser = argparse.ArgumentParser()
parser.add_argument("--auditable", action="store_true")
parser.add_argument("--target")
OPTIONS = parser.parse_args()
if OPTIONS.auditable:
    sys.stdout.buffer.write(auditable())
    sys.exit()
json.dump(bill(), sys.stdout, indent=1, ensure_ascii=False)
print()
