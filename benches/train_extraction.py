#!/usr/bin/env python3
"""Learns what tells content from furniture, and writes src/page/html/class_words.rs and src/page/content/model_trees.rs.

    cargo bench --bench extraction_stability -- --write pages.jsonl > changed.jsonl
    cargo bench --bench extraction_study -- --study < pages.jsonl > study.jsonl
    cargo bench --bench extraction_study -- --study < changed.jsonl > changed_study.jsonl
    pip install numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 catboost==1.2.10 rapidfuzz==3.14.6
    python3 benches/train_extraction.py study.jsonl changed_study.jsonl [--write]

A line of pages.jsonl is a page whose content is known: {"url", "html"} and either "truth", the whole main text, or
the snippets "with" and "without", which must and must not be in it. Steps:

1. Label each block: the share of its words that an alignment with the truth finds there. By snippets only the
   blocks that hold one are labelled. A block weighs by what its words are of the page's truth. The headline and
   headings over content have no label where a truth has none of them: those truths are of paragraphs only.
2. Weigh the words of classes: a logistic regression on how often each stands above a block, for words of three letters
   or more on pages of at least four sites. Features that come from these weights are made from held-out sites only.
3. Grow trees of five questions each (CatBoost), the same question on a level, on all features. They also learn from the
   pages of the second file, which are the same in other frames: what surrounds the main text must not change it.
4. Report what the choice of main_text.rs makes of both, always for sites that were held out: five folds by site.

The same pages give the same files, byte for byte: nothing is drawn without a seed, and no step asks the model before.

What is written was learned from all pages; the report is on the same steps without the page's own site.
"""
import collections, json, math, re, sys
import multiprocessing, pathlib, tempfile, urllib.parse
import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
import catboost
from rapidfuzz.distance import LCSseq

WORD = re.compile(r'\w+')
FOLDS, MIN_SITES, MIN_LETTERS, SCALE, WORD_SCALE, MIN_WEIGHT = 5, 4, 3, 1024, 64, 4
DOUBTFUL, CERTAIN, AS_GOOD = 1.00, .50, .003                   # as in main_text.rs
TREES = dict(iterations=300, depth=5, learning_rate=.1, l2_leaf_reg=60, rsm=.15, border_count=64, subsample=.7,
             bootstrap_type='Bernoulli', boosting_type='Plain', leaf_estimation_iterations=1, random_seed=1,
             thread_count=2, verbose=0, allow_writing_files=False)
# Words that features ask for by name, whatever they weigh: the bits of traits.rs.
BITS = {
    1: 'colophon contentinfo copyright foot footer legal',
    2: 'comment commentlist comments disqus respond',
    4: 'caption credit credits figure gallery image media photo picture video wp',
    8: 'card cards cell col column entries grid item items list listing product products result results row tile tiles',
}


# ------------------------------------------------------------------------------------------------ pages and labels
def squeeze(text):
    return ' '.join(text.split())


def labels(page, texts, words):
    """1 for content, 0 for furniture, between for both, nan for unknown; and what each block weighs."""
    counts = np.array([len(w) for w in words], int)
    if page.get('truth') is None:
        known = np.full(len(texts), np.nan)
        for i, text in enumerate(map(squeeze, texts)):
            if any(squeeze(s) in text for s in page.get('with') or []):
                known[i] = 1
            elif any(squeeze(s) in text for s in page.get('without') or []):
                known[i] = 0
        return known, np.full(len(texts), .06)
    ids = collections.defaultdict(lambda: len(ids))
    truth = [ids[w.lower()] for w in WORD.findall(page['truth'])]
    flat = [ids[w.lower()] for block in words for w in block]
    place = np.full(len(flat) + 2, -9)                        # of each word in the truth
    for step in LCSseq.opcodes(flat, truth):
        if step.tag == 'equal':
            place[step.src_start + 1:step.src_end + 1] = np.arange(step.dest_start, step.dest_end)
    runs = {tuple(truth[i:i + 4]) for i in range(len(truth) - 3)}
    in_run = np.zeros(len(flat), bool)
    for i in range(len(flat) - 3):
        if tuple(flat[i:i + 4]) in runs:
            in_run[i:i + 4] = True
    here, before, after = place[1:-1], place[:-2], place[2:]
    single = np.repeat(counts == 1, counts)
    found = (here >= 0) & (in_run | (before == here - 1) | (after == here + 1) | single)
    owner = np.repeat(np.arange(len(words)), counts)
    hits = np.bincount(owner, found, len(words))
    return hits / np.maximum(counts, 1), (counts + 1) / max(60, len(truth))


def without_headings(page):
    """The labels, but none for the headline and for headings over content that a truth without any leaves out: some
    truths are of paragraphs only, but the program keeps headings, and the model must not learn to drop them."""
    label, known = page['label'], page['label'].copy()
    if page.get('truth') is None or not len(label):
        return known
    known[page['headline'] & (label < .5)] = np.nan
    heading = page['X'][:, page['names'].index('heading')] > 0
    others = heading & ~page['headline']
    if (others & (label >= .5)).any():
        return known
    after = np.nan                                            # the label of the next block that is no heading
    for i in range(len(label) - 1, -1, -1):
        if not heading[i]:
            after = label[i]
        elif others[i] and after >= .5:
            known[i] = np.nan
    return known


def site(url):
    host = urllib.parse.urlsplit(url or '').netloc.split(':')[0].split('.')
    return '.'.join(host[-3:] if len(host) > 2 and len(host[-1]) == 2 and len(host[-2]) <= 3 else host[-2:])


def read(line):
    page = json.loads(line)
    texts = [b[0] for b in page['blocks']]
    words = [WORD.findall(t) for t in texts]
    page['label'], page['weight'] = labels(page, texts, words)
    page['X'] = np.array([b[1] for b in page['blocks']], np.int32).reshape(len(texts), len(page['names']))
    page['class'] = [collections.Counter(b[2]) for b in page['blocks']]
    page['headline'] = np.array([b[3] for b in page['blocks']], bool)
    page['learned'] = without_headings(page)
    page['texts'], page['words'], page['site'] = texts, words, site(page.get('url')) or str(page.get('id'))
    del page['blocks']
    return page


# ----------------------------------------------------------------------------------------------------------- learning
def learn_words(pages):
    """Word of a class -> weight in 64ths."""
    sites = collections.defaultdict(set)
    for p in pages:
        for w in set().union(*p['class']) if p['class'] else ():
            sites[w].add(p['site'])
    vocabulary = {w: i for i, w in enumerate(sorted(w for w, on in sites.items() if len(on) >= MIN_SITES and len(w) >= MIN_LETTERS))}
    rows, cols, values, at = [], [], [], 0
    for p in pages:
        for counter in p['class']:
            for w, n in counter.items():
                if w in vocabulary:
                    rows.append(at), cols.append(vocabulary[w]), values.append(n)
            at += 1
    matrix = sparse.csr_matrix((values, (rows, cols)), (at, len(vocabulary)))
    label = np.concatenate([p['label'] for p in pages])
    weight = np.concatenate([p['weight'] for p in pages])
    known = ~np.isnan(label)
    model = LogisticRegression(C=.3, max_iter=300, solver='liblinear')
    model.fit(matrix[known], label[known] >= .5, sample_weight=weight[known])
    weights = {w: round(WORD_SCALE * model.coef_[0][i]) for w, i in vocabulary.items()}
    return {w: n for w, n in weights.items() if abs(n) >= MIN_WEIGHT}


def weigh(page, weights, names):
    """The page's features with those that come from class words, as features.rs makes them."""
    X = page['X'].copy()
    own = np.array([sum(weights.get(w, 0) * n for w, n in c.items()) for c in page['class']], np.int64)
    if len(own):
        own = own.clip(-30000, 30000)
        X[:, names.index('weight')] = own
        X[:, names.index('before_weight')] = np.concatenate([[0], own[:-1]])
        X[:, names.index('after_weight')] = np.concatenate([own[1:], [0]])
        near = [sum(own[max(0, i - 4):i + 5]) for i in range(len(own))]
        X[:, names.index('near_weight')] = np.trunc(np.array(near) / 4).clip(-30000, 30000)
    return X


def learn_trees(pages, names):
    """The trees. All pages count a second time, as if their class names meant nothing, as many sites' do."""
    of_words = [names.index(n) for n in ('weight', 'before_weight', 'after_weight', 'near_weight')]
    X = np.vstack([p['Z'] for p in pages]).astype(np.float32)
    without = X.copy()
    without[:, of_words] = 0
    label = np.concatenate([p['learned'] for p in pages])
    weight = np.concatenate([p['weight'] ** .75 for p in pages])
    X, label, weight = np.vstack([X, without]), np.tile(label, 2), np.concatenate([weight, weight / 2])
    known = ~np.isnan(label)
    return catboost.CatBoostClassifier(**TREES).fit(X[known], label[known] >= .5, sample_weight=weight[known])


def choose(likelihood, words):
    """main_text.rs, `line`."""
    if not len(likelihood):
        return np.zeros(0, bool)
    words = np.maximum(words, 1)
    order = np.argsort(-likelihood, kind='stable')
    found, kept = np.cumsum((likelihood * words)[order]), np.cumsum(words[order])
    promise = (2 * found / (kept + found[-1])).max()
    greed = DOUBTFUL + (CERTAIN - DOUBTFUL) * min(1, max(0, (promise - .5) / .4))
    worth = found / kept + greed * found / found[-1]
    sure = np.append(likelihood[order], .5).clip(.001, .999)
    gaps = np.diff(-np.log(sure / (1 - sure)))
    as_good = np.nonzero(worth >= worth.max() - AS_GOOD)[0]
    return likelihood >= max(1e-4, likelihood[order][as_good[np.argmax(gaps[as_good])]])


# ---------------------------------------------------------------------------------------------------------- reporting
def shingles(words):
    return collections.Counter(tuple(words[i:i + 4]) for i in range(max(1, len(words) - 3))) if words else collections.Counter()


def report(pages):
    """Precision, recall and F1 over runs of four words; means over pages, as the public benchmarks have it."""
    kinds = collections.defaultdict(list)
    snippets = np.zeros(4)
    said = collections.defaultdict(list)
    for p in pages:
        said[p.get('source')].extend(p['label'][p['headline']] >= .5)
    bare = {source for source, held in said.items() if held and np.mean(held) < .1}
    for p in pages:
        headlines = np.nonzero(p['headline'])[0]
        chosen = np.nonzero(choose(p['likelihood'], np.array([len(w) for w in p['words']])))[0]
        if p.get('truth') is None:
            text = squeeze('\n'.join(p['texts'][i] for i in chosen))
            hit = [squeeze(s) in text for s in p.get('with') or []]
            bad = [squeeze(s) in text for s in p.get('without') or []]
            snippets += [sum(hit), sum(bad), len(hit) - sum(hit), len(bad) - sum(bad)]
            continue
        # The headline is a field of its own and always in the text; where truths never have it, it is taken off.
        chosen = set(chosen) - set(headlines) if p.get('source') in bare else set(chosen) | set(headlines)
        truth, found = shingles(WORD.findall(p['truth'])), shingles([w for i in sorted(chosen) for w in p['words'][i]])
        both = sum((truth & found).values())
        row = (both / max(1, sum(found.values())), both / max(1, sum(truth.values())))
        for kind in (p.get('source') or 'pages', f"{p.get('source')} {p.get('type')}"):
            kinds[kind].append(row)
    for kind in sorted(kinds):
        precision, recall = np.mean(kinds[kind], axis=0)
        print(f'{kind:28} {len(kinds[kind]):4} pages  P {precision:.3f}  R {recall:.3f}  F1 {2 * precision * recall / (precision + recall):.3f}')
    if snippets[0]:
        precision, recall = snippets[0] / (snippets[0] + snippets[1]), snippets[0] / (snippets[0] + snippets[2])
        print(f'{"snippets":28}             P {precision:.3f}  R {recall:.3f}  F1 {2 * precision * recall / (precision + recall):.3f}', flush=True)


# ------------------------------------------------------------------------------------------------------------ writing
def wrap(rows, width=116):
    lines, line = [], '   '
    for row in rows:
        if len(line) + len(row) + 2 > width:
            lines.append(line)
            line = '   '
        line += f' {row},'
    return '\n'.join(lines + [line])


def write_words(path, weights):
    bits = collections.Counter()
    for bit, words in BITS.items():
        for w in words.split():
            bits[w] |= bit
    words = sorted(set(bits) | set(weights))
    rows = [f'("{w}", {bits[w]}, {weights.get(w, 0)})' for w in words]
    text = path.read_text()
    head = text[:text.index('/// Word, bits, weight; sorted.')]
    slots = 1 << (4 * len(words) - 1).bit_length()
    head = re.sub(r'static SLOTS: \[u16; \d+\]', f'static SLOTS: [u16; {slots}]', head)
    head = re.sub(r'let mut slots = \[0; \d+\]', f'let mut slots = [0; {slots}]', head)
    path.write_text(f'''{head}/// Word, bits, weight; sorted.
#[rustfmt::skip]
static WORDS: [(&str, u8, i16); {len(words)}] = [
{wrap(rows)}
];
''')


def write_trees(path, model):
    with tempfile.TemporaryDirectory() as directory:
        saved = pathlib.Path(directory, 'trees.json')
        model.save_model(str(saved), format='json')
        saved = json.loads(saved.read_text())
    scale, (bias,) = saved['scale_and_bias'][0], saved['scale_and_bias'][1]
    rows = []
    for tree in saved['oblivious_trees']:
        questions = [(s['float_feature_index'], math.floor(s['border'])) for s in tree['splits']]
        leaves = [round(SCALE * scale * v) for v in tree['leaf_values']]
        while len(questions) < TREES['depth']:                # a question that nothing answers with yes
            questions.append((0, 32767))
            leaves += [0] * len(leaves)
        asked = ', '.join(f'({f}, {b})' for f, b in questions)
        rows.append(f'    Tree {{ questions: [{asked}], leaves: {leaves} }},')
    likelihoods = [round(10000 / (1 + math.exp(-i / 4))) for i in range(37)]
    path.write_text(f'''//! The decision trees that tell content from everything else on a page. A generated table:
//! `benches/train_extraction.py` makes it and explains how; do not edit it by hand.

/// Number of questions per tree.
pub(super) const DEPTH: usize = 5;

/// One tree: `feature > border` for each question, and what the answers add to the log odds,
/// indexed by the answers as a binary number with the first one lowest.
pub(super) struct Tree {{
    pub(super) questions: [(u8, i16); DEPTH],
    pub(super) leaves: [i16; 1 << DEPTH],
}}

/// The initial log odds, in units of 1/1,024.
pub(super) const START: i32 = {round(SCALE * bias)};

/// The logistic function of 0, 1/4, 2/4 and so on, in units of 1/10,000.
#[rustfmt::skip]
pub(super) const LIKELIHOODS: [u32; {len(likelihoods)}] = [
{wrap(map(str, likelihoods))}
];

/// The trees. Leaves are log odds in units of 1/1,024.
#[rustfmt::skip]
pub(super) static TREES: [Tree; {len(rows)}] = [
{chr(10).join(rows)}
];
''')


def main():
    paths = [a for a in sys.argv[1:] if not a.startswith('--')]
    with multiprocessing.Pool(2) as pool:
        pages, changed = ([p for p in pool.imap(read, open(path), chunksize=8)] for path in paths)
    names = pages[0]['names']
    sites = sorted({p['site'] for p in pages})
    fold = dict(zip(sites, np.random.RandomState(0).permutation(len(sites)) % FOLDS))
    for k in range(FOLDS):
        weights = learn_words([p for p in pages if fold[p['site']] != k])
        for p in pages + changed:
            if fold[p['site']] == k:
                p['Z'] = weigh(p, weights, names)
    for k in range(FOLDS):
        model = learn_trees([p for p in pages + changed if fold[p['site']] != k], names)
        for p in pages:
            if fold[p['site']] == k:
                p['likelihood'] = model.predict_proba(p['Z'])[:, 1] if len(p['Z']) else np.zeros(0)
    report(pages)
    if '--write' in sys.argv:
        source = pathlib.Path(__file__).resolve().parent.parent / 'src' / 'page'
        weights, model = learn_words(pages), learn_trees(pages + changed, names)
        write_words(source / 'html' / 'class_words.rs', weights)
        write_trees(source / 'content' / 'model_trees.rs', model)
        print(f'{len(weights)} words, {TREES["iterations"]} trees of {len(names)} features')
        for feature, gain in sorted(zip(names, model.get_feature_importance()), key=lambda x: -x[1])[:25]:
            print(f'{feature} {gain:.1f}', end='  ')
        print()


if __name__ == '__main__':
    main()
