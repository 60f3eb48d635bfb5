#!/usr/bin/env python3
"""Prints the bill of materials of the program as CycloneDX 1.5: every crate that is compiled into it,
with version, licence, checksum and what it needs. From `cargo metadata` and Cargo.lock; no network once
the crates are there. `packaging/sbom.py > sbom.cdx.json`"""

import datetime
import json
import os
import pathlib
import subprocess
import sys
import tomllib
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent


def metadata():
    host = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    target = next(line.split(": ")[1] for line in host.splitlines() if line.startswith("host: "))
    command = [os.environ.get("CARGO", "cargo"), "metadata", "--locked", "--format-version", "1"]
    command += ["--filter-platform", target, "--manifest-path", str(ROOT / "Cargo.toml")]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def needed(node):
    """What a crate links to: neither what only builds nor what only tests it."""
    kinds = lambda dep: any(kind["kind"] is None for kind in dep["dep_kinds"])
    return sorted(dep["pkg"] for dep in node["deps"] if kinds(dep))


def reachable(nodes, root):
    found, waiting = set(), [root]
    while waiting:
        package = waiting.pop()
        if package not in found:
            found.add(package)
            waiting.extend(needed(nodes[package]))
    return found


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


def bill():
    data = metadata()
    packages = {package["id"]: package for package in data["packages"]}
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    root = data["resolve"]["root"]
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    checksums = {(p["name"], p["version"]): p.get("checksum") for p in lock["package"]}
    found = sorted(reachable(nodes, root), key=lambda id: reference(packages[id]))
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
            {
                "ref": reference(packages[id]),
                "dependsOn": [reference(packages[other]) for other in needed(nodes[id])],
            }
            for id in found
        ],
    }


json.dump(bill(), sys.stdout, indent=1, ensure_ascii=False)
print()
