// Duplicates: what was found to be a copy of what, and whether that was right. A sample of a tier is
// looked at pair by pair and marked; from the marks follows how far the tier can be trusted.

import { html, useEffect, useMemo, useRef, useState } from './preact.js';
import { post, saved, useAnswer } from './api.js';
import { count, day, number, part, plain, share, size } from './format.js';
import { Badge, Card, Command, commandOf, Empty, Icon, Interval, Missing, run, TierChip, TIERS, WebUrl, Window } from './parts.js';
import { Histogram } from './charts.js';
import { Compare } from './compare.js';

const SAMPLED = 10;
// Clusters that are shown at first.
const SHOWN = 25;

function Tier({ tier, pages, all, savedBytes, marks, isChosen }) {
  const judged = marks?.marked > 0;
  const inner = html`<span class="tiername"><i class=${`dot v-${tier.key}`}></i>${tier.name}</span>
    <span class="tiersays">${tier.says}</span>
    <span class="tiercount">${number(pages)}<small>
      ${share(pages, all)} of duplicates, ${size(savedBytes)} saved</small></span>
    ${judged ? html`<span class="tierprecision">
      <${Interval} low=${marks.low} high=${marks.high} at=${marks.precision} /><b>
      ${part(marks.precision)} right</b><small>
      ${part(marks.low)} to ${part(marks.high)}, ${marks.marked} marked</small></span>` : html`<span class="tierprecision none">
      ${saved ? 'nobody marked any' : 'not looked at yet'}</span>`}`;
  return saved ? html`<div class="tier">
    ${inner}</div>` : html`<a class="tier" href=${`#/duplicates?tier=${tier.key}`} aria-current=${isChosen ? 'true' : null}>
    ${inner}</a>`;
}

// A pair of a sample: what it is, the texts, and the question.
function Pair({ sample, at, all, onMark, onMove }) {
  const mark = sample.mark ?? null;
  return html`<div class="pairhead">
      <p class="pairof"><button type="button" class="quiet" disabled=${at === 0} onClick=${() => onMove(-1)} aria-label="Previous pair">
        <${Icon} name="left" /></button>
        <span>${at + 1} of ${all}</span>
        <button type="button" class="quiet" disabled=${at + 1 >= all} onClick=${() => onMove(1)} aria-label="Next pair">
          <${Icon} name="right" /></button>
        <${TierChip} tier=${sample.tier} />
          ${sample.tier === 'near' && html`<small>distance ${sample.distance}, similarity ${Number(sample.similarity).toFixed(3)}</small>`}</p>
      <p class="ask"><span>Is the second a copy of the first?</span>
        <button type="button" class="right" aria-pressed=${String(mark === 'right')} onClick=${() => onMark('right')}>
          <${Icon} name="good" />Right <kbd>r</kbd></button>
        <button type="button" class="wrong" aria-pressed=${String(mark === 'wrong')} onClick=${() => onMark('wrong')}>
          <${Icon} name="bad" />Wrong <kbd>w</kbd></button>
        ${mark && html`<button type="button" class="quiet" onClick=${() => onMark(null)}>unmark <kbd>u</kbd></button>`}</p></div>
    <${Compare} key=${sample.url} a=${sample.original} b=${sample.url} />`;
}

function Sampler({ tier, marks, status }) {
  const [seed, setSeed] = useState('1');
  const answer = useAnswer('samples', { tier, limit: SAMPLED, seed });
  const [at, setAt] = useState(0);
  const [marked, setMarked] = useState({});
  const section = useRef(null);
  useEffect(() => {
    setAt(0);
    setMarked({});
  }, [tier, seed]);
  const samples = useMemo(() => (answer.data?.samples ?? []).map((it) => (it.url in marked ? { ...it, mark: marked[it.url] } : it)), [answer.data, marked]);
  const move = (by) => setAt((value) => Math.min(Math.max(0, samples.length - 1), Math.max(0, value + by)));
  const mark = async (value) => {
    const sample = samples[at];
    if (!sample || status?.read_only) return;
    const done = await run(() => post('marks', { url: sample.url, original: sample.original, mark: value }), null);
    if (!done) return;
    setMarked((old) => ({ ...old, [sample.url]: value }));
    marks.again();
    if (value && at + 1 < samples.length) move(1);
  };
  const key = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    const act = { r: () => mark('right'), w: () => mark('wrong'), u: () => mark(null), ArrowLeft: () => move(-1), ArrowRight: () => move(1) }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  const done = samples.filter((it) => it.mark).length;
  const name = TIERS.find((it) => it.key === tier)?.name ?? tier;
  return html`<section class="card wide sampler" ref=${section} tabindex="-1" onKeyDown=${key} aria-label=${`Sample of ${name}`}>
    <header><h2>Was that right? <i class=${`dot v-${tier}`}></i>${name}</h2><p class="says">
      ${samples.length > 0 ? `${done} of ${samples.length} marked; drawn at random` : ''}</p>
      <div class="actions">${samples.length > 0 && html`<span class="steps" role="group" aria-label="Pairs">
        ${samples.map((it, index) => html`<button type="button" key=${it.url} class=${it.mark ?? 'none'} aria-current=${index === at ? 'true' : null} aria-label=${`Pair ${index + 1}${it.mark ? `, ${it.mark}` : ''}`} onClick=${() => setAt(index)}></button>`)}</span>`}
        ${samples.length > 0 && html`<button type="button" onClick=${() => setSeed(String(Number(seed) + 1))}>Draw others</button>`}</div></header>
    ${answer.data && samples.length === 0 ? html`<${Empty} title="No duplicates of this tier" />` : samples[at] ? html`<${Pair} key=${samples[at].url} sample=${samples[at]} at=${at} all=${samples.length} onMark=${mark} onMove=${move} />` : html`<${Missing} answer=${answer} what="samples" rows=${6} />`}
    <${Command} line=${answer.data?.command ?? commandOf(status, 'dups', `--sample ${SAMPLED}`, '--diff')} /></section>`;
}

// What marks led to: the kind of pages that is taken apart wrongly, and the rule that undoes it.
function Rule({ marks }) {
  const undo = marks.data?.undo ?? [];
  const wrong = (marks.data?.marks ?? []).filter((it) => it.mark === 'wrong');
  if (undo.length === 0 && wrong.length === 0) return null;
  return html`<${Card} title="What was wrong, and how to undo it" wide=${true} says=${`${count(wrong.length, 'pair')} marked wrong`}>
    ${wrong.length > 0 && html`<ul class="plainlist pairs">${wrong.slice(0, 20).map((it) => html`<li key=${it.url}>
      <${TierChip} tier=${it.tier ?? ''} /> <${WebUrl} url=${it.url} /> <span class="muted">is not</span> <${WebUrl} url=${it.original} /></li>`)}</ul>`}
    ${undo.slice(0, 5).map((it) => html`<div key=${`${it.tier} ${it.pages}`}><p>This keeps pages like those at <code>
      ${plain(it.pages)}</code> apart from now on; it goes into the configuration file:</p>
      <pre class="toml" tabindex="0">${plain(it.rule)}</pre>
      <p>And this makes pages of those that were marked (on a stopped crawl):</p><${Command} line=${it.single} />
      ${it.tier !== 'raw' && html`<p>Or of all of the tier at this host:</p>
        <${Command} line=${it.command} />`}</div>`)}<//>`;
}

function Cluster({ id, row, status, onClose }) {
  const answer = useAnswer(saved ? null : `clusters/${encodeURIComponent(id)}`);
  const cluster = answer.data?.cluster ?? answer.data ?? row;
  const [compared, setCompared] = useState(null);
  const members = cluster?.members ?? [];
  return html`<${Window} title=${`Cluster ${id}`} drawer=${true} onClose=${onClose}>
    ${!cluster?.original ? html`<${Missing} answer=${answer} what="cluster" />` : html`
    <p><small>original</small><br /><${WebUrl} url=${cluster.original} /></p>
    ${cluster.canonical !== cluster.original && html`<p><small>preferred URL</small><br />
      <${WebUrl} url=${cluster.canonical} /></p>`}
    ${cluster.stands === false && html`<p>
      <${Badge} level="warn">the original is gone; its duplicates wait for a visit<//></p>`}
    ${compared ? html`<p><button type="button" class="link" onClick=${() => setCompared(null)}>← all ${count(members.length, 'duplicate')}</button></p>
      <${Compare} a=${cluster.original} b=${compared} />` : html`
    <div class="scroll"><table class="plain stack"><thead><tr><th scope="col">duplicate</th><th scope="col">tier</th>
      <th scope="col" class="n">similarity</th><th scope="col" class="n">saved</th>${!saved && html`<th scope="col">
      <span class="unseen">compare</span></th>`}</tr></thead>
      <tbody>${members.slice(0, 200).map((it) => html`<tr key=${it.url}><td class="fill"><${WebUrl} url=${it.url} />
        <small>since ${day(it.first_seen)}</small></td><td><${TierChip} tier=${it.tier} /></td>
        <td class="n" data-name="similarity">${it.tier === 'near' ? html`${Number(it.similarity).toFixed(3)}<small>
          ${it.distance} bits</small>` : 'equal'}</td><td class="n" data-name="saved">${size(it.saved)}</td>
        ${!saved && html`<td><button type="button" class="small" onClick=${() => setCompared(it.url)} aria-label=${`Compare ${plain(it.url)} with the original`}>compare</button></td>`}</tr>`)}</tbody></table></div>
      ${(cluster.more > 0 || members.length > 200) && html`<p class="muted">and ${number((cluster.more ?? 0) + Math.max(0, members.length - 200))} more</p>`}`}
    <${Command} line=${answer.data?.command ?? commandOf(status, 'dups')} />`}<//>`;
}

const LEAST = [['', 'any size'], ['3', '3 or more'], ['10', '10 or more'], ['100', '100 or more']];

// What a saved report has of the clusters, as the questions would choose.
function chosen(data, min, tier) {
  if (!saved || !data) return data;
  return { ...data, clusters: data.clusters.filter((it) => (it.duplicates ?? it.members.length) >= Number(min || 0) && (!tier || it.tiers?.[tier] > 0)) };
}

function Clusters({ query, go, status }) {
  const [parts, setParts] = useState([]);
  const [after, setAfter] = useState(null);
  const min = query.min ?? '';
  const tier = query.of ?? '';
  useEffect(() => {
    setParts([]);
    setAfter(null);
    setSeen(SHOWN);
  }, [min, tier]);
  const answer = useAnswer('clusters', saved ? {} : { after, min, tier });
  const data = useMemo(() => chosen(answer.data, min, tier), [answer.data, min, tier]);
  const clusters = useMemo(() => [...parts, ...(data?.clusters ?? [])], [parts, data]);
  const [seen, setSeen] = useState(SHOWN);
  const shown = clusters.slice(0, seen);
  const more = () => {
    setSeen(Math.max(seen, shown.length) + 100);
    if (saved || clusters.length > seen) return undefined;
    setParts(clusters);
    return setAfter(typeof data.next === 'string' ? data.next : JSON.stringify(data.next));
  };
  const set = (change) => go('duplicates', { ...query, ...change });
  const opened = query.cluster ?? null;
  return html`<${Card} title="Clusters" wide=${true} says="an original and what was found to be its copy" command=${data?.command ?? commandOf(status, 'dups')}
      actions=${html`<label class="field"><span>tier</span>
        <select value=${tier} onChange=${(event) => set({ of: event.target.value })}><option value="">all</option>
        ${TIERS.map((it) => html`<option key=${it.key} value=${it.key}>${it.name}</option>`)}</select></label>
        <label class="field"><span>duplicates</span>
          <select value=${min} onChange=${(event) => set({ min: event.target.value })}>
          ${LEAST.map(([key, name]) => html`<option key=${key} value=${key}>${name}</option>`)}</select></label>`}>
    ${!data && clusters.length === 0 ? html`<${Missing} answer=${answer} what="clusters" rows=${8} />` : clusters.length === 0 ? html`<${Empty} title="No clusters">
      ${min || tier ? 'None is of this kind.' : 'No page was found to be a copy of another.'}<//>` : html`
    <div class="scroll"><table class="clusters stack"><thead><tr><th scope="col">original</th>
      <th scope="col" class="n">duplicates</th><th scope="col" class="n">saved</th>
      <th scope="col">tiers</th></tr></thead>
      <tbody>${shown.map((it, index) => {
        const tiers = TIERS.map((kind) => [kind, it.tiers ? it.tiers[kind.key] ?? 0 : it.members.filter((member) => member.tier === kind.key).length]).filter(([, value]) => value > 0);
        return html`<tr key=${`${it.id} ${index}`}><td class="fill">
          <button type="button" class="link" onClick=${() => set({ cluster: it.id })}><bdi class="url">
          ${plain(it.original)}</bdi></button></td>
          <td class="n" data-name="duplicates">${number(it.duplicates ?? it.members.length)}</td><td class="n" data-name="saved">
            ${size(it.saved ?? it.members.reduce((sum, member) => sum + member.saved, 0))}</td>
          <td class="tiers">${tiers.map(([kind, value]) => html`<span key=${kind.key} title=${kind.says}>
            <i class=${`dot v-${kind.key}`}></i>${kind.name} ${number(value)}</span>`)}</td></tr>`;
      })}</tbody></table></div>
    ${(clusters.length > seen || (!saved && data?.next)) && html`<p class="buttons">
      <button type="button" onClick=${more}>More clusters</button></p>`}`}
    ${opened && html`<${Cluster} key=${opened} id=${opened} row=${clusters.find((it) => String(it.id) === opened)} status=${status} onClose=${() => set({ cluster: null })} />`}
  <//>`;
}

function Histograms({ report }) {
  const { distances = {}, similarities = [] } = report;
  const bits = Object.keys(distances).map(Number);
  if (bits.length === 0) return null;
  const far = Array.from({ length: Math.max(...bits) + 1 }, (_, bit) => [String(bit), distances[bit] ?? 0]);
  const low = Math.floor(Math.min(...similarities.map(([value]) => value)) * 100);
  const known = new Map(similarities.map(([value, pages]) => [Math.round(value * 100), pages]));
  const alike = Array.from({ length: 101 - low }, (_, index) => [((low + index) / 100).toFixed(2), known.get(low + index) ?? 0]);
  return html`<div class="columns two"><${Card} title="Near duplicates by distance">
    <${Histogram} title="Pages by bits in which their fingerprints differ" rows=${far} /><//>
    <${Card} title="Near duplicates by similarity">
      <${Histogram} title="Pages by similarity to their original" rows=${alike} /><//></div>`;
}

export function Duplicates({ live, query, go }) {
  const report = useAnswer('report', {}, 30_000);
  const marks = useAnswer('marks', {}, 0);
  const { status } = live;
  const verdicts = status?.counters?.verdicts ?? {};
  const all = TIERS.reduce((sum, it) => sum + (verdicts[it.key] ?? 0), 0);
  const most = [...TIERS].reverse().find((it) => (verdicts[it.key] ?? 0) > 0)?.key ?? 'near';
  const tier = TIERS.some((it) => it.key === query.tier) ? query.tier : most;
  const judged = new Map((marks.data?.tiers ?? []).map((it) => [it.tier, it]));
  return html`<div class="duplicates"><div class="tierrow">${TIERS.map((it) => {
      const of = report.data?.tiers?.find((row) => row.tier === it.key);
      return html`<${Tier} key=${it.key} tier=${it} pages=${verdicts[it.key] ?? of?.pages ?? 0} all=${all} savedBytes=${of?.saved} marks=${judged.get(it.key)} isChosen=${!saved && it.key === tier} />`;
    })}</div>
    ${!saved && status && (all > 0 ? html`<${Sampler} tier=${tier} marks=${marks} status=${status} />` : html`<${Card} title="Was that right?" wide=${true}>
      <${Empty} title="No duplicates yet">When a page turns out to be a copy of another, this is where to look at both.<//><//>`)}
    <${Rule} marks=${marks} />
    ${report.data && html`<${Histograms} report=${report.data} />`}
    <${Clusters} query=${query} go=${go} status=${status} /></div>`;
}
