// Two texts side by side, with the words in which they differ.

import { html, useEffect, useState } from './preact.js';
import { useAnswer } from './api.js';
import { count, number, plain, share } from './format.js';
import { Choice, Missing, WebUrl } from './parts.js';

// Words of a stretch that both have, of which more are folded away.
const SHOWN = 24;

const FOLD = '(max-width: 820px)';

function useNarrow() {
  const [isNarrow, setNarrow] = useState(() => matchMedia(FOLD).matches);
  useEffect(() => {
    const list = matchMedia(FOLD);
    const changed = () => setNarrow(list.matches);
    list.addEventListener('change', changed);
    return () => list.removeEventListener('change', changed);
  }, []);
  return isNarrow;
}

// What both have: its ends, and the middle when asked for.
function Same({ text, isFirst, isLast }) {
  const [isOpen, setOpen] = useState(false);
  const all = text.split(/(?<=\s)/);
  if (isOpen || all.length <= 2 * SHOWN + 12) return html`<span>${plain(text)}</span>`;
  const begin = isFirst ? all.slice(0, SHOWN / 2) : all.slice(0, SHOWN);
  const end = isLast ? all.slice(-SHOWN / 2) : all.slice(-SHOWN);
  const folded = all.slice(begin.length, all.length - end.length).filter((it) => it.trim()).length;
  return html`<span>${plain(begin.join(''))}
    <button type="button" class="fold" onClick=${() => setOpen(true)}>… ${count(folded, 'word')} the same …</button>
    ${plain(end.join(''))}</span>`;
}

function Text({ parts, side }) {
  const shown = parts.filter((part) => side === 'both' || part.both !== undefined || part[side] !== undefined);
  return html`<p class="difftext">${shown.map((part, index) => {
    if (part.both !== undefined) return html`<${Same} key=${index} text=${part.both} isFirst=${part === parts[0]} isLast=${part === parts.at(-1)} />`;
    return part.a !== undefined ? html`<del key=${index}>${plain(part.a)}</del>` : html`<ins key=${index}>
      ${plain(part.b)}</ins>`;
  })}</p>`;
}

function Side({ page, name, tone }) {
  return html`<div class=${`diffhead ${tone}`}><b>${name}</b><span class="difftitle">
    ${plain(page.title) || 'without a title'}</span><${WebUrl} url=${page.url} /><small>
    ${count(page.words, 'word')}</small></div>`;
}

export function Compare({ a, b }) {
  const answer = useAnswer('compare', { a, b });
  const isNarrow = useNarrow();
  const [chosen, setChosen] = useState(null);
  const way = chosen ?? (isNarrow ? 'one' : 'two');
  const { data } = answer;
  if (!data) return html`<${Missing} answer=${answer} what="two texts" rows=${6} />`;
  const words = (side) => data.parts.reduce((sum, part) => sum + (part[side] ? part[side].split(/\s+/).filter(Boolean).length : 0), 0);
  const [onlyA, onlyB, both] = [words('a'), words('b'), words('both')];
  return html`<div class="compare">
    <p class="diffsays"><b>${onlyA + onlyB === 0 ? 'The texts are the same.' : `${count(onlyA, 'word')} only in the original, ${number(onlyB)} only in the duplicate`}</b>
      <span>${number(both)} in both (${share(both, both + Math.max(onlyA, onlyB))})</span>
      ${data.similarity !== undefined && data.similarity !== null && html`<span>similarity ${Number(data.similarity).toFixed(3)}</span>`}
      ${data.distance !== undefined && data.distance !== null && html`<span>distance ${data.distance} of 64 bits</span>`}
      <${Choice} label="How the texts are shown" value=${way} options=${[['two', 'side by side'], ['one', 'in one']]} onChange=${setChosen} /></p>
    <div class=${`sides ${way}`}>
      ${way === 'two'
        ? html`<article><${Side} page=${data.a} name="original" tone="a" />
          <${Text} parts=${data.parts} side="a" /></article><article>
          <${Side} page=${data.b} name="duplicate" tone="b" /><${Text} parts=${data.parts} side="b" /></article>`
        : html`<article><${Side} page=${data.a} name="original" tone="a" />
          <${Side} page=${data.b} name="duplicate" tone="b" /><${Text} parts=${data.parts} side="both" /></article>`}
    </div></div>`;
}
