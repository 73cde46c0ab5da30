// The page: its head with what the crawl is doing and the commands, and the part that the address
// names. `#/hosts?sort=failures` is the hosts by failures.

import { Component, html, render, useEffect, useRef, useState } from './preact.js';
import { post, saved } from './api.js';
import { enter, now, refresh, start, useLive } from './live.js';
import { count, day, plain, span, words } from './format.js';
import { Badge, Brand, Command, commandOf, Icon, Notes, run, Window } from './parts.js';
import { Overview } from './overview.js';
import { Hosts } from './hosts.js';
import { Duplicates } from './duplicates.js';
import { NotFetched } from './not_fetched.js';
import { UrlPage } from './url.js';
import { Pages } from './pages.js';
import { ClusterPage } from './cluster.js';

const PAGES = [
  { key: '', name: 'Overview', view: Overview, isSaved: true },
  { key: 'hosts', name: 'Hosts', view: Hosts, isSaved: true },
  { key: 'duplicates', name: 'Duplicates', view: Duplicates, isSaved: true },
  { key: 'not-fetched', name: 'Not fetched', view: NotFetched, isSaved: false },
  { key: 'url', name: 'URL', view: UrlPage, isSaved: false },
  { key: 'pages', name: 'Pages', view: Pages, isSaved: false, isUnlisted: true },
].filter((page) => !saved || page.isSaved);

// What the address says: a page and its parameters.
function place() {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const page = PAGES.find((it) => it.key === path) ?? PAGES[0];
  return { page, query: Object.fromEntries(new URLSearchParams(query)) };
}

// Leads to another page, or changes parameters of this one.
function go(key, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== '');
  const text = new URLSearchParams(given).toString();
  location.hash = `#/${key}${text ? `?${text}` : ''}`;
}

const STATES = {
  running: { level: 'good', name: 'Running' },
  paused: { level: 'idle', name: 'Paused' },
  starting: { level: 'idle', name: 'Starting' },
  stopping: { level: 'warn', name: 'Stopping' },
  stopped: { level: 'idle', name: 'Not running' },
};

export function stateOf(live) {
  const { status, error } = live;
  if (error?.code === 'starting') return { level: 'idle', name: 'Opening', key: 'starting' };
  if (error) return { level: 'bad', name: 'No answer', key: 'lost' };
  const key = status?.state ?? (status?.running ? 'running' : 'stopped');
  const known = { key, ...(STATES[key] ?? { level: 'idle', name: words(key) }) };
  return key === 'running' && status.gauges?.limit === 'disk' ? { ...known, level: 'bad', name: 'Disk full' } : known;
}

function Stopping({ onClose, status }) {
  const [typed, setTyped] = useState('');
  const stop = async (event) => {
    event.preventDefault();
    if (typed.trim().toLowerCase() !== 'stop') return;
    await run(() => post('stop', { confirm: 'stop' }), 'The crawl is ending: everything that arrived is committed.');
    onClose();
    refresh();
  };
  return html`<${Window} title="Stop the crawl?" onClose=${onClose}>
    <p>The process ends when what is in progress is committed. Nothing is lost: the same command goes on later. This page will not answer until then.</p>
    <p>To do nothing for a while, <b>pause</b> is enough.</p>
    <form onSubmit=${stop}><label>Type <b>stop</b> to stop it
      <input type="text" autocomplete="off" autofocus value=${typed} onInput=${(event) => setTyped(event.target.value)} /></label>
      <p class="buttons"><button type="button" onClick=${onClose}>Keep it running</button>
        <button type="submit" class="danger" disabled=${typed.trim().toLowerCase() !== 'stop'}>Stop the crawl</button></p></form>
    <${Command} line=${commandOf(status, 'stop')} />
  <//>`;
}

function Seeding({ onClose, status }) {
  const [text, setText] = useState('');
  const urls = text.split(/\s+/).filter(Boolean);
  const add = async (event) => {
    event.preventDefault();
    if (urls.length === 0) return;
    const added = await run(() => post('seeds', { urls }), (it) => `${count(it.new ?? 0, 'seed')} new, ${it.known ?? 0} known`);
    if (added) {
      onClose();
      refresh();
    }
  };
  return html`<${Window} title="Add seeds" onClose=${onClose}>
    <form onSubmit=${add}><label>URLs, one on each line
      <textarea rows="8" autofocus spellcheck="false" placeholder="https://example.org/" value=${text} onInput=${(event) => setText(event.target.value)}></textarea></label>
      <p class="buttons"><button type="button" onClick=${onClose}>Cancel</button>
        <button type="submit" class="primary" disabled=${urls.length === 0}>
          ${urls.length > 0 ? `Add ${count(urls.length, 'seed')}` : 'Add seeds'}</button></p></form>
    <${Command} line=${`${commandOf(status, 'seeds add')} ${urls.length === 1 ? "'" + plain(urls[0]).replaceAll("'", "'\\''") + "'" : '--seeds seeds.txt'}`} />
  <//>`;
}

function Token() {
  const [token, setToken] = useState('');
  const submit = (event) => {
    event.preventDefault();
    if (token.trim()) enter(token.trim());
  };
  return html`<main class="alone" id="main"><h1>This crawl asks for its token</h1>
    <p>It stands in the file that <code>--token-file</code> names, where the crawl runs. It is kept until this tab is closed.</p>
    <form onSubmit=${submit}><label>Token <input type="password" autocomplete="off" autofocus value=${token} onInput=${(event) => setToken(event.target.value)} /></label>
      <p class="buttons"><button class="primary" type="submit">Show the crawl</button></p></form></main>`;
}

const LISTENING = { open: 'live', opening: 'connecting', broken: 'connecting again', asleep: 'asleep', none: 'live' };

function Head({ live, current, onOpen }) {
  const { status } = live;
  const state = stateOf(live);
  const [asked, setAsked] = useState('');
  const find = (event) => {
    event.preventDefault();
    if (asked.trim()) go('url', { u: asked.trim() });
  };
  const canWrite = status && !saved && !status.read_only && !live.error;
  const isPaused = state.key === 'paused' || status?.gauges?.limit === 'paused';
  const pause = () => run(() => post(isPaused ? 'resume' : 'pause'), isPaused ? 'Requests are made again.' : 'Paused: no new requests are made.').then(refresh);
  return html`<header class="top"><div class="band">
    <${Brand} />
    <nav aria-label="Pages">${PAGES.filter((page) => !page.isUnlisted || page === current).map((page) => html`<a key=${page.key} href=${`#/${page.key}`} aria-current=${page === current ? 'page' : null}>
      ${page.name}</a>`)}</nav>
    ${!saved && html`<form class="find" role="search" onSubmit=${find}>
      <input type="search" aria-label="Ask about a URL" placeholder="Ask about a URL" value=${asked} onInput=${(event) => setAsked(event.target.value)} /></form>`}
  </div>
  <div class="band state"><h1 class="unseen">${current.name}</h1>
    ${saved
      ? html`<p class="now"><b>Report</b> of ${day(saved.made)}</p>`
      : html`<p class="now"><${Badge} level=${state.level}>${state.name}<//>
        ${status && state.key !== 'lost' && status.seconds > 0 && html`<span>for ${span(status.seconds)}</span>`}
        <span class=${`link ${live.error ? 'broken' : live.stream}`}><i></i>
          ${live.error ? 'connecting again' : LISTENING[live.stream]}</span></p>`}
    <p class="where"><code title="data directory">${plain(status?.data_dir ?? '')}</code></p>
    ${canWrite && html`<p class="commands">
      <button type="button" onClick=${pause}><${Icon} name=${isPaused ? 'play' : 'pause'} />
        ${isPaused ? 'Resume' : 'Pause'}</button>
      <button type="button" onClick=${() => onOpen('seeds')}><${Icon} name="plus" />Add seeds</button>
      <button type="button" class="danger quietly" onClick=${() => onOpen('stop')}>
        <${Icon} name="stop" />Stop…</button></p>`}
  </div></header>`;
}

// What a mistake of the page leaves: a sentence, and the rest of the page.
class Guard extends Component {
  constructor() {
    super();
    this.state = { error: null };
  }

  componentDidCatch(error) {
    console.error(error);
    this.setState({ error });
  }

  render({ children }, { error }) {
    return error ? html`<div class="empty" role="alert"><p class="emptytitle">This page has a mistake</p><p>
      ${plain(error.message)}</p></div>` : children;
  }
}

function App() {
  const live = useLive();
  const [at, setAt] = useState(place);
  const [open, setOpen] = useState(null);
  const main = useRef(null);
  useEffect(() => {
    const changed = () => {
      const next = place();
      setAt((old) => {
        // A reader who follows a link begins at its page.
        if (old.page !== next.page) queueMicrotask(() => {
          main.current?.focus({ preventScroll: true });
          scrollTo(0, 0);
        });
        return next;
      });
    };
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  const state = stateOf(live);
  const isShared = live.error?.code === 'shared';
  useEffect(() => {
    // The page of a worker has a title of its own.
    if (isShared) return;
    const mark = { good: '', idle: '⏸ ', warn: '⚠ ', bad: '⚠ ' }[saved ? 'good' : state.level];
    document.title = `${mark}${at.page.name} – gleaner`;
  }, [at.page, state.level, isShared]);
  if (live.needsToken) return html`<${Token} />`;
  if (isShared) return html`<${ClusterPage} />`;
  const View = at.page.view;
  return html`<a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); main.current.focus(); }}>Skip to the content</a>
    <${Head} live=${live} current=${at.page} onOpen=${setOpen} />
    ${live.error && html`<div class=${`banner ${live.error.code === 'starting' ? 'calm' : ''}`} role="alert">
      ${plain(live.error.message)}. ${live.status ? `What is shown is from ${day(live.status.server_time ?? now())}; this` : 'This'} page goes on by itself when the crawl answers.
        ${live.error.code !== 'starting' && live.status && html`<${Command} line=${commandOf(live.status, 'status')} />`}</div>`}
    <main id="main" ref=${main} tabindex="-1"><${Guard} key=${at.page.key}>
      <${View} live=${live} query=${at.query} go=${go} onSeed=${() => setOpen('seeds')} /><//></main>
    <footer class="foot"><span>gleaner ${live.status?.version ?? ''}</span>
      ${!saved && html`<a href="openapi.json">API</a><a href="metrics">metrics</a>`}
      ${saved && html`<span>made by <code>gleaner report</code>; nothing in it comes from elsewhere</span>`}</footer>
    ${open === 'stop' && html`<${Stopping} status=${live.status} onClose=${() => setOpen(null)} />`}
    ${open === 'seeds' && html`<${Seeding} status=${live.status} onClose=${() => setOpen(null)} />`}
    <${Notes} behind=${true} />`;
}

start();
render(html`<${App} />`, document.getElementById('app'));
