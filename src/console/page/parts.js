// The pieces of which the pages are made.

import { html, useEffect, useLayoutEffect, useRef, useState } from './preact.js';
import { count, inLetters, isWeb, NONE, number, plain, quoted, share, words } from './format.js';
import { saved } from './api.js';

// The verdicts, from "a page of its own" over the surest copies to those that need most trust. The
// colours of the classes are in style.css.
export const VERDICTS = [
  { key: 'unique', name: 'unique', says: 'a page of its own' },
  { key: 'raw', name: 'raw', says: 'the same bytes' },
  { key: 'normalized', name: 'normalized', says: 'the same visible text' },
  { key: 'content', name: 'content', says: 'the same main text' },
  { key: 'near', name: 'near', says: 'nearly the same main text' },
];
export const TIERS = VERDICTS.slice(1);

const ICONS = {
  good: 'M3.5 8.5l3 3 6-7',
  warn: 'M8 3.500v5.500M8 12.200v.100',
  bad: 'M4 4l8 8M12 4l-8 8',
  idle: 'M5.500 4v8M10.500 4v8',
  out: 'M6 4h6v6M12 4L4.500 11.500',
  copy: 'M5.500 5.500v-2h7v7h-2M3.500 5.500h7v7h-7z',
  close: 'M4 4l8 8M12 4l-8 8',
  play: 'M5.500 3.500l7 4.500-7 4.500z',
  pause: 'M5.500 4v8M10.500 4v8',
  plus: 'M8 3.500v9M3.500 8h9',
  stop: 'M4.500 4.500h7v7h-7z',
  left: 'M10 3.500L5.500 8l4.500 4.500',
  right: 'M6 3.500l4.500 4.500L6 12.500',
};

export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
    <path d=${ICONS[name]} /></svg>`;
}

// The name and its sign.
export function Brand() {
  return html`<a class="brand" href="#/" aria-label="gleaner, overview"><svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" /><path class="stalk" d="M16 27V9" />
      <path class="grain" d="M16 14c-4 0-6-2-6-5 4 0 6 2 6 5zM16 14c4 0 6-2 6-5-4 0-6 2-6 5zM16 20.500c-4 0-6-2-6-5 4 0 6 2 6 5zM16 20.500c4 0 6-2 6-5-4 0-6 2-6 5zM16 8c-1.800-1.800-1.800-3.200 0-5 1.800 1.800 1.800 3.200 0 5z" /></svg>
      <span>gleaner</span></a>`;
}

// A word on how something stands: its form says it too, not the colour alone.
export function Badge({ level = 'idle', children }) {
  return html`<span class=${`badge ${level}`}><${Icon} name=${level} />${children}</span>`;
}

// The command line that gives the same in a terminal.
export function Command({ line, label = 'in a terminal' }) {
  const [copied, setCopied] = useState(false);
  const code = useRef(null);
  if (!line) return null;
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(line);
    } catch {
      // Without a secure context there is no clipboard; what is selected can be copied by hand.
      getSelection()?.selectAllChildren(code.current);
      return;
    }
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return html`<p class="command"><span class="prompt" aria-hidden="true">$</span>
    <code ref=${code} tabindex="0" aria-label=${`${label}: ${line}`}>${plain(line)}</code>
    <button type="button" class="quiet" onClick=${copy} aria-label=${`Copy the command: ${line}`}>
      <${Icon} name=${copied ? 'good' : 'copy'} /><span role="status">${copied ? 'copied' : ''}</span></button></p>`;
}

export function commandOf(status, ...rest) {
  const directory = status?.data_dir ?? 'DIR';
  const [name, ...more] = rest;
  return `gleaner ${name} --data-dir ${quoted(directory)}${more.length ? ` ${more.join(' ')}` : ''}`;
}

// Letters of a URL in a list: its beginning says where it is, its end what it is.
const BEGIN = 100;
const END = 36;

function cut(url) {
  return url.length > BEGIN + END + 10 ? `${url.slice(0, BEGIN)}…${url.slice(-END)}` : url;
}

// A URL from the web: text that leads to what the crawl knows of it, and, if it is one of the web, a
// link that leads there.
export function WebUrl({ url, title = null, short: isShort = false, whole = false }) {
  if (!url) return NONE;
  const letters = inLetters(url);
  const text = plain(url);
  const named = isShort ? text.replace(/^https?:\/\//, '') : text;
  const shown = whole ? named : cut(named);
  const inner = html`<bdi class="url">${title ? plain(title) : shown}</bdi>`;
  return html`<span class="weburl">
    ${saved ? inner : html`<a href=${`#/url?u=${encodeURIComponent(url)}`} title=${text}>${inner}</a>`}
    ${letters && html`<small class="letters" title="the name in its own letters"> (${letters})</small>`}
    ${isWeb(url) && html`<a class="out" href=${url} target="_blank" rel="noreferrer noopener" aria-label=${`Open ${text} on the web`}>
      <${Icon} name="out" /></a>`}
  </span>`;
}

export function HostName({ host, onOpen = null }) {
  const letters = inLetters(host);
  const text = plain(host);
  const inner = html`<bdi class="url">${text}</bdi>`;
  return html`<span class="weburl">
    ${onOpen ? html`<button type="button" class="link" onClick=${onOpen}>
      ${inner}</button>` : saved ? inner : html`<a href=${`#/hosts?host=${encodeURIComponent(host)}`}>${inner}</a>`}
    ${letters && html`<small class="letters" title="the name in its own letters"> (${letters})</small>`}</span>`;
}

export function TierChip({ tier }) {
  const known = VERDICTS.find((it) => it.key === tier);
  return html`<span class="tierchip" title=${known?.says}><i class=${`dot v-${known ? tier : 'other'}`}></i>
    ${words(tier)}</span>`;
}

// What stands where nothing can be shown, and why.
export function Empty({ title, children }) {
  return html`<div class="empty"><p class="emptytitle">${title}</p>${children && html`<p>${children}</p>`}</div>`;
}

export function Waiting({ rows = 4 }) {
  return html`<div class="waiting" role="status" aria-label="being read">
    ${Array.from({ length: rows }, () => html`<span></span>`)}</div>`;
}

// The state of an answer that is not there: being read, not in this version, or failed.
export function Missing({ answer, what, rows }) {
  if (answer.asking && !answer.error) return html`<${Waiting} rows=${rows} />`;
  if (!answer.error) return null;
  if (answer.error.isMissing) return html`<${Empty} title=${`No ${what} here`}>
    ${saved ? 'A saved report does not hold them.' : 'Not in this version of gleaner, or nothing is known of it.'}<//>`;
  return html`<div class="empty" role="alert"><p class="emptytitle">${`The ${what} could not be read`}</p><p>
    ${plain(answer.error.message)}</p>
    <button type="button" onClick=${answer.again}>Try again</button></div>`;
}

// Choices of which one holds.
export function Choice({ label, value, options, onChange }) {
  return html`<div class="choice" role="group" aria-label=${label}>
    ${options.map(([key, name]) => html`<button type="button" key=${key} aria-pressed=${String(key === value)} onClick=${() => onChange(key)}>
      ${name}</button>`)}
  </div>`;
}

// A card with a title, what it says about it, and the command beside it.
export function Card({ title, says, command, children, wide = false, id, actions }) {
  return html`<section class=${`card${wide ? ' wide' : ''}`} aria-label=${title} id=${id}>
    <header><h2>${title}</h2>${says && html`<p class="says">${says}</p>`}${actions && html`<div class="actions">
      ${actions}</div>`}</header>
    ${children}
    ${command && html`<${Command} line=${command} />`}
  </section>`;
}

// Rows with a bar each: name, number, share of the largest.
export function Bars({ rows, label, format = number, all = null, limit = 8 }) {
  const [isOpen, setOpen] = useState(false);
  const shown = isOpen ? rows : rows.slice(0, limit);
  const most = Math.max(1, ...rows.map((row) => row.value));
  return html`<ul class="bars" aria-label=${label}>
    ${shown.map((row) => html`<li key=${row.key}>
      <span class="name">${row.href && !saved ? html`<a href=${row.href}>
        ${row.name}</a>` : row.name}${row.note && html`<small>${row.note}</small>`}</span>
      <span class="value">${format(row.value)}${all !== null && html`<small>${share(row.value, all)}</small>`}</span>
      <svg class="bar" aria-hidden="true" preserveAspectRatio="none" viewBox="0 0 1000 6">
        <rect class="track" width="1000" height="6" />
        <rect class=${row.tone ?? 'v-plain'} width=${row.value > 0 ? Math.max(4, (1000 * row.value) / most) : 0} height="6" /></svg>
      ${row.action}
    </li>`)}
    ${rows.length > limit && html`<li class="more">
      <button type="button" class="link" onClick=${() => setOpen(!isOpen)}>
      ${isOpen ? 'fewer' : `${rows.length - limit} more`}</button></li>`}
  </ul>`;
}

// A window over the page: a dialog of the browser, which keeps the focus and closes on Escape.
export function Window({ title, onClose, drawer = false, children }) {
  const dialog = useRef(null);
  useLayoutEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element.showModal();
    return () => {
      if (element.open) element.close();
      before?.focus?.();
    };
  }, []);
  const outside = (event) => event.target === dialog.current && onClose();
  return html`<dialog ref=${dialog} class=${drawer ? 'drawer' : 'window'} aria-label=${title} onClose=${onClose} onClick=${outside}>
    <div class="inner"><header><h2>${plain(title)}</h2>
      <button type="button" class="quiet" onClick=${onClose} aria-label="Close">
        <${Icon} name="close" /></button></header>
    ${children}</div><${Notes} /></dialog>`;
}

// A precision and the interval in which it lies.
export function Interval({ low, high, at }) {
  const x = (value) => 2 + 96 * Math.min(1, Math.max(0, value));
  return html`<svg class="interval" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
    <rect class="track" x="2" y="3.500" width="96" height="3" rx="1.500" />
    <rect class="range" x=${x(low)} y="3.500" width=${Math.max(1, x(high) - x(low))} height="3" />
    <rect class="at" x=${x(at) - 0.6} y="1" width="1.200" height="8" /></svg>`;
}

const NOTES = new Set();
let note = null;

function noted(next) {
  note = next;
  for (const listener of NOTES) listener();
}

// Says what a command did, where screen readers hear it.
export function say(text, level = 'good') {
  const said = { text, level };
  noted(said);
  setTimeout(() => note === said && noted(null), level === 'bad' ? 12_000 : 5_000);
}

// Where notes are shown: in the page, and in each open window, because what lies behind a window is
// neither seen nor heard. The last of these places shows them.
const PLACES = [];

export function Notes({ behind = false }) {
  const [, turn] = useState(0);
  const place = useRef({}).current;
  useLayoutEffect(() => {
    const listener = () => turn((value) => value + 1);
    // A window may be there before the page is.
    if (behind) PLACES.unshift(place);
    else PLACES.push(place);
    NOTES.add(listener);
    noted(note);
    return () => {
      PLACES.splice(PLACES.indexOf(place), 1);
      NOTES.delete(listener);
      noted(note);
    };
  }, []);
  return html`<div class="notes" role="status" aria-live="polite">
    ${note && PLACES.at(-1) === place && html`<p class=${note.level}>${plain(note.text)}</p>`}</div>`;
}

// Runs a command and says how it went.
export async function run(command, done) {
  try {
    const answer = await command();
    const text = typeof done === 'function' ? done(answer) : done;
    if (text) say(text);
    return answer;
  } catch (error) {
    say(error.isMissing ? `Not in this version: ${error.message}` : error.message, 'bad');
    return null;
  }
}

export function Facts({ facts }) {
  const known = facts.filter(([, value]) => value !== null && value !== undefined && value !== '' && value !== false);
  return html`<dl class="facts">${known.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>
    ${value}</dd></div>`)}</dl>`;
}

// How a retry went.
export function requeued(answer) {
  const urls = Object.values(answer.urls ?? {}).reduce((sum, value) => sum + value, 0);
  const hosts = answer.hosts > 0 ? `; ${count(answer.hosts, 'host')} no longer ${answer.hosts === 1 ? 'waits' : 'wait'}` : '';
  return `${count(urls, 'URL')} queued again${hosts}`;
}
