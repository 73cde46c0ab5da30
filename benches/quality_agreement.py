#!/usr/bin/env python3
"""Compares the measures of texts with those of datatrove.

usage: quality_agreement.py TEXTS.jsonl VALUES.jsonl [--show COLUMN]

TEXTS has a line `{"text", "language"}` per text, VALUES what `cargo bench --bench quality -- TEXTS --values`
printed for them. Needs datatrove 0.10.1 and spacy 3.8.18.
"""
import collections, json, sys, warnings
import numpy as np

warnings.simplefilter('ignore')
from datatrove.data import Document
from datatrove.pipeline.filters import (C4QualityFilter, FineWebQualityFilter, GopherQualityFilter,
                                        GopherRepetitionFilter)
from datatrove.pipeline.filters import gopher_repetition_filter as repetition
from datatrove.pipeline.filters import gopher_quality_filter as quality
from datatrove.utils.text import PUNCTUATION_SET, TERMINAL_PUNCTUATION, split_into_sentences, split_into_words
from datatrove.utils.word_tokenizers import load_tokenizer_assignments

# The three letters by which datatrove knows a language; its two letters are sometimes another one's.
THREE = dict(az='azj', sq='als', uz='uzn', et='ekk', lv='lvs', ms='zsm', mn='khk', ne='npi', zh='cmn',
             ps='pbt', tt='tat')


def columns(text, language):
    words = split_into_words(text, language)
    plain = [w for w in words if any(ch not in PUNCTUATION_SET for ch in w)]
    lines = text.splitlines()
    n = len(words)
    share = lambda part, whole: part / whole if whole else 0.0
    value = {
        'tokens': n, 'words': len(plain), 'mean_word_length': np.mean([len(w) for w in plain]) if plain else 0.0,
        'hashes': share(text.count('#'), n), 'ellipses': share(text.count('...') + text.count('…'), n),
        'bullet_lines': share(sum(s.lstrip().startswith('•') or s.lstrip().startswith('-') for s in lines), len(lines)),
        'ellipsis_lines': share(sum(s.rstrip().endswith('...') or s.rstrip().endswith('…') for s in lines), len(lines)),
        'alphabetic_words': share(sum(any(c.isalpha() for c in w) for w in words), n),
        'stop_words': len(set(quality.STOP_WORDS) & set(words)),
    }
    filter = repetition.GopherRepetitionFilter(language=language)
    paragraphs = filter.paragraph_exp.split(text.strip())
    count, chars = repetition.find_duplicates(paragraphs)
    value['duplicate_paragraphs'] = share(count, len(paragraphs))
    value['duplicate_paragraph_chars'] = share(chars, len(text))
    parts = filter._line_splitter.split(text)
    count, chars = repetition.find_duplicates(parts)
    value['duplicate_lines'] = share(count, len(parts))
    value['duplicate_line_chars'] = share(chars, len(text))
    top = [repetition.get_n_grams(words, k) for k in (2, 3, 4)]
    value['top_ngrams'] = [share(repetition.find_top_duplicate(it), len(text)) if it else 0.0 for it in top]
    value['duplicate_ngrams'] = [share(repetition.find_all_duplicate(words, k), len(text)) for k in range(5, 11)]
    shown = [line for line in text.split('\n') if line.strip() != '']
    stop = tuple(TERMINAL_PUNCTUATION)
    value['punctuated_lines'] = share(sum(1 for line in shown if line.endswith(stop)), len(shown))
    value['short_lines'] = share(sum(1 for line in shown if len(line) <= 30), len(shown))
    value['repeated_chars'] = share(repetition.find_duplicates(shown)[1], len(text.replace('\n', '')))
    value['newlines'] = share(text.count('\n'), n)
    document = Document(text=text, id='')
    kept = C4QualityFilter(language=language, min_num_sentences=0).filter(document)
    value['lorem_ipsum'] = kept is not True and kept[1] == 'lorem_ipsum'
    value['curly_bracket'] = kept is not True and kept[1] == 'curly_bracket'
    # Of a page that it drops, datatrove does not tell which lines it had kept.
    if kept is True:
        lines_kept = document.text.split('\n') if document.text else []
        value['c4_lines'] = share(len(lines_kept), len(lines))
        value['sentences'] = sum(len(split_into_sentences(line, language)) for line in lines_kept)
    return value


def decisions(text, language):
    def say(filter):
        try:
            said = filter.filter(Document(text=text, id=''))
        except ZeroDivisionError:
            return 'undefined'
        return 'kept' if said is True else said[1]
    stops = {} if language in ('en', 'eng') else {'min_stop_words': None}
    gopher = say(GopherQualityFilter(language=language, **stops))
    if gopher == 'kept':
        gopher = say(GopherRepetitionFilter(language=language))
    return {'gopher': gopher, 'c4': say(C4QualityFilter(language=language)),
            'fineweb': say(FineWebQualityFilter(language=language))}


def main():
    show = sys.argv[sys.argv.index('--show') + 1] if '--show' in sys.argv else None
    known = load_tokenizer_assignments()
    missing = set()
    by_language = collections.defaultdict(lambda: collections.defaultdict(list))
    for line, ours in zip(open(sys.argv[1]), open(sys.argv[2])):
        page, ours = json.loads(line), json.loads(ours)
        language = page['language']
        code = THREE.get(language, language)
        if code not in known or ours.get('tokens') is None:
            continue
        if language in missing:
            continue
        try:
            theirs = columns(page['text'], code)
        except (ImportError, ValueError) as error:
            missing.add(language)
            print(f'{language} is not compared: {error}')
            continue
        theirs.update(decisions(page['text'], code))
        found = by_language[language]
        for name, expected in theirs.items():
            got = ours.get(name)
            if isinstance(expected, str) or isinstance(expected, bool):
                difference = float(got != expected)
            elif isinstance(expected, list):
                difference = max(abs(a - b) for a, b in zip(got, expected))
            elif name in ('tokens', 'words'):
                difference = abs(got - expected) / max(expected, 1)
            else:
                difference = abs(got - expected)
            found[name].append(difference)
            if show == name and difference > 1e-6:
                print(language, name, got, expected, page['text'][:80].replace('\n', ' '))
        kept = {name: (ours[name] == 'kept') == (theirs[name] == 'kept') for name in ('gopher', 'c4', 'fineweb')}
        for name, is_same in kept.items():
            found[name + ' kept'].append(float(not is_same))
    for language, found in sorted(by_language.items(), key=lambda it: -len(it[1]['tokens'])):
        print(f"{language}: {len(found['tokens'])} texts")
        for name, values in found.items():
            values = np.array(values)
            same = (values < 2e-6).mean()
            if same < 1 or language == 'en':
                print(f"  {name:28} same {same:8.4%}  mean difference {values.mean():.6f}  largest {values.max():.4f}")


main()
