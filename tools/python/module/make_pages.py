#!/usr/bin/env python3
"""Writes a page of documentation for each function of the module from its docstring: make_pages.py KEYWORDS FOLDER

KEYWORDS is the _keywords.pyi of make_options.py, which becomes a page of its own. The sources are read, not imported,
so that PyTorch is not needed.
"""

import ast
import inspect
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent / "highwater"
#: Source and what it offers, in the order of the index.
SOURCES = ("recording.py", "plans.py", "jobs.py", "scaling.py", "_tasks.py", "_watch.py", "transformers.py", "lightning.py", "report.py", "deepspeed.py",
           "_parameters.py", "_errors.py", "_results.py")
KEYWORDS = ("Each function takes the options of the program's command as keywords: `--max-reserved 40GiB` is\n"
            "`max_reserved=\"40GiB\"`, `--from` is `from_`. Editors and type checkers know them, and a keyword that does not\n"
            "exist is an `InputError` that names the nearest. Where each default is from: `highwater COMMAND --help-all`.")
HIDDEN = {"ModelStates", "Parameter", "Parameters", "from_json", "framed", "operand", "plain", "items", "values"}


def is_shown(node):
    return isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_") \
        and node.name not in HIDDEN and ast.get_docstring(node) is not None


def signature(node, owner=""):
    arguments = ast.unparse(node.args).replace("self, ", "").replace("self", "")
    return f"{owner}{node.name}({arguments}) -> {ast.unparse(node.returns) if node.returns else 'None'}"


def section(node, owner=""):
    doc = inspect.cleandoc(ast.get_docstring(node) or "")
    if isinstance(node, ast.FunctionDef):
        return f"```python\n{signature(node, owner)}\n```\n\n{examples(doc)}\n{keywords_of(node)}"
    init = next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
    head = f"```python\n{node.name}({ast.unparse(init.args).replace('self, ', '')})\n```\n\n" if init else ""
    return head + examples(doc) + "\n"


def keywords_of(node):
    """Where the keywords of a function are described."""
    name = ast.unparse(node.args.kwarg.annotation).removeprefix("Unpack[").rstrip("]") if node.args.kwarg else ""
    return f"\nIts keywords: [{name}](options.md#{name.lower()}).\n" if name.endswith("Options") else ""


def examples(doc):
    """Lines of a prompt as a block of code."""
    lines, inside = [], False
    for line in doc.splitlines():
        is_code = line.startswith((">>> ", "... "))
        if is_code != inside:
            lines.append("```python" if is_code else "```")
            inside = is_code
        lines.append(line[4:] if is_code else line)
    return "\n".join([*lines, "```"] if inside else lines)


def methods(node):
    return [each for each in node.body if is_shown(each)] if isinstance(node, ast.ClassDef) else []


def page(title):
    return title.removeprefix("highwater.") + ".md"


def pages():
    """(file name, title, text)."""
    for source in SOURCES:
        tree = ast.parse((PACKAGE / source).read_text(encoding="utf-8"))
        module = "highwater" if source.startswith("_") or source in ("recording.py", "plans.py", "jobs.py", "scaling.py",
                                                                     "report.py", "deepspeed.py") else f"highwater.{source[:-3]}"
        for node in filter(is_shown, tree.body):
            yield page(f"{module}.{node.name}"), f"{module}.{node.name}", section(node)
            for method in methods(node):
                yield (page(f"{module}.{node.name}.{method.name}"), f"{module}.{node.name}.{method.name}",
                       section(method, f"{node.name}."))


def first_sentence(text):
    plain = [line for line in text.split("```")[-1 if text.count("```") < 3 else 2].splitlines() if line.strip()]
    return plain[0] if plain else ""


def keyword_tables(keywords):
    """What `_keywords.pyi` says, a table for each class."""
    tree = ast.parse(keywords.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            bases = [f"[{base.id}](#{base.id.lower()})" for base in node.bases if base.id != "TypedDict"]
            rows = [f"| `{field.target.id}` | {escaped(ast.unparse(field.annotation))} | {escaped(doc.value.value)} |"
                    for field, doc in zip(node.body[::2], node.body[1::2])]
            table = ["", "| keyword | type | |", "| --- | --- | --- |", *rows] if rows else []
            also = ["", "Those of " + " and ".join(bases) + (", and:" if rows else ".")] if bases else []
            yield "\n".join([f"## {node.name}", *also, *table])


def escaped(text):
    return text.replace("|", "\\|")


def files(keywords):
    """(file name, text)."""
    head = inspect.cleandoc(ast.get_docstring(ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))))
    index = ["# The Python module", "", "    pip install .      # in a clone; needs a compiler. The distribution is called highwater-gpu", "", head, "",
             "| page | |", "| --- | --- |"]
    for name, title, text in pages():
        yield name, f"# {title}\n\n{text}\n[All functions](README.md)\n"
        index.append(f"| [{title}]({name}) | {first_sentence(text)} |")
    yield "options.md", "\n\n".join(["# Keywords", KEYWORDS, *keyword_tables(keywords), "[All functions](README.md)"]) + "\n"
    index += ["| [Keywords](options.md) | What each function takes, with types. |"]
    yield "README.md", "\n".join(index) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    keywords, folder = map(Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files(keywords):
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
