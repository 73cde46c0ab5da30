// What goes on: the crawl's state once a second, and its events as they happen. There is one stream
// for the page, whatever is shown; a tab that nobody sees has none, and goes on behind the last
// event that it had.

import { useEffect, useState } from './preact.js';
import { address, get, headers, keepToken, saved } from './api.js';
import { millis } from './format.js';

// Events that are kept to be shown.
const KEPT = 400;
const EVERY = 1000;
// Silence after which the stream counts as broken: the crawl says something every 15 s.
const SILENCE = 40_000;
// Time between two ticks after which the machine has slept.
const SLEPT = 10_000;
// Time after which a status that does not come is asked for again.
const PATIENCE = 20_000;

const live = {
  status: saved ? saved.answers.status : null,
  // Why there is no newer status: null while there is.
  error: null,
  needsToken: false,
  // Milliseconds by which the crawl's clock is ahead of this one.
  skew: 0,
  // Newest first.
  events: [],
  // Number of events since the page was opened, and whether some could not be had any more.
  received: 0,
  gap: null,
  // 'opening', 'open', 'broken', 'asleep', or 'none' where the crawl has no events.
  stream: 'opening',
};

let last = null;
let waiting = [];
let flushing = null;
const listeners = new Set();

function tell(change) {
  Object.assign(live, change);
  for (const listener of listeners) listener();
}

// The time now, by the crawl's clock.
export function now() {
  if (saved) return millis(saved.answers.status?.server_time) ?? millis(saved.made) ?? Date.now();
  return Date.now() + live.skew;
}

export function useLive() {
  const [, turn] = useState(0);
  useEffect(() => {
    const listener = () => turn((value) => (value + 1) % 1_000_000);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, []);
  return live;
}

// Asks for the state at once, as after a command.
export async function refresh() {
  if (saved) return;
  try {
    const asked = Date.now();
    const status = await get('status', {}, AbortSignal.timeout(PATIENCE));
    const time = millis(status.server_time);
    const middle = (asked + Date.now()) / 2;
    // Half a second is within what the answer's own way explains.
    const skew = time !== null && Math.abs(time - middle) > 500 ? time - middle : 0;
    tell({ status, error: null, needsToken: false, skew });
  } catch (error) {
    tell({ error, needsToken: error.status === 401 });
  }
}

export function enter(token) {
  keepToken(token);
  refresh();
}

function flush() {
  flushing = null;
  const fresh = waiting;
  waiting = [];
  const events = [...fresh.slice(-KEPT).reverse(), ...live.events].slice(0, KEPT);
  tell({ events, received: live.received + fresh.length });
}

function take(line) {
  if (!line) return;
  let event;
  try {
    event = JSON.parse(line);
  } catch {
    return;
  }
  if (event.kind === 'missed') {
    // It comes next, so what is known is the one before it.
    if (event.next) last = String(BigInt(event.next) - 1n);
    tell({ gap: event });
  } else if (event.id) {
    last = event.id;
    waiting.push(event);
    // A replay brings thousands at once; people need to see a few a second.
    if (waiting.length > 4 * KEPT) {
      live.received += waiting.length - KEPT;
      waiting = waiting.slice(-KEPT);
    }
    flushing ??= setTimeout(flush, 200);
  }
}

// Reads lines until the stream ends, is silent for too long, or is given up.
async function follow(abort) {
  const url = address('events', { after: last, follow: 1 });
  const response = await fetch(url, { headers: headers({ Accept: 'application/x-ndjson' }), signal: abort.signal, cache: 'no-store' });
  if (response.status === 404 || response.status === 405) return 'none';
  if (!response.ok || !response.body) throw new Error(`${response.status}`);
  tell({ stream: 'open' });
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    const timer = setTimeout(() => abort.abort(), SILENCE);
    const { done, value } = await reader.read().finally(() => clearTimeout(timer));
    if (done) return 'ended';
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
    rest = lines.pop();
    for (const line of lines) take(line.trim());
  }
}

let stream = null;
// The connection that is being read, and what ends it.
let attempt = null;

async function listen() {
  const abort = new AbortController();
  stream = abort;
  let pause = 500;
  while (stream === abort && !document.hidden) {
    const began = Date.now();
    const mine = new AbortController();
    attempt = mine;
    abort.signal.addEventListener('abort', () => mine.abort(), { once: true });
    try {
      if ((await follow(mine)) === 'none') return tell({ stream: 'none' });
    } catch {
      // Told below.
    }
    if (stream !== abort) return undefined;
    if (Date.now() - began > 10_000) pause = 500;
    tell({ stream: document.hidden ? 'asleep' : 'broken' });
    await new Promise((done) => setTimeout(done, pause));
    pause = Math.min(2 * pause, 8_000);
  }
  return undefined;
}

function seen() {
  if (document.hidden) {
    stream?.abort();
    stream = null;
    if (live.stream !== 'none') tell({ stream: 'asleep' });
  } else if (stream === null && live.stream !== 'none') {
    refresh();
    listen();
  }
}

// Begins to follow the crawl; once a page.
export function start() {
  if (saved) return;
  let ticked = Date.now();
  const tick = async () => {
    // Time has gone on without this page: a machine that slept keeps connections that nobody is at
    // the other end of, and silence would tell only after a while.
    if (Date.now() - ticked > SLEPT) attempt?.abort();
    if (!document.hidden) await refresh();
    // A worker has no status of one crawl, and will have none.
    if (live.error?.code === 'shared') return;
    ticked = Date.now();
    setTimeout(tick, EVERY);
  };
  tick();
  addEventListener('online', () => attempt?.abort());
  document.addEventListener('visibilitychange', seen);
  if (!document.hidden) listen();
}
