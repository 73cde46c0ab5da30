// URL: what happened to one, and why.

import { html, useEffect, useState } from './preact.js';
import { useAnswer } from './api.js';
import { now } from './live.js';
import { ago, count, day, duration, NONE, number, plain, quoted, words } from './format.js';
import { Badge, Card, Command, commandOf, Empty, Facts, HostName, Missing, TierChip, WebUrl } from './parts.js';
import { Compare } from './compare.js';

const STATES = {
  done: ['good', 'Visited'],
  queued: ['idle', 'Waits for its turn'],
  deferred: ['warn', 'Put off'],
  unknown: ['idle', 'Never admitted'],
};

function Visit({ visit, directory }) {
  const isDuplicate = Boolean(visit.original);
  return html`<${Card} title="Its last visit">
    <${Facts} facts=${[
      ['when', html`${day(visit.time)} <small>${ago(visit.time, now())}</small>`],
      ['verdict', html`<${TierChip} tier=${visit.verdict} />${visit.reason ? ` ${words(visit.reason)}` : ''}`],
      ['status', visit.status || null],
      ['failure', visit.failure && html`<span class="bad">${plain(visit.failure)}</span>`],
      ['tried again', visit.next_attempt && `after ${day(visit.next_attempt)}`],
      ['title', visit.title && plain(visit.title)],
      ['type', visit.mime && plain(visit.mime)],
      ['original', isDuplicate && html`<${WebUrl} url=${visit.original} />`],
      ['distance', visit.distance !== null && isDuplicate ? `${visit.distance} of 64 bits` : null],
      ['similarity', visit.similarity !== null && visit.similarity !== undefined ? Number(visit.similarity).toFixed(3) : null],
      ['preferred URL', visit.cluster_canonical && visit.cluster_canonical !== visit.original && html`<${WebUrl} url=${visit.cluster_canonical} />`],
      ['led to', visit.led_to && html`<${WebUrl} url=${visit.led_to} />`],
      ['found on', visit.via && html`<${WebUrl} url=${visit.via} />`],
      ['depth', `${count(visit.depth, 'link')} from a seed`],
      ['attempts', visit.attempts > 1 ? visit.attempts : null],
      ['next visit', visit.next_visit && day(visit.next_visit)],
      ['declares', visit.canonical_hint && html`<${WebUrl} url=${visit.canonical_hint} />`],
      ['unchanged since', visit.unchanged_since && day(visit.unchanged_since)],
    ]} />
    ${visit.record && html`<${Command} label="its record in the archive" line=${`gleaner warc get ${quoted(`${directory}/warc/${visit.record.file}`)} ${visit.record.offset}`} />`}<//>`;
}

function Admission({ why }) {
  const { admission, robots, queued, refused } = why;
  return html`<${Card} title="Would a link to it be followed?">
    <${Facts} facts=${[
      ['answer', html`<${Badge} level=${admission.answer === 'admitted' ? 'good' : 'warn'}>
        ${words(admission.answer)}<//>`],
      ['excluded by', admission.pattern && html`<code>${plain(admission.pattern)}</code>`],
      ['blocked by', admission.blocked && plain(admission.blocked)],
      ['kind', admission.kind && html`<code>${plain(admission.kind.what)}</code> <small>
        ${number(admission.kind.deferred)} put off, ${count(admission.kind.sampled, 'sample')}</small>`],
      ['scope', words(admission.scope)],
      ['robots.txt', robots && html`${words(robots.answer)}${robots.rule ? html`: <code>
        ${plain(robots.rule)}</code> <small>line ${robots.line}</small>` : ''}${robots.reason ? html` <small>
        ${plain(robots.reason)}</small>` : ''}`],
      ['refused', refused && html`${words(plain(refused.reason))}${refused.via ? html` on <${WebUrl} url=${refused.via} />` : ''}`],
      ['in the queue', queued && `${count(queued.ahead, 'URL')} of its host ${queued.ahead === 1 ? 'is' : 'are'} before it, class ${queued.class}`],
      ['found on', queued?.via && html`<${WebUrl} url=${queued.via} />`],
      ['forgotten', why.forgotten !== undefined && why.forgotten !== null && (why.forgotten ? `since ${day(why.forgotten)}` : 'yes')],
      ['needed by', why.needed_by && html`<${WebUrl} url=${why.needed_by} />`],
    ]} />
    ${why.host && html`<p class="muted">Its host: <${HostName} host=${why.host.host} />, ${count(why.host.queued, 'URL')} ${why.host.queued === 1 ? 'waits' : 'wait'}${why.host.held ? ', held' : why.host.parked ? `, parked; next ${ago(why.host.due, now())}` : ''}${why.host.crawl_delay_ms ? `, Crawl-delay ${duration(why.host.crawl_delay_ms)}` : ''}.</p>`}<//>`;
}

function Similar({ url, status }) {
  const [isAsked, setAsked] = useState(false);
  const answer = useAnswer(isAsked ? 'similar' : null, { url, limit: 10 });
  const found = answer.data?.found ?? answer.data;
  const pages = found?.pages ?? [];
  return html`<${Card} title="Pages like it" says="every stored page is compared" command=${commandOf(status, 'similar', quoted(url))}>
    ${!isAsked ? html`<p class="buttons">
      <button type="button" onClick=${() => setAsked(true)}>Look for them</button></p>` : !answer.data ? html`<${Missing} answer=${answer} what="similar pages" />` : pages.length === 0 ? html`<${Empty} title="None is like it" />` : html`
    <div class="scroll"><table class="plain"><thead><tr><th scope="col">page</th>
      <th scope="col" class="n">similarity</th><th scope="col">would be</th></tr></thead><tbody>
      ${pages.map((page) => html`<tr key=${page.url}><td class="fill"><${WebUrl} url=${page.url} /><small>
      ${plain(page.title)}</small></td>
      <td class="n">${Number(page.similarity).toFixed(3)}<small>
        ${page.distance === null ? '' : `${page.distance} bits`}</small></td><td>
        ${page.tier ? html`<${TierChip} tier=${page.tier} />` : NONE}</td></tr>`)}</tbody></table></div>`}<//>`;
}

export function UrlPage({ live, query, go }) {
  const [typed, setTyped] = useState(query.u ?? '');
  const url = query.u ?? '';
  useEffect(() => setTyped(url), [url]);
  const answer = useAnswer(url ? 'why' : null, { url });
  const submit = (event) => {
    event.preventDefault();
    if (typed.trim()) go('url', { u: typed.trim() });
  };
  const why = answer.data?.why ?? answer.data;
  const [level, title] = STATES[why?.state] ?? ['idle', words(why?.state)];
  const failed = why?.visit?.failure && why.state === 'done';
  return html`<div class="urlpage"><form class="askurl" onSubmit=${submit} role="search">
    <label for="asked">What happened to</label>
      <input id="asked" type="text" inputmode="url" spellcheck="false" autocomplete="off" placeholder="https://example.org/page" value=${typed} onInput=${(event) => setTyped(event.target.value)} />
        <button type="submit" class="primary">Ask</button></form>
    ${!url ? html`<${Empty} title="Ask about any URL">In any of its forms: what is known of it, whether it would be fetched, and why.<//>` : !why ? html`<${Missing} answer=${answer} what="answer" rows=${6} />` : html`
    <section class="card wide" aria-label="What is known of it"><p class="lead">
      <${Badge} level=${failed ? 'bad' : level}>${failed ? 'Visited, without an answer' : title}<//></p>
      <p class="bigurl"><${WebUrl} url=${why.url} whole=${true} /></p>
      ${why.canonical !== why.url && html`<p><small>known as</small> <bdi class="url">
        ${plain(why.canonical)}</bdi></p>`}
      <${Command} line=${answer.data?.command ?? commandOf(live.status, 'why', quoted(url))} /></section>
    <div class="columns two">${why.visit && html`<${Visit} visit=${why.visit} directory=${live.status?.data_dir ?? 'DIR'} />`}<${Admission} why=${why} /></div>
    ${why.visit?.original && html`<${Card} title="Compared with its original" wide=${true}>
      <${Compare} a=${why.visit.original} b=${why.visit.url} /><//>`}
    ${why.visit && !why.visit.failure && html`<${Similar} key=${url} url=${why.visit.url} status=${live.status} />`}`}</div>`;
}
