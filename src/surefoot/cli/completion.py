"""``surefoot completion``: scripts with which a shell completes commands, options and their values.

A script holds all words itself: a shell that asks the program at every key would wait for it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from surefoot.cli.commands import COMMANDS
from surefoot.cli.console import say
from surefoot.cli.exit_codes import DONE
from surefoot.cli.options import command

_EXAMPLES = """\
  surefoot completion bash > ~/.local/share/bash-completion/completions/surefoot
  surefoot completion zsh > ~/.zfunc/_surefoot      (a folder of fpath)
  surefoot completion fish > ~/.config/fish/completions/surefoot.fish"""
SHELLS = ("bash", "zsh", "fish")


def add_completion(subparsers: Any) -> None:
    """Add the command to the program."""
    parser = command(subparsers, "completion", _EXAMPLES, run_completion)
    parser.add_argument("shell", choices=SHELLS)


def run_completion(args: argparse.Namespace) -> int:
    """Print the script; see the parser."""
    say({"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell]())
    return DONE


def _options(name: str) -> Iterator[tuple[list[str], str, list[str] | None]]:
    """The options of a command: how they are written, what they do, and their values: None for flags, an empty list for any."""
    from surefoot.cli.main import program_parser

    (action,) = (one for one in program_parser(name)._actions if isinstance(one, argparse._SubParsersAction))
    for one in action.choices[name]._actions:
        if one.option_strings:
            values = None if one.nargs == 0 else [str(choice) for choice in one.choices or ()]
            summary = "" if one.help is None else one.help.replace("%%", "%").split(":")[0].split(";")[0].split("(")[0].strip()
            yield list(one.option_strings), summary, values


def _bash() -> str:
    cases, values = [], []
    for name in COMMANDS:
        known = list(_options(name))
        words = [word for written, _, _ in known for word in written]
        cases.append(f'        {name}) words="{" ".join([*words, *(SHELLS if name == "completion" else ())])}" ;;')
        for written, _, choices in known:
            if choices:
                values += [f'        {name}:{word}) words="{" ".join(choices)}" ;;' for word in written]
    return "\n".join(
        [
            "# bash completion for surefoot",
            "_surefoot() {",
            '    local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words=""',
            '    if [ "$COMP_CWORD" -eq 1 ]; then',
            f'        COMPREPLY=($(compgen -W "{" ".join(COMMANDS)} --version --help" -- "$current"))',
            "        return",
            "    fi",
            '    case "${COMP_WORDS[1]}:$before" in',
            *values,
            "    esac",
            '    if [ -z "$words" ] && [[ "$current" == -* || "${COMP_WORDS[1]}" == completion ]]; then',
            '        case "${COMP_WORDS[1]}" in',
            *cases,
            "        esac",
            "    fi",
            '    if [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$current"));',
            '    else COMPREPLY=($(compgen -f -- "$current")); fi',
            "}",
            "complete -o filenames -F _surefoot surefoot",
        ]
    )


def _zsh() -> str:
    lines = ["#compdef surefoot", "_surefoot() {", "  local -a commands", "  commands=("]
    lines += [f"    '{name}:{_quoted(summary)}'" for name, (_, summary) in COMMANDS.items()]
    lines += ["  )", "  if (( CURRENT == 2 )); then _describe command commands; return; fi", "  case $words[2] in"]
    for name in COMMANDS:
        lines.append(f"    {name}) shift words; (( CURRENT-- )); _arguments \\")
        for written, summary, choices in _options(name):
            value = "" if choices is None else f":value:({' '.join(choices)})" if choices else ":value:_files"
            lines += [f"      '*{word}[{_quoted(summary)}]{value}' \\" for word in written]
        lines.append(f"      '*:file:{'(' + ' '.join(SHELLS) + ')' if name == 'completion' else '_files'}' ;;")
    return "\n".join([*lines, "  esac", "}", '_surefoot "$@"'])


def _fish() -> str:
    none = f"not __fish_seen_subcommand_from {' '.join(COMMANDS)}"
    lines = ["# fish completion for surefoot"]
    for name, (_, summary) in COMMANDS.items():
        lines.append(f"complete -c surefoot -f -n '{none}' -a {name} -d '{_quoted(summary)}'")
        for written, told, choices in _options(name):
            forms = " ".join(f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}" for word in written)
            value = "" if choices is None else f" -x -a '{' '.join(choices)}'" if choices else " -r"
            lines.append(f"complete -c surefoot -n '__fish_seen_subcommand_from {name}' {forms}{value} -d '{_quoted(told)}'")
    lines.append(f"complete -c surefoot -f -n '__fish_seen_subcommand_from completion' -a '{' '.join(SHELLS)}'")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """A text between single quotation marks of a shell, without what a description may not hold."""
    return text.replace("'", "").replace("[", "(").replace("]", ")").replace(":", "")
