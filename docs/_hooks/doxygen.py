"""The C and C++ clients' headers as Markdown, from the XML that doxygen makes of them.

A section is a group of the C headers (`@defgroup`), or a header of C++. What it holds comes in the
order of the source: a heading for each name, its declaration, its comment, and a table of fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from mkdocs.exceptions import PluginError

_LONG = 90  # characters; a longer declaration has one parameter a line


class Headers:
    """The headers of one client."""

    def __init__(self, index: Path, language: str, namespace: str) -> None:
        self._index = index
        self._language = language
        self._namespace = namespace

    def section(self, name: str) -> str:
        """A group or a header, without a heading of its own."""
        (section,) = (
            each
            for each in self._compounds.values()
            if each.get("kind") in ("group", "file") and each.findtext("compoundname") == name
        )
        parts = [self._text(section)]
        parts += (self._entry(3, each) for each in self._overloads(self._entries(section)))
        return "\n\n".join(part for part in parts if part)

    @cached_property
    def _compounds(self) -> dict[str, Element]:
        index = ElementTree.parse(self._index).getroot()
        ids = [each.attrib["refid"] for each in index.iter("compound")]
        trees = (ElementTree.parse(self._index.with_name(f"{each}.xml")).getroot() for each in ids)
        return {tree[0].attrib["id"]: tree[0] for tree in trees}

    @cached_property
    def _anchors(self) -> dict[str, str]:
        """Doxygen's id -> the anchor of a public entity: its name, which two headers may have."""
        found: dict[str, str] = {}
        files: dict[str, str | None] = {}  # of a name: where it stands first
        for compound in filter(_is_public, self._compounds.values()):
            is_type = compound.get("kind") in ("class", "struct")
            for entry in (*([compound] if is_type else []), *compound.iter("memberdef")):
                if not _is_public(entry):
                    continue
                name, file = self._name(entry), _file(entry)
                if files.setdefault(name, file) != file:
                    name = f"{name}-{Path(file or '').stem}"
                if entry.get("kind") == "variable":  # a row of its type's table
                    name = found[compound.attrib["id"]]
                for each in (entry, *entry.iter("enumvalue")):
                    found.setdefault(each.attrib["id"], re.sub(r"[^\w:~.-]+", "-", name))
        return found

    @cached_property
    def _words(self) -> dict[str, str]:
        """Names of C, which doxygen's texts do not link -> their anchors."""
        named = (
            each
            for compound in self._compounds.values()
            for kind in ("memberdef", "enumvalue")
            for each in compound.iter(kind)
        )
        names = {each.findtext("name", ""): self._anchors.get(each.attrib["id"]) for each in named}
        return {name: to for name, to in names.items() if to and name.lower().startswith("reglue_")}

    def _entries(self, section: Element) -> list[Element]:
        """Types, functions and the like of a section; what a group has is not its header's."""
        if section.get("kind") == "group":
            holders = [section]
        else:
            holders = [each for each in self._compounds.values() if each.get("kind") == "namespace"]
        types = [
            self._compounds[each.attrib["refid"]]
            for holder in holders
            for each in holder.iter("innerclass")
            if each.get("prot") != "private"
        ]
        names = {each.findtext("compoundname") for each in types}  # typedefs of C have them again
        members = [
            member
            for holder in holders
            for member in holder.iter("memberdef")
            if member.findtext("name") not in names
        ]
        file = _file(section)
        return [each for each in (*types, *members) if file in (None, _file(each))]

    def _overloads(self, entries: list[Element]) -> Iterable[list[Element]]:
        """Entries of one name together, in the order of the first of them in the source."""
        named: dict[str, list[Element]] = {}
        for entry in sorted(entries, key=_place):
            named.setdefault(self._name(entry), []).append(entry)
        return named.values()

    def _entry(self, level: int, overloads: list[Element]) -> str:
        """A name: its heading, its declarations, its comment, and what it holds."""
        first = overloads[0]
        name = self._name(first)
        texts = [self._text(each) for each in overloads]
        if not any(texts):
            file, line = _place(first)
            raise PluginError(f"{file}:{line}: {name} has no doc comment; write one above it")
        declared = "\n".join(self._declaration(each) for each in overloads)
        shown = first.findtext("name", "") if level > 3 else name
        heading = (
            f"{'#' * level} {_escaped(self._code(shown))} {{#{self._anchors[first.attrib['id']]}}}"
        )
        parts = [heading, f"```{self._language}\n{declared}\n```", *texts]
        if first.tag == "compounddef":
            parts += self._members(level + 1, first)
        elif first.get("kind") == "enum" and self._are_told(first):
            parts.append(self._table(first.findall("enumvalue")))
        return "\n\n".join(part for part in parts if part)

    def _members(self, level: int, compound: Element) -> Iterator[str]:
        """Fields in a table, all else as entries. What is derived has its words at the base."""
        public = [each for each in compound.iter("memberdef") if _is_public(each)]
        fields = [each for each in public if each.get("kind") == "variable"]
        if fields:
            yield self._table(fields)
        others = [
            each
            for each in public
            if each not in fields
            and not (each.findtext("name", "").startswith("~") and not self._text(each))
            and each.find("reimplements") is None
        ]
        for overloads in self._overloads(others):
            yield self._entry(level, overloads)

    def _table(self, rows: list[Element]) -> str:
        """Fields, or the values of an enumeration."""
        is_enum = rows[0].tag == "enumvalue"
        lines = [
            f"| {'value' if is_enum else 'field'} | {'number' if is_enum else 'type'} | meaning |"
        ]
        lines.append("| --- | --- | --- |")
        for row in rows:
            value = row.findtext("initializer", "").removeprefix("=").strip()
            shown = value if is_enum else self._field_type(row)
            cell = f"`{shown}`".replace("|", "\\|") if shown else ""
            text = " ".join(self._text(row).split()).replace("|", "\\|")
            lines.append(f"| `{row.findtext('name')}` | {cell} | {text} |")
        return "\n".join(lines)

    def _are_told(self, enum: Element) -> bool:
        """Whether a value has a comment; else the declaration says it all."""
        return any(self._text(each) for each in enum.iter("enumvalue"))

    def _value(self, value: Element) -> str:
        return f"{value.findtext('name')} {value.findtext('initializer', '')}".strip()

    def _field_type(self, field: Element) -> str:
        default = field.findtext("initializer", "").strip()
        separator = "" if default.startswith("{") else " "
        return self._code(_all_text(field.find("type"))) + (default and separator + default)

    def _declaration(self, entry: Element) -> str:
        """The declaration in the header."""
        kind, name = entry.attrib["kind"], entry.findtext("name", "")
        template = self._template(entry)
        returned = self._code(_all_text(entry.find("type")))
        match kind:
            case "class" | "struct":
                bases = [self._code(_all_text(each)) for each in entry.iter("basecompoundref")]
                derived = "".join(f" : public {each}" for each in bases)
                return f"{template}{kind} {self._name(entry)}{derived};"
            case "enum":
                strong = "class " if entry.get("strong") == "yes" else ""
                begin = f"enum {strong}{name}" + (f" : {returned}" if returned else "")
                if self._are_told(entry):
                    return f"{begin};"
                values = "".join(f"    {self._value(each)},\n" for each in entry.iter("enumvalue"))
                return f"{begin} {{\n{values}}};"
            case "typedef" if self._language == "cpp":
                return f"{template}using {name} = {returned};"
            case "typedef":
                result, is_function, _ = returned.partition("(*")
                if not is_function:
                    return f"typedef {returned} {name};"
                arguments = entry.findtext("argsstring", "").removeprefix(")")
                return f"typedef {result} (*{name}){arguments};"
            case "define":
                return f"#define {name} {entry.findtext('initializer', '')}"
        return template + self._function(entry, returned, self._code(name))

    def _function(self, entry: Element, returned: str, name: str) -> str:
        before = "protected: " if entry.get("prot") == "protected" else ""
        if entry.get("virt") in ("virtual", "pure-virtual"):
            before += "virtual "
        if entry.get("constexpr") == "yes":  # doxygen 1.9 has it in the type as well
            returned = f"constexpr {returned.removeprefix('constexpr').strip()}".strip()
        static = "static " if entry.get("static") == "yes" and self._language == "cpp" else ""
        explicit = "explicit " if entry.get("explicit") == "yes" else ""
        space = "" if not returned or (returned.endswith("*") and self._language == "c") else " "
        begin = f"{before}{explicit}{static}{returned}{space}{name}"
        parameters = [self._parameter(each) for each in entry.findall("param")]
        end = entry.findtext("argsstring", "").rpartition(")")[2].replace("=", " = ").strip()
        end = f" {end};" if end else ";"
        line = f"{begin}({', '.join(parameters)}){end}"
        if len(line) <= _LONG:
            return line
        return f"{begin}(\n    " + ",\n    ".join(parameters) + f"){end}"

    def _template(self, entry: Element) -> str:
        parameters = entry.findall("templateparamlist/param")
        shown = (
            _all_text(each.find("type")) + " " + each.findtext("declname", "")
            for each in parameters
        )
        return f"template <{', '.join(map(str.strip, shown))}>\n" if parameters else ""

    def _parameter(self, parameter: Element) -> str:
        type_ = self._code(_all_text(parameter.find("type")))
        name = parameter.findtext("declname", "")
        space = "" if not name or (type_.endswith("*") and self._language == "c") else " "
        default = _all_text(parameter.find("defval"))
        return f"{type_}{space}{name}" + (f" = {default}" if default else "")

    def _code(self, text: str) -> str:
        """Types as the sources write them; doxygen has spaces of its own."""
        text = re.sub(r"< ", "<", re.sub(r" >", ">", " ".join(text.split())))
        text = text.replace(self._namespace, "") if self._namespace else text
        return text if self._language == "c" else re.sub(r" ([&*])", r"\1", text)

    def _name(self, entry: Element) -> str:
        """Without the client's namespace; what stands in a class has its name before it."""
        shown = (entry.findtext(tag) for tag in ("compoundname", "qualifiedname", "name"))
        return next(name for name in shown if name).removeprefix(self._namespace)

    def _text(self, entry: Element) -> str:
        """Its comment."""
        found = (entry.find("briefdescription"), entry.find("detaileddescription"))
        parts = (self._paragraph(p) for each in found if each is not None for p in each)
        return "\n\n".join(part for part in parts if part)

    def _paragraph(self, paragraph: Element) -> str:
        """Prose, code and links; doxygen has read its Markdown."""
        parts = [self._prose(paragraph.text)]
        for child in paragraph:
            inside = _all_text(child)
            match child.tag:
                case "computeroutput":
                    parts.append(f"`{inside}`")
                case "verbatim":
                    parts.append(f"\n\n```{self._language}\n{inside.strip()}\n```\n\n")
                case "ref":
                    anchor = self._anchors.get(child.attrib["refid"])
                    parts.append(f"[`{inside}`](#{anchor})" if anchor else inside)
                case unknown:
                    text = _all_text(paragraph)[:60]
                    wanted = "prose, `code`, names and indented blocks"
                    raise PluginError(f"got <{unknown}> in {text!r}, wanted {wanted}")
            tail = self._prose(child.tail)
            parts.append(tail.lstrip() if child.tag == "verbatim" else tail)
        return "".join(parts).strip()

    def _prose(self, text: str | None) -> str:
        """Text in which nothing is Markdown; names of C are links."""

        def linked(found: re.Match[str]) -> str:
            anchor = self._words.get(found[0])
            return f"[`{found[0]}`](#{anchor})" if anchor else found[0]

        return re.sub(r"\breglue_\w+|\bREGLUE_\w+", linked, _escaped(text or ""))


def _escaped(text: str) -> str:
    return re.sub(r"([*\[\]<]|(?<!\w)_|_(?!\w))", r"\\\1", text)


def _is_public(member: Element) -> bool:
    return member.get("prot") != "private" and member.get("kind") != "friend"


def _file(entry: Element) -> str | None:
    location = entry.find("location")
    return None if location is None else location.attrib["file"]


def _place(entry: Element) -> tuple[str, int]:
    location = entry.find("location")
    assert location is not None
    return location.attrib["file"], int(location.attrib["line"])


def _all_text(element: Element | None) -> str:
    return "" if element is None else "".join(element.itertext())
