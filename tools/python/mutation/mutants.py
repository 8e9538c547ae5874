"""Mutants of a C++ source: where they are, what they change, and the source with all of them.

The source must be formatted by tools/format.sh: a comparison or a logical operator has blanks on
both sides, the angle brackets of templates have none. What this reader of tokens gets wrong does
not compile, and mutate.py drops it.
"""
import collections
import dataclasses
import re

TOKEN = re.compile(
    r"""(?P<skip>//[^\n]*|/\*.*?\*/|\#[^\n]*|\s+)
      |(?P<text>R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      |(?P<number>(?:0[xX][0-9a-fA-F']+|\d[\d']*)(?:\.\d*)?(?:[eE][-+]?\d+)?[uUlLfF]*)
      |(?P<name>[A-Za-z_]\w*)
      |(?P<sign><=>|<<=|>>=|->\*|\.\.\.|::|->|\+\+|--|&&|\|\||[-+*/%&|^<>=!]=|<<|[-+*/%&|^<>=!~?:;,.(){}\[\]])
    """, re.X | re.S)

INTEGER = re.compile(r"(?:0[xX][\da-fA-F']+|\d[\d']*)[uUlL]*")

OPERATORS = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal",
             "==": "equal", "!=": "not_equal"}
REPLACEMENTS = {"<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"],
                "==": ["!="], "!=": ["=="]}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<=", ">>="}
NO_MUTANT = 0  # where a mutant might be and is none; the others count from 1
OPENING = {"(": ")", "[": "]", "{": "}"}
NO_EXPRESSION = {
    "alignas", "auto", "bool", "case", "class", "const", "constexpr", "default", "do", "else", "enum",
    "explicit", "extern", "for", "friend", "if", "inline", "namespace", "operator", "private",
    "protected", "public", "return", "static", "static_assert", "struct", "switch", "template",
    "try", "typedef", "typename", "union", "using", "virtual", "void", "while"}


@dataclasses.dataclass(frozen=True)
class Token:
    kind: str
    text: str
    begin: int
    end: int


@dataclasses.dataclass(frozen=True)
class Mutant:
    """`before` and `after` are the lines of the source that the mutant touches, in one line;
    `nth` tells apart what is the same at several places of a file. One that does not compile is none."""
    file: str
    line: int
    before: str
    after: str
    nth: int
    number: int
    compiles: bool

    @property
    def change(self):
        return (self.file, self.before, self.after)

    @property
    def key(self):
        return (*self.change, self.nth)


@dataclasses.dataclass
class Site:
    """A place with one or more mutants: `code` takes their numbers and gives the texts to put in
    front of, behind and (where it is not None) instead of the stretch."""
    begin: int
    end: int
    afters: list  # the stretch in each mutant
    code: object


def tokens_of(source):
    tokens, at = [], 0
    while at < len(source):
        match = TOKEN.match(source, at)
        if not match:
            at += 1
            continue
        if match.lastgroup != "skip":
            tokens.append(Token(match.lastgroup, match.group(), match.start(), match.end()))
        at = match.end()
    return tokens


class Finder:
    def __init__(self, source):
        self.source = source
        self.tokens = tokens_of(source)
        self.partner = self.match_brackets()
        self.fixed = self.compile_time_tokens()
        self.constants = self.constant_tokens()

    def sites(self):
        for i, token in enumerate(self.tokens):
            if i in self.fixed:
                continue
            if token.text in REPLACEMENTS and self.is_spaced(token):
                yield self.comparison(token)
            elif token.text in ("&&", "||") and self.is_spaced(token):
                yield from self.logical_operands(i)
            elif token.text in ("if", "while"):
                yield from self.branch(i)
            elif token.text == "?":
                yield self.condition(self.left_of(i, stop_at_logical=False), i - 1)
            elif token.kind == "number" and INTEGER.fullmatch(token.text):
                yield self.number(token, "constant_shift" if i in self.constants else "shift")
            elif token.text in ("true", "false"):
                yield self.flag(token)
            if self.starts_statement(i):
                yield from self.statement(i)

    # What is a constant expression for certain: the compiler, not a test, would have to notice.

    def compile_time_tokens(self):
        fixed = set()
        for i, token in enumerate(self.tokens):
            if token.text in ("case", "static_assert", "enum", "template", "friend"):
                fixed.update(range(i, self.end_of_statement(i)))
            if token.text == "constexpr" and self.tokens[i - 1].text == "static":
                fixed.update(range(i, self.end_of_statement(i)))
            if token.text == "constexpr" and self.is_local(i) and not self.is_function(i):
                fixed.update(range(i, self.end_of_statement(i)))
            if token.text == "array" and self.text(i + 1) == "<":
                fixed.update(range(i, self.angle_end(i + 1)))
            if token.text == "alignas":
                fixed.update(range(i, self.partner[i + 1]))
            if token.text == "operator":
                fixed.add(i + 1)
            if token.text == "=" and self.text(i + 1) == "0" and self.text(i - 1) in (")", "const"):
                fixed.add(i + 1)  # a pure virtual function
        return fixed

    def constant_tokens(self):
        """Those of constants outside functions and classes."""
        constants = set()
        for i, token in enumerate(self.tokens):
            if token.text == "constexpr" and not self.is_local(i) and not self.is_function(i):
                constants.update(range(i, self.end_of_statement(i)))
        return constants

    def is_local(self, i):
        first = i - 1 if self.text(i - 1) == "inline" else i
        return self.column(self.tokens[first]) > 0

    def is_function(self, i):
        """Whether a declaration has a parameter list before any initialiser."""
        while self.text(i) not in (";", "=", "{", ""):
            if self.text(i) == "(":
                return True
            i += 1
        return False

    def angle_end(self, i):
        depth = 0
        while i < len(self.tokens):
            depth += {"<": 1, ">": -1}.get(self.text(i), 0)
            i += 1
            if depth == 0:
                break
        return i

    # Sites.

    def comparison(self, token):
        op, others = token.text, REPLACEMENTS[token.text]
        link = ">" if op in ("<", "<=", ">", ">=") else "=="
        names = [OPERATORS[o] for o in [op, others[0], others[-1]]]
        listed = ", ".join("mutation::Operator::" + name for name in names)

        def code(numbers):
            return "", "", f"{link} mutation::Comparison{{{listed}, {numbers[0]}}} {link}"
        return Site(token.begin, token.end, others, code)

    def number(self, token, shift):
        digits = re.sub(r"[uUlL]+$", "", token.text).replace("'", "")
        value = int(digits, 0 if digits[:2] in ("0x", "0X") else 10)
        values = [value + 1] + ([value - 1] if value > 0 else [])

        def code(numbers):
            return "(", f" + mutation::{shift}({numbers[0]}, {(numbers + [NO_MUTANT])[1]}))", None
        return Site(token.begin, token.end, [str(v) for v in values], code)

    def flag(self, token):
        other = "false" if token.text == "true" else "true"
        return Site(token.begin, token.end, [other],
                    lambda numbers: ("mutation::flipped(", f", {numbers[0]})", None))

    def condition(self, first, last):
        return Site(self.tokens[first].begin, self.tokens[last].end, ["true", "false"],
                    lambda numbers: ("mutation::condition(static_cast<bool>(",
                                     f"), {numbers[0]}, {numbers[1]})", None))

    def forced(self, first, last, value):
        return Site(self.tokens[first].begin, self.tokens[last].end, [value],
                    lambda numbers: (f"mutation::forced_{value}(static_cast<bool>(",
                                     f"), {numbers[0]})", None))

    def branch(self, i):
        """The condition of an `if`; a loop is only left out, never made endless."""
        is_loop = self.text(i) == "while"
        if self.text(i + 1) != "(":
            return
        first, last = i + 2, self.partner[i + 1] - 1
        inside = self.top_level(first, last)
        for j in inside:
            if self.text(j) == ";":
                first = j + 1
        if any(self.text(j) == "=" for j in inside if j >= first):
            return  # declares a variable
        yield self.forced(first, last, "false") if is_loop else self.condition(first, last)

    def logical_operands(self, i):
        """Each operand of && as true, each of || as false: as if it were not there."""
        value = "true" if self.text(i) == "&&" else "false"
        left = self.left_of(i, stop_at_logical=True)
        if self.text(left - 1) not in ("&&", "||"):
            yield self.forced(left, i - 1, value)
        yield self.forced(i + 1, self.right_of(i), value)

    def statement(self, i):
        end = self.end_of_statement(i)
        if self.text(end - 1) == ";" and self.is_expression(i, end):
            yield Site(self.tokens[i].begin, self.tokens[end - 1].end, [""],
                       lambda numbers: (f"if (mutation::kept({numbers[0]})) ", "", None))

    # Reading tokens.

    def text(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def column(self, token):
        return token.begin - (self.source.rfind("\n", 0, token.begin) + 1)

    def is_spaced(self, token):
        return self.source[token.begin - 1].isspace() and self.source[token.end].isspace()

    def match_brackets(self):
        partner, stack = {}, []
        for i, token in enumerate(self.tokens):
            if token.text in OPENING:
                stack.append(i)
            elif token.text in OPENING.values() and stack:
                partner[stack[-1]], partner[i] = i, stack[-1]
                stack.pop()
        return partner

    def top_level(self, first, last):
        i, found = first, []
        while i <= last:
            found.append(i)
            i = self.partner[i] + 1 if self.text(i) in OPENING else i + 1
        return found

    def is_boundary(self, i, stop_at_logical):
        text = self.text(i)
        return (text in {"", ",", ";", "?", ":", "return"} | ASSIGNMENTS or
                (stop_at_logical and text in ("&&", "||") and self.is_spaced(self.tokens[i])))

    def left_of(self, i, stop_at_logical):
        i -= 1
        while not self.is_boundary(i, stop_at_logical) and self.text(i) not in OPENING:
            i = self.partner[i] - 1 if self.text(i) in OPENING.values() else i - 1
        return i + 1

    def right_of(self, i):
        i += 1
        while not self.is_boundary(i, True) and self.text(i) not in OPENING.values():
            i = self.partner[i] + 1 if self.text(i) in OPENING else i + 1
        return i - 1

    def end_of_statement(self, i):
        while i < len(self.tokens) and self.text(i) != ";":
            if self.text(i) in OPENING.values():
                return i
            i = self.partner.get(i, i) + 1 if self.text(i) in OPENING else i + 1
        return i + 1

    def starts_statement(self, i):
        return self.text(i - 1) in (";", "{", "}", "else") and self.innermost_brace(i)

    def innermost_brace(self, i):
        """Whether `i` stands in braces, not in the parentheses of a `for`."""
        i -= 1
        while i >= 0 and self.text(i) not in OPENING:
            i = self.partner[i] - 1 if self.text(i) in OPENING.values() else i - 1
        return self.text(i) == "{"

    def is_expression(self, i, end):
        if self.text(i) in ("throw", "break", "continue", "++", "--"):
            return True
        if self.text(i) in NO_EXPRESSION or self.tokens[i].kind != "name":
            return False
        if self.text(end - 2) in ("delete", "default"):
            return False  # a special member function
        while self.text(i + 1) == "::":
            i += 2
        following = self.text(i + 1)
        return following in {"(", ".", "->", "[", "++", "--"} | ASSIGNMENTS


def without_constexpr(source):
    """Constants and functions as ones of run time, where they may be: only these can be switched."""
    source = re.sub(r"^constexpr (?=[\w:<>, ]+ \w+\()", "inline ", source, flags=re.M)
    return re.sub(r"(?<!static )\bconstexpr (?=[\w:<>, ]+ k\w+[ {=])", "const ", source)


def mutants_of(file, source, first_number, dropped=frozenset()):
    """The mutants of `source` and the source with all of them; the numbers start at the given one.
    The lines `dropped` are left as they are."""
    mutants, edits, seen = [], [], collections.Counter()
    for site in sorted(Finder(source).sites(), key=lambda s: (s.begin, -s.end)):
        line = source.count("\n", 0, site.begin) + 1
        last_line = source.count("\n", 0, site.end) + 1
        begin = source.rfind("\n", 0, site.begin) + 1
        end = source.find("\n", site.end)
        compiles = not dropped.intersection(range(line, last_line + 1))
        numbers = []
        for after in site.afters:
            changed = source[begin:site.begin] + after + source[site.end:end]
            numbers.append(first_number + len(mutants))
            texts = one_line(source[begin:end]), one_line(changed) or "(removed)"
            seen[texts] += 1
            mutants.append(Mutant(file, line, *texts, seen[texts], numbers[-1], compiles))
        if compiles:
            edits.append((site, site.code(numbers)))
    return mutants, without_constexpr(rewritten(source, edits))


def one_line(text):
    return " ".join(re.sub(r"//[^\n]*", "", text).split())


def rewritten(source, edits):
    """`source` with every site's texts put in; sites nest but do not overlap otherwise."""
    insertions = []
    for site, (front, behind, instead) in edits:
        length = site.end - site.begin
        insertions.append((site.begin, 1, -length, front if instead is None else instead,
                           0 if instead is None else length))
        if behind:
            insertions.append((site.end, 0, length, behind, 0))
    parts, at = [], 0
    for offset, _, _, text, removed in sorted(insertions, key=lambda edit: edit[:3]):
        parts += [source[at:offset], text]
        at = offset + removed
    return "".join(parts) + source[at:]
