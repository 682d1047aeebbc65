"""Results as JUnit XML: a suite for each report, a test case for each check, and one for the gate."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from .results import Result

ILLEGAL = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML 1.0


def xml(results: Iterable[Result]) -> bytes:
    """The document, as ``pytest --simulacrum --junitxml`` has it for the checks: counts and notes are properties."""
    root = Element("testsuites", name="simulacrum")
    for result in results:
        for content in result.contents():
            _suite(root, content)
        _whole(root, result)
    for suite in root:
        cases = suite.findall("testcase")
        suite.set("tests", str(len(cases)))
        for kind in ("failure", "error"):
            suite.set(f"{kind}s", str(sum(case.find(kind) is not None for case in cases)))
    ElementTree.indent(root)
    made: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return made


def _suite(root: Element, content: dict[str, Any]) -> None:
    """The checks of a report."""
    package = content["package"]
    name = package["id"] + (f"[{package['config']}]" if package.get("config") else "")
    suite = SubElement(root, "testsuite", name=name, timestamp=content["started"], time=str(content["seconds"]))
    for check in content["checks"]:
        case = SubElement(suite, "testcase", classname=name, name=check["name"], time=str(check["seconds"]))
        properties = SubElement(case, "properties")
        told = [("outcome", check["outcome"]), ("seed", content["seed"]), *check["counts"].items()]
        for key, value in [*told, *(("note", note) for note in check["notes"])]:
            SubElement(properties, "property", name=key, value=_text(str(value)))
        if check["outcome"] == "failed":
            messages = [finding["message"] for finding in check["findings"]]
            failure = SubElement(case, "failure", message=_text(messages[0] if messages else "failed"))
            failure.text = _text("\n\n".join(map(told_of, check["findings"])))


def _whole(root: Element, result: Result) -> None:
    """The command as a whole and the gate, which tell of a package without a report as well."""
    suite = SubElement(root, "testsuite", name=result.package, time=f"{result.seconds:.3f}")
    case = SubElement(suite, "testcase", classname=result.package, name="validate", time=f"{result.seconds:.3f}")
    if result.code:
        kind = "failure" if result.code == 1 else "error"
        SubElement(case, kind, message=result.verdict).text = _text(result.output)
    gate = SubElement(suite, "testcase", classname=result.package, name="gate")
    if result.refusal:
        SubElement(gate, "failure", message="refused").text = _text(result.refusal)


def told_of(finding: dict[str, Any]) -> str:
    """A finding of a report in lines, the commands last."""
    message = f"{finding['check']}: {finding['message']}"
    last = ("file", "replay")
    rest = [f"{name}: {value}" for name, value in finding.items() if name not in ("check", "message", *last)]
    return "\n".join([message, *rest, *commands(finding)])


def commands(finding: dict[str, Any]) -> list[str]:
    """The commands that show a finding again: the case that was kept, then the check."""
    explain = [f"simulacrum explain {finding['file']}"] if "file" in finding else []
    return [*explain, *([finding["replay"]] if "replay" in finding else [])]


def _text(text: str) -> str:
    return ILLEGAL.sub("?", text)
