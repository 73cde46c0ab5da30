#!/usr/bin/env python3
"""Makes the tables by which the language of a text is told (src/page/language/*.bin).

usage: OMP_NUM_THREADS=1 python3 train_language.py TREE src/page/language [--scripts latin,cyrillic]

TREE holds the unpacked packages of Debian 12 named in PACKAGES (`apt-get download`, `dpkg-deb -x`):
translations of programs (message catalogues) and of their manuals, in some 90 languages. Only how often letters follow one another is taken from
them. Needs numpy and scipy; the same packages give the same bytes.

For each script with several languages, a table has a row of one weight per language for each bucket of
hashed features: the three letters around a place, and whole words. The score of a language is the mean
of its weights over the features of a text; a logistic regression finds the weights. The first four
bytes of a file are the number of languages and the binary logarithm of the number of rows, both as
u16; then come the codes of the languages, three bytes each, the scale as f32, and the rows as i8, padded to a
multiple of sixteen.
"""
import argparse, collections, glob, gettext, json, os, random, re, struct, sys
import xml.etree.ElementTree as ET
import numpy as np
from scipy import sparse

PACKAGES = 'evolution-common gimp-data inkscape vlc-l10n gnome-user-docs'
# ISO 639-1 (639-3 without one) -> the directories of its catalogues and manuals
SCRIPTS = {
    'latin': {
        'af': 'af', 'sq': 'sq', 'ast': 'ast', 'az': 'az', 'bs': 'bs', 'br': 'br', 'ca': 'ca ca@valencia',
        'hr': 'hr', 'cs': 'cs', 'da': 'da', 'nl': 'nl', 'en': 'C en_GB en', 'eo': 'eo', 'et': 'et', 'fi': 'fi',
        'fr': 'fr', 'gl': 'gl', 'de': 'de', 'hu': 'hu', 'is': 'is', 'id': 'id', 'ga': 'ga', 'it': 'it',
        'lv': 'lv', 'lt': 'lt', 'ms': 'ms', 'nb': 'nb', 'nn': 'nn', 'oc': 'oc', 'pl': 'pl', 'pt': 'pt pt_BR',
        'ro': 'ro', 'gd': 'gd', 'sk': 'sk', 'sl': 'sl', 'es': 'es', 'sv': 'sv', 'tr': 'tr', 'vi': 'vi',
        'cy': 'cy', 'eu': 'eu', 'sr': 'sr@latin', 'uz': 'uz', 'xh': 'xh',
    },
    'cyrillic': {
        'be': 'be', 'bg': 'bg', 'kk': 'kk', 'ky': 'ky', 'mk': 'mk', 'mn': 'mn', 'ru': 'ru', 'sr': 'sr',
        'tt': 'tt', 'uk': 'uk',
    },
    'arabic': {'ar': 'ar', 'fa': 'fa', 'ps': 'ps', 'ug': 'ug', 'ur': 'ur'},
    'devanagari': {'hi': 'hi', 'mr': 'mr', 'ne': 'ne'},
    'bengali': {'as': 'as', 'bn': 'bn bn_IN bn_BD'},
}
ROWS = {'latin': 13, 'cyrillic': 12, 'arabic': 11, 'devanagari': 11, 'bengali': 10}
PER_LANGUAGE = 3000
RATE = 1.5


def catalogue(path):
    """The translated messages of a catalogue; of English, the messages."""
    try:
        with open(path, 'rb') as f:
            return gettext.GNUTranslations(f)._catalog
    except Exception:
        return {}


def clean(message):
    message = re.sub(r'%[-#0-9.+*$]*[a-zA-Z]|<[^>]*>|\{[^}]*\}|\$\w+|https?://\S+|&\w+;', ' ', message)
    return message.replace('_', '').replace('&', '')


def texts(tree, directories, script):
    """Runs of text in a language, in an order that does not depend on the machine."""
    found = []
    is_english = 'en_GB' in directories
    for directory in directories:
        for path in sorted(glob.glob(f'{tree}/**/locale/{directory}/LC_MESSAGES/*.mo', recursive=True)):
            for key, value in sorted(catalogue(path).items(), key=str):
                key = key[0] if isinstance(key, tuple) else key
                if key and value and isinstance(value, str) and len(value) > 15 and (is_english or value != key):
                    found.append(clean(key if is_english and directory != 'en_GB' else value))
        for path in sorted(glob.glob(f'{tree}/**/help/{directory}/**/*.page', recursive=True)):
            try:
                root = ET.parse(path).getroot()
            except ET.ParseError:
                continue
            for element in root.iter():
                if element.tag.endswith(('}p', '}title', '}desc')):
                    text = ' '.join(''.join(element.itertext()).split())
                    if len(text) > 15:
                        found.append(text)
    return list(dict.fromkeys(found))


# The letters of each script, as in src/page/language/script.rs.
LETTERS = {
    'latin': 'a-z\u00df-\u00f6\u00f8-\u024f\u1e00-\u1eff',
    'cyrillic': '\u0400-\u0481\u048a-\u052f',
    'arabic': '\u0610-\u061a\u0620-\u065f\u066e-\u06d3\u06d5-\u06dc\u06ee\u06ef\u06fa-\u06ff',
    'devanagari': '\u0900-\u0963\u0971-\u097f',
    'bengali': '\u0980-\u09e3\u09f0\u09f1',
}
WORD = {script: re.compile(f'[{letters}]+') for script, letters in LETTERS.items()}


def features(text, script):
    """The buckets of a text's features: what src/page/language/table.rs computes too."""
    mask, found = (1 << ROWS[script]) - 1, []
    for word in WORD[script].findall(text.lower()):
        letters = [32] + [ord(c) for c in word] + [32]
        whole = 0
        for at in range(1, len(letters) - 1):
            a, b, c = letters[at - 1:at + 2]
            whole = (whole * 0x01000193 + b) & 0xFFFFFFFF
            found.append(bucket((a * 0x9E3779B1 + b * 0x85EBCA77 + c * 0xC2B2AE3D) & 0xFFFFFFFF, mask))
        if len(word) <= 16:
            found.append(bucket((whole * 0x27D4EB2F + 0x165667B1) & 0xFFFFFFFF, mask))
    return found


def bucket(key, mask):
    key ^= key >> 15
    key = (key * 0x2C1B3C6D) & 0xFFFFFFFF
    key ^= key >> 13
    return key & mask


def samples(runs, rnd):
    """Texts of very different lengths, as pages have them."""
    made = []
    at = len(runs)
    while len(made) < PER_LANGUAGE:
        if at >= len(runs):
            if made and len(made) < len(runs) // 8:
                break
            runs = runs[:]
            rnd.shuffle(runs)
            at = 0
        wanted = rnd.choice([20, 40, 80, 150, 300, 600])
        text = ''
        while len(text) < wanted and at < len(runs):
            text += runs[at] + ' '
            at += 1
        made.append(text[:wanted + 20])
        if not runs:
            break
    return made


def matrix(texts, script):
    rows, cols, values = [], [], []
    for at, text in enumerate(texts):
        counts = collections.Counter(features(text, script))
        total = sum(counts.values()) or 1
        for col, n in counts.items():
            rows.append(at); cols.append(col); values.append(n / total)
    return sparse.csr_matrix((np.array(values, np.float32), (rows, cols)), shape=(len(texts), 1 << ROWS[script]))


def train(x, y, classes, steps, l2):
    """Logistic regression by Adam on all samples at once."""
    w = np.zeros((x.shape[1], classes), np.float32)
    m, v = np.zeros_like(w), np.zeros_like(w)
    xt = x.T.tocsr()
    onehot = np.zeros((x.shape[0], classes), np.float32)
    onehot[np.arange(len(y)), y] = 1
    for step in range(1, steps + 1):
        s = x @ w
        s -= s.max(1, keepdims=True)
        p = np.exp(s); p /= p.sum(1, keepdims=True)
        g = xt @ ((p - onehot) / len(y)) * 1.0 + l2 * w
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        rate = RATE * (1 - step / (steps + 1))
        w -= rate * (m / (1 - 0.9 ** step)) / (np.sqrt(v / (1 - 0.999 ** step)) + 1e-7)
        if step % 20 == 0:
            loss = -np.log(np.maximum(p[np.arange(len(y)), y], 1e-9)).mean()
            print(f'  step {step}: loss {loss:.4f}, right {(p.argmax(1) == y).mean():.4f}', file=sys.stderr)
    return w


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('tree'); parser.add_argument('out')
    parser.add_argument('--scripts', default=','.join(SCRIPTS)); parser.add_argument('--steps', type=int, default=100)
    parser.add_argument('--l2', type=float, default=1e-8)
    a = parser.parse_args()
    english = set()
    for script in a.scripts.split(','):
        languages, bits = SCRIPTS[script], ROWS[script]
        all_texts, y = [], []
        codes = sorted(languages)
        runs = {code: texts(a.tree, languages[code].split(), script) for code in codes}
        # What is not translated is English, whatever the name of its directory.
        english = english or set(texts(a.tree, ['C', 'en_GB', 'en'], script))
        seen = collections.Counter(text for code in codes for text in runs[code])
        for at, code in enumerate(codes):
            rnd = random.Random(code)
            own = runs[code] if code == 'en' else [t for t in runs[code] if t not in english and seen[t] < 3]
            made = samples(own, rnd)
            all_texts += made; y += [at] * len(made)
            print(script, code, len(made), sum(map(len, made)), file=sys.stderr)
        x, y = matrix(all_texts, script), np.array(y)
        w = train(x, y, len(codes), a.steps, a.l2)
        # Few weights are larger.
        scale = np.quantile(np.abs(w), 0.9995) / 127
        q = np.clip(np.rint(w / scale), -127, 127).astype(np.int8)
        with open(os.path.join(a.out, script + '.bin'), 'wb') as f:
            f.write(struct.pack('<HH', len(codes), bits))
            f.write(b''.join(code.encode().ljust(3) for code in codes))
            f.write(struct.pack('<f', scale))
            # Rows of whole vectors of the processor.
            padding = -len(codes) % 16
            f.write(np.pad(q, ((0, 0), (0, padding))).tobytes())


if __name__ == '__main__':
    main()
