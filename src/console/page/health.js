// How the crawl stands, what limits it, and what would help.

import { html, useMemo } from './preact.js';
import { post, saved } from './api.js';
import { now, refresh } from './live.js';
import { ago, count, number, plain, quoted, share, size, span, words } from './format.js';
import { Badge, Command, commandOf, requeued, run, WebUrl } from './parts.js';
import { Strip } from './charts.js';

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
  disk: ['bad', 'The disk is full. Nothing is lost, and the crawl goes on by itself when there is room.'],
  ending: ['warn', 'The run is ending.'],
};
const LIMIT_NAMES = Object.keys(LIMITS);
const GIB = 1 << 30;

function limitTone(name) {
  return `limit-${LIMITS[name]?.[0] ?? 'idle'}`;
}

// Whether so many hosts keep failing that the cause is probably on this side.
function isGrave({ counters = {} }) {
  return 2 * (counters.parked_hosts ?? 0) >= (counters.hosts ?? 0);
}

// Whether every URL that waits is at a host that is left alone: because it keeps failing, or
// because a person holds it. What limits the crawl is then neither its hosts' pace nor its own.
function standstill(status) {
  const { queued = 0, parked = 0, parked_hosts: hosts = 0 } = status.counters ?? {};
  const limit = status.gauges?.limit;
  if (status.running === false || queued === 0 || parked < queued || ['paused', 'disk', 'ending'].includes(limit)) return null;
  return (status.held_hosts ?? 0) >= hosts ? 'held' : 'parked';
}

function disk(status, settings) {
  const { free, taken } = status.disk ?? {};
  const reserve = settings.get('state.disk_reserve');
  if (status.gauges?.limit === 'disk') return ['bad', `${size(free)} free, and ${reserve ?? 'state.disk_reserve'} is to stay free`];
  if (!status.disk) return null;
  return [free < 2 * GIB ? 'warn' : 'good', `${size(free)} free, ${size(taken)} taken`];
}

function requests(status) {
  const limit = status.gauges?.limit;
  if (limit === 'paused') return ['idle', 'none: paused'];
  if (limit === 'disk') return ['idle', 'none: the disk is full'];
  if (standstill(status)) return ['idle', 'none: every host is left alone'];
  if (limit === 'empty') return ['idle', status.counters?.seeds > 0 ? 'nothing left to fetch' : 'none: there are no seeds'];
  const isGoing = status.per_minute > 0 || status.seconds < 60 || status.gauges?.fetching > 0;
  return [isGoing ? 'good' : 'warn', `${count(status.per_minute, 'visit')} a minute`];
}

function failures(counters) {
  const tried = (counters.pages ?? 0) + (counters.failed ?? 0);
  if (tried === 0) return null;
  const isMany = counters.failed / tried > 0.25 && counters.failed > 20;
  return [isMany ? 'warn' : 'good', counters.failed > 0 ? `${share(counters.failed, tried)} of URLs gave no answer` : 'none'];
}

// What stands well and what does not, the worst first.
function checks(status, settings) {
  const found = [];
  const add = (name, check, href = null) => check && found.push({ name, level: check[0], text: check[1], href });
  const counters = status.counters ?? {};
  const isRunning = status.running !== false;
  add('disk', disk(status, settings));
  if (isRunning) add('requests', requests(status));
  add('failures', failures(counters), '#/not-fetched');
  const held = Math.min(status.held_hosts ?? 0, counters.parked_hosts ?? 0);
  const failing = (counters.parked_hosts ?? 0) - held;
  if (held > 0) add('held', ['idle', `${count(held, 'host')}, by a person`], '#/not-fetched?reason=held');
  if (failing > 0) {
    const urls = held > 0 ? '' : ` with ${count(counters.parked, 'URL')}`;
    add('parked', [standstill(status) === 'parked' && isGrave(status) ? 'bad' : 'warn', `${count(failing, 'host')}${urls} ${failing === 1 ? 'keeps' : 'keep'} failing`], '#/hosts?sort=failures');
  }
  for (const way of status.handover ?? []) {
    if (way.failures > 0) add('archive', ['bad', `${count(way.waiting, 'closed file')} cannot leave: ${plain(way.error)}`]);
  }
  if (status.lost?.lost > 0) add('seeds', ['warn', `${number(status.lost.lost)} of ${number(status.lost.seeds)} gave nothing`], '#/not-fetched');
  const order = ['bad', 'warn', 'idle', 'good'];
  return found.sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
}

function headline(found, status, isLost) {
  const worst = found[0]?.level ?? 'good';
  if (isLost) return ['bad', 'It does not answer'];
  if (status.running === false) return ['idle', status.counters?.queued > 0 ? 'Stopped, with work left' : 'Finished'];
  if (worst === 'bad') return ['bad', 'In trouble'];
  if (status.gauges?.limit === 'paused') return ['idle', 'Paused'];
  if (worst === 'warn') return ['warn', 'Going, with something to look at'];
  return found.some((it) => it.name === 'requests' && it.level === 'idle') ? ['idle', 'At rest'] : ['good', 'Healthy'];
}

export function Health({ status, settings, isLost }) {
  const found = checks(status, settings);
  const [level, title] = headline(found, status, isLost);
  const error = status.last_error;
  return html`<section class="card health" aria-label="Is it healthy?"><header><h2>Is it healthy?</h2></header>
    <p class="lead"><${Badge} level=${level}>${title}<//></p>
    <ul class="checks">${found.map((it) => html`<li key=${it.name} class=${it.level}><${Badge} level=${it.level}>
      ${it.href && !saved ? html`<a href=${it.href}>${it.name}</a>` : it.name}<//><span>${it.text}</span></li>`)}
      ${error && html`<li><${Badge} level="idle">last error<//><span>
        ${ago(error.time, now())}: <${WebUrl} url=${error.url} short=${true} /> <q>
        ${plain(error.error)}</q></span></li>`}</ul>
    <${Command} line=${commandOf(status, 'status')} /></section>`;
}

// What limits it now: name, level, sentence, and what would help.
function limited(status, settings, leftOut) {
  const limit = status.gauges?.limit ?? 'starting';
  const [level, says] = LIMITS[limit] ?? ['idle', ''];
  if (limit === 'disk') {
    const reserve = settings.get('state.disk_reserve');
    return { name: 'disk full', level, says, help: `Free some space, or start it again with a smaller state.disk_reserve${reserve ? ` (now ${reserve})` : ''}.` };
  }
  if (limit === 'paused') return { name: limit, level, says, command: commandOf(status, 'resume') };
  if (limit === 'empty' && !(status.counters?.seeds > 0)) {
    return { name: 'no seeds', level, says: 'Nothing tells where to begin.', help: 'Add seeds: URLs from which the crawl follows links.', command: commandOf(status, 'seeds add', 'https://example.org/') };
  }
  const still = standstill(status);
  if (still === 'held') {
    return { name: 'held hosts', level: 'idle', says: 'Each host with something to fetch is held by a person.', help: 'Release one on its page in Hosts.', command: status.held?.[0] && commandOf(status, 'resume', `--host ${quoted(status.held[0].host)}`) };
  }
  if (still === 'parked') {
    const classes = (leftOut?.left_out ?? []).filter((it) => it.reason === 'parked' && it.detail).map((it) => it.detail);
    const known = [...new Set(classes)];
    const isBad = isGrave(status);
    return { name: 'failing hosts', level: isBad ? 'bad' : 'warn', says: `${isBad ? '' : 'Nothing else is left: '}${isBad ? 'Each' : 'each'} host with something to fetch keeps failing${known.length > 0 ? ` (${known.map(words).join(', ')})` : ''}. Each is tried again by itself, ever more seldom.`, help: isBad ? 'If the cause is on this side, such as the network or a name server, mend it and retry.' : null, classes: known, command: known.length > 0 ? commandOf(status, 'retry', `--class ${known.join(',')}`) : null };
  }
  return { name: words(limit), level, says, more: status.limit_text };
}

// How long each limit held, in the rows that are shown.
export function Limited({ status, history, settings, leftOut, canWrite, onSeed }) {
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
  const it = limited(status, settings, leftOut);
  const retry = () => run(() => post('retry', { classes: it.classes }), requeued).then(refresh);
  return html`<section class="card limit" aria-label="What limits it?"><header><h2>What limits it?</h2></header>
    ${isRunning
      ? html`<p class="lead"><span class=${`limitname ${it.level}`}>${it.name}</span></p><p class="advice">
        ${it.says} ${it.more && html`<small>${plain(it.more)}</small>`}</p>${it.help && html`<p class="advice">
        ${it.help}</p>`}`
      : html`<p class="lead"><span class="limitname idle">not running</span></p>`}
    ${isRunning && canWrite && it.classes?.length > 0 && html`<p class="buttons">
      <button type="button" onClick=${retry}>Retry now</button></p>`}
    ${isRunning && canWrite && it.name === 'no seeds' && html`<p class="buttons">
      <button type="button" class="primary" onClick=${onSeed}>Add seeds</button></p>`}
    ${rows.length > 0 && !standstill(status) && html`<${Strip} title="What limited the crawl" marks=${marks} tones=${limitTone} />
      <p class="held">${rows.slice(0, 4).map(([name, time]) => html`<span key=${name}>
      <i class=${`dot ${limitTone(name)}`}></i>${words(name)} <b>${share(time, all)}</b></span>`)}</p>`}
    ${isRunning && status.per_minute > 0 && due > 0 && html`<p class="muted">
      <a href=${saved ? null : '#/hosts?sort=queue'}>${count(due, 'URL')}</a> ${due === 1 ? 'waits' : 'wait'}: at least ${span((due * 60) / status.per_minute)} at this speed.</p>`}
    ${isRunning && it.command && html`<${Command} line=${it.command} />`}
  </section>`;
}
