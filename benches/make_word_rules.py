#!/usr/bin/env python3
"""Makes the tables of the rules by which words are told apart (src/quality/words/rules/*.json).

usage: python3 make_word_rules.py src/quality/words/rules

Needs spaCy 3.8.18 (`pip install spacy==3.8.18`; MIT licence, copyright 2016-2024 ExplosionAI GmbH, 2016
spaCy GmbH, 2015 Matthew Honnibal). What is taken from it are its tables: patterns of prefixes, suffixes
and infixes, and exceptions, for each language. The same version gives the same bytes.

shared.json has character classes (`{{NAME}}` in patterns stands for one), the lists of patterns that most
languages have, the exceptions of all, the pattern of a URL, and categories of Unicode as ranges. Each
language has a file with its own lists, where they differ, and its own exceptions: `single` stay one word,
`several` become the words behind them.
"""
import json, sys, unicodedata, warnings
import spacy
from spacy.lang import char_classes, tokenizer_exceptions

warnings.simplefilter('ignore')
LANGUAGES = ('xx en af az bg ca cs da de el es et eu fa fi fr ga he hr hu hy id is it ky lt lv mk ms am '
             'nb nl pl pt ro ru sk sl sq sr sv tn tr uk').split()
NAMES = ('ALPHA ALPHA_LOWER ALPHA_UPPER CONCAT_QUOTES ICONS UNITS CURRENCY PUNCT HYPHENS '
         'COMBINING_DIACRITICS').split()
CLASSES = {name: getattr(char_classes, name) for name in NAMES}


def named(pattern):
    for name, text in sorted(CLASSES.items(), key=lambda it: -len(it[1])):
        pattern = pattern.replace(text, '{{' + name + '}}')
    return pattern


def parted(pattern):
    """The alternatives of a pattern, each with the flags before them."""
    flags = '(?iu)' if pattern.startswith('(?iu)') else ''
    parts, depth, start = [], 0, len(flags)
    for at in range(start, len(pattern)):
        if pattern[at] == '|' and depth == 0:
            parts.append(pattern[start:at])
            start = at + 1
        elif pattern[at - 1:at] != '\\\\':
            depth += (pattern[at] in '([') - (pattern[at] in ')]')
    parts.append(pattern[start:])
    return [flags + part for part in parts]


def ranges(holds):
    """The characters for which it holds, as a flat list of first and last."""
    found = []
    for code in range(sys.maxunicode + 1):
        if not holds(chr(code)):
            continue
        if found and found[-1] == code - 1:
            found[-1] = code
        else:
            found += [code, code]
    return found


def lists(language):
    defaults = language.Defaults
    kinds = ('prefixes', 'suffixes', 'infixes')
    return {kind: [named(it) for it in getattr(defaults, kind) if it.strip()] for kind in kinds}




def main():
    out = sys.argv[1]
    assert spacy.__version__ == '3.8.18', spacy.__version__
    from spacy.attrs import ORTH
    shared_lists = lists(spacy.blank('xx'))
    base = {text: [piece[ORTH] for piece in pieces]
            for text, pieces in tokenizer_exceptions.BASE_EXCEPTIONS.items() if text.strip()}

    def table(rules):
        single = sorted(text for text, pieces in rules.items() if len(pieces) == 1)
        several = {text: ' '.join(pieces) for text, pieces in sorted(rules.items()) if len(pieces) > 1}
        assert not any(' ' in piece for text in several for piece in rules[text])
        return {'single': single, 'several': several}

    def write(name, value):
        with open(f'{out}/{name}.json', 'w', encoding='utf-8') as file:
            json.dump(value, file, ensure_ascii=False, indent=0)
            file.write('\n')

    source = ('spaCy 3.8.18, MIT licence, (C) 2016-2024 ExplosionAI GmbH, 2016 spaCy GmbH, 2015 Matthew '
              'Honnibal; made by benches/make_word_rules.py')
    write('shared', {
        'source': source,
        'classes': {name: text for name, text in CLASSES.items()},
        'url': named(tokenizer_exceptions.URL_PATTERN),
        **shared_lists,
        **table(base),
        'punctuation': ranges(lambda it: unicodedata.category(it).startswith('P')),
        'letters': ranges(str.isalpha),
    })
    for code in LANGUAGES[1:]:
        language = spacy.blank(code)
        own = {kind: it for kind, it in lists(language).items() if it != shared_lists[kind]}
        rules = {text: [piece[ORTH] for piece in pieces]
                 for text, pieces in language.tokenizer.rules.items() if text.strip()}
        added = {text: pieces for text, pieces in rules.items() if base.get(text) != pieces}
        value = {'source': source, **own, **table(added)}
        gone = sorted(text for text in base if text not in rules)
        if gone:
            value['without'] = gone
        match = language.tokenizer.token_match
        if match is not None:
            value['token_match'] = parted(named(match.__self__.pattern))
        if own or added or gone:
            write(code, value)
        else:
            print(code, 'has the rules of all')


main()
