// Overview: is the crawl healthy, what limits it, what did it drop and was that right.

import { html, useMemo, useState } from './preact.js';
import { post, saved, useAnswer, useSettings } from './api.js';
import { clock, count, number, part, plain, quoted, rate, share, short, size, sizeRate, withTimes, words } from './format.js';
import { Bars, Card, Choice, commandOf, Empty, HostName, Interval, Missing, requeued, run, TIERS, VERDICTS, Waiting } from './parts.js';
import { Parts, points, TimeChart } from './charts.js';
import { Health, Limited } from './health.js';

// Resolutions: what they are called, how often they are asked for, and how far back they go.
const RANGES = [
  ['1s', '5 min', 2_000, 300_000],
  ['10s', '1 h', 10_000, 3_600_000],
  ['1m', '24 h', 60_000, 86_400_000],
  ['all', 'all', 60_000, Infinity],
];

function Key({ name, value, note, href, tone }) {
  const inner = html`<span class="keyname">${tone && html`<i class=${`dot ${tone}`}></i>`}${name}</span>
    <span class="keyvalue">${value}</span>${note && html`<small>${note}</small>`}`;
  return href && !saved ? html`<a class="key" href=${href}>${inner}</a>` : html`<div class="key">${inner}</div>`;
}

function Keys({ status }) {
  const counters = status.counters ?? {};
  const duplicates = TIERS.reduce((sum, tier) => sum + (counters.verdicts?.[tier.key] ?? 0), 0);
  const unique = counters.verdicts?.unique ?? 0;
  const compared = (some) => (unique + duplicates > 0 ? `${share(some, unique + duplicates)} of those compared` : 'none compared yet');
  return html`<section class="keys" aria-label="Counters">
    <${Key} name="pages" value=${number(counters.pages)} note=${`${number(status.gauges?.fetching ?? 0)} in progress`} href="#/pages" />
    <${Key} name="unique" tone="v-unique" value=${number(unique)} note=${compared(unique)} href="#/pages?unique=1" />
    <${Key} name="duplicates" tone="v-content" value=${number(duplicates)} note=${compared(duplicates)} href="#/duplicates" />
    <${Key} name="queued" value=${number(counters.queued)} note=${counters.parked > 0 ? `${number(counters.parked)} parked` : 'URLs that wait'} href="#/hosts?sort=queue" />
    <${Key} name="hosts" value=${number(counters.hosts)} note=${counters.parked_hosts > 0 ? `${number(counters.parked_hosts)} parked` : `${number(status.gauges?.hosts_in_window ?? 0)} in memory`} href="#/hosts" />
    <${Key} name="received" value=${size(counters.bytes)} note=${`${size(counters.archived_bytes)} in the archive`} href="#/hosts?sort=bytes" />
    <${Key} name="not fetched" value=${number((counters.failed ?? 0) + (counters.forbidden ?? 0) + (status.deferred ?? 0))} note=${`${number(counters.failed)} failed, ${number(status.deferred ?? 0)} put off`} href="#/not-fetched" />
  </section>`;
}

function seriesOf(history, list, isCounter) {
  return list.map(([key, name, tone, extra]) => {
    const column = history.series.indexOf(key) + 1;
    return column > 0 ? { key, name, tone, ...extra, points: points(history.rows, column, isCounter) } : null;
  }).filter(Boolean);
}

const VERDICT_SERIES = [
  ['pages', 'unique', 'v-unique', { says: 'a page of its own', href: '#/pages?unique=1' }],
  ...TIERS.map((tier) => [`dup_${tier.key}`, tier.name, `v-${tier.key}`, { says: tier.says, href: `#/duplicates?tier=${tier.key}` }]),
];

function Curves({ history, cursor, onCursor }) {
  const drawn = useMemo(() => ({
    pages: seriesOf(history, [['visits', 'visits', 'c-1', { href: '#/pages' }], ['failures', 'failures', 'c-bad', { href: '#/not-fetched' }]], true),
    bytes: seriesOf(history, [['bytes', 'received', 'c-2', { href: '#/hosts?sort=bytes' }], ['archived_bytes', 'archived', 'c-3']], true),
    queue: seriesOf(history, [['queued', 'queued', 'c-1', { href: '#/hosts?sort=queue' }], ['deferred', 'put off', 'c-3', { href: '#/not-fetched?reason=deferred' }], ['parked', 'parked', 'c-bad', { href: '#/not-fetched?reason=parked' }]], false),
    verdicts: seriesOf(history, VERDICT_SERIES, true),
    memory: seriesOf(history, [['rss', 'process', 'c-2'], ['memory.urls_seen', 'urls seen', 'c-1'], ['memory.window', 'window', 'c-3']], false),
  }), [history]);
  const shared = { cursor, onCursor };
  return html`<${TimeChart} title="Visits" series=${drawn.pages} format=${rate} ...${shared} />
    <${TimeChart} title="Bytes" series=${drawn.bytes} format=${sizeRate} ...${shared} />
    <${TimeChart} title="Waiting URLs" series=${drawn.queue} format=${short} area=${false} ...${shared} />
    <div class="wide"><${TimeChart} title="Verdicts" series=${drawn.verdicts} format=${rate} stack=${true} height=${150} ...${shared} /></div>
    ${drawn.memory.length > 0 && html`<${TimeChart} title="Memory" series=${drawn.memory} format=${size} height=${150} ...${shared} />`}`;
}

// What the comparisons saved, what they decided, and how often people found that right.
function Dropped({ status, report, marks }) {
  const verdicts = status.counters?.verdicts ?? {};
  const all = VERDICTS.reduce((sum, it) => sum + (verdicts[it.key] ?? 0), 0);
  const data = report.data;
  const judged = new Map((marks.data?.tiers ?? []).map((tier) => [tier.tier, tier]));
  if (all === 0) return html`<${Card} title="What did it drop, and was that right?" wide=${true}>
    <${Empty} title="Nothing compared yet">Pages are compared as they arrive.<//><//>`;
  return html`<${Card} title="What did it drop, and was that right?" wide=${true} says=${data ? `${size(data.saved)} of ${size(data.received)} did not have to be stored` : null} command=${commandOf(status, 'report')}>
    <${Parts} title="Verdicts" parts=${VERDICTS.map((it) => ({ key: it.key, name: it.name, value: verdicts[it.key] ?? 0, tone: `v-${it.key}` }))} />
    <div class="scroll"><table class="plain stack"><thead><tr><th scope="col">verdict</th>
      <th scope="col" class="n">pages</th><th scope="col" class="n">share</th><th scope="col" class="n">saved</th>
      <th scope="col">right, by what people marked</th></tr></thead>
      <tbody>${VERDICTS.map((it) => {
        const of = data?.tiers?.find((tier) => tier.tier === it.key);
        const mark = judged.get(it.key);
        const name = html`<i class=${`dot v-${it.key}`}></i>${it.name}`;
        return html`<tr key=${it.key}><th scope="row">
          ${saved ? name : html`<a href=${it.key === 'unique' ? '#/pages?unique=1' : `#/duplicates?tier=${it.key}`}>${name}</a>`}<small>
          ${it.says}</small></th>
          <td class="n" data-name="pages">${number(verdicts[it.key] ?? 0)}</td><td class="n">${share(verdicts[it.key] ?? 0, all)}</td>
            <td class=${`n${it.key === 'unique' ? ' none' : ''}`} data-name="saved">${it.key === 'unique' ? '' : size(of?.saved)}</td>
          <td>${it.key === 'unique' ? '' : mark?.marked > 0 ? html`<span class="precise">
            <${Interval} low=${mark.low} high=${mark.high} at=${mark.precision} /><span>
            ${part(mark.precision)} <small>(${part(mark.low)} to ${part(mark.high)}, ${mark.marked} marked)</small></span></span>` : !(verdicts[it.key] > 0) ? html`<small>none to look at</small>` : saved ? html`<small>nobody marked any</small>` : html`<a href=${`#/duplicates?tier=${it.key}`}>look at ten of them</a>`}</td></tr>`;
      })}</tbody></table></div><//>`;
}

const GROUPS = { 'not-fetched': 'not fetched', 'not-followed': 'links not followed', 'not-kept': 'fetched, not kept', 'without-text': 'kept without a text', requisites: 'files that pages need' };

// The omissions, the details of one reason taken together.
function byReason(omissions) {
  const found = new Map();
  for (const row of omissions?.left_out ?? []) {
    const key = `${row.group} ${row.reason}`;
    const sum = found.get(key);
    if (sum) Object.assign(sum, { count: sum.count + row.count, details: sum.details + 1 });
    else found.set(key, { ...row, details: 1 });
  }
  return [...found.values()].sort((a, b) => b.count - a.count);
}

function LeftOut({ status, omissions }) {
  const rows = byReason(omissions);
  const total = rows.filter((row) => row.group === 'not-fetched').reduce((sum, row) => sum + row.count, 0);
  const note = (row) => [GROUPS[row.group] ?? words(row.group), row.details > 1 ? `${row.details} kinds` : row.detail && plain(row.detail)].filter(Boolean).join(', ');
  return html`<${Card} title="Not fetched, not followed" says=${total > 0 ? `${count(total, 'URL')} known and not fetched` : null} command=${commandOf(status, 'status')}>
    ${rows.length === 0 ? html`<${Empty} title="Nothing was left out" />` : html`<${Bars} label="What was left out" rows=${rows.map((row) => ({
      key: `${row.group} ${row.reason}`, name: words(row.reason), note: note(row), value: row.count, tone: row.group === 'not-fetched' ? 'c-1' : 'v-plain', href: `#/not-fetched?reason=${encodeURIComponent(row.reason)}`,
    }))} />`}<//>`;
}

function Failures({ status }) {
  const classes = Object.entries(status.counters?.failures ?? {}).sort((a, b) => b[1] - a[1]);
  const canWrite = !saved && status.running !== false && !status.read_only;
  const retry = (name) => run(() => post('retry', { classes: [name] }), requeued);
  return html`<${Card} title="Failures" says=${`${count(status.counters?.retries ?? 0, 'attempt')} repeated on their own`} command=${classes.length > 0 ? commandOf(status, 'retry', `--class ${classes[0][0]}`) : commandOf(status, 'status')}>
    ${classes.length === 0 ? html`<${Empty} title="No URL was given up" />` : html`<${Bars} label="URLs given up, by class" rows=${classes.map(([name, value]) => ({
      key: name, name: words(name), value, tone: 'c-bad', href: `#/not-fetched?reason=${encodeURIComponent(name)}`,
      action: canWrite && html`<button type="button" class="small" onClick=${() => retry(name)} aria-label=${`Retry what failed by ${words(name)}`}>retry</button>`,
    }))} />`}<//>`;
}

function Links({ status }) {
  const links = Object.entries(status.counters?.links ?? {}).sort((a, b) => b[1] - a[1]);
  const all = links.reduce((sum, [, value]) => sum + value, 0);
  return html`<${Card} title="Links by admission" says=${`${short(all)} ${all === 1 ? 'link was' : 'links were'} read`} command=${commandOf(status, 'status')}>
    ${links.length === 0 ? html`<${Empty} title="No links yet" />` : html`<${Bars} label="Links by admission" all=${all} rows=${links.map(([name, value]) => ({ key: name, name: words(name), value, tone: name === 'admitted' ? 'c-1' : 'v-plain', href: name === 'known' ? '#/hosts?sort=visits' : name === 'admitted' ? '#/hosts?sort=queue' : `#/not-fetched?reason=${encodeURIComponent(name)}` }))} />`}<//>`;
}

function Memory({ status }) {
  const { memory } = status;
  const originals = status.counters?.verdicts?.unique ?? 0;
  const parts = [['window', 'hosts and their next URLs (state.hosts_in_memory, state.urls_in_memory)', memory?.window], ['urls seen', 'filter and recent URLs (crawl.expected_urls)', memory?.urls_seen], ['new keys', 'until the next checkpoint (state.max_memory)', memory?.new_keys]];
  const shares = status.shares ?? [];
  const plan = shares.reduce((sum, it) => sum + it.bytes, 0);
  if (status.running === false) return null;
  return html`<${Card} title="Memory" says=${originals > 0 ? `fingerprints of ${count(originals, 'original')} are on disk` : 'by structure'} command=${commandOf(status, 'status')}>
    <${Bars} label="Memory by structure" format=${size} rows=${parts.map(([name, note, value]) => ({ key: name, name, note, value: value ?? 0, tone: 'c-2' }))} />
    ${shares.length > 0 && html`<details><summary>At most ${size(plan)}, by the plan of memory</summary>
      <${Bars} label="Plan of memory" format=${size} limit=${30} rows=${shares.map((it) => ({ key: it.name, name: it.name, value: it.bytes }))} /></details>`}<//>`;
}

const EVENT_LEVEL = { error: 'bad', disk: 'bad', budget: 'warn', parked: 'warn', unparked: 'good', held: 'idle', pause: 'idle', demoted: 'warn', resume: 'good', released: 'good', checkpoint: 'idle' };

// Checkpoints come every half minute: those in a row have one line, so that others are seen.
function folded(events) {
  const rows = [];
  for (const event of events) {
    const last = rows.at(-1);
    if (event.kind === 'checkpoint' && last?.event.kind === 'checkpoint') last.more += 1;
    else rows.push({ event, more: 0 });
  }
  return rows;
}

function Events({ live }) {
  if (saved) return null;
  const { events, received, gap, stream } = live;
  return html`<${Card} title="Events" says=${received > 0 ? `${count(received, 'event')} since this page was opened, newest first` : 'newest first'} command=${stream === 'none' ? null : followed()}>
    ${gap && html`<p class="muted">Some events between ${plain(gap.after ?? 'the start')} and ${plain(gap.next)} are no longer kept.</p>`}
    ${events.length === 0 ? html`<${Empty} title=${stream === 'none' ? 'No events here' : 'Nothing happened yet'}>
      ${stream === 'none' ? 'Not in this version of gleaner.' : 'Pauses, parked hosts, rules that were learned and errors turn up here.'}<//>` : html`<ol class="events" tabindex="0" aria-label="Events">
      ${folded(events).slice(0, 100).map(({ event, more }) => html`<li key=${event.id}><time datetime=${event.time} title=${event.time}>
      ${clock(event.time)}</time>
      <span class=${`kind ${EVENT_LEVEL[event.kind] ?? ''}`}>${words(event.kind)}</span><span class="text">
        ${event.host && html`<${HostName} host=${event.host} />: `}${withTimes(plain(event.text))}${more > 0 && html` <small>and ${number(more)} before it</small>`}</span></li>`)}</ol>`}<//>`;
}

// The address of this page's API as a command reads it.
function followed() {
  return `curl -sN ${quoted(new URL('api/v1/events?follow=1', location.href.replace(/#.*/, '')).href)}`;
}

export function Overview({ live, onSeed }) {
  const [range, setRange] = useState(saved ? 'all' : '1s');
  const [cursor, setCursor] = useState(null);
  const [, , every, back] = RANGES.find(([key]) => key === range);
  const asked = useAnswer('history', { res: range }, every);
  // After a restart the finest rows are few, and older ones stand before them.
  const history = useMemo(() => {
    const rows = asked.data?.rows ?? [];
    const from = (rows.at(-1)?.[0] ?? 0) - back;
    return asked.data ? { ...asked.data, rows: rows.filter(([time]) => time >= from) } : null;
  }, [asked.data, back]);
  const report = useAnswer('report', {}, 60_000);
  const marks = useAnswer('marks', {}, 60_000);
  const omitted = useAnswer('left-out', {}, 15_000);
  const settings = useSettings();
  const { status } = live;
  if (!status) return live.error ? html`<${Empty} title="Nothing to show yet">What the crawl does stands here as soon as it answers.<//>` : html`<${Waiting} rows=${8} />`;
  const rows = history?.rows ?? [];
  const leftOut = omitted.data ?? report.data ?? status;
  const canWrite = !saved && status.running !== false && !status.read_only;
  const { counters = {} } = status;
  // Before there is anything to show, the page says what would bring it.
  const isNew = !saved && !(counters.seeds > 0) && !(counters.pages > 0) && !(counters.queued > 0);
  return html`<div class="overview">
    <div class="pair"><${Health} status=${status} settings=${settings} isLost=${Boolean(live.error) && live.error.code !== 'starting'} />
      <${Limited} status=${status} history=${history} settings=${settings} leftOut=${leftOut} canWrite=${canWrite} onSeed=${onSeed} /></div>
    ${!isNew && html`<${Keys} status=${status} />
    <${Card} title="Over time" wide=${true} command=${!saved && rows.length > 0 && `cat ${quoted(`${status.data_dir ?? 'DIR'}/log/history.jsonl`)}`} actions=${!saved && html`<${Choice} label="Time shown" value=${range} options=${RANGES.map(([key, name]) => [key, name])} onChange=${setRange} />`}>
      ${rows.length > 0 ? html`<div class="curves">
        <${Curves} history=${history} cursor=${cursor} onCursor=${setCursor} /></div>` : history ? html`<${Empty} title="No history yet">Curves begin with the first seconds of a run.<//>` : html`<${Missing} answer=${asked} what="history" />`}<//>
    <${Dropped} status=${status} report=${report} marks=${marks} />
    <div class="columns"><${LeftOut} status=${status} omissions=${leftOut} />
      <${Failures} status=${status} /><${Links} status=${status} />
      <${Memory} status=${status} /></div>`}
    <${Events} live=${live} /></div>`;
}
