// Not fetched: what the crawl knows of and did not fetch, by reason, host or pattern, with examples
// and what brings it back.

import { html, useState } from './preact.js';
import { post, useAnswer } from './api.js';
import { refresh } from './live.js';
import { count, number, plain, quoted, words } from './format.js';
import { Card, Choice, Command, commandOf, Empty, HostName, Icon, Missing, requeued, run, WebUrl, Window } from './parts.js';

const WAYS = [['reason', 'by reason'], ['host', 'by host'], ['pattern', 'by pattern']];

// What each reason means, and which setting it comes from.
const REASONS = {
  robots: 'robots.txt of the host forbids them.',
  guard: 'Their addresses are private ones, which strangers\u2019 links may not reach (fetch.allow_private).',
  budget: 'A budget of [traps] is used up.',
  failed: 'They were tried until no attempt was left.',
  parked: 'They wait: their host keeps failing, and is tried again ever more seldom.',
  held: 'They wait: a person holds their host.',
  queued: 'They still wait for their turn.',
  'out-of-scope': 'They lead out of what the crawl was asked for (crawl.scope).',
  'too-deep': 'They are more links away from a seed than wanted (crawl.max_depth).',
  excluded: 'A pattern of crawl.exclude excludes them.',
  'not-included': 'No pattern of crawl.include takes them.',
  malformed: 'They are no URLs, or too long (crawl.max_url_length).',
  'too-many-redirects': 'They redirected too often (crawl.max_redirects).',
  nofollow: 'The page or the link asks not to follow.',
  'other-language': 'They stand on pages in other languages (crawl.languages).',
  'links-cut': 'Their page has more links than are read (page.max_links).',
  deferred: 'Others of their kind said nothing new. They are kept for later, and samples of them are fetched.',
  forgotten: 'A person had them forgotten.',
};

// The command of a group, as it can be copied.
function lineOf(it, status) {
  const url = it.example ?? it.examples?.[0] ?? 'URL';
  return it.command ? `${it.command.replace(/\bURL\b/, quoted(url))} --data-dir ${quoted(status?.data_dir ?? 'DIR')}` : null;
}

// What the table of omissions says, where the lists behind it cannot be asked for.
function fromOmissions(data, status) {
  if (!data) return null;
  const groups = (data.left_out ?? []).map((it) => ({
    reason: it.reason, detail: it.detail, group: it.group, count: it.count, atLeast: it.at_least, unit: it.unit, examples: it.example ? [it.example] : [], command: it.command, readmit: null,
  }));
  return { groups, command: data.command };
}

// The unit of a group's number, for one or for many.
function unitOf({ unit, count: many }) {
  const names = !unit || unit === 'urls' ? 'URLs' : words(unit);
  return many === 1 ? names.replace(/s$/, '') : names;
}

function nameOf(group, by) {
  if (by === 'host' && group.host) return html`<${HostName} host=${group.host} />`;
  if (by === 'pattern' && group.pattern) return html`<code>${plain(group.pattern)}</code>`;
  return html`<b>${words(plain(group.reason))}</b>${group.detail ? `: ${plain(group.detail)}` : ''}`;
}

function Readmit({ group, onClose, onDone, status }) {
  const readmit = async () => {
    const done = await run(() => post('retry', group.readmit), requeued);
    if (done) onDone();
    onClose();
    refresh();
  };
  return html`<${Window} title="Fetch these after all?" onClose=${onClose}>
    <p>What was left out for this reason (${words(plain(group.reason))}${group.detail ? `, ${plain(group.detail)}` : ''})${group.readmit.host ? html` at <b>
      ${plain(group.readmit.host)}</b>` : ''} goes back into the queue: <b>
      ${count(group.count, 'URL')}</b>${group.pattern ? ' like these, and others of this host' : ''}.</p>
    ${group.setting && html`<p class="muted">They were left out by <code>${plain(group.setting)}</code>.</p>`}
    <p class="buttons"><button type="button" onClick=${onClose}>Leave them out</button>
      <button type="button" class="primary" onClick=${readmit}>Fetch ${count(group.count, 'URL')}</button></p>
    <${Command} line=${commandOf(status, 'retry', `--class ${group.readmit.classes.join(',')}`, group.readmit.host ? `--host ${group.readmit.host}` : '')} /><//>`;
}

function Group({ group, by, most, status, onReadmit }) {
  const canReadmit = group.readmit && status && !status.read_only;
  const [isOpen, setOpen] = useState(false);
  const shown = isOpen ? group.examples ?? [] : (group.examples ?? []).slice(0, 2);
  return html`<li class="group"><div class="grouphead"><span class="groupname">${nameOf(group, by)}</span>
      <span class="groupcount">${group.atLeast ? 'at least ' : ''}${number(group.count)} <small>
        ${unitOf(group)}</small></span>
      ${canReadmit && html`<button type="button" class="small" onClick=${onReadmit} aria-label=${`fetch these: ${count(group.count, "URL")} left out by ${words(plain(group.reason))}`}>
        <${Icon} name="plus" />fetch these</button>`}</div>
    <svg class="bar" aria-hidden="true" preserveAspectRatio="none" viewBox="0 0 1000 6">
      <rect class="track" width="1000" height="6" />
      <rect class="c-1" width=${Math.max(4, (1000 * group.count) / most)} height="6" /></svg>
    ${by === 'reason' && REASONS[group.reason] && html`<p class="muted">${REASONS[group.reason]}</p>`}
    <p class="groupsays">${by !== 'reason' && group.reason && html`<span>
      ${words(plain(group.reason))}</span>`}${by !== 'host' && group.host && html`<span>
      ${plain(group.host)}</span>`}${by !== 'pattern' && group.pattern && html`<code>
      ${plain(group.pattern)}</code>`}${group.group && html`<span>
      ${words(group.group)}</span>`}${group.setting && html`<span>by <code>${plain(group.setting)}</code></span>`}</p>
    ${shown.length > 0 && html`<ul class="plainlist examples">${shown.map((url) => html`<li key=${url}>
      <${WebUrl} url=${url} /></li>`)}</ul>`}
    ${(group.examples?.length ?? 0) > 2 && html`<button type="button" class="link" onClick=${() => setOpen(!isOpen)}>
      ${isOpen ? 'fewer examples' : `${group.examples.length - 2} more examples`}</button>`}
    ${group.command && html`<${Command} line=${lineOf(group, status)} />`}</li>`;
}

export function NotFetched({ live, query, go }) {
  const by = WAYS.some(([key]) => key === query.by) ? query.by : 'reason';
  const asked = useAnswer('not-fetched', { by, reason: query.reason ?? null }, 0);
  const isPlain = asked.error?.isMissing === true;
  const omissions = useAnswer(isPlain ? 'left-out' : null, {}, 15_000);
  const data = asked.data ?? (isPlain ? fromOmissions(omissions.data, live.status) : null);
  const [readmitted, setReadmitted] = useState(null);
  const wanted = query.reason ? (data?.groups ?? []).filter((it) => it.reason === query.reason || it.detail === query.reason) : data?.groups;
  // A reason that the lists do not know, as a class of failure, shows all of them.
  const groups = wanted?.length > 0 ? wanted : data?.groups ?? [];
  const most = Math.max(1, ...groups.map((it) => it.count));
  return html`<${Card} title="Not fetched" wide=${true} says=${data ? `${count(groups.length, by === 'reason' ? 'reason' : 'group')}${query.reason && wanted?.length > 0 ? `: ${words(query.reason)}` : ''}` : null} command=${data?.command ?? commandOf(live.status, 'status')}
      actions=${html`${query.reason && html`<a href=${`#/not-fetched?by=${by}`}>all reasons</a>`}${!isPlain && html`<${Choice} label="Sorted" value=${by} options=${WAYS} onChange=${(key) => go('not-fetched', { ...query, by: key })} />`}`}>
    ${!data ? html`<${Missing} answer=${isPlain ? omissions : asked} what="list of what was not fetched" rows=${8} />` : groups.length === 0 ? html`<${Empty} title="Nothing was left out">Every URL that the crawl knows of was fetched, or waits for its turn.<//>` : html`
    <ul class="groups">${groups.map((group, index) => html`<${Group} key=${`${group.group ?? ''} ${group.reason} ${group.host ?? ''} ${group.pattern ?? ''} ${index}`} group=${group} by=${by} most=${most} status=${live.status} onReadmit=${() => setReadmitted(group)} />`)}</ul>`}
    ${readmitted && html`<${Readmit} group=${readmitted} status=${live.status} onClose=${() => setReadmitted(null)} onDone=${asked.again} />`}<//>`;
}
