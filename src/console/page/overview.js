// Overview: is the crawl healthy, what limits it, what did it drop and was that right.

import { html, useMemo, useState } from './preact.js';
import { post, saved, useAnswer } from './api.js';
import { now } from './live.js';
import { ago, clock, count, number, plain, rate, share, short, size, sizeRate, span, words } from './format.js';
import { Badge, Bars, Card, Choice, commandOf, Empty, HostName, Interval, Missing, requeued, run, TIERS, VERDICTS, Waiting, WebUrl } from './parts.js';
import { Parts, points, Strip, TimeChart } from './charts.js';

// Resolutions: what they are called, how often they are asked for, and how far back they go.
const RANGES = [
  ['1s', '5 min', 2_000, 300_000],
  ['10s', '1 h', 10_000, 3_600_000],
  ['1m', '24 h', 60_000, 86_400_000],
  ['all', 'all', 60_000, Infinity],
];

// What each limit means for whoever runs the crawl: the sentence, and what would change it.
const LIMITS = {
  starting: ['idle', 'Fetching has not begun.'],
  politeness: ['good', 'The crawl is as fast as its hosts allow. More hosts would make it faster; more connections would not.'],
  visits: ['good', 'Each host with something to fetch is being visited. Its answers decide the speed.'],
  rate: ['good', 'The rate that was set for the whole crawl is reached.'],
  concurrency: ['warn', 'More hosts could be visited: fetch.concurrency is used up.'],
  analysts: ['warn', 'The processor limits the crawl: fetched pages wait to be read.'],
  committer: ['warn', 'The disk limits the crawl: pages that were read wait to be committed.'],
  dns: ['warn', 'Names wait to be resolved. A nearer name server, or more lookups (fetch.max_lookups), would help.'],
  reading: ['warn', 'The disk limits the crawl: the next URLs are being read.'],
  'in-progress': ['good', 'Nothing waits; what is in progress may lead to more.'],
  empty: ['idle', 'Nothing is left to fetch. Seeds or revisits bring more.'],
  paused: ['idle', 'Somebody paused the crawl. No requests are made until it is resumed.'],
  disk: ['bad', 'The disk is full: less than state.disk_reserve is free. The crawl goes on by itself when there is room.'],
  ending: ['warn', 'The run is ending.'],
};
const LIMIT_NAMES = Object.keys(LIMITS);

export function limitTone(name) {
  return `limit-${LIMITS[name]?.[0] ?? 'idle'}`;
}

const GIB = 1 << 30;

// What stands well and what does not, the worst first.
function checks(status) {
  const found = [];
  const add = (level, name, text, href = null) => found.push({ level, name, text, href });
  const counters = status.counters ?? {};
  const limit = status.gauges?.limit;
  const isRunning = status.running !== false;
  if (limit === 'disk') add('bad', 'disk', `full: ${size(status.disk?.free)} free`);
  else if (status.disk) add(status.disk.free < 2 * GIB ? 'warn' : 'good', 'disk', `${size(status.disk.free)} free, ${size(status.disk.taken)} taken`);
  if (isRunning && limit === 'paused') add('idle', 'requests', 'none: paused');
  else if (isRunning && limit === 'empty') add('idle', 'requests', 'nothing left to fetch');
  else if (isRunning) add(status.per_minute > 0 || status.seconds < 60 || status.gauges?.fetching > 0 ? 'good' : 'warn', 'requests', `${number(status.per_minute)} visits a minute`);
  const tried = (counters.pages ?? 0) + (counters.failed ?? 0);
  if (tried > 0) {
    const failed = counters.failed / tried;
    add(failed > 0.25 && counters.failed > 20 ? 'warn' : 'good', 'failures', counters.failed > 0 ? `${share(counters.failed, tried)} of URLs gave no answer` : 'none', '#/not-fetched');
  }
  if (counters.parked_hosts > 0) add(counters.parked >= counters.queued && counters.queued > 0 ? 'bad' : 'warn', 'parked', `${count(counters.parked_hosts, 'host')} with ${count(counters.parked, 'URL')} ${counters.parked_hosts === 1 ? 'keeps' : 'keep'} failing`, '#/hosts?sort=failures');
  for (const way of status.handover ?? []) {
    if (way.failures > 0) add('bad', 'archive', `${count(way.waiting, 'closed file')} cannot leave: ${plain(way.error)}`);
  }
  if (status.lost?.lost > 0) add('warn', 'seeds', `${number(status.lost.lost)} of ${number(status.lost.seeds)} gave nothing`, '#/not-fetched');
  const order = ['bad', 'warn', 'idle', 'good'];
  return found.sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
}

function headline(found, status) {
  const worst = found[0]?.level ?? 'good';
  if (status.running === false) return ['idle', status.counters?.queued > 0 ? 'Stopped, with work left' : 'Finished'];
  if (worst === 'bad') return ['bad', 'In trouble'];
  if (worst === 'warn') return ['warn', 'Going, with something to look at'];
  return worst === 'idle' ? ['idle', 'At rest'] : ['good', 'Healthy'];
}

function Health({ status }) {
  const found = checks(status);
  const [level, title] = headline(found, status);
  const error = status.last_error;
  return html`<section class="card health" aria-label="Is it healthy?"><header><h2>Is it healthy?</h2></header>
    <p class="lead"><${Badge} level=${level}>${title}<//></p>
    <ul class="checks">${found.map((it) => html`<li key=${it.name} class=${it.level}><${Badge} level=${it.level}>
      ${it.href && !saved ? html`<a href=${it.href}>${it.name}</a>` : it.name}<//><span>${it.text}</span></li>`)}
      ${error && html`<li><${Badge} level="idle">last error<//><span>
        ${ago(error.time, now())}: <${WebUrl} url=${error.url} short=${true} /> <q>
        ${plain(error.error)}</q></span></li>`}</ul></section>`;
}

// How long each limit held, in the rows that are shown.
function Limited({ status, history }) {
  const limit = status.gauges?.limit ?? 'starting';
  const [level, advice] = LIMITS[limit] ?? ['idle', ''];
  const column = history ? history.series.indexOf('limit') + 1 : 0;
  const names = history?.limits ?? LIMIT_NAMES;
  const marks = useMemo(() => (column > 0 ? history.rows.filter((row) => row[column] !== null && row[column] !== undefined).map((row) => [row[0], names[row[column]] ?? 'starting']) : []), [history, column]);
  // Each holds until the next is noted; rows are not evenly spread.
  const held = new Map();
  marks.forEach(([time, name], at) => held.set(name, (held.get(name) ?? 0) + (marks[at + 1]?.[0] ?? time) - time));
  const rows = [...held].filter(([, time]) => time > 0).sort((a, b) => b[1] - a[1]);
  const all = rows.reduce((sum, [, time]) => sum + time, 0);
  const counters = status.counters ?? {};
  const due = Math.max(0, (counters.queued ?? 0) - (counters.parked ?? 0));
  const isRunning = status.running !== false;
  return html`<section class="card limit" aria-label="What limits it?"><header><h2>What limits it?</h2></header>
    ${isRunning
      ? html`<p class="lead"><span class=${`limitname ${level}`}>${words(limit)}</span></p><p class="advice">
        ${advice} ${status.limit_text && html`<small>${plain(status.limit_text)}</small>`}</p>`
      : html`<p class="lead"><span class="limitname idle">not running</span></p>`}
    ${rows.length > 0 && html`<${Strip} title="What limited the crawl" marks=${marks} tones=${limitTone} />
      <p class="held">${rows.slice(0, 4).map(([name, time]) => html`<span key=${name}>
      <i class=${`dot ${limitTone(name)}`}></i>${words(name)} <b>${share(time, all)}</b></span>`)}</p>`}
    ${isRunning && status.per_minute > 0 && due > 0 && html`<p class="muted">
      ${number(counters.queued)} URLs wait: at least ${span((due * 60) / status.per_minute)} at this speed.</p>`}
  </section>`;
}

function Key({ name, value, note, href, tone }) {
  const inner = html`<span class="keyname">${tone && html`<i class=${`dot ${tone}`}></i>`}${name}</span>
    <span class="keyvalue">${value}</span>${note && html`<small>${note}</small>`}`;
  return href && !saved ? html`<a class="key" href=${href}>${inner}</a>` : html`<div class="key">${inner}</div>`;
}

function Keys({ status }) {
  const counters = status.counters ?? {};
  const duplicates = TIERS.reduce((sum, tier) => sum + (counters.verdicts?.[tier.key] ?? 0), 0);
  const unique = counters.verdicts?.unique ?? 0;
  return html`<section class="keys" aria-label="Counters">
    <${Key} name="pages" value=${number(counters.pages)} note=${`${number(status.gauges?.fetching ?? 0)} in progress`} href="#/hosts?sort=visits" />
    <${Key} name="unique" tone="v-unique" value=${number(unique)} note=${`${share(unique, unique + duplicates)} of those compared`} href="#/duplicates" />
    <${Key} name="duplicates" tone="v-content" value=${number(duplicates)} note=${`${share(duplicates, unique + duplicates)} of those compared`} href="#/duplicates" />
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
  ['pages', 'unique', 'v-unique', { says: 'a page of its own' }],
  ...TIERS.map((tier) => [`dup_${tier.key}`, tier.name, `v-${tier.key}`, { says: tier.says, href: `#/duplicates?tier=${tier.key}` }]),
];

function Curves({ history, cursor, onCursor }) {
  const drawn = useMemo(() => ({
    pages: seriesOf(history, [['visits', 'visits', 'c-1'], ['failures', 'failures', 'c-bad']], true),
    bytes: seriesOf(history, [['bytes', 'received', 'c-2'], ['archived_bytes', 'archived', 'c-3']], true),
    queue: seriesOf(history, [['queued', 'queued', 'c-1'], ['deferred', 'put off', 'c-3'], ['parked', 'parked', 'c-bad']], false),
    verdicts: seriesOf(history, VERDICT_SERIES, true),
  }), [history]);
  const shared = { cursor, onCursor };
  return html`<${TimeChart} title="Visits" series=${drawn.pages} format=${rate} ...${shared} />
    <${TimeChart} title="Bytes" series=${drawn.bytes} format=${sizeRate} ...${shared} />
    <${TimeChart} title="Waiting URLs" series=${drawn.queue} format=${short} area=${false} ...${shared} />
    <div class="wide"><${TimeChart} title="Verdicts" series=${drawn.verdicts} format=${rate} stack=${true} height=${170} ...${shared} /></div>`;
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
    <div class="scroll"><table class="plain"><thead><tr><th scope="col">verdict</th>
      <th scope="col" class="n">pages</th><th scope="col" class="n">share</th><th scope="col" class="n">saved</th>
      <th scope="col">right, by what people marked</th></tr></thead>
      <tbody>${VERDICTS.map((it) => {
        const of = data?.tiers?.find((tier) => tier.tier === it.key);
        const mark = judged.get(it.key);
        const name = html`<i class=${`dot v-${it.key}`}></i>${it.name}`;
        return html`<tr key=${it.key}><th scope="row">
          ${it.key === 'unique' || saved ? name : html`<a href=${`#/duplicates?tier=${it.key}`}>${name}</a>`}<small>
          ${it.says}</small></th>
          <td class="n">${number(verdicts[it.key] ?? 0)}</td><td class="n">${share(verdicts[it.key] ?? 0, all)}</td>
            <td class="n">${it.key === 'unique' ? '' : size(of?.saved)}</td>
          <td>${it.key === 'unique' ? '' : mark?.marked > 0 ? html`<span class="precise">
            <${Interval} low=${mark.low} high=${mark.high} at=${mark.precision} /><span>
            ${share(mark.precision, 1)} <small>(${share(mark.low, 1)} to ${share(mark.high, 1)}, ${mark.marked} marked)</small></span></span>` : saved ? html`<small>nobody marked any</small>` : html`<a href=${`#/duplicates?tier=${it.key}`}>look at ten of them</a>`}</td></tr>`;
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
  const name = (row) => words(row.reason) + (row.detail && row.details === 1 ? `: ${plain(row.detail)}` : '');
  return html`<${Card} title="Not fetched, not followed" says=${total > 0 ? `${count(total, 'URL')} known and not fetched` : null} command=${commandOf(status, 'status')}>
    ${rows.length === 0 ? html`<${Empty} title="Nothing was left out" />` : html`<${Bars} label="What was left out" rows=${rows.map((row) => ({
      key: `${row.group} ${row.reason}`, name: name(row), note: `${GROUPS[row.group] ?? words(row.group)}${row.details > 1 ? `, ${row.details} kinds` : ''}`, value: row.count, tone: row.group === 'not-fetched' ? 'c-1' : 'v-plain', href: `#/not-fetched?reason=${encodeURIComponent(row.reason)}`,
    }))} />`}<//>`;
}

function Failures({ status }) {
  const classes = Object.entries(status.counters?.failures ?? {}).sort((a, b) => b[1] - a[1]);
  const canWrite = !saved && status.running !== false && !status.read_only;
  const retry = (name) => run(() => post('retry', { classes: [name] }), requeued);
  return html`<${Card} title="Failures" says=${`${number(status.counters?.retries)} attempts are repeated on their own`} command=${classes.length > 0 ? commandOf(status, 'retry', `--class ${classes[0][0]}`) : commandOf(status, 'status')}>
    ${classes.length === 0 ? html`<${Empty} title="No URL was given up" />` : html`<${Bars} label="URLs given up, by class" rows=${classes.map(([name, value]) => ({
      key: name, name: words(name), value, tone: 'c-bad', href: `#/not-fetched?reason=${encodeURIComponent(name)}`,
      action: canWrite && html`<button type="button" class="small" onClick=${() => retry(name)} aria-label=${`Retry what failed by ${words(name)}`}>retry</button>`,
    }))} />`}<//>`;
}

function Links({ status }) {
  const links = Object.entries(status.counters?.links ?? {}).sort((a, b) => b[1] - a[1]);
  const all = links.reduce((sum, [, value]) => sum + value, 0);
  return html`<${Card} title="Links by admission" says=${`${short(all)} ${all === 1 ? 'link was' : 'links were'} read`}>
    ${links.length === 0 ? html`<${Empty} title="No links yet" />` : html`<${Bars} label="Links by admission" all=${all} rows=${links.map(([name, value]) => ({ key: name, name: words(name), value, tone: name === 'admitted' ? 'c-1' : 'v-plain', href: ['admitted', 'known'].includes(name) ? null : `#/not-fetched?reason=${encodeURIComponent(name)}` }))} />`}<//>`;
}

function Memory({ status, rss }) {
  const now = [['window', 'hosts and their next URLs', status.memory?.window], ['urls seen', 'filter and recent URLs', status.memory?.urls_seen], ['new keys', 'until the next checkpoint', status.memory?.new_keys]];
  const shares = status.shares ?? [];
  if (status.running === false) return null;
  return html`<${Card} title="Memory" says=${rss > 0 ? `${size(rss)} of this process` : 'by structure'}>
    <${Bars} label="Memory by structure" format=${size} rows=${now.map(([name, note, value]) => ({ key: name, name, note, value: value ?? 0, tone: 'c-2' }))} />
    ${shares.length > 0 && html`<details><summary>At most, by the plan of memory</summary>
      <${Bars} label="Plan of memory" format=${size} limit=${30} rows=${shares.map((it) => ({ key: it.name, name: it.name, value: it.bytes }))} /></details>`}<//>`;
}

const EVENT_LEVEL = { error: 'bad', disk: 'bad', budget: 'warn', parked: 'warn', unparked: 'good', held: 'idle', pause: 'idle', demoted: 'warn', resume: 'good', released: 'good' };

function Events({ live }) {
  if (saved) return null;
  const { events, received, gap, stream } = live;
  return html`<${Card} title="Events" says=${received > 0 ? `${count(received, 'event')} since this page was opened` : 'newest first'}>
    ${gap && html`<p class="muted">Some events between ${plain(gap.after ?? 'the start')} and ${plain(gap.next)} are no longer kept.</p>`}
    ${events.length === 0 ? html`<${Empty} title=${stream === 'none' ? 'No events here' : 'Nothing happened yet'}>
      ${stream === 'none' ? 'Not in this version of gleaner.' : 'Pauses, parked hosts, rules that were learned and errors turn up here.'}<//>` : html`<ol class="events" tabindex="0" aria-label="Events">
      ${events.slice(0, 100).map((event) => html`<li key=${event.id}><time datetime=${event.time} title=${event.time}>
      ${clock(event.time)}</time>
      <span class=${`kind ${EVENT_LEVEL[event.kind] ?? ''}`}>${words(event.kind)}</span><span class="text">
        ${event.host && html`<${HostName} host=${event.host} />: `}${plain(event.text)}</span></li>`)}</ol>`}<//>`;
}

export function Overview({ live }) {
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
  const leftOut = useAnswer('left-out', {}, 15_000);
  const { status } = live;
  const resident = history ? history.series.indexOf('rss') + 1 : 0;
  if (!status) return live.error ? html`<${Empty} title="The crawl does not answer">
    ${plain(live.error.message)}<//>` : html`<${Waiting} rows=${8} />`;
  const rows = history?.rows ?? [];
  return html`<div class="overview">
    <div class="pair"><${Health} status=${status} /><${Limited} status=${status} history=${history} /></div>
    <${Keys} status=${status} />
    <${Card} title="Over time" wide=${true} actions=${!saved && html`<${Choice} label="Time shown" value=${range} options=${RANGES.map(([key, name]) => [key, name])} onChange=${setRange} />`}>
      ${rows.length > 0 ? html`<div class="curves">
        <${Curves} history=${history} cursor=${cursor} onCursor=${setCursor} /></div>` : history ? html`<${Empty} title="No history yet">Curves begin with the first seconds of a run.<//>` : html`<${Missing} answer=${asked} what="history" />`}<//>
    <${Dropped} status=${status} report=${report} marks=${marks} />
    <div class="columns"><${LeftOut} status=${status} omissions=${leftOut.data ?? report.data ?? status} />
      <${Failures} status=${status} /><${Links} status=${status} />
      <${Memory} status=${status} rss=${resident > 0 ? rows.at(-1)?.[resident] : null} /></div>
    <${Events} live=${live} /></div>`;
}
