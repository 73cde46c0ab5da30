// Hosts: which have the longest queues, the most failures, the most bytes; and one of them, with
// what may be done about it.

import { html, useEffect, useMemo, useState } from './preact.js';
import { post, saved, useAnswer, useSettings } from './api.js';
import { now } from './live.js';
import { ago, clock, count, day, duration, NONE, number, plain, quoted, share, size, words } from './format.js';
import { Badge, Card, Command, commandOf, Empty, Facts, HostName, Missing, requeued, run, TierChip, WebUrl, Window } from './parts.js';

const SORTS = [
  ['queue', 'queue', (host) => host.queued],
  ['visits', 'visits', (host) => host.visits],
  ['bytes', 'bytes', (host) => host.bytes],
  ['duplicates', 'duplicates', (host) => host.duplicates],
  ['failures', 'failures', (host) => host.failures],
  ['time', 'time', (host) => host.time_ms],
];

const ROBOTS = {
  unknown: 'not asked for yet',
  none: 'there is none: all is allowed',
  unavailable: 'could not be had: nothing is allowed for now',
  rules: 'read',
};

// How a host stands: held, parked, failing, waiting for its turn, or with nothing to do.
export function standing(host) {
  if (host.held) return ['idle', 'held'];
  if (host.parked) return ['bad', 'parked'];
  if (host.failures > 0) return ['warn', 'failing'];
  if (host.queued > 0) return ['good', host.state ? words(host.state) : 'active'];
  return ['idle', host.state ? words(host.state) : 'done'];
}

// The rows of a saved report are all here: they are sorted and searched by the page.
function inReport(answer, sort, q) {
  if (!saved || !answer.data) return answer;
  const of = SORTS.find(([key]) => key === sort)?.[2] ?? SORTS[0][2];
  const hosts = answer.data.hosts.filter((host) => host.host.includes(q.toLowerCase()));
  hosts.sort((a, b) => (of(b) ?? 0) - (of(a) ?? 0) || (a.host < b.host ? -1 : 1));
  return { ...answer, data: { ...answer.data, hosts } };
}

function Row({ host, delay, onOpen }) {
  const [level, name] = standing(host);
  const wait = host.queued > 0 || host.parked ? ago(host.due, now()) : NONE;
  // On a phone a row is a paragraph: what is zero is left out there, and each number has its name.
  const cell = (name, value, inner) => html`<td class=${`n${value > 0 ? '' : ' none'}`} data-name=${name}>${inner}</td>`;
  return html`<tr><th scope="row"><${HostName} host=${host.host} onOpen=${onOpen} /></th>
    ${cell('queue', host.queued, number(host.queued))}${cell('visits', host.visits, number(host.visits))}
    ${cell('bytes', host.bytes, size(host.bytes))}
    ${cell('duplicates', host.duplicates, host.duplicates === undefined ? NONE : html`${number(host.duplicates)} <small>
      ${share(host.duplicates, host.judged ?? host.visits)}</small>`)}
    ${cell('failures', host.failures, host.failures > 0 ? html`${number(host.failures)} <small>
      ${words(host.trouble)}</small>` : '0')}
    ${cell('time', host.time_ms, duration(host.time_ms))}
    ${cell('delay', host.crawl_delay_ms, host.crawl_delay_ms ? html`${duration(host.crawl_delay_ms)} <small title="its robots.txt asks for that">robots</small>` : delay ?? NONE)}
    <td><${Badge} level=${level}>${name}<//> <small>
      ${wait.startsWith('in') ? wait : ''}</small></td></tr>`;
}

function Visit({ visit }) {
  return html`<tr><td><time datetime=${visit.time} title=${visit.time}>${clock(visit.time)}</time></td><td class="n">
    ${visit.status || NONE}</td>
    <td>${visit.verdict ? html`<${TierChip} tier=${visit.verdict} />` : NONE}</td><td class="fill">
      <${WebUrl} url=${visit.url} short=${true} />${visit.annotation && html`<small>
      ${plain(visit.annotation)}</small>`}</td></tr>`;
}

function Detail({ name, row, delay, onClose, status, onChange }) {
  const answer = useAnswer(saved ? null : `hosts/${encodeURIComponent(name)}`, {}, 5_000);
  const host = answer.data ?? row;
  const visits = host?.last_visits ?? (Array.isArray(host?.visits) ? host.visits : []);
  const answers = typeof host?.visits === 'number' ? host.visits : row?.visits ?? null;
  const canWrite = !saved && status && !status.read_only;
  const act = (what, done) => run(() => post(`hosts/${encodeURIComponent(name)}/${what}`), done).then(() => {
    answer.again();
    onChange();
  });
  const robots = host?.robots;
  const [level, stands] = host ? standing(host) : ['idle', ''];
  const bare = name.replace(/^https?:\/\//, '').replace(/:\d+$/, '');
  return html`<${Window} title=${name} drawer=${true} onClose=${onClose}>
    ${!host ? html`<${Missing} answer=${answer} what="details of this host" />` : html`
    <p class="lead"><${Badge} level=${level}>${stands}<//></p>
    ${canWrite && html`<p class="commands">
      ${host.held ? html`<button type="button" onClick=${() => act('release', 'Released: its URLs are fetched again.')}>Release</button>` : html`<button type="button" onClick=${() => act('hold', 'Held: it gets no requests until it is released.')}>Hold</button>`}
      <button type="button" onClick=${() => act('retry', requeued)}>Retry what failed</button></p>`}
    <${Facts} facts=${[
      ['queued', count(host.queued, 'URL')],
      ['visits', answers !== null && number(answers)],
      ['received', size(host.bytes)],
      ['duplicates', host.duplicates === undefined ? null : `${number(host.duplicates)} (${share(host.duplicates, host.judged ?? answers)})`],
      ['time of answers', host.time_ms > 0 ? `${duration(host.time_ms)} in all, ${duration(host.time_ms / Math.max(1, answers ?? 1))} each` : null],
      ['next visit', !host.held && (host.queued > 0 || host.parked) ? ago(host.due, now()) : null],
      ['failures', host.failures > 0 ? `${number(host.failures)} in a row, the last: ${words(host.trouble)}` : null],
      ['held', typeof host.held === 'string' ? `since ${day(host.held)}` : host.held && 'until it is released'],
      ['delay', host.crawl_delay_ms ? html`${duration(host.crawl_delay_ms)} <small>as its robots.txt asks</small>` : delay && html`${delay} <small>by politeness.delay; its robots.txt asks for none</small>`],
      ['robots.txt', robots && html`${ROBOTS[robots.state] ?? words(robots.state)}${robots.reason ? html`: ${plain(robots.reason)}` : ''}${robots.until ? html` <small>asked for again ${ago(robots.until, now())}</small>` : ''}`],
      ['sitemaps', robots?.sitemaps?.length > 0 ? html`<ul class="plainlist">
        ${robots.sitemaps.map((url) => html`<li key=${url}><${WebUrl} url=${url} /></li>`)}</ul>` : null],
    ]} />
    ${robots?.text && html`<details><summary>What its robots.txt says</summary><pre class="toml" tabindex="0">
      ${plain(robots.text)}</pre></details>`}
    ${host.kinds?.length > 0 && html`<h3>Kinds of URLs that say nothing new</h3><ul class="plainlist">
      ${host.kinds.map((kind) => html`<li key=${kind.what}><code>${plain(kind.what)}</code> <small>
      ${kind.closed ? `${number(kind.deferred)} put off` : 'matters after all'}, ${count(kind.sampled, 'sample')}, ${number(kind.found)} said something</small></li>`)}</ul>`}
    ${visits.length > 0 && html`<h3>Last visits</h3><div class="scroll"><table class="plain"><tbody>
      ${visits.map((visit, index) => html`<${Visit} key=${index} visit=${visit} />`)}</tbody></table></div>`}
    <${Command} line=${host.command ?? commandOf(status, 'queue ls', `--host ${bare}`, '--urls 100')} />`}
  <//>`;
}

export function Hosts({ live, query, go }) {
  const sort = SORTS.some(([key]) => key === query.sort) ? query.sort : 'queue';
  const [typed, setTyped] = useState(query.q ?? '');
  // Rows of earlier parts, and where the part that is shown last begins.
  const [before, setBefore] = useState([]);
  const [after, setAfter] = useState(null);
  const [shown, setShown] = useState(100);
  const q = query.q ?? '';
  useEffect(() => setTyped(q), [q]);
  useEffect(() => {
    if (typed === q) return undefined;
    const timer = setTimeout(() => go('hosts', { ...query, q: typed }), 250);
    return () => clearTimeout(timer);
  }, [typed]);
  useEffect(() => {
    setBefore([]);
    setAfter(null);
    setShown(100);
  }, [sort, q]);
  const asked = useAnswer('hosts', saved ? {} : { sort, q, limit: 100, after }, after === null ? 10_000 : 0);
  const { data } = useMemo(() => inReport(asked, sort, q), [asked.data, asked.error, sort, q]);
  const hosts = useMemo(() => [...before, ...(data?.hosts ?? [])], [before, data]);
  const more = () => {
    if (saved) return setShown(shown + 200);
    setBefore(hosts);
    return setAfter(data.next);
  };
  const delay = useSettings().get('politeness.delay');
  const opened = query.host ?? null;
  const open = (host) => go('hosts', { ...query, host });
  const sorted = (key, name, title = null) => html`<th scope="col" class="n" aria-sort=${sort === key ? 'descending' : 'none'}>
    <button type="button" class="sort" title=${title} onClick=${() => go('hosts', { sort: key, q })}>
    ${name}</button></th>`;
  return html`<${Card} title="Hosts" wide=${true} says=${data ? `${count(data.total ?? data.hosts.length, 'host')}${data.as_of ? `, as of ${clock(data.as_of)}` : ''}` : null}
      command=${data?.command ?? commandOf(live.status, 'status', `--hosts ${sort}`, q ? `--match ${quoted(q)}` : '')}
      actions=${html`<label class="field onphone"><span>by</span><select value=${sort} onChange=${(event) => go('hosts', { sort: event.target.value, q })}>
        ${SORTS.map(([key, name]) => html`<option key=${key} value=${key}>${name}</option>`)}</select></label>
      <input type="search" aria-label="Hosts whose name contains" placeholder="Part of a name" value=${typed} onInput=${(event) => setTyped(event.target.value)} />`}>
    ${!data && hosts.length === 0 ? html`<${Missing} answer=${asked} what="hosts" rows=${10} />` : hosts.length === 0 ? html`<${Empty} title=${q ? 'No host has that in its name' : 'No hosts yet'}>
      ${q ? '' : 'Hosts turn up with the first seeds.'}<//>` : html`
    <div class="scroll"><table class="hosts stack"><thead><tr><th scope="col">host</th>
      ${sorted('queue', 'queue', 'URLs that wait')}${sorted('visits', 'visits')}${sorted('bytes', 'bytes')}${sorted('duplicates', 'duplicates')}${sorted('failures', 'failures', 'failures, less the successes since')}${sorted('time', 'time', 'time of its answers')}
      <th scope="col" class="n" title="between two requests">delay</th><th scope="col">state</th></tr></thead>
      <tbody>${(saved ? hosts.slice(0, shown) : hosts).map((host) => html`<${Row} key=${host.host} host=${host} delay=${delay} onOpen=${() => open(host.host)} />`)}</tbody></table></div>
    ${(saved ? hosts.length > shown : data?.next) && html`<p class="buttons">
      <button type="button" onClick=${more}>More hosts</button></p>`}`}
    ${opened && html`<${Detail} key=${opened} name=${opened} row=${hosts.find((host) => host.host === opened)} delay=${delay} status=${live.status} onChange=${asked.again} onClose=${() => go('hosts', { ...query, host: null })} />`}
  <//>`;
}
